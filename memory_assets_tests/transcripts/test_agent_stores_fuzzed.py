"""Stores with anything in them: nothing is raised but our own errors, which quote no text."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.errors import TranscriptError
from memory_assets.transcripts import ReadReport, Unlisted, discover, read_session
from memory_assets.transcripts.readers.chat_log import replayed
from memory_assets.transcripts.stored import Member, ancestor_of
from memory_assets.transcripts.wal import with_wal
from memory_assets_tests.transcripts.agent_stores import DATABASES, FILES, T0, Store

Make = Callable[..., Store]
SECRET = "hunter2-never-quoted"
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.sampled_from([T0, T0 // 1000, "user", "assistant", "text", "tool", SECRET, ""]),
    st.text(max_size=8),
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)


def damaged(value: Any, at: random.Random, replacements: list[Any]) -> Any:
    """Return a value with some of its parts replaced, removed or repeated."""
    if replacements and at.random() < 0.12:
        return at.choice(replacements)
    if isinstance(value, dict):
        kept = {key: damaged(item, at, replacements) for key, item in value.items()}
        return {key: item for key, item in kept.items() if at.random() > 0.05}
    if isinstance(value, list):
        changed = [damaged(item, at, replacements) for item in value]
        return changed * 2 if at.random() < 0.1 else changed
    return value


def read_all(store: Store) -> None:
    """Find and read what is in a store; check what reports and errors say."""
    unlisted: list[Unlisted] = []
    for source in discover({store.agent: (store.root,)}, note=unlisted.append):
        assert 0 <= source.size < 1 << 63
        assert 0 <= source.mtime_ns < 1 << 63
        report = ReadReport()
        try:
            for record in read_session(source.path, source=source, report=report):
                assert isinstance(record.text, str)
                assert record.record_uuid
                record.text.encode()
        except TranscriptError as error:
            assert SECRET not in str(error)
            continue
        assert report.conserved
        assert report.bad_line_count == 0
    assert not any(SECRET in each.reason + each.remedy for each in unlisted)


@pytest.mark.parametrize("make", DATABASES, ids=lambda make: make.__name__)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 1 << 30), replacements=st.lists(values, min_size=1, max_size=6))
def test_any_value_in_any_column(make: Make, seed: int, replacements: list[Any]) -> None:
    """Values of other types, JSON of another shape, and what is no JSON."""
    at = random.Random(seed)
    with TemporaryDirectory() as folder:
        store = make(Path(folder), wal=False)
        store.say(f"Why? {SECRET}", "Because.")
        store.begin_another()
        with closing(store.open()) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            for (table,) in tables.fetchall():
                if table != "sqlite_sequence":
                    damage_rows(database, table, at, replacements)
            database.commit()
        read_all(store)


def damage_rows(
    database: sqlite3.Connection, table: str, at: random.Random, replacements: list[Any]
) -> None:
    """Replace some values of a table; some constraints refuse some of them. Keys come last: an
    integer one is the number that the row is found by."""
    about = database.execute(f"PRAGMA table_info({table})").fetchall()
    columns = [row[1] for row in sorted(about, key=lambda row: row[5])]
    for (number,) in database.execute(f"SELECT rowid FROM {table}").fetchall():
        for column in columns:
            if at.random() > 0.3:
                continue
            sql = f"SELECT {column} FROM {table} WHERE rowid = ?"
            (value,) = database.execute(sql, (number,)).fetchone()
            if isinstance(value, str | bytes) and value[:1] in ("{", "[", b"{", b"["):
                new = orjson.dumps(damaged(orjson.loads(value), at, plain(replacements))).decode()
            else:
                new = at.choice([*plain(replacements), value, b"\xff\xfe", "{" * 9])
            if isinstance(new, dict | list):
                new = orjson.dumps(new).decode()
            with suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):
                sql = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
                database.execute(sql, (new, number))


def plain(replacements: list[Any]) -> list[Any]:
    """Return the values that JSON can say."""
    kept = []
    for value in replacements:
        with suppress(TypeError):
            orjson.dumps(value)
            kept.append(value)
    return kept or [None]


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 1 << 30), replacements=st.lists(values, min_size=1, max_size=6))
def test_any_value_in_any_file(make: Make, seed: int, replacements: list[Any]) -> None:
    """Documents and logs of another shape, and cut off."""
    at = random.Random(seed)
    with TemporaryDirectory() as folder:
        store = make(Path(folder))
        store.say(f"Why? {SECRET}", "Because.")
        store.say("And?", "So.")
        for path in sorted(store.root.rglob("*.json*")):
            lines = path.read_bytes().split(b"\n")
            changed = [
                orjson.dumps(damaged(orjson.loads(line), at, plain(replacements))) if line else line
                for line in lines
            ]
            whole = b"\n".join(changed)
            path.write_bytes(whole[: at.randrange(len(whole) + 1)] if at.random() < 0.1 else whole)
        for path in sorted(store.root.rglob("*.md")):
            texts = [line for line in path.read_text().split("\n") for _ in range(at.randrange(3))]
            texts += [str(each) for each in replacements]
            if at.random() < 0.5:
                at.shuffle(texts)
            path.write_bytes("\n".join(texts).encode("utf-8", "surrogatepass"))
        read_all(store)


@pytest.mark.parametrize("make", (*DATABASES, *FILES), ids=lambda make: make.__name__)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1 << 30), content=st.binary(max_size=300))
def test_any_bytes_in_place_of_a_store(make: Make, seed: int, content: bytes) -> None:
    """Some bytes replaced, or all."""
    at = random.Random(seed)
    with TemporaryDirectory() as folder:
        store = make(Path(folder), wal=False)
        store.say(f"Why? {SECRET}", "Because.")
        whole = bytearray(store.path.read_bytes())
        start = at.randrange(len(whole))
        whole[start : start + len(content)] = content
        store.path.write_bytes(content if at.random() < 0.2 else bytes(whole))
        read_all(store)


@settings(max_examples=200, deadline=None)
@given(database=st.binary(max_size=2000), log=st.binary(max_size=2000))
def test_any_log_of_any_database(database: bytes, log: bytes) -> None:
    """What has no right header and checksums changes nothing but the header."""
    assert len(with_wal(database, log)) == len(database)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"kind": st.integers(-1, 4)}, optional={"k": values, "v": values, "i": leaves}
        ),
        max_size=6,
    )
)
def test_any_operations(operations: list[dict[str, Any]]) -> None:
    """They are replayed as far as they make sense, and the others are counted."""
    lines = [orjson.dumps(each) for each in operations if plain([each]) == [each]]
    _, _, bad = replayed(lines)
    assert all(1 <= number <= len(lines) for number in bad)


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("abcdefg"), max_size=6))
def test_any_parents(parents: dict[str, str]) -> None:
    """Every session has one above all, whatever its parents are."""
    members = {own: Member(own, "", 0, 0, parent) for own, parent in parents.items()}
    for member in members.values():
        top = ancestor_of(member, members)
        assert top.id in members or top.id in parents.values()
