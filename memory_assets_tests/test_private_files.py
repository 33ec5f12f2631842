"""Whatever the umask: what is written under the data directory is for its owner alone."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import StoreError
from memory_assets.install_key import load_install_key
from memory_assets.private_files import OURS, take_from_others
from memory_assets.settings import Settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.command_line import (
    environment_of,
    run_at_once,
    run_code,
    run_here,
    run_program,
)
from memory_assets_tests.conftest import copy_sample, settings_of_copy

MEMORY = Path(sys.executable).parent / "memory"
_HERE = ("ingest", "search", "verify", "rebuild", "forget")
"""Commands of which a process of their own would import more than they do."""


def _open_to_others(*tops: Path) -> list[str]:
    """The files and directories at and under these that group or others may do anything with. What
    SQLite removes meanwhile, when a connection is closed, is not there."""
    is_open = []
    for path in (path for top in tops for path in (top, *top.rglob("*"))):
        with suppress(FileNotFoundError):
            if path.lstat().st_mode & 0o077 and not path.is_symlink():
                is_open.append(str(path))
    return is_open


@pytest.fixture(scope="module")
def written(
    tmp_path_factory: pytest.TempPathFactory, compiled_rules: Path
) -> Iterator[tuple[Settings, dict[str, str]]]:
    """A memory that the real commands made under umask 000, and their environment."""
    root = tmp_path_factory.mktemp("private")
    roots = copy_sample(root / "transcripts")
    shutil.rmtree(roots["claude"] / "-home-mara-code-harbor-api")  # the rest will do
    settings = settings_of_copy(root)
    environment = {
        **os.environ,
        "HOME": str(root / "home"),
        "XDG_CACHE_HOME": str(root / "home" / "cache"),
        "XDG_CONFIG_HOME": str(root / "home" / "config"),
        **environment_of(settings),
    }
    shutil.copytree(compiled_rules, root / "home" / "cache")  # 10 s of CPU less
    for directory, _, names in os.walk(root / "home" / "cache"):
        for path in (directory, *(os.path.join(directory, name) for name in names)):  # noqa: PTH118
            os.chmod(path, 0o777)  # noqa: PTH101
    _memory(environment, "ingest")
    yield settings, environment
    chroma_server.stop(settings.data_dir)


def _memory(environment: dict[str, str], *arguments: str) -> str:
    if arguments[0] in _HERE:
        done = run_here(environment, *arguments, umask=0)
        assert done.returncode == 0, done.stdout + done.stderr
    else:
        done = run_program([str(MEMORY), *arguments], env=environment, umask=0)
    return done.stdout


def test_nothing_that_is_written_is_for_others(written: tuple[Settings, dict[str, str]]) -> None:
    """Ingest, search, status, verify, rebuild, forget and serve under umask 000: no file of the
    data directory, the cache and the configuration is accessible to group or others."""
    settings, environment = written
    home = Path(environment["HOME"])
    tops = (settings.data_dir, home / "cache" / "memory_assets", home / "config" / "memory_assets")
    assert _open_to_others(*tops) == []
    session = next(_codex(settings).rglob("*.jsonl")).stem[-36:]
    for command in (
        ["search", "database is locked"],
        ["status"],
        ["verify"],
        ["rebuild"],
        ["chroma"],
        ["forget", session, "--yes"],
    ):
        _memory(environment, *command)
        assert _open_to_others(*tops) == [], command
    _serve_once(environment)
    assert _open_to_others(*tops) == []
    names = sorted(path.name for path in settings.data_dir.iterdir())
    assert [each for each in names if not any(fnmatch(each, name) for name in OURS)] == []


def _serve_once(environment: dict[str, str]) -> None:
    with subprocess.Popen(
        [str(MEMORY), "serve", "--port", "0"],
        env=environment,
        umask=0,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        url = server.stderr.readline().split()[-1].removesuffix("/openapi.json")
        try:
            with urllib.request.urlopen(f"{url}/search?q=report") as answer:
                assert answer.status == 200
        finally:
            server.terminate()
            server.communicate(timeout=30)


@pytest.mark.parametrize("command", [["status"], ["search", "database is locked"]])
def test_an_older_memory_is_taken_from_others_by_the_next_command(
    written: tuple[Settings, dict[str, str]], command: list[str]
) -> None:
    """Directories of 0755 and files of 0644, as they were written before, become 0700 and
    0600; what is not ours in the data directory, the sample for one, keeps its mode."""
    settings, environment = written
    sample = settings.data_dir / "sample"
    sample.mkdir(exist_ok=True)
    (sample / "README.md").write_text("tracked by git")
    everything = [settings.data_dir, *settings.data_dir.rglob("*")]
    for path in everything:
        with suppress(FileNotFoundError):  # a database that is closed takes its log with it
            path.chmod(0o755 if path.is_dir() else 0o644)
    try:
        _memory(environment, *command)
        assert stat.S_IMODE(settings.data_dir.stat().st_mode) == 0o700
        assert sorted(_open_to_others(settings.data_dir)) == [
            str(sample),
            str(sample / "README.md"),
        ]
    finally:
        shutil.rmtree(sample)


def _codex(settings: Settings) -> Path:
    return settings.transcript_roots()["codex"][0]


def test_transcripts_keep_their_modes(written: tuple[Settings, dict[str, str]]) -> None:
    """What belongs to the agents is never changed, linked from the data directory or not."""
    settings, _ = written
    transcripts = [path for path in _codex(settings).rglob("*") if path.is_file()]
    for path in transcripts:
        path.chmod(0o644)
    link = settings.data_dir / "lake-of-others"
    link.symlink_to(_codex(settings))
    settings.data_dir.chmod(0o755)
    try:
        take_from_others(settings.data_dir)
    finally:
        link.unlink()
    assert {stat.S_IMODE(path.stat().st_mode) for path in transcripts} == {0o644}


@pytest.mark.parametrize(
    "process",
    [
        "import memory_assets.dagster.definitions",
        "import sys; sys.argv = ['memory', '--version']\n"
        "from memory_assets.cli.start import main\n"
        "try: main()\nexcept SystemExit: pass",
    ],
    ids=["Dagster's code server", "the command line"],
)
def test_every_process_of_ours_creates_private_files(process: str, tmp_path: Path) -> None:
    """Started under umask 000, it has umask 077, which the processes that it starts inherit."""
    code = f"{process}\nimport os\nprint('umask', oct(os.umask(0)))"
    done = run_code(code, umask=0, env={**os.environ, "MEMORY_DATA_DIR": str(tmp_path / "data")})
    assert done.stdout.splitlines()[-1] == "umask 0o77"


def test_no_core_is_dumped() -> None:
    """Of a process that holds text, nor of its children; nor can they allow it again. Linux gives
    no core to programs that collect them, where the limit is one byte."""
    told = run_code(
        "import resource, subprocess, sys\n"
        "from memory_assets.private_files import create_private_files\n"
        "create_private_files()\n"
        "look = 'import resource; print(resource.getrlimit(resource.RLIMIT_CORE))'\n"
        "subprocess.run([sys.executable, '-c', look])"
    ).stdout
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    limit = 1 if sys.platform == "linux" and hard != 0 else 0
    assert told == f"({limit}, {limit})\n"


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are listed by Linux")
def test_temporary_files_of_sqlite_are_in_the_data_directory(tmp_path: Path) -> None:
    """What a large sort spills; SQLite deletes the file's name at once, so it is looked for among
    the open ones."""
    script = (
        "import os, sys, pathlib\n"
        "from memory_assets.private_files import keep_temporary_files\n"
        "data = pathlib.Path(sys.argv[1])\n"
        "keep_temporary_files(data)\n"
        "from memory_assets.stores.files.sqlite import connect\n"
        "connection = connect(data / 'x.db')\n"
        "connection.execute('PRAGMA temp_store = FILE')\n"
        "connection.execute('PRAGMA cache_size = 10')\n"
        "connection.execute('CREATE TEMP TABLE t (a)')\n"
        "connection.execute('BEGIN')\n"
        "connection.executemany('INSERT INTO t VALUES (randomblob(9000))', [()] * 900)\n"
        "for each in os.listdir('/proc/self/fd'):\n"
        "    try:\n"
        "        print(os.readlink(f'/proc/self/fd/{each}'))\n"
        "    except OSError:\n"
        "        pass\n"
    )
    done = run_code(script, str(tmp_path))
    spilled = [line for line in done.stdout.splitlines() if "etilqs" in line]
    assert spilled and all(line.startswith(f"{tmp_path}/") for line in spilled), done.stdout


def test_the_key_is_made_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    """32 random bytes, mode 0600, nothing else left in the directory."""
    key = load_install_key(tmp_path / "config")
    path = tmp_path / "config" / "install.key"
    assert len(key) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]
    assert load_install_key(tmp_path / "config") == key
    assert load_install_key(tmp_path / "elsewhere") != key


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


def test_a_key_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that a power cut has emptied is lost, and with it what was forgotten."""
    steps: list[str] = []
    for name in ("fsync", "link"):
        done = getattr(os, name)

        def noted(*given: Any, name: str = name, done: Any = done) -> None:
            steps.append(name)
            done(*given)

        monkeypatch.setattr(os, name, noted)
    load_install_key(tmp_path)
    assert steps == ["fsync", "link"]


def test_processes_that_ask_first_at_once_get_one_key(tmp_path: Path) -> None:
    """Eight of them, released together."""
    code = (
        "import sys; from pathlib import Path;"
        "from memory_assets.install_key import load_install_key;"
        "sys.stdin.read(); print(load_install_key(Path(sys.argv[1])).hex())"
    )
    keys = set(run_at_once(8, code, tmp_path / "config"))
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
