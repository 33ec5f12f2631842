"""Stores with anything in them: nothing is raised but our own errors, which quote no text."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.errors import TranscriptError
from memory_assets.transcripts import ReadReport, Unlisted, discover, read_session
from memory_assets.transcripts.readers.gemini import replayed as gemini_replayed
from memory_assets.transcripts.times import parse_time
from memory_assets_tests.proportion import in_proportion
from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcripts.agent_databases import T0, CursorChat, Store
from memory_assets_tests.transcripts.agent_files import DATABASES, FILES, Aider, SpecStory
from memory_assets_tests.transcripts.other_agents import LINES
from memory_assets_tests.transcripts.other_agents import put as put_lines

Make = Callable[..., Store]
Place = tuple[str, str, int]
"""Table, column, number of the row."""
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
        assert report.records == report.kept + report.dropped.total()
        assert report.bad_line_count == 0
    assert not any(SECRET in each.reason + each.remedy for each in unlisted)


@pytest.mark.parametrize("make", DATABASES, ids=lambda make: make.__name__)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 1 << 30), replacements=st.lists(values, min_size=1, max_size=6))
def test_any_value_in_any_column(make: Make, seed: int, replacements: list[Any]) -> None:
    """Values of other types, JSON of another shape, and what is no JSON."""
    at = random.Random(seed)
    with TemporaryDirectory() as folder:
        store = make(Path(folder), wal=False)
        store.say(f"Why? {SECRET}", "Because.")
        store.begin_another()
        with closing(store.open()) as database:
            damage_rows(database, at, plain(replacements))
            database.commit()
        read_all(store)


def damage_rows(database: sqlite3.Connection, at: random.Random, replacements: list[Any]) -> None:
    """Replace some values; some constraints refuse some of them."""
    for place, value in values_of(database):
        if at.random() > 0.3:
            continue
        if isinstance(value, str | bytes) and value[:1] in ("{", "[", b"{", b"["):
            new = orjson.dumps(damaged(orjson.loads(value), at, replacements)).decode()
        else:
            new = at.choice([*replacements, value, b"\xff\xfe", "{" * 9])
        if isinstance(new, dict | list):
            new = orjson.dumps(new).decode()
        with suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):
            put_value(database, place, new)


def values_of(database: sqlite3.Connection) -> list[tuple[Place, Any]]:
    """Return all values with their places, those of keys last: an integer one is the number that
    the row is found by."""
    found = []
    tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (table,) in tables:
        about = database.execute(f"PRAGMA table_info({table})").fetchall()
        for column in [row[1] for row in sorted(about, key=lambda row: row[5])]:
            rows = database.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
            found += [((table, column, number), value) for number, value in rows]
    return found


def put_value(database: sqlite3.Connection, place: Place, value: Any) -> None:
    """Put another value into a place."""
    table, column, number = place
    database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, number))


def plain(replacements: list[Any]) -> list[Any]:
    """Return the values that JSON can say."""
    kept = []
    for value in replacements:
        with suppress(TypeError):
            orjson.dumps(value)
            kept.append(value)
    return kept or [None]


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
@settings(max_examples=6, deadline=None)
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
@settings(max_examples=4, deadline=None)
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


_MARK = "@nested@"


def marked(value: Any, left: list[int]) -> Any:
    """Return a value in which the container that `left` counts down to is the mark, with its
    key."""
    if isinstance(value, dict):
        return {
            key: f"{_MARK}{key}" if _counted(item, left) else marked(item, left)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [marked(item, left) for item in value]
    return value


def _counted(item: Any, left: list[int]) -> bool:
    left[0] -= isinstance(item, dict | list | str)
    return left[0] == 0


def nested(document: bytes, place: int, depth: int = 1000) -> bytes | None:
    """Return a document whose value at a place holds itself, `depth` levels deep, under the key
    that it has; None if there are fewer places."""
    left = [place]
    made = orjson.dumps(marked(orjson.loads(document), left))
    if left[0] > 0:
        return None
    key = made.partition(_MARK.encode())[2].partition(b'"')[0]
    within = b'{"' + key + b'":'
    return made.replace(b'"' + _MARK.encode() + key + b'"', within * depth + b'"x"' + b"}" * depth)


def json_values(store: Store) -> Iterator[tuple[bytes, Callable[[bytes], None]]]:
    """Yield every document of JSON in a store, with what puts another one in its place."""
    if store.path.suffix in (".db", ".vscdb"):
        with closing(store.open()) as database:
            for place, value in values_of(database):
                text = value if isinstance(value, bytes) else str(value).encode()
                if text[:1] in (b"{", b"["):
                    yield text, partial(_put, database, place)
        return
    for path in sorted(store.root.rglob("*.json*")):
        lines = path.read_bytes().splitlines(keepends=True)
        for at, line in enumerate(lines):
            yield line, partial(_put_line, path, lines, at)


def _put(database: sqlite3.Connection, place: Place, value: bytes) -> None:
    put_value(database, place, value.decode())
    database.commit()


def _put_line(path: Path, lines: list[bytes], at: int, line: bytes) -> None:
    path.write_bytes(b"".join([*lines[:at], line, b"\n", *lines[at + 1 :]]))


@pytest.mark.parametrize("make", (*DATABASES, *FILES), ids=lambda make: make.__name__)
def test_values_nested_in_themselves(tmp_path: Path, make: Make) -> None:
    """Every value of every document, held by itself 1,000 times: nothing recurses so far."""
    store = make(tmp_path, wal=False)
    store.say("Why?", "Because.")
    for document, put in json_values(store):
        for place in range(1, 60):
            changed = nested(document, place)
            if changed is None:
                break
            put(changed)
            read_all(store)
        put(document)


UNITS: dict[str, Callable[[float], Any]] = {
    "seconds": lambda seconds: int(seconds),
    "fractions": lambda seconds: seconds + 0.25,
    "milliseconds": lambda seconds: int(seconds * 1000),
    "microseconds": lambda seconds: int(seconds * 1e6),
    "text of a number": lambda seconds: str(int(seconds * 1000)),
    "ISO": lambda seconds: f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}",
    "no zone": lambda seconds: f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}",
    "missing": lambda seconds: None,
    "of another age": lambda seconds: -62_135_596_800_000,
}


def retimed(value: Any, unit: Callable[[float], Any]) -> Any:
    """Return a value with every time in it, of whatever unit, in this one."""
    if isinstance(value, dict):
        return {key: retimed(item, unit) for key, item in value.items()}
    if isinstance(value, list):
        return [retimed(item, unit) for item in value]
    at = parse_time(value) if not isinstance(value, str) or value[:2] == "20" else None
    return value if at is None or at.year != 2026 else unit(at.timestamp())


@pytest.mark.parametrize("unit", UNITS)
def test_times_of_any_unit(tmp_path: Path, unit: str) -> None:
    """They are what they were, or none; nothing is of 1970 or of the year 58000."""
    for make in (*DATABASES, *FILES):
        store = make(tmp_path / make.__name__, wal=False)
        store.say("Why?", "Because.")
        for document, put in json_values(store):
            put(orjson.dumps(retimed(orjson.loads(document), UNITS[unit])))
        if store.path.suffix == ".db":
            with closing(store.open()) as database:
                for place, value in values_of(database):
                    with suppress(sqlite3.Error):
                        put_value(database, place, retimed(value, UNITS[unit]))
                database.commit()
        told = check_times(store)
        assert ("prompt", "Why?") in told, (make.__name__, unit)
    for agent in LINES:
        path = put_lines(tmp_path / agent, agent, retimed(LINES[agent](), UNITS[unit]))
        check_times(SimpleNamespace(agent=agent, root=tmp_path / agent, path=path))


def check_times(store: Any) -> list[tuple[str, str]]:
    """Return what is said in a store; check the times of it."""
    told: list[tuple[str, str]] = []
    for source in discover({store.agent: (store.root,)}):
        assert 0 <= source.mtime_ns < 1 << 63
        for record in read_session(source.path, source=source):
            told.append((record.kind, record.text))
            assert record.timestamp is None or record.timestamp.year in (2026, 2027)
    return told


@pytest.mark.parametrize("make", (*DATABASES, *FILES), ids=lambda make: make.__name__)
def test_a_pipe_in_place_of_any_file(tmp_path: Path, make: Make) -> None:
    """Nothing waits for what nobody writes."""
    store = make(tmp_path, wal=False)
    store.say("Why?", "Because.")
    for path in [each for each in store.root.rglob("*") if each.is_file()]:
        whole = path.read_bytes()
        path.unlink()
        os.mkfifo(path)
        signal.alarm(20)
        try:
            read_all(store)
        finally:
            signal.alarm(0)
        path.unlink()
        path.write_bytes(whole)


REPEATED = (
    *("<think>\n", "<tool-use \n", "Tool use: **", "```\n", "</tool-use>", "_**User (x)**_\n"),
    *("<user_query>", "</user_query>", "Tokens: 1 sent, cache cache ", "# aider chat started at "),
    *("Workspace Path: a        ", "#### \n> \n", "<user_info>", "[Tool call] x\n", "user:\n"),
)


@pytest.mark.parametrize("make", (Aider, SpecStory, CursorChat), ids=lambda make: make.__name__)
@sweep("piece", REPEATED)
def test_texts_of_repeated_marks_take_time_in_proportion(
    piece: str, tmp_path: Path, make: Make
) -> None:
    """What opens a frame that nothing closes is not looked for again and again."""

    def read(times: int) -> None:
        store = make(tmp_path / f"{REPEATED.index(piece)}-{times}", wal=False)
        store.say(f"Why?\n{piece * times}", f"Because.\n{piece * times}")
        read_all(store)

    assert in_proportion(read, 1_000)


def test_a_log_that_is_taken_back_again_and_again_takes_time_in_proportion() -> None:
    """Gemini's log, with a rewind after every second message."""

    def replayed(messages: int) -> None:
        lines: list[dict[str, Any]] = []
        for number in range(messages):
            own = {"id": f"m{number}", "timestamp": "2026-06-01T08:00:00Z", "type": "user"}
            lines += [own | {"content": "x"}, {"$rewindTo": f"m{number}"}][: 1 + number % 2]
        replay = gemini_replayed((place, place + 1, line) for place, line in enumerate(lines))
        assert (len(replay.counts), len(replay.gone)) == (messages, messages // 2)

    assert in_proportion(replayed, 10_000)
