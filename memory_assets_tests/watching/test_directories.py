"""What the file system tells, and what is done where it does not."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from watchdog.observers.inotify import InotifyObserver

from memory_assets.cli import exit_codes
from memory_assets.cli.ingesting.watch_command import watch_directories
from memory_assets.settings import Settings
from memory_assets.stores.under_way import present_watcher, watching
from memory_assets.watching.directories import Directories
from memory_assets.watching.pending import Changes

Watch = Callable[..., tuple[Directories, Changes]]


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    """Begins to watch `tmp_path / "root"`."""
    made: list[Directories] = []

    def begin(*, polling: bool = False) -> tuple[Directories, Changes]:
        changes = Changes()
        directories = Directories([tmp_path / "root"], changes, poll_seconds=0.1, polling=polling)
        made.append(directories)
        directories.refresh()
        return directories, changes

    yield begin
    for directories in made:
        directories.stop()


def _changed(changes: Changes, wanted: Path, seconds: float = 5.0) -> bool:
    until = time.monotonic() + seconds
    seen: set[str] = set()
    while time.monotonic() < until:
        changes.wait(0.2)
        seen |= set(changes.drain()[0])
        if str(wanted) in seen:
            return True
    return False


@pytest.mark.parametrize("polling", [False, True])
def test_an_append_and_a_new_project_are_seen(tmp_path: Path, watch: Watch, polling: bool) -> None:
    """By events and by polling; nothing but transcripts."""
    session = tmp_path / "root" / "-p" / "s.jsonl"
    session.parent.mkdir(parents=True)
    session.write_text("{}\n")
    directories, changes = watch(polling=polling)
    assert directories.mode == ("polling" if polling else "events")
    time.sleep(0.3)
    (session.parent / "notes.txt").write_text("x")
    with session.open("a") as file:
        file.write("{}\n")
    assert _changed(changes, session)
    fresh = tmp_path / "root" / "-new" / "t.jsonl"
    fresh.parent.mkdir()
    fresh.write_text("{}\n")
    assert _changed(changes, fresh)
    assert all(path.endswith(".jsonl") for path in changes.drain()[0])


def test_a_root_that_appears_or_comes_back_is_watched(tmp_path: Path, watch: Watch) -> None:
    """From the next look on, which asks for a full one."""
    directories, changes = watch()
    assert not directories.refresh()
    root = tmp_path / "root"
    for name in ("a", "b"):
        root.mkdir()
        assert directories.refresh()
        (root / f"{name}.jsonl").write_text("{}\n")
        assert _changed(changes, root / f"{name}.jsonl")
        (root / f"{name}.jsonl").unlink()
        root.rmdir()
        time.sleep(0.2)
        directories.refresh()


def test_at_the_inotify_limit_it_polls_and_says_why(
    tmp_path: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the remedy in the message; changes are seen all the same."""

    def no_more(self: object) -> None:
        raise OSError(errno.ENOSPC, "inotify watch limit reached")

    monkeypatch.setattr(InotifyObserver, "start", no_more)
    (tmp_path / "root").mkdir()
    directories, changes = watch()
    assert directories.mode == "polling"
    assert "max_user_watches" in directories.notes[str(tmp_path / "root")]
    (tmp_path / "root" / "s.jsonl").write_text("{}\n")
    assert _changed(changes, tmp_path / "root" / "s.jsonl")


def test_a_second_watcher_says_who_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One a data directory, and that is no error; the state is gone with its process's lock."""
    with watching(tmp_path) as state:
        known = present_watcher(tmp_path)
        assert known is not None and known.pid == state.pid
        assert watch_directories(Settings(data_dir=tmp_path)) == exit_codes.FINE
        assert f"process {state.pid}" in capsys.readouterr().out
    assert present_watcher(tmp_path) is None
