"""What is expected of each table, evaluated by Arrow (in `memory verify` and in each run) and by
Great Expectations (once a night): both accept the sample and refuse the same broken tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from memory_assets.dagster import expectations as by_great_expectations
from memory_assets.pipeline.checks import expectations as by_arrow
from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.checks.expectations import facts
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.pipeline.stages import EXPECTATIONS
from memory_assets.stores.lake.schemas import (
    RETRIEVED_DOCUMENTS,
    TABLES,
    TURN_CHUNKS,
    Expectations,
    Table,
)
from memory_assets.stores.runs.names import PARTITIONS
from memory_assets_tests.own_files import altered
from memory_assets_tests.pipeline.conftest import SampleMemory

ROWS = 20
_OF_EACH_KIND = ("redacted_records", "turn_chunks", "turn_embeddings")
"""Tables for which something of each kind is expected."""


def _frame(memory: SampleMemory, table: Table) -> pa.Table:
    lake = memory.components.lake
    if table is RETRIEVED_DOCUMENTS:  # of which the sample has none
        names = dict.fromkeys(table.schema.names, "x")
        row = {**names, "agent": "pi", "turn_index": 0, "rank": 0, "timestamp": None}
        made = [{**row, "id": f"retrieval::x::{number}"} for number in range(ROWS)]
        return facts(table, pa.Table.from_pylist(made, schema=table.schema))
    parts = [facts(table, lake.read_partition(table, name)) for name in lake.projects(table)]
    return pa.concat_tables(parts).slice(0, ROWS)


def _with_first(frame: pa.Table, values: dict[str, Any]) -> pa.Table:
    for name, value in values.items():
        kind = pa.string() if isinstance(value, str) else pa.float64()
        column = pa.array([value, *frame[name].cast(kind).to_pylist()[1:]], type=kind)
        frame = frame.set_column(frame.column_names.index(name), name, column)
    return frame


def _broken(frame: pa.Table, expected: Expectations) -> Iterator[tuple[str, int, pa.Table]]:
    """Frames that break one expectation each, with its column and the number of rows."""
    yield "table", 0, frame.select([*frame.column_names[1:], frame.column_names[0]])
    key = expected.unique[0] if len(expected.unique) == 1 else "table"
    yield key, 2, pa.concat_tables([frame, frame.slice(0, 1)])
    for name, bounds in expected.bounds.items():
        for bound, beyond in zip(bounds, (-0.5, 0.5), strict=True):
            if bound is not None:
                yield name, 1, _with_first(frame, {name: bound + beyond})
    for name in expected.one_of:
        yield name, 1, _with_first(frame, {name: "nobody"})
    for earlier, later in expected.ordered:
        yield later, 1, _with_first(frame, {earlier: 7.0, later: 6.0})


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=() if each in _OF_EACH_KIND else pytest.mark.long)
        for each in EXPECTATIONS
        if STEPS[each].partitions == PARTITIONS
    ],
)
def test_both_engines_agree(finished: SampleMemory, name: str) -> None:
    """On the sample's rows, and on each way of breaking what is declared: the name of the
    expectation and the number of rows that break it."""
    table, expected = TABLES[name], EXPECTATIONS[name]
    frame = _frame(finished, table)
    assert len(frame) > 0
    assert (
        by_arrow.unmet(frame, table, expected)
        == by_great_expectations.unmet(frame, table, expected)
        == {}
    )
    for column, count, broken in _broken(frame, expected):
        failed = by_arrow.unmet(broken, table, expected)
        assert by_great_expectations.unmet(broken, table, expected) == failed
        assert [(said.split(":")[0], number) for said, number in failed.items()] == [
            (column, count)
        ]


def test_verify_refuses_rows_out_of_bounds(memory: SampleMemory) -> None:
    """`memory verify` counts the rows that break an expectation, without Great Expectations."""
    expected = EXPECTATIONS[TURN_CHUNKS.name]
    lake, components = memory.components.lake, memory.components
    session = lake.sessions(TURN_CHUNKS, memory.harbor)[0]
    assert by_arrow.matches_schema(components, memory.harbor, TURN_CHUNKS, expected).passed
    rows = _spoil(memory, session)
    verdict = by_arrow.matches_schema(components, memory.harbor, TURN_CHUNKS, expected)
    assert not verdict.passed
    assert verdict.counts["turn_index: column_values_to_be_between"] == rows


def test_a_column_of_another_type_is_refused(memory: SampleMemory) -> None:
    """Also where its values are as expected; the sessions are counted until they are made again."""
    components, expected = memory.components, EXPECTATIONS[TURN_CHUNKS.name]
    session = components.lake.sessions(TURN_CHUNKS, memory.harbor)[0]
    rows = components.lake.read(TURN_CHUNKS, memory.harbor, session)
    place = rows.schema.get_field_index("turn_index")
    column: Any = rows["turn_index"]
    wider = rows.set_column(place, "turn_index", column.cast(pa.int64()))
    altered(components.lake, TURN_CHUNKS, memory.harbor, session, wider)
    for _ in range(2):
        verdict = by_arrow.matches_schema(components, memory.harbor, TURN_CHUNKS, expected)
        assert (verdict.passed, verdict.counts["sessions_with_other_columns"]) == (False, 1)


def test_verify_compares_ids_across_sessions(memory: SampleMemory) -> None:
    """Two files with the rows of one session: each row's id is in both."""
    components = memory.components
    one, other = components.lake.sessions(TURN_CHUNKS, memory.harbor)[:2]
    rows = components.lake.read(TURN_CHUNKS, memory.harbor, one)
    altered(components.lake, TURN_CHUNKS, memory.harbor, other, rows)
    (found,) = (
        made.verdict
        for made in verify_project(components, memory.harbor)
        if (made.subject, made.name) == (TURN_CHUNKS.name, "matches_schema")
    )
    assert found.counts["id: column_values_to_be_unique"] == 2 * len(rows)


def _spoil(memory: SampleMemory, session: str) -> int:
    """Give each chunk of a session a turn below 0; return how many there are."""
    lake = memory.components.lake
    rows = lake.read(TURN_CHUNKS, memory.harbor, session)
    wrong = pa.array([-1] * len(rows), type=pa.int32())
    place = rows.schema.get_field_index("turn_index")
    spoilt = rows.set_column(place, rows.schema.field(place), wrong)
    altered(lake, TURN_CHUNKS, memory.harbor, session, spoilt)
    return len(rows)


def test_great_expectations_validates_what_changed_since_it_last_did(memory: SampleMemory) -> None:
    """All rows of all tables, then none, then those of the file that changed, which it names
    by project, table and expectation until they are as they should be."""
    components = memory.components
    first = by_great_expectations.great_expectations_agree(components)
    assert first.passed
    assert first.counts["rows_validated"] == sum(len(memory.rows(name)) for name in EXPECTATIONS)
    again = by_great_expectations.great_expectations_agree(components)
    assert (again.passed, again.counts["rows_validated"]) == (True, 0)
    rows = _spoil(memory, components.lake.sessions(TURN_CHUNKS, memory.harbor)[0])
    for _ in range(2):
        found = by_great_expectations.great_expectations_agree(components)
        assert not found.passed
        assert found.counts == {
            "rows_validated": rows,
            "sessions_validated": 1,
            f"{memory.harbor} turn_chunks turn_index: column_values_to_be_between": rows,
        }
