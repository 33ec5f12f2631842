"""The account of a source's text: what a reader took, what it leaves out, what nobody knows; of
databases also by table and column."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import compress

import pytest

from memory_assets.models import Record
from memory_assets.pipeline.scan.raw_sessions import read_file
from memory_assets.record_identity import RecordIdentity
from memory_assets.transcripts import (
    Account,
    Balance,
    Known,
    ReadReport,
    Source,
    discover,
    read_session,
    reader_of,
)
from memory_assets.transcripts import unread as walk
from memory_assets.transcripts.account import MAX_HELD, LeftOut
from memory_assets.transcripts.readers.goose import GooseReader
from memory_assets.transcripts.unread import Columns
from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcripts.agent_databases import (
    Crush,
    Cursor,
    Goose,
    Hermes,
    Store,
    Zed,
    insert,
)
from memory_assets_tests.transcripts.agent_files import DATABASES

SENTENCE = "The parser fails on nested brackets, so we count them before we begin."
OTHER = "A kestrel hovered over the motorway while nobody in the cars looked up."
_RECORD = Record("pi", "s", None, 0, "r", None, 0, 0, None, "user", "prompt", "")


def _balance(
    parsed: dict[str, Any], *made: str, rows: tuple[LeftOut, ...] = (), version: str = "2.0"
) -> Balance:
    account = Account(rows)
    records = [replace(_RECORD, text=text) for text in made]
    account.compare(parsed, records, dropped="", version=version)
    return account.balance()


def _unexplained(balance: Balance) -> dict[str, int]:
    return {path: tally.bytes for path, tally in balance.unexplained.items()}


@pytest.mark.parametrize("number", [2, 20, 200])
def test_what_is_cut_off_is_counted_in_bytes(number: int) -> None:
    """A reader that takes half the lines has half the text, and letters are counted in UTF-8."""
    lines = [f"{index} – {SENTENCE} {index * 7}" for index in range(number)]
    balance = _balance({"text": "\n".join(lines)}, "\n".join(lines[: number // 2]))
    missing = sum(len(line.encode()) + 1 for line in lines[number // 2 :])
    assert abs(balance.missing - missing) <= 1


def test_objects_that_another_source_has_are_left_out_by_the_readers_reason() -> None:
    """What a fork copied is in the other session's file."""
    account = Account((LeftOut("", "another thread's", dropped="copied-history"),))
    account.compare({"text": SENTENCE}, [], dropped="copied-history", version="")
    account.compare({"text": OTHER}, [], dropped="unknown-type", version="")
    assert _unexplained(account.balance()) == {"text": len(OTHER)}


@pytest.mark.parametrize("order", [1, -1], ids=["later", "before"])
def test_a_text_that_stands_in_a_dropped_object_too_is_left_out_for_the_same_reason(
    order: int,
) -> None:
    """Such as the history of another thread, which a compaction repeats; others are not."""
    row = LeftOut("", "of another thread", dropped="copied-history")
    account = Account((row,))
    objects: list[tuple[dict[str, Any], str]] = [
        ({"text": SENTENCE}, "copied-history"),
        ({"again": [SENTENCE, OTHER]}, ""),
    ]
    for parsed, dropped in objects[::order]:
        account.compare(parsed, [], dropped=dropped, version="1.0")
    balance = account.balance()
    assert balance.left_out == {"of another thread": 2 * len(SENTENCE)}
    assert _unexplained(balance) == {"again": len(OTHER)}


_DATA = LeftOut("x.*.data", "pixels")
_NAME = LeftOut("user.<command-name>", "the name of a command")
_NOTICE = LeftOut("content", "a notice", "<notice>")
_COMMAND = {
    "user": f"<command-name>/pounce</command-name>\n<command-args>{SENTENCE}</command-args>"
}


@sweep(
    "parsed, made, rows, unexplained",
    [
        # Whatever a reader puts before, after or around a text.
        ({"text": SENTENCE}, [f"said: {SENTENCE}"], (), {}),
        ({"text": SENTENCE}, [json.dumps({"inner": SENTENCE})], (), {}),
        ({"text": SENTENCE}, [f"{OTHER}\n   12\t{SENTENCE}\n"], (), {}),
        # A reader may take a text apart.
        ({"text": f"Error: {SENTENCE}"}, [SENTENCE], (), {}),
        ({"text": json.dumps({"cmd": SENTENCE, "why": OTHER})}, [SENTENCE, OTHER], (), {}),
        ({"text": f"<note>{SENTENCE}</note>"}, [SENTENCE], (), {}),
        ({"text": f"{SENTENCE}\n\n  {OTHER}"}, [SENTENCE, OTHER], (), {}),
        ({"text": f"{SENTENCE}\n\n  {OTHER}"}, [], (), {"text": len(SENTENCE + OTHER) + 2}),
        # A path has types and roles, and no list indexes.
        (
            {"type": "attachment", "document": [{"role": "user", "source": {"data": SENTENCE}}]},
            [OTHER],
            (),
            {"attachment.document.user.source.data": len(SENTENCE)},
        ),
        # A prompt may be short; other short strings are no text.
        (
            {"message": {"content": "Why?"}, "state": "ready", "list": ["a", "b"]},
            [],
            (),
            {"message.content": 4},
        ),
        # A row holds for its path and all below, for no other path that begins alike, ...
        (
            {"type": "x", "image": {"data": {"raw": SENTENCE}, "database": OTHER}},
            [],
            (_DATA,),
            {"x.image.database": len(OTHER)},
        ),
        # ... for what a tag encloses alone, ...
        (_COMMAND, [], (_NAME,), {"user": len(SENTENCE)}),
        (_COMMAND, [f"/pounce {SENTENCE}"], (_NAME,), {}),
        # ... or for texts that begin alike.
        ({"content": f"<notice>{OTHER}"}, [], (_NOTICE,), {}),
        ({"content": SENTENCE}, [], (_NOTICE,), {"content": len(SENTENCE)}),
        # An object with a key that is a file's path, an id or a phrase is a map.
        *(
            ({"changes": {"Makefile": "x", key: OTHER}}, [], (), {"changes.*": len(OTHER)})
            for key in ("/home/ann/secret.txt", "0b1e-77aa-99", "käse", "a b", "x.y", "<ann>")
        ),
        # What a tool is given, or a text that is JSON, may have anything for keys below the first.
        (
            {"input": {"query": {"salary": SENTENCE}}},
            [],
            (),
            {"input.query.*": len(SENTENCE)},
        ),
        (
            {"text": json.dumps({"a": {"salary": SENTENCE}})},
            [],
            (),
            {"text.(json).a.*": len(SENTENCE)},
        ),
    ],
)
def test_text_is_on_record_or_told_by_its_place(
    parsed: dict[str, Any],
    made: list[str],
    rows: tuple[LeftOut, ...],
    unexplained: dict[str, int],
) -> None:
    """As bytes by path of keys, with the versions that wrote it, unless a row leaves it out."""
    balance = _balance(parsed, *made, rows=rows, version="9.1.0")
    assert _unexplained(balance) == unexplained
    assert all(tally.versions == {"9.1.0"} for tally in balance.unexplained.values())
    assert set(balance.left_out) <= {row.why for row in rows}
    assert balance.total >= balance.missing + balance.left_out.total()


def test_text_may_come_later_or_have_come_before() -> None:
    """A queued prompt becomes a record when it is delivered."""
    account = Account(())
    account.compare({"content": SENTENCE}, [], dropped="", version="")
    account.compare({"type": "x"}, [replace(_RECORD, text=SENTENCE)], dropped="", version="")
    account.compare({"lastPrompt": f"{SENTENCE[:50]}…"}, [], dropped="", version="")
    assert not account.balance().unexplained


def test_the_short_lines_of_a_file_are_found_in_the_patch_that_made_it() -> None:
    """A reader has them with a sign; a short line is found only as a line, never within one."""
    file = {"content": 'import (\n"fmt"\n)\nfunc main() { run() }\n// nothing else is here'}
    patch = "".join(f"+{line}\n" for line in file["content"].splitlines())
    for made, missing in ((patch, 0), (patch.replace('+"fmt"', '+"fmt" // yes'), len('"fmt"') + 1)):
        account = Account(())
        account.compare({"type": "x"}, [replace(_RECORD, text=made)], dropped="", version="")
        account.compare(file, [], dropped="", version="")
        assert account.balance().missing == missing


def test_of_a_large_source_the_rest_is_said_not_to_be_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is neither explained nor unexplained; what stands in its own object's record is found."""
    monkeypatch.setattr("memory_assets.transcripts.account.MAX_HELD", MAX_HELD >> 20)
    account = Account(())
    for number in range(2_000):
        text = f"{SENTENCE} {number}"
        account.compare({"text": text}, [replace(_RECORD, text=text)], dropped="", version="")
    account.compare({"text": OTHER}, [], dropped="", version="")
    balance = account.balance()
    assert balance.beyond == len(OTHER) and not balance.unexplained


_NEW = {"vision": {"told": OTHER}}
_CLAUDE = {
    "type": "user",
    "uuid": "u1",
    "sessionId": "s",
    "version": "9.0.0",
    "timestamp": "2027-01-01T00:00:00Z",
    "message": {"role": "user", "content": SENTENCE},
}
_CODEX_HEAD = {"type": "session_meta", "payload": {"id": "s", "cwd": "/w", "cli_version": "9.0.0"}}
_PI_HEAD = {"type": "session", "id": "s", "timestamp": "2027-01-01T00:00:00Z", "cwd": "/w"}


@pytest.mark.parametrize(
    ("agent", "lines", "path"),
    [
        ("claude-code", [_CLAUDE, {"type": "dream", **_NEW}], "dream.vision.told"),
        (
            "claude-code",
            [{**_CLAUDE, "message": {"role": "user", "content": [{"type": "dream", **_NEW}]}}],
            "user.message.user.content.dream.vision.told",
        ),
        (
            "codex",
            [_CODEX_HEAD, {"type": "event_msg", "payload": {"type": "dream", **_NEW}}],
            "event_msg.payload.dream.vision.told",
        ),
        ("pi", [_PI_HEAD, {"type": "dream", "id": "a", **_NEW}], "dream.vision.told"),
    ],
    ids=["a record", "a block of a prompt", "an event", "an entry"],
)
def test_what_a_new_version_writes_is_told_with_its_first_reading(
    tmp_path: Path, agent: str, lines: list[dict[str, Any]], path: str
) -> None:
    """A record, or a part of a known one, with text that no reader knows."""
    balance = _read(tmp_path / "rollout-s.jsonl", agent, lines)
    assert _unexplained(balance) == {path: len(OTHER)}
    assert balance.unexplained[path].versions == ({"v1"} if agent == "pi" else {"9.0.0"})


def _read(path: Path, agent: str, lines: list[dict[str, Any]], agent_id: str = "") -> Balance:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    source = Source(agent, "p", "s", agent_id or None, path, path.stat().st_size, 0)
    return read_file(source, RecordIdentity(bytes(32))).balance


@pytest.mark.parametrize("heading", ["# Notes from the whiteboard:", "## Ticket 12", "# Review:"])
def test_what_an_editor_puts_above_a_request_is_left_out(tmp_path: Path, heading: str) -> None:
    """Whatever its heading is; a text without a request below it is nowhere left out."""
    text = f"{heading}\n{SENTENCE}\n\n## My request for Codex:\n{OTHER}"
    item = {"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": text}]}
    for payload in (
        {"type": "user_message", "message": text},
        {"type": "item_completed", "thread_id": "t", "turn_id": "u", "item": item},
    ):
        event = {"type": "event_msg", "payload": payload}
        balance = _read(tmp_path / "rollout-s.jsonl", "codex", [_CODEX_HEAD, event])
        assert not balance.unexplained
        assert balance.left_out.total() > 100


@pytest.mark.parametrize(
    ("agent", "line"),
    [
        ("claude-code", {**_CLAUDE, "message": {"role": "user", "content": [
            {"type": "text", "text": f"<ide_selection>{OTHER}</ide_selection>\n{SENTENCE}"}]}}),
        ("claude-code", {**_CLAUDE, "message": {
            "role": "user", "content": f"<ide_opened_file>{OTHER}</ide_opened_file>{SENTENCE}"}}),
        ("pi", {**_PI_HEAD, "version": 3, "parentSession": f"/home/ola/{OTHER}.jsonl"}),
    ],
    ids=["a selection", "an open file", "the file of a fork"],
)  # fmt: skip
def test_what_programs_put_beside_words_is_left_out(
    tmp_path: Path, agent: str, line: dict[str, Any]
) -> None:
    """In each form of the record."""
    balance = _read(tmp_path / "s.jsonl", agent, [line])
    assert not balance.unexplained and balance.left_out


def test_the_talk_above_a_side_question_is_left_out(tmp_path: Path) -> None:
    """Its reader holds it until the question comes; the answer is kept."""
    asked = "<system-reminder>This is a side question from the user.</system-reminder>\n\nWhy?"
    texts = (("user", SENTENCE), ("user", asked), ("assistant", OTHER))
    lines = [
        {
            **_CLAUDE,
            "type": role,
            "uuid": f"u{number}",
            "isSidechain": True,
            "message": {"role": role, "content": [{"type": "text", "text": text}]},
        }
        for number, (role, text) in enumerate(texts)
    ]
    name = "aside_question-00aa"
    balance = _read(tmp_path / f"agent-{name}.jsonl", "claude-code", lines, name)
    assert not balance.unexplained
    why = "the talk that a side question was asked in"
    assert balance.left_out[why] == len(SENTENCE)


MUSING = "A kestrel hovered over the motorway while nobody in the cars looked up."
JSON = '{"mood":"low"}'
_MAIN = {
    **{"opencode": "part", "kilo": "session", "crush": "messages", "goose": "messages"},
    **{"hermes": "sessions", "zed": "threads"},
}


def _unexplained_of(store: Store) -> dict[str, dict[str, int]]:
    """Return the account of each session of a store."""
    accounts: dict[str, dict[str, int]] = {}
    for source in _sources(store):
        account = Account(reader_of(source).left_out_of(source))
        list(read_session(source.path, source=source, report=ReadReport(account=account)))
        accounts[source.member] = {
            path: tally.bytes for path, tally in account.balance().unexplained.items()
        }
    return accounts


def _sources(store: Store) -> list[Source]:
    return list(discover({store.agent: (store.root,)}, Known()))


def _ask(store: Store, *statements: str) -> None:
    with closing(store.open()) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


@pytest.mark.parametrize("make", DATABASES, ids=lambda make: make.__name__)
def test_a_new_table_and_a_new_column_are_told(tmp_path: Path, make: Callable[..., Store]) -> None:
    """By their names, in bytes, for the session that they are of; and with them the session is read
    again, also when they are gone. Short values are no text."""
    store = make(tmp_path)
    store.say("Why is the stock negative?", "A sale is counted twice.")
    [source] = _sources(store)
    assert _unexplained_of(store) == {source.member: {}}
    main = _MAIN.get(store.agent) or ("blobs" if "chats" in store.place else "cursorDiskKV")
    _ask(
        store,
        f"ALTER TABLE {main} ADD COLUMN musing TEXT",
        f"UPDATE {main} SET musing = '{MUSING}' WHERE rowid = (SELECT min(rowid) FROM {main})",
        "CREATE TABLE journal(number INTEGER PRIMARY KEY, body TEXT, facts JSON, state TEXT)",
        f"INSERT INTO journal VALUES(1, '{MUSING}é', '{JSON}', 'ready'), (2, 'short', '{{}}', '')",
    )
    [grown] = _sources(store)
    told = {
        f"{main}.musing": len(MUSING),
        "journal.body": len(MUSING) + 2,
        "journal.facts": len(JSON),
    }
    assert _unexplained_of(store) == {source.member: told}
    assert grown.size == source.size + sum(told.values())
    _ask(store, f"ALTER TABLE {main} DROP COLUMN musing", "DROP TABLE journal")
    assert (_sources(store)[0].size, _unexplained_of(store)) == (source.size, {source.member: {}})


def test_new_keys_of_cursor_are_told(tmp_path: Path) -> None:
    """By what they begin with, for the conversation that follows; not those that hold what messages
    have, and not short values."""
    store = Cursor(tmp_path)
    store.say("Why is the stock negative?", "A sale is counted twice.")
    [source] = _sources(store)
    with closing(store.open()) as database:
        for key in ("musing:{}:1", "musing:{}:2", "agentKv:blob:9f", "checkpointId:{}:1", "mood"):
            named = key.format(source.member)
            insert(database, "cursorDiskKV", key=named, value=MUSING)
        insert(database, "cursorDiskKV", key=f"lamp:{source.member}", value="short")
        database.commit()
    told = {"cursorDiskKV.musing": 2 * len(MUSING), "cursorDiskKV.mood": len(MUSING)}
    assert _unexplained_of(store) == {source.member: told}


@pytest.mark.parametrize("column", ["session_id", "threadId", "id"])
def test_a_row_is_of_the_session_that_it_names(tmp_path: Path, column: str) -> None:
    """Whatever the column is called; a row of no session that has messages is the newest one's."""
    store = Crush(tmp_path)
    store.say("Why?", "So.")
    store.begin_another()
    other = f"{store.session[:-1]}2"
    rows = ", ".join(f"('{own}', '{MUSING}')" for own in (other, store.session, other, "gone"))
    _ask(store, f"CREATE TABLE notes({column} TEXT, body TEXT)", f"INSERT INTO notes VALUES {rows}")
    newest = max(_sources(store), key=lambda each: (each.mtime_ns, each.member)).member
    told = {own: {"notes.body": len(MUSING) * times} for own, times in ((other, 2),)}
    told[store.session] = {"notes.body": len(MUSING)}
    told[newest]["notes.body"] += len(MUSING)
    assert _unexplained_of(store) == told


@pytest.mark.parametrize(
    ("value", "is_text"),
    [
        (MUSING.encode(), True),
        ("Почему остаток отрицательный? Потому.".encode(), True),
        (b'{"role": "user", "content": "Why is the stock negative?"}', True),
        (b"\x28\xb5\x2f\xfd" + bytes(range(60)), True),
        (b"\x1f\x8b" + compress(MUSING.encode()), True),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(1, 255)), False),
        (sqlite3.Binary(bytes(range(256)) * 4), False),
        (b"short", False),
        (17, False),
        (None, False),
    ],
    ids=["text", "Cyrillic", "JSON", "zstd", "gzip", "PNG", "vector", "short", "number", "nothing"],
)
def test_a_blob_counts_where_it_may_be_text(tmp_path: Path, value: object, is_text: bool) -> None:
    """Agents keep text in blobs, and compressed."""
    store = Zed(tmp_path)
    store.say("Why?", "So.")
    with closing(store.open()) as database:
        database.execute("CREATE TABLE drafts(data)")
        insert(database, "drafts", data=value)
        database.commit()
    size = len(value) if isinstance(value, bytes | memoryview) else 0
    told = {"drafts.data": size} if is_text else {}
    assert _unexplained_of(store) == {store.session: told}


def test_what_a_schema_would_run_is_not_run(tmp_path: Path) -> None:
    """A view without an end, a generated column that fails, a table of a module that is not there;
    names are quoted, and not shown where they may be data."""
    store = Hermes(tmp_path)
    store.say("Why?", "So.")
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    odd = '"a""; DROP TABLE sessions; --"'
    _ask(
        store,
        f"CREATE VIEW endless AS {endless}",
        "CREATE TABLE notes(body TEXT)",
        f"INSERT INTO notes VALUES('{MUSING}')",
        "ALTER TABLE notes ADD COLUMN half AS (abs(-9223372036854775807 - length(body) / 70))",
        f"CREATE TABLE {odd}({odd} TEXT PRIMARY KEY, 'group' TEXT) WITHOUT ROWID",
        f"INSERT INTO {odd} VALUES('x', '{MUSING}')",
        "PRAGMA writable_schema = 1",
        "INSERT INTO sqlite_master VALUES('table', 'v', 'v', 0,"
        " 'CREATE VIRTUAL TABLE v USING nobody_has_this(x)')",
    )
    told = {"*.group": len(MUSING), "notes.body": len(MUSING)}
    assert _unexplained_of(store) == {store.session: told}


def test_a_table_that_cannot_be_read_is_told_and_stops_nothing(tmp_path: Path) -> None:
    """Its page is damaged; the sessions are read all the same."""
    store = Hermes(tmp_path, wal=False)
    store.say("Why?", "So.")
    _ask(store, "CREATE TABLE spoilt(body TEXT)", f"INSERT INTO spoilt VALUES('{MUSING}')")
    with closing(store.open()) as database:
        sql = "SELECT rootpage FROM sqlite_master WHERE name = 'spoilt'"
        ((page,),) = database.execute(sql)
        ((size,),) = database.execute("PRAGMA page_size")
    with store.path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    assert _unexplained_of(store) == {store.session: {"spoilt.(unreadable)": 1}}


def test_of_a_large_table_the_first_rows_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shared by the tables that nobody knows."""
    monkeypatch.setattr(walk, "MOST_ROWS", 20)
    store = Goose(tmp_path)
    store.say("Why?", "So.")
    rows = ", ".join([f"('{MUSING}')"] * 30)
    for name in ("journal", "diary"):
        _ask(store, f"CREATE TABLE {name}(body TEXT)", f"INSERT INTO {name} VALUES {rows}")
    told = {f"{name}.body": 10 * len(MUSING) for name in ("journal", "diary")}
    assert _unexplained_of(store) == {store.session: told}


def test_names_that_cannot_be_asked_for_and_too_many_columns_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is not UTF-8 is no text that stands in each row."""
    store = Goose(tmp_path)
    store.say("Why?", "So.")
    name = "x" * 50
    _ask(
        store,
        f"CREATE TABLE notes({name} TEXT)",
        "INSERT INTO notes VALUES('short')",
        "PRAGMA writable_schema = 1",
        "UPDATE sqlite_master SET sql = CAST(replace(CAST(sql AS BLOB), x'7878', x'78ff') AS TEXT)"
        " WHERE name = 'notes'",
    )
    assert _unexplained_of(store) == {store.session: {"notes.(unreadable)": 1}}
    monkeypatch.setattr(walk, "MOST_COLUMNS", 3)
    _ask(store, "DROP TABLE notes")
    assert _unexplained_of(store) == {store.session: {"(others)": 1}}


def test_what_a_later_reader_knows_is_no_longer_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a change of the database: it is listed again, and so are its sessions read."""
    store = Goose(tmp_path)
    store.say("Why?", "So.")
    _ask(store, "CREATE TABLE notes(body TEXT)", f"INSERT INTO notes VALUES('{MUSING}')")
    walks = []
    for known in ((), (Columns("note*", "*", "what the user scribbled"),)):
        monkeypatch.setattr(GooseReader, "known", (*GooseReader.known, *known))
        reader, seen = GooseReader(), _Seen()
        [source] = reader.discover(store.root, seen)
        walks.append((seen.tokens, source.size, sum(reader.unread(source).values())))
    (before, size, told), (after, later, left) = walks
    assert before != after and (size - later, told, left) == (len(MUSING), len(MUSING), 0)


class _Seen(Known):
    """The tokens of a walk."""

    def __init__(self) -> None:
        self.tokens: list[str] = []

    def see(self, container: Path, token: str) -> None:
        """Note a token."""
        self.tokens.append(token)
