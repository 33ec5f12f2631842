"""Configuration and cache are where the platform has them, or where they were before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from platformdirs.api import PlatformDirsABC
from platformdirs.macos import MacOS
from platformdirs.unix import Unix
from platformdirs.windows import Windows

from memory_assets.path_spelling import one_spelling, relative_path
from memory_assets.paths import user_cache_dir, user_config_dir
from memory_assets.redacted_text import seal
from memory_assets_tests.sweep import sweep

Place = Callable[[type[PlatformDirsABC]], Path]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory without files, on a Windows that says where it keeps them."""
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WIN_PD_OVERRIDE_LOCAL_APPDATA", r"C:\Users\ana\AppData\Local")
    return tmp_path


@pytest.mark.parametrize(
    ("platform", "config", "cache"),
    [
        (Unix, "~/.config/memory_assets", "~/.cache/memory_assets"),
        (
            MacOS,
            "~/Library/Application Support/memory_assets-config",
            "~/Library/Caches/memory_assets",
        ),
        (
            Windows,
            "C:/Users/ana/AppData/Local/memory_assets-config",
            "C:/Users/ana/AppData/Local/memory_assets/Cache",
        ),
    ],
)
def test_each_platform_has_its_own(
    home: Path, platform: type[PlatformDirsABC], config: str, cache: str
) -> None:
    """The key is never within the directory of the data, which is copied and forgotten from."""
    assert _named(user_config_dir(platform), home) == config
    assert _named(user_cache_dir(platform), home) == cache
    data = platform("memory_assets", appauthor=False).user_data_path
    assert not user_config_dir(platform).is_relative_to(data)


@pytest.mark.parametrize(
    ("place", "earlier"), [(user_config_dir, ".config"), (user_cache_dir, ".cache")]
)
def test_what_is_there_stays_where_it_is(home: Path, place: Place, earlier: str) -> None:
    """The directory of versions before is used where there is no other one yet."""
    before = home / earlier / "memory_assets"
    own = place(MacOS)
    before.mkdir(parents=True)
    assert place(MacOS) == before
    own.mkdir(parents=True)
    assert place(MacOS) == own


@pytest.mark.parametrize(
    ("place", "variable"),
    [(user_config_dir, "XDG_CONFIG_HOME"), (user_cache_dir, "XDG_CACHE_HOME")],
)
@pytest.mark.parametrize("platform", [Unix, MacOS, Windows])
def test_a_directory_can_be_named(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: Place,
    variable: str,
    platform: type[PlatformDirsABC],
) -> None:
    """On every platform by the same variable."""
    monkeypatch.setenv(variable, str(home / "named"))
    assert place(platform) == home / "named" / "memory_assets"


def _named(path: Path, home: Path) -> str:
    return str(path).replace("\\", "/").replace(str(home), "~")


WINDOWS = r"C:\Users\ada\shop"


@sweep(
    "path, base",
    [
        (r"C:\Users\ada\shop\conf\app.json", WINDOWS),
        ("C:/Users/ada/shop/conf/app.json", WINDOWS),
        (r"c:\Users\ada\shop/conf\app.json", WINDOWS),
        (r"conf\app.json", WINDOWS),
        (r"~/shop\conf\app.json", r"~\shop"),
        (r"~\shop\conf\app.json", "~/shop"),
        (r"\\server\share\shop\conf\app.json", "//server/share/shop"),
        ("/home/ada/shop/conf/app.json", "/home/ada/shop/"),
        ("./conf/app.json", "/home/ada/shop"),
    ],
)
def test_a_path_is_told_below_its_project_in_one_spelling(path: str, base: str) -> None:
    """Whichever way the path and the project's root are written."""
    assert relative_path(seal(path), [base]) == "conf/app.json"


@pytest.mark.parametrize(
    ("path", "spelled"),
    [
        (r"c:\Users\ada\a.py", "C:/Users/ada/a.py"),
        (r"~\shop\a.py", "~/shop/a.py"),
        (r"/home/ada/back\slash.py", r"/home/ada/back\slash.py"),
        (r"src/back\slash.py", r"src/back\slash.py"),
        ("~/shop/a.py", "~/shop/a.py"),
    ],
)
def test_only_a_path_of_windows_is_spelled_anew(path: str, spelled: str) -> None:
    """A backslash is a letter elsewhere."""
    assert one_spelling(path) == spelled
    elsewhere = relative_path(seal("/home/ada/app/src/a.py"), ["/home/ada/ap", ""])
    assert elsewhere == "/home/ada/app/src/a.py"
