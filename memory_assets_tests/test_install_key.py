"""The installation's key is secret, stable, and one, however many ask for it first."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from memory_assets.errors import StoreError
from memory_assets.install_key import load_install_key


def test_the_key_is_made_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    """32 bytes, mode 0600, nothing else left in the directory."""
    key = load_install_key(tmp_path / "config")
    path = tmp_path / "config" / "install.key"
    assert len(key) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]
    assert load_install_key(tmp_path / "config") == key


def test_two_installations_have_two_keys(tmp_path: Path) -> None:
    """The key is random."""
    assert load_install_key(tmp_path / "a") != load_install_key(tmp_path / "b")


def test_the_key_is_kept_outside_the_data_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In ~/.config, or where XDG_CONFIG_HOME says."""
    at_home = load_install_key()
    assert (tmp_path / "home/.config/memory_assets/install.key").read_bytes() == at_home
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    elsewhere = load_install_key()
    assert (tmp_path / "xdg/memory_assets/install.key").read_bytes() == elsewhere


def test_a_file_system_without_hard_links_has_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made once there too, and nothing else is left."""

    def refuse(source: str, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    key = load_install_key(tmp_path / "config")
    assert load_install_key(tmp_path / "config") == key
    assert [path.name for path in (tmp_path / "config").iterdir()] == ["install.key"]


def test_processes_that_ask_first_at_once_get_one_key(tmp_path: Path) -> None:
    """Eight of them, released together."""
    code = (
        "import sys; from pathlib import Path;"
        "from memory_assets.install_key import load_install_key;"
        "sys.stdin.read(); print(load_install_key(Path(sys.argv[1])).hex())"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "config")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    keys = {process.communicate()[0].strip() for process in processes}
    assert len(keys) == 1
    assert keys == {load_install_key(tmp_path / "config").hex()}
    assert [path.name for path in (tmp_path / "config").iterdir()] == ["install.key"]


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_file_that_is_no_key_is_refused(tmp_path: Path, content: bytes) -> None:
    """It is neither used nor silently replaced, and its bytes are not in the message. That asks for
    a copy first: under another key nobody can tell what was forgotten."""
    path = tmp_path / "install.key"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"Restore it.*or move it away") as raised:
        load_install_key(tmp_path)
    assert path.read_bytes() == content
    assert not content or content.decode() not in str(raised.value)


def test_a_directory_that_cannot_be_used_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    """The message names the file and the setting that moves it."""
    (tmp_path / "blocked").touch()
    with pytest.raises(StoreError, match=r"install\.key.*XDG_CONFIG_HOME"):
        load_install_key(tmp_path / "blocked" / "config")
