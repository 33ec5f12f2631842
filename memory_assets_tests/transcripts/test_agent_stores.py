"""Readers of stores that are no files of lines: what is said in them, how they grow and shrink, and
what does not stop them."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_assets.errors import BusyTranscript, DamagedTranscript, TranscriptError
from memory_assets.models import Record
from memory_assets.paths import project_of
from memory_assets.transcripts import (
    Account,
    Known,
    ReadReport,
    Rendered,
    Source,
    Unlisted,
    discover,
    read_session,
    reader_of,
)
from memory_assets.transcripts import databases as opening
from memory_assets.transcripts.databases import opened
from memory_assets.transcripts.fields import nanoseconds, parse_time
from memory_assets.transcripts.readers.cursor import CursorReader
from memory_assets.transcripts.readers.opencode import OpenCodeReader
from memory_assets.transcripts.stored import DatabaseReader
from memory_assets_tests.transcripts.agent_databases import (
    CWD,
    SESSION,
    T0,
    Crush,
    Cursor,
    Goose,
    Hermes,
    Kilo,
    OpenCode,
    Store,
    insert,
)
from memory_assets_tests.transcripts.agent_files import (
    DATABASES,
    STORES,
    KiloTasks,
    VsCode,
    VsCodeLog,
)
from memory_assets_tests.unprivileged import without_privileges

Make = Callable[..., Store]
stores = pytest.mark.parametrize("make", STORES, ids=lambda make: make.__name__)
databases = pytest.mark.parametrize("make", DATABASES, ids=lambda make: make.__name__)
ASKED, SAID = "Why is the stock negative?", "A sale is counted twice."


def found(store: Store, unlisted: list[Unlisted] | None = None) -> list[Source]:
    """Return the sources of a store."""
    note = (lambda each: None) if unlisted is None else unlisted.append
    return list(discover({store.agent: (store.root,)}, Known(), note))


def read(source: Source, report: ReadReport | None = None) -> list[Record]:
    """Return the records of a source."""
    report = report or ReadReport()
    records = list(read_session(source.path, source=source, report=report, end=source.size))
    assert report.conserved
    assert (report.bad_line_count, report.pending_bytes) == (0, 0)
    return records


def told(records: list[Record]) -> list[tuple[str, str]]:
    """Return who said what."""
    kinds = ("prompt", "assistant_text", "tool_use", "tool_result", "title")
    return [(one.kind, one.text) for one in records if one.kind in kinds]


@stores
def test_a_turn_is_read_with_all_that_belongs_to_it(tmp_path: Path, make: Make) -> None:
    """Prompt, call, result, answer and title; project, times, command, tool and model."""
    store = make(tmp_path / store_name(make))
    store.say(ASKED, SAID)
    [source] = found(store)
    report = ReadReport(account=Account(reader_of(source).left_out))
    records = read(source, report)
    assert sorted(kind for kind, _ in told(records)) == sorted(store.kinds)
    texts = dict(told(records))
    assert (texts["prompt"], texts["assistant_text"]) == (ASKED, SAID)
    assert texts.get("title", "The shop") == "The shop"
    [call] = (one for one in records if one.kind == "tool_use")
    if "tool_result" in store.kinds:
        assert "2 passed" in texts["tool_result"]
        assert call.command == "make test"
        [result] = (one for one in records if one.kind == "tool_result")
        assert (result.tool_name, result.command) == (call.tool_name, call.command)
    else:
        assert call.paths
    assert (source.project, source.agent_id) == (project_of(store.cwd), None)
    assert report.first_cwd == store.cwd
    [asked] = (one for one in records if one.kind == "prompt")
    if store.has_times:
        assert asked.timestamp is not None
        assert abs(asked.timestamp.timestamp() - (T0 + 60_000) / 1000) < 2
    elif store.agent != "zed":  # all that is known is when the session began
        assert asked.timestamp == datetime.fromtimestamp(T0 / 1000, UTC)
    assert report.account is not None
    assert report.account.balance().unexplained == {}
    assert report.unknown_types == {}


def store_name(make: Make) -> str:
    """Return a name for a store's directory."""
    return str(make.__name__).lower()


@stores
def test_what_was_said_stays_where_it_is_as_a_session_grows(tmp_path: Path, make: Make) -> None:
    """The lines of a session that grew begin with those that were finished; ids stay."""
    store = make(tmp_path / store_name(make))
    before: list[Record] = []
    finished = b""
    for turn in range(1, 5):
        store.say(f"{ASKED} {turn}", f"{SAID} {turn}")
        [source] = found(store)
        now = read(source)
        ids = {(one.record_uuid, one.kind, one.text, one.byte_start) for one in now}
        kept = {(one.record_uuid, one.kind, one.text, one.byte_start) for one in before}
        assert {one for one in kept - ids if one[1] != "title"} == set()
        [content] = reader_of(source).contents(source)
        assert isinstance(content, Rendered)
        assert content.read(0, len(finished)) == finished
        finished = content.read(0, content.finished)
        before = now
    prompts = [one.text for one in before if one.kind == "prompt"]
    assert prompts == [f"{ASKED} {turn}" for turn in range(1, 5)]


@stores
def test_a_change_is_noticed_without_reading_the_session(tmp_path: Path, make: Make) -> None:
    """A turn, an edit in place, a deletion."""
    store = make(tmp_path / store_name(make))
    store.say(ASKED, SAID)
    [source] = found(store)
    states = [reader_of(source).state(source)]
    assert states == [(source.size, source.mtime_ns)]
    store.say("And the price?", "It is right.")
    states.append(reader_of(source).state(source))
    store.edit("counted twice", "counted three times")
    states.append(reader_of(source).state(source))
    assert len(set(states)) == 3
    assert ("assistant_text", "A sale is counted three times.") in told(read(source))
    store.delete()
    assert reader_of(source).state(source) is None
    assert found(store) == []


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
    with without_privileges(), pytest.raises(BusyTranscript), opened(path) as database:
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
    with without_privileges(), pytest.raises(BusyTranscript), opened(path) as database:
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
        with opened(link) as database:
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
        opened(cut_off) as database,
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
        opened(path),
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


def test_a_subagents_run_belongs_to_the_session_above_all(tmp_path: Path) -> None:
    """Over generations; nobody typed what it was asked. Where parents go round in a circle, or are
    missing, nothing hangs."""
    store = OpenCode(tmp_path)
    store.say(ASKED, SAID)
    store.begin_another("ses_child", parent_id=OpenCode.session)
    store.begin_another("ses_grandchild", parent_id="ses_child")
    store.begin_another("ses_orphan", parent_id="ses_gone")
    store.begin_another("ses_one", parent_id="ses_two")
    store.begin_another("ses_two", parent_id="ses_one")
    ids = {source.member: (source.session_id, source.agent_id) for source in found(store)}
    assert ids == {
        OpenCode.session: (OpenCode.session, None),
        "ses_child": (OpenCode.session, "ses_child"),
        "ses_grandchild": (OpenCode.session, "ses_grandchild"),
        "ses_orphan": ("ses_gone", "ses_orphan"),
        "ses_one": ("ses_one", None),
        "ses_two": ("ses_two", None),
    }
    [child] = (source for source in found(store) if source.member == "ses_child")
    assert "prompt" not in dict(told(read(child)))
    assert [one.text for one in read(child) if one.subtype == "agent-prompt"] == ["Another one"]


def test_a_message_that_is_being_written_comes_last(tmp_path: Path) -> None:
    """As long as nothing was asked after it; then it was broken off."""
    store = OpenCode(tmp_path)
    store.say(ASKED, SAID)
    with closing(store.open()) as database:
        text = {"type": "text", "text": "It is"}
        data = {"role": "assistant", "time": {"created": T0 + 90_000}}
        store.add_message(database, store.session, "msg_zz", T0 + 90_000, data, text)
        database.commit()
    [source] = found(store)
    assert [text for _, text in told(read(source))][-2:] == ["The shop", "It is"]
    store.turns += 1
    store.say("Go on", "Yes.")
    assert [text for _, text in told(read(found(store)[0]))][-2:] == ["Yes.", "The shop"]


def test_messages_taken_back_are_kept_with_a_mark(tmp_path: Path) -> None:
    """OpenCode hides them; a log of operations cuts them off."""
    store = OpenCode(tmp_path / "opencode")
    store.say(ASKED, SAID)
    store.say("Delete it", "Deleted.")
    with closing(store.open()) as database:
        [last] = database.execute("SELECT max(id) FROM message WHERE id LIKE '%a'").fetchone()
        database.execute("UPDATE session SET revert = ?", (f'{{"messageID": "{last}"}}',))
        database.commit()
    log = VsCodeLog(tmp_path / "log")
    log.say(ASKED, SAID)
    log.say("Delete it", "Deleted.")
    with log.path.open("a") as file:
        file.write('{"kind": 2, "k": ["requests"], "i": 1, "v": []}\n')
    for each in (store, log):
        [source] = found(each)
        marked = {one.text: one.subtype for one in read(source) if one.kind != "title"}
        assert (marked[ASKED], marked[SAID]) == ("", "")
        assert (marked["Delete it"], marked["Deleted."]) == ("abandoned", "abandoned")


def test_a_window_whose_directory_nobody_knows_is_a_project_of_its_id(tmp_path: Path) -> None:
    """Until the editor's file says the directory; chats of one window stay together."""
    chat, cursor = VsCode(tmp_path / "code"), Cursor(tmp_path / "cursor")
    for store in (chat, cursor):
        store.say(ASKED, SAID)
    window = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    chat.path.parent.with_name("workspace.json").unlink()
    chat.path.parent.parent.rename(chat.root / "workspaceStorage" / window)
    with closing(cursor.open()) as database:
        named = f'"id": "w1", "uri": {{"fsPath": "{CWD}"}}'
        sql = "UPDATE cursorDiskKV SET value = replace(value, ?, ?)"
        database.execute(sql, (named, f'"id": "{window}"'))
        database.commit()
    sources = [*found(chat), *found(cursor)]
    assert [(each.project, each.directory) for each in sources] == [(window, "")] * 2
    for store in (chat, cursor):
        folder = store.root / "workspaceStorage" / window
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "workspace.json").write_text(f'{{"folder": "file://{CWD}"}}')
    cursor.path.touch()
    sources = [*found(chat), *found(cursor)]
    assert [(each.project, each.directory) for each in sources] == [(project_of(CWD), CWD)] * 2


def test_a_log_of_operations_may_be_torn(tmp_path: Path) -> None:
    """A half-written last line waits for its rest; one within is counted."""
    store = VsCodeLog(tmp_path)
    store.say(ASKED, SAID)
    with store.path.open("a") as file:
        file.write('{"kind": 1, "k": ["cust')
    [source] = found(store)
    report = ReadReport()
    texts = told(read(source, report))
    assert ("prompt", ASKED) in texts
    assert report.unknown_types == {}
    with store.path.open("a") as file:
        file.write('\n{"kind": 1, "k": ["customTitle"], "v": "Stock"}\n')
    report = ReadReport()
    assert ("title", "Stock") in told(read(found(store)[0], report))
    assert report.unknown_types == {"unreadable": 1}


def test_what_a_program_asked_is_no_persons_prompt(tmp_path: Path) -> None:
    """Sessions that a schedule began, and text that is hidden from the user."""
    store = Goose(tmp_path)
    store.say(ASKED, SAID)
    with closing(store.open()) as database:
        hidden = [{"type": "text", "text": "Summary so far"}]
        values = {"role": "user", "content_json": hidden, "created_timestamp": T0 // 1000 + 90}
        metadata = {"userVisible": False, "agentVisible": True}
        insert(database, "messages", session_id=store.session, metadata_json=metadata, **values)
        database.commit()
    store.begin_another("20260601_3", session_type="scheduled")
    prompts = {
        source.member: [text for kind, text in told(read(source)) if kind == "prompt"]
        for source in found(store)
    }
    assert prompts == {store.session: [ASKED], "20260601_3": []}


LEDGER = """
    CREATE TABLE usage_ledger(id INTEGER PRIMARY KEY, session_id TEXT, created_timestamp INTEGER,
        model TEXT, input_tokens INTEGER, output_tokens INTEGER, total_tokens INTEGER,
        cache_read_tokens INTEGER, cache_write_tokens INTEGER);
"""


def test_goose_says_what_each_request_took(tmp_path: Path) -> None:
    """In a table since schema 14, where it stood when the answer came; before, of the session."""
    store = Goose(tmp_path)
    store.say(ASKED, SAID)
    with closing(store.open()) as database:
        database.execute("UPDATE sessions SET accumulated_total_tokens = 1300")
        database.execute("UPDATE sessions SET accumulated_input_tokens = 900")
        database.execute("UPDATE sessions SET accumulated_output_tokens = 40")
        database.execute("UPDATE sessions SET accumulated_cache_read_tokens = 360")
        database.commit()
    [source] = found(store)
    [whole] = (one for one in read(source) if any(one.tokens))
    assert (whole.kind, whole.tokens) == ("title", (900, 40, 360, 0, 0))
    with closing(store.open()) as database:
        database.executescript(LEDGER)
        for turn, (given, total) in enumerate(((500, 520), (500, 820)), 1):
            values = {"session_id": store.session, "model": "m-2", "total_tokens": total}
            values |= {"created_timestamp": T0 // 1000 + 60 * turn + 30, "input_tokens": given}
            counts = {"output_tokens": 20, "cache_read_tokens": 300, "cache_write_tokens": 0}
            insert(database, "usage_ledger", **values, **counts)
        database.commit()
    store.say("And the price?", "It is right.")
    records = read(found(store)[0])
    took = [one for one in records if any(one.tokens)]
    assert [one.tokens for one in took] == [(200, 20, 300, 0, 0), (500, 20, 300, 0, 0)]
    assert {one.model for one in took} == {"m-2"}
    said = [one.text for one in records]
    assert said.index(SAID) < records.index(took[0]) < said.index("And the price?")


def test_hermes_says_what_a_session_took(tmp_path: Path) -> None:
    """In its row, which is read with the title."""
    store = Hermes(tmp_path)
    store.say(ASKED, SAID)
    with closing(store.open()) as database:
        for name, count in (("input", 900), ("output", 40)):
            database.execute(f"UPDATE sessions SET {name}_tokens = {count}")
        database.commit()
    [whole] = (one for one in read(found(store)[0]) if any(one.tokens))
    assert (whole.kind, whole.tokens, whole.model) == ("title", (900, 40, 0, 0, 0), "m-1")


def test_a_session_that_goes_on_after_a_compaction_repeats_nothing(tmp_path: Path) -> None:
    """Hermes begins another one with what was said before."""
    store = Hermes(tmp_path)
    store.say(ASKED, SAID)
    with closing(store.open()) as database:
        store.add_session(database, "second", parent_session_id=store.session)
        store.add_turn(database, "second", 1, T0 + 60_000, ASKED, SAID)
        store.add_turn(database, "second", 2, T0 + 120_000, "Go on", "Yes.")
        database.commit()
    [second] = (source for source in found(store) if source.member == "second")
    report = ReadReport()
    assert [text for kind, text in told(read(second, report)) if kind == "prompt"] == ["Go on"]
    assert (report.parent_session, report.dropped["copied-history"]) == (store.session, 4)


def test_only_rows_of_conversations_are_asked_for(tmp_path: Path) -> None:
    """Cursor keeps its tokens in the same database, OpenCode what it shares sessions with."""
    asked: list[str] = []
    kept: tuple[tuple[Store, DatabaseReader, str], ...] = (
        (Cursor(tmp_path / "c"), CursorReader(), "cursorAuth"),
        (OpenCode(tmp_path / "o"), OpenCodeReader(), "share"),
    )
    for store, reader, secret in kept:
        store.say(ASKED, SAID)
        with opening.opened(store.path) as database:
            database._connection.set_trace_callback(asked.append)
            members = list(reader.members(database, store.path))
            [source] = found(store)
            list(reader.member_rows(database, source))
        assert len(members) == 1
        assert not any(secret in sql for sql in asked)
    assert asked


def test_drafts_are_no_sessions(tmp_path: Path) -> None:
    """A conversation without a message, a chat without a request, a thread without a row."""
    for make in (Cursor, Crush, Goose, Hermes, OpenCode, VsCodeLog):
        assert found(make(tmp_path / store_name(make))) == []


@pytest.mark.parametrize(
    "value",
    [
        *(T0 // 1000, T0, T0 * 1000, T0 * 1_000_000, T0 / 1000 + 0.0),
        *(str(T0), "2026-06-01T08:00:00Z", "2026-06-01 08:00:00"),
    ],
)
def test_times_are_told_by_their_magnitude(value: object) -> None:
    """Seconds, milliseconds, microseconds, nanoseconds, ISO."""
    found_time = parse_time(value)
    assert found_time is not None
    assert found_time.timestamp() == T0 / 1000


@pytest.mark.parametrize("value", [None, "", "soon", True, -5, 0, float("nan"), 1e300, [], 10**30])
def test_what_is_no_time_is_none(value: object) -> None:
    """Nothing is raised."""
    assert parse_time(value) is None
    assert nanoseconds(value) == 0


def test_kilos_two_stores_are_one_agent(tmp_path: Path) -> None:
    """Each source is read by the reader of its kind."""
    database, tasks = Kilo(tmp_path / "share"), KiloTasks(tmp_path / "code")
    for store in (database, tasks):
        store.say(ASKED, SAID)
    roots = {"kilo": (database.root, tasks.root)}
    sources = list(discover(roots))
    assert {source.session_id for source in sources} == {Kilo.session, KiloTasks.session}
    assert all(("prompt", ASKED) in told(read(source)) for source in sources)
    assert SESSION not in {source.session_id for source in sources}


def test_messages_that_share_an_id_are_each_a_record_of_their_own(tmp_path: Path) -> None:
    """Programs that publish transcripts blank ids: each prompt begins a turn all the same."""
    said = ("Why does the heron sink?", "And the kestrel?", "Why does the heron sink?")
    messages = [
        {
            "info": {"id": "BLANKED", "role": "user", "time": {"created": 1_780_000_000_000 + at}},
            "parts": [{"type": "text", "text": text}],
        }
        for at, text in enumerate(said)
    ]
    info = {"id": "ses_1", "projectID": "p", "directory": "/w", "time": {}}
    (tmp_path / "ses_1.json").write_text(json.dumps({"info": info, "messages": messages}))
    (source,) = discover({"opencode": (tmp_path,)})
    records = list(read_session(source.path, source=source))
    assert tuple(record.text for record in records if record.kind == "prompt") == said
    assert len({record.record_uuid for record in records if record.kind == "prompt"}) == 3
