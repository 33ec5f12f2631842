"""Tables and columns of agents' databases that no reader knows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from zlib import compress

import pytest

from memory_assets.transcripts import (
    Account,
    Known,
    ReadReport,
    Source,
    discover,
    read_session,
    reader_of,
)
from memory_assets.transcripts import unread as walk
from memory_assets.transcripts.readers.goose import GooseReader
from memory_assets.transcripts.unread import Columns
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

MUSING = "A kestrel hovered over the motorway while nobody in the cars looked up."
JSON = '{"mood":"low"}'
_MAIN = {
    **{"opencode": "part", "kilo": "session", "crush": "messages", "goose": "messages"},
    **{"hermes": "sessions", "zed": "threads"},
}


def _unexplained(store: Store) -> dict[str, dict[str, int]]:
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
    assert _unexplained(store) == {source.member: {}}
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
    assert _unexplained(store) == {source.member: told}
    assert grown.size == source.size + sum(told.values())
    _ask(store, f"ALTER TABLE {main} DROP COLUMN musing", "DROP TABLE journal")
    assert (_sources(store)[0].size, _unexplained(store)) == (source.size, {source.member: {}})


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
    assert _unexplained(store) == {source.member: told}


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
    assert _unexplained(store) == told


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
    assert _unexplained(store) == {store.session: told}


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
    assert _unexplained(store) == {store.session: told}


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
    assert _unexplained(store) == {store.session: {"spoilt.(unreadable)": 1}}


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
    assert _unexplained(store) == {store.session: told}


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
    assert _unexplained(store) == {store.session: {"notes.(unreadable)": 1}}
    monkeypatch.setattr(walk, "MOST_COLUMNS", 3)
    _ask(store, "DROP TABLE notes")
    assert _unexplained(store) == {store.session: {"(others)": 1}}


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
