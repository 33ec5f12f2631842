"""The lake returns what was written, takes redacted text only, and never half a file."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_assets.errors import StoreError
from memory_assets.models import ErrorMet
from memory_assets.redacted_text import RedactedText, seal
from memory_assets.stores.lake.lake import Lake, LakeBatch, redacted_columns
from memory_assets.stores.lake.rows import arrow_rows
from memory_assets.stores.lake.schemas import (
    TABLES,
    TURN_CHUNKS,
    TURN_EMBEDDINGS,
    USER_PROMPTS,
    Table,
)
from memory_assets_tests.stores.conftest import Rows
from memory_assets_tests.sweep import sweep

TEXT_TABLES = [table for table in TABLES.values() if "vector" not in table.schema.names]
HOSTILE_NAMES = ["../../evil", "..", ".", ".hidden", "a/b", "/etc/passwd", "%2e%2e%2fevil", "ü ::0"]
PLAIN = "plain words"
UNHURRIED = settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """An empty lake."""
    return Lake(tmp_path / "lake")


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def _ids(table: Table) -> str:
    return table.name


def _text_columns() -> list[tuple[Table, str]]:
    return [(table, name) for table in TEXT_TABLES for name in redacted_columns(table.model)]


@pytest.mark.parametrize("table", TEXT_TABLES, ids=_ids)
@given(data=st.data())
@UNHURRIED
def test_rows_come_back_as_they_were_written(
    lake: Lake, rows: Rows, table: Table, data: st.DataObject
) -> None:
    """Every value of every column survives, whatever the row; free text can be written again: it is
    `RedactedText`."""
    written = data.draw(st.lists(rows.strategy(table), min_size=1, max_size=4))
    lake.write(table, "p", "s", written, extra=rows.extra(table, written))
    read = lake.read_rows(table, "p", "s")
    assert read == written
    for name, texts_of in redacted_columns(table.model).items():
        assert all(type(text) is RedactedText for text in texts_of([getattr(read[0], name)]))


def test_vectors_come_back_bit_by_bit(lake: Lake, rows: Rows) -> None:
    """float32 in, the same float32 out, in file order beside their ids."""
    vectors = np.random.default_rng(7).normal(size=(5, 384)).astype(np.float32)
    lake.write(
        TURN_EMBEDDINGS,
        "p",
        "s",
        [rows.row(TURN_EMBEDDINGS, id=f"i{n}", vector=vector) for n, vector in enumerate(vectors)],
    )
    read = lake.read_vectors(TURN_EMBEDDINGS, "p", "s")
    assert read.ids == ["i0", "i1", "i2", "i3", "i4"]
    assert read.vectors.dtype == np.float32
    assert np.array_equal(read.vectors, vectors)


@pytest.mark.parametrize("table", TEXT_TABLES, ids=_ids)
def test_the_columns_of_a_table_are_the_fields_of_its_model(table: Table) -> None:
    """Nothing of a model is dropped, and only written columns are added."""
    fields = {field.name for field in dataclasses.fields(table.model)}
    assert set(table.schema.names) - fields == set(table.written_columns)
    assert fields <= set(table.schema.names)
    assert all(field.metadata and field.metadata[b"description"] for field in table.schema)


@sweep("table, column", _text_columns())
def test_a_plain_string_is_refused_and_nothing_is_written(
    lake: Lake, rows: Rows, table: Table, column: str
) -> None:
    """In every column of free text; the error does not quote the string."""
    good = rows.row(table)
    value: Any = PLAIN
    if isinstance(getattr(good, column), tuple):
        value = (seal("fine"), PLAIN)
    if column == "errors":
        value = (ErrorMet("t", PLAIN, "resolved"),)  # type: ignore[arg-type]
    mixed = [good, dataclasses.replace(good, **{column: value})]
    with pytest.raises(TypeError) as refused:
        lake.write(table, "p", "s", mixed, extra=rows.extra(table, mixed))
    assert PLAIN not in str(refused.value)
    assert _files(lake.root) == []


def test_nothing_is_refused_where_something_must_be(lake: Lake, rows: Rows) -> None:
    """A null in a column whose schema has none never gets into a file."""
    row = dataclasses.replace(rows.row(USER_PROMPTS), agent=None)
    with pytest.raises(StoreError):
        lake.write(USER_PROMPTS, "p", "s", [row])
    assert _files(lake.root) == []


def test_a_plain_string_far_down_leaves_the_old_file(lake: Lake, rows: Rows) -> None:
    """Rows of earlier batches do not reach the file when a later one is refused."""
    lake.write(USER_PROMPTS, "p", "s", [rows.row(USER_PROMPTS, "old")])
    good = rows.row(USER_PROMPTS, "new")
    bad = dataclasses.replace(good, text=PLAIN)
    with pytest.raises(TypeError):
        lake.write(USER_PROMPTS, "p", "s", [good] * 2_100 + [bad])
    assert lake.read_rows(USER_PROMPTS, "p", "s") == [rows.row(USER_PROMPTS, "old")]


@given(first=st.text(min_size=1, max_size=12), second=st.text(min_size=1, max_size=12))
@UNHURRIED
def test_two_projects_never_share_a_directory(first: str, second: str) -> None:
    """Encoding loses nothing."""
    lake = Lake(Path("lake"))
    try:
        paths = {lake.partition_dir(USER_PROMPTS, name) for name in (first, second)}
    except UnicodeEncodeError:
        return  # a lone surrogate is the name of no directory
    assert len(paths) == len({first, second})


ODD_NAMES = {
    "4,000 characters": "x/" * 2_000,
    "250 of four bytes": "\U0001f41f" * 250,
    "15 slashes": "/".join(["java"] * 14 + ["x" * 140, "HarborMasterServiceImpl.java"]),
    "dots and blanks": "y" * 4_000 + ". . ",
    "a few dots and blanks": ". y . .",
    "a dot at the end": "y.",
    "a device of Windows": "CON",
    "a device with a suffix": "com1.tar.gz",
    "decomposed": "re\u0301sume\u0301",
}


@pytest.mark.parametrize("name", [*ODD_NAMES.values(), *HOSTILE_NAMES], ids=repr)
def test_any_name_is_that_of_a_project_and_of_sessions(
    lake: Lake, rows: Rows, tmp_path: Path, name: str
) -> None:
    """Written alone and with others, in its table and nowhere else, listed, twins apart, and
    removed."""
    before = set(_files(tmp_path))
    twin = f"{name}z"
    made = [rows.row(USER_PROMPTS, str(number)) for number in range(3)]
    for session in (name, twin):
        lake.write(USER_PROMPTS, name, session, made)
    batch = LakeBatch(lake, twin, USER_PROMPTS)
    batch.put(USER_PROMPTS, name, arrow_rows(USER_PROMPTS, made))
    batch.publish()
    fresh = Lake(lake.root)
    assert fresh.projects(USER_PROMPTS) == sorted([name, twin])
    assert fresh.sessions(USER_PROMPTS, name) == sorted([name, twin])
    assert fresh.sessions(USER_PROMPTS, twin) == [name]
    assert fresh.read_rows(USER_PROMPTS, name, twin) == made
    stems = [path.name.partition(".")[0].upper() for path in _files(lake.root)]
    assert not {"CON", "COM1"} & set(stems)
    assert not [path for path in _files(lake.root) if path.parent.name[-1] in ". "]
    written = set(_files(tmp_path)) - before
    assert {path.resolve().parent.parent for path in written} == {
        (lake.root / "user_prompts").resolve()
    }
    assert lake.lock_path(name).resolve().parent == (lake.root / "locks").resolve()
    lake.write(USER_PROMPTS, name, name, made[:2])
    assert fresh.read_rows(USER_PROMPTS, name, name) == made[:2]
    lake.lock_path(name).parent.mkdir()
    lake.lock_path(name).touch()
    assert lake.remove_sessions(name, [name]) == 1
    assert fresh.sessions(USER_PROMPTS, name) == [twin]
    for project in (name, twin):
        lake.remove_sessions(project, [name, twin])
        lake.remove_project(project)
    assert _files(lake.root) == [] and fresh.projects(USER_PROMPTS) == []


def test_a_lake_that_cannot_be_written_is_a_store_error(lake: Lake, rows: Rows) -> None:
    """A file stands where the table's directory should be: the error says what to do."""
    lake.root.mkdir()
    (lake.root / "user_prompts").touch()
    with pytest.raises(StoreError, match="correct the permissions"):
        lake.write(USER_PROMPTS, "p", "s", [rows.row(USER_PROMPTS)])


def test_the_hash_covers_the_content_and_not_when_it_was_written(lake: Lake, rows: Rows) -> None:
    """Equal content gives an equal hash at any time; any changed value another."""
    chunks = [rows.row(TURN_CHUNKS, str(n)) for n in range(3)]

    def written(given: list[Any], at: datetime, footer: dict[str, str] | None = None) -> str:
        extra: dict[str, list[object]] = {"ingested_at": [at] * len(given)}
        facts = lake.write(TURN_CHUNKS, "p", "s", given, extra=extra, footer=footer)
        return facts.output_hash

    now = datetime(2026, 1, 1, tzinfo=UTC)
    first = written(chunks, now)
    assert written(chunks, now + timedelta(days=1), {"input_hash": "other"}) == first
    changed = dataclasses.replace(chunks[2], files=(seal("other.py"),))
    assert written([*chunks[:2], changed], now) != first
    assert written(chunks[:2], now) != first
    assert written(chunks[::-1], now) != first


def test_long_sessions_are_written_in_batches(lake: Lake, rows: Rows) -> None:
    """5,000 rows from a generator: 3 row groups, order kept, written columns in step."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    moments: list[object] = [start + timedelta(seconds=n) for n in range(5_000)]
    template = rows.row(TURN_CHUNKS)
    many = (dataclasses.replace(template, id=str(number)) for number in range(5_000))
    facts = lake.write(TURN_CHUNKS, "p", "s", many, extra={"ingested_at": moments})
    assert facts.rows == 5_000
    (path,) = _files(lake.root)
    assert pq.read_metadata(path).num_row_groups == 3
    read = lake.read(TURN_CHUNKS, "p", "s", ["id", "ingested_at"]).to_pydict()
    assert read["id"] == [str(number) for number in range(5_000)]
    assert read["ingested_at"] == moments


@pytest.mark.parametrize("table", TEXT_TABLES, ids=_ids)
def test_the_scan_for_secrets_sees_every_free_text(lake: Lake, rows: Rows, table: Table) -> None:
    """Plain columns, lists, the texts inside structs, and names that come from a transcript; each
    distinct value once."""
    written = [rows.row(table, "one"), rows.row(table, "one"), rows.row(table, "two")]
    lake.write(table, "p", "s", written, extra=rows.extra(table, written))
    wanted = {
        text
        for name, texts_of in redacted_columns(table.model).items()
        for row in written
        for text in texts_of([getattr(row, name)])
    }
    names = {"subtype", "model", "agent_version"} & set(table.schema.names)
    wanted |= {getattr(row, name) for name in names for row in written}
    found = list(lake.read_redacted_values(table, "p", "s"))
    assert sorted(map(str, found)) == sorted(map(str, wanted))


@pytest.mark.parametrize("table", TABLES.values(), ids=_ids)
def test_an_empty_project_reads_as_no_rows(lake: Lake, table: Table) -> None:
    """With all columns of the table, or just those asked for."""
    assert lake.read_partition(table, "nobody").schema.names == table.schema.names
    chosen = lake.read_partition(table, "nobody", [table.key])
    assert (len(chosen), chosen.schema.names) == (0, [table.key])
    assert lake.sessions(table, "nobody") == lake.projects(table) == []
