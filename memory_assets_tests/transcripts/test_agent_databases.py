"""Databases of agents as they are opened: their logs, locks, damage, and what is left alone."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from memory_assets.errors import BusyTranscript, DamagedTranscript, TranscriptError
from memory_assets.transcripts import Known, Source, Unlisted, discover, reader_of
from memory_assets.transcripts import databases as opening
from memory_assets.transcripts.databases import open_database
from memory_assets_tests.transcripts.agent_databases import Crush, OpenCode, Store
from memory_assets_tests.transcripts.store_reading import (
    ASKED,
    SAID,
    Make,
    databases,
    found,
    read,
    store_name,
    told,
)
from memory_assets_tests.unprivileged import without_privileges


@databases
def test_what_is_in_the_log_alone_is_read(tmp_path: Path, make: Make) -> None:
    """While its writer has the database open."""
    store = make(tmp_path / store_name(make))
    store.say(ASKED, SAID)
    with closing(store.open()) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        store.say("And the price?", "It is right.", writer)
        [source] = found(store)
        assert ("prompt", "And the price?") in told(read(source))


@pytest.mark.parametrize("make", [Crush, OpenCode])
def test_tables_without_rowid_are_read(
    tmp_path: Path, make: type[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the same tables with numbered rows are; a turn more is seen."""
    numbered, keyed = make(tmp_path / "numbered"), tmp_path / "keyed"
    monkeypatch.setattr(make, "tables", make.tables.replace(");", ") WITHOUT ROWID;"))
    unnumbered = make(keyed)
    for store in (numbered, unnumbered):
        store.say(ASKED, SAID)
    [before], [alike] = found(unnumbered), found(numbered)
    assert told(read(before)) == told(read(alike))
    unnumbered.say("And the price?", "It is right.")
    [after] = found(unnumbered)
    assert after.size > before.size and ("prompt", "And the price?") in told(read(after))


@databases
@pytest.mark.parametrize("left_out", ["*-shm", "*-[sw][ha][ml]"])
def test_nothing_is_written_beside_a_database_that_cannot_be(
    tmp_path: Path, make: Make, left_out: str
) -> None:
    """What is said in it is the same, with a log that no agent has open, and without one."""
    store = make(tmp_path / store_name(make))
    store.say(ASKED, SAID)
    with closing(store.open()) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        if left_out == "*-shm":
            store.say("And the price?", "It is right.", writer)
        else:
            writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        copied = tmp_path / "copy"
        shutil.copytree(store.root, copied, ignore=shutil.ignore_patterns(left_out))
        [source] = found(store)
        expected = told(read(source))
    files = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    directories = [copied, *(path for path in copied.rglob("*") if path.is_dir())]
    for directory in directories:
        directory.chmod(0o500)
    with without_privileges():
        [alike] = discover({store.agent: (copied,)})
        assert told(read(alike)) == expected
    for directory in directories:
        directory.chmod(0o700)
    assert {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()} == files


def test_a_database_that_changes_while_it_is_read_without_locks_is_tried_again(
    tmp_path: Path,
) -> None:
    """SQLite cannot keep its writer out where it may write nothing beside it."""
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE t(a)")
    tmp_path.chmod(0o500)
    with without_privileges(), pytest.raises(BusyTranscript), open_database(path) as database:
        assert list(database.rows("SELECT a FROM t")) == []
        os.utime(path, ns=(1, 1))
    tmp_path.chmod(0o700)


def test_what_looks_damaged_while_it_changes_is_tried_again(tmp_path: Path) -> None:
    """Without locks, a page may be read that is half written."""
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE t(a)")
    tmp_path.chmod(0o500)
    with without_privileges(), pytest.raises(BusyTranscript), open_database(path) as database:
        path.write_bytes(path.read_bytes()[:4_096] + b"\xff" * 4_096)
        list(database.rows("SELECT a FROM t"))
    tmp_path.chmod(0o700)


def test_the_log_of_a_database_behind_a_link_is_read(tmp_path: Path) -> None:
    """SQLite has it beside what the link leads to."""
    path, link = tmp_path / "x.db", tmp_path / "linked" / "x.db"
    link.parent.mkdir()
    link.symlink_to(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE t(a)")
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        token = opening.token_of(link)
        writer.execute("INSERT INTO t VALUES(1)")
        assert opening.token_of(link) != token
        with open_database(link) as database:
            assert list(database.rows("SELECT a FROM t")) == [{"a": 1}]


def test_a_change_that_an_agent_did_not_finish_is_not_read(tmp_path: Path) -> None:
    """Its journal says what the database was, and nobody but its agent may write that back."""
    path, cut_off = tmp_path / "x.db", tmp_path / "cut" / "x.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA synchronous = OFF")
        writer.execute("CREATE TABLE t(a)")
        writer.execute("PRAGMA cache_size = 2")
        writer.execute("BEGIN")
        writer.executemany("INSERT INTO t VALUES(?)", [("x" * 4_000,)] * 50)
        shutil.copytree(tmp_path, cut_off.parent)
    with (
        pytest.raises(DamagedTranscript, match="its agent ended while it wrote"),
        open_database(cut_off) as database,
    ):
        list(database.rows("SELECT a FROM t"))


def test_a_log_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    """The database is not damaged: nobody need restore it."""
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE t(a)")
    log = opening.wal_of(path)
    log.write_bytes(b"a log")
    log.chmod(0)
    with (
        without_privileges(),
        pytest.raises(TranscriptError, match=r"x\.db-wal: cannot be read: permission denied"),
        open_database(path),
    ):
        pass


@databases
def test_reading_while_a_writer_writes(tmp_path: Path, make: Make) -> None:
    """Each reading is of one moment: turns are whole, and none is missing before the last."""
    store = make(tmp_path / store_name(make))
    store.say(f"{ASKED} 1", f"{SAID} 1")
    ended = threading.Event()

    def write() -> None:
        with closing(store.open()) as writer:
            for turn in range(2, 40):
                store.say(f"{ASKED} {turn}", f"{SAID} {turn}", writer)
        ended.set()

    thread = threading.Thread(target=write)
    thread.start()
    numbers = [0]
    while not ended.is_set() or numbers[-1] < 39:
        [source] = found(store)
        told_now = told(read(source))
        prompts = [text for kind, text in told_now if kind == "prompt"]
        answers = [text for kind, text in told_now if kind == "assistant_text"]
        assert prompts == [f"{ASKED} {turn}" for turn in range(1, len(prompts) + 1)]
        assert len(answers) == len(prompts)
        numbers.append(len(prompts))
    thread.join()
    assert numbers == sorted(numbers)


@databases
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x8f" * 9000, "it is no SQLite database"),
        (b"SQLite format 3\0" + b"\x8f" * 9000, "the database is damaged"),
    ],
)
def test_a_damaged_database_is_one_line(
    tmp_path: Path, make: Make, content: bytes, reason: str
) -> None:
    """With what to do about it; an empty one has no sessions, or tables that are not known."""
    store = make(tmp_path / store_name(make), wal=False)
    store.path.write_bytes(content)
    unlisted: list[Unlisted] = []
    assert found(store, unlisted) == []
    assert [(each.path, each.reason) for each in unlisted] == [(str(store.path), reason)]
    assert unlisted[0].remedy


def test_a_damaged_schema_that_is_no_text_is_one_line(tmp_path: Path) -> None:
    """SQLite's message quotes it, and then Python cannot decode that message."""
    store = OpenCode(tmp_path, wal=False)
    store.path.unlink()
    with closing(sqlite3.connect(store.path)) as writer:
        writer.execute("CREATE TABLE session(id text)")
        writer.commit()
    content = store.path.read_bytes().replace(b"tablesession", b"table\x80ession")
    store.path.write_bytes(content)
    unlisted: list[Unlisted] = []
    assert found(store, unlisted) == []
    assert [each.reason for each in unlisted] == ["the database is damaged"]


@databases
def test_the_log_of_another_database_is_one_line_or_none(tmp_path: Path, make: Make) -> None:
    """Its pages do not belong here: what cannot be read is reported, and nothing is raised."""
    store = make(tmp_path / store_name(make), wal=False)
    store.say(ASKED, SAID)
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE unlike(a)")
        writer.execute("INSERT INTO unlike VALUES(zeroblob(20000))")
        writer.commit()
        log = other.with_name("other.db-wal").read_bytes()
    store.path.with_name(f"{store.path.name}-wal").write_bytes(log)
    unlisted: list[Unlisted] = []
    sources = found(store, unlisted)
    assert len(sources) + len(unlisted) == store.is_strict


@databases
def test_tables_of_another_version_are_one_line(tmp_path: Path, make: Make) -> None:
    """A column that is gone, and that is needed."""
    store = make(tmp_path / store_name(make), wal=False)
    store.say(ASKED, SAID)
    with closing(store.open()) as writer:
        for (name,) in writer.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            if name != "sqlite_sequence":
                writer.execute(f"ALTER TABLE {name} RENAME TO {name}_2")
    unlisted: list[Unlisted] = []
    assert found(store, unlisted) == []
    if store.is_strict:
        [line] = unlisted
        assert line.reason == "its tables are not those of a version that is known here"
        assert "update" in line.remedy


@databases
def test_a_locked_database_is_tried_again(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sessions are those that it had; others go on."""
    monkeypatch.setattr(opening, "BUSY_SECONDS", 0.05)
    store = make(tmp_path / store_name(make), wal=False)
    store.say(ASKED, SAID)
    [source] = found(store)
    reader = reader_of(source)

    class Before(Known):
        def last_seen(self, container: Path) -> list[Source]:
            return [source] if container == store.path else []

    with closing(store.open()) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        store.path.touch()
        unlisted: list[Unlisted] = []
        assert list(reader.discover(store.root, Before(), unlisted.append)) == [source]
    [line] = unlisted
    assert line.reason == "its agent holds it locked"
    assert [each.locator for each in found(store)] == [source.locator]
