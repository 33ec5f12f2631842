"""Each verdict holds for a sound memory and fails for one that is broken in its way; what is
expected of each table is evaluated alike by Arrow and by Great Expectations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memory_assets.dagster import expectations as by_great_expectations
from memory_assets.pipeline.checks import expectations as by_arrow
from memory_assets.pipeline.checks import verify
from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.checks.expectations import facts
from memory_assets.pipeline.checks.pending import Verdict
from memory_assets.pipeline.indexes.indexed_tables import INDEX_OF, SESSION_INDEXES, SESSIONS_INDEX
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.pipeline.stages import EXPECTATIONS
from memory_assets.redacted_text import seal
from memory_assets.stores.catalog.schema import Quarantined
from memory_assets.stores.lake.schemas import (
    REDACTED_RECORDS,
    RETRIEVED_DOCUMENTS,
    SESSION_SUMMARIES,
    TABLES,
    TURN_CHUNKS,
    TURN_EMBEDDINGS,
    USER_PROMPTS,
    Expectations,
    Table,
)
from memory_assets.stores.runs.names import PARTITIONS
from memory_assets_tests.own_files import altered, own_file
from memory_assets_tests.pipeline.conftest import Renamed, SampleMemory
from memory_assets_tests.sweep import sweep

Edit = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
TEXT_TABLES = (REDACTED_RECORDS, TURN_CHUNKS, USER_PROMPTS, SESSION_SUMMARIES)


def _path(memory: SampleMemory, table: Table, session_id: str) -> Path:
    path: Path = own_file(memory.components.lake, table, memory.harbor, session_id)
    return path


@contextmanager
def _rewritten(memory: SampleMemory, table: Table, edit: Edit) -> Iterator[None]:
    """The rows of a session, changed in the lake behind its back for the length of the block."""
    lake, key = memory.components.lake, (table, memory.harbor, memory.flaky)
    rows = lake.read(*key)
    altered(lake, *key, pa.Table.from_pylist(edit(rows.to_pylist()), schema=table.schema))
    yield
    altered(lake, *key, rows)


def _verdicts(memory: SampleMemory, project: str) -> dict[str, Verdict]:
    components = memory.components
    return {
        **{
            f"no_secrets_remain {table.name}": verify.no_secrets_remain(components, project, table)
            for table in TEXT_TABLES
        },
        "rows_conserved": verify.rows_conserved(components, project),
        "nothing_quarantined": verify.nothing_quarantined(components, project),
        "prompts_in_one_chunk": verify.prompts_in_one_chunk(components, project),
        "vectors_complete": verify.vectors_complete(components, project),
        **{
            f"collection_matches {of.stage}": verify.collection_matches(components, project, of)
            for of in SESSION_INDEXES
        },
        **{
            f"embedder_consistent {of.stage}": verify.embedder_consistent(components, project, of)
            for of in SESSION_INDEXES
        },
    }


def test_a_sound_memory_passes_every_verdict(memory: SampleMemory, expected: Any) -> None:
    """In each project, with counts that agree with the sample, and a remedy at hand; so does one
    that has nothing."""
    for project, about in expected["projects"].items():
        verdicts = _verdicts(memory, project)
        assert [name for name, verdict in verdicts.items() if not verdict.passed] == []
        assert all(verdict.remedy for verdict in verdicts.values())
        assert verdicts["prompts_in_one_chunk"].counts["prompts"] == about["human_prompts"]
        rows = len(memory.rows("redacted_records", project))
        assert verdicts["rows_conserved"].counts["rows"] == rows
        chunks = len(memory.rows("turn_chunks", project))
        assert verdicts["vectors_complete"].counts["vectors"] == chunks
        assert verdicts["collection_matches session_collection"].counts["rows"] == chunks
    assert all(verdict.passed for verdict in _verdicts(memory, "-nobody").values())


_WITH_SECRETS = (
    (REDACTED_RECORDS, ("text", "command", "paths")),
    (TURN_CHUNKS, ("text", "commands")),
    (USER_PROMPTS, ("text",)),
    (SESSION_SUMMARIES, ("next_steps", "errors")),
)


@sweep("table, columns", _WITH_SECRETS)
def test_a_secret_at_rest_is_found_in_any_column(
    memory: SampleMemory, fake_token: str, table: Table, columns: tuple[str, ...]
) -> None:
    """The verdict names the rule and the session, never the secret; the clean files that
    were scanned before are not read again."""
    clean = verify.no_secrets_remain(memory.components, memory.harbor, table)
    assert clean.passed and clean.counts["files_scanned"] == 4
    leaked = f"export GITHUB_TOKEN={fake_token}"
    error = {"turn_id": "t", "text": leaked, "outcome": "unresolved"}
    values = {"paths": [leaked], "commands": [leaked], "errors": [error]}
    for column in columns:

        def plant(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [{**rows[0], column: values.get(column, leaked)}, *rows[1:]]  # noqa: B023

        with _rewritten(memory, table, plant):
            told = [
                verify.no_secrets_remain(memory.components, memory.harbor, table) for _ in range(2)
            ]
        for verdict in told:
            assert not verdict.passed
            assert verdict.counts["files_scanned"] == verdict.counts["files_with_secrets"] == 1
            assert verdict.counts["sessions"] == memory.flaky
            assert any(name.startswith("rule_") for name in verdict.counts)
            assert fake_token not in repr(verdict)
            assert "memory ingest --full" in verdict.remedy


def test_clean_files_are_scanned_again_when_the_rules_change(memory: SampleMemory) -> None:
    """What older rules found clean says nothing about newer ones."""
    for version, scanned in (("same", 4), ("same", 0), ("newer", 4)):
        if version == "newer":
            newer = Renamed(memory.engines["redactor"], ruleset_version=version)
            memory.reopen(redactor=newer)
        verdict = verify.no_secrets_remain(memory.components, memory.harbor, TURN_CHUNKS)
        assert (verdict.passed, verdict.counts["files_scanned"]) == (True, scanned)


def test_records_that_are_unaccounted_for_are_found(memory: SampleMemory) -> None:
    """A block kept is a row on disk, or a copy; neither fewer nor more."""
    edits: tuple[Edit, ...] = (lambda rows: rows[1:], lambda rows: [*rows, rows[0]])
    told = []
    for edit in edits:
        with _rewritten(memory, REDACTED_RECORDS, edit):
            told.append(verify.rows_conserved(memory.components, memory.harbor))
    _path(memory, REDACTED_RECORDS, memory.flaky).unlink()
    for verdict in (*told, verify.rows_conserved(memory.components, memory.harbor)):
        assert not verdict.passed
        assert (verdict.counts["unbalanced"], verdict.counts["sessions"]) == (1, memory.flaky)


def test_a_session_held_back_is_told_with_its_reason(memory: SampleMemory) -> None:
    """Since when, and why; other projects pass."""
    entry = Quarantined(memory.harbor, memory.flaky, "redacted_records", "h", "ValueError")
    memory.components.catalog.quarantine.hold(entry)
    verdict = verify.nothing_quarantined(memory.components, memory.harbor)
    assert not verdict.passed
    assert verdict.counts["quarantined"] == 1
    assert str(verdict.counts[memory.flaky]).startswith("ValueError (since 20")
    assert verify.nothing_quarantined(memory.components, "-home-mara-code-lantern").passed


_WRONG_ROWS: tuple[tuple[Any, Table, Edit, str | None], ...] = (
    *(
        (verify.prompts_in_one_chunk, TURN_CHUNKS, *wrong)
        for wrong in (
            (lambda rows: [row for row in rows if row["turn_index"] != 1], "missing"),
            (lambda rows: [*rows, {**rows[0], "id": "again"}], "repeated"),
            (lambda rows: [{**rows[0], "prompt_uuid": "of nobody"}, *rows[1:]], "extra"),
        )
    ),
    *(
        (verify.vectors_complete, TURN_EMBEDDINGS, *wrong)
        for wrong in (
            (lambda rows: rows[1:], "missing"),
            (lambda rows: [*rows, {**rows[0], "id": "of no chunk"}], "extra"),
            (lambda rows: [{**rows[0], "content_hash": "of other text"}, *rows[1:]], "missing"),
            (lambda rows: [*rows, rows[0]], None),
        )
    ),
)


@sweep("check, table, edit, count", _WRONG_ROWS)
def test_rows_that_do_not_fit_those_they_are_made_of_are_found(
    memory: SampleMemory, check: Any, table: Table, edit: Edit, count: str | None
) -> None:
    """A prompt that is missing, in two chunks or of nobody; a vector that is missing, extra, of an
    older text, or twice."""
    with _rewritten(memory, table, edit):
        verdict = check(memory.components, memory.harbor)
    assert not verdict.passed
    assert count is None or verdict.counts[count] == 1


def test_a_chunk_file_that_is_gone_fails_all_that_rest_on_it(memory: SampleMemory) -> None:
    """Its prompts are in no chunk, its vectors have no text, its rows in Chroma no source."""
    path = _path(memory, TURN_CHUNKS, memory.flaky)
    lost = pq.read_metadata(path).num_rows
    path.unlink()
    components, project = memory.components, memory.harbor
    assert verify.prompts_in_one_chunk(components, project).counts["missing"] == 4
    vectors = verify.vectors_complete(components, project)
    assert (vectors.passed, vectors.counts["extra"]) == (False, lost)
    rows = verify.collection_matches(components, project, SESSIONS_INDEX)
    assert (rows.passed, rows.counts["extra"]) == (False, lost)
    assert verify.collection_matches(components, project, INDEX_OF["prompts"]).passed


@sweep("of", SESSION_INDEXES)
def test_rows_missing_or_planted_in_chroma_are_found(memory: SampleMemory, of: Any) -> None:
    """In each collection; only rows of the project asked for count."""
    project = memory.harbor
    rows = memory.rows(of.table.name, project)
    collection = memory.components.vectors.get(of.collection("claude-code"))
    mine = sorted(row["id"] for row in rows if row["agent"] == "claude-code")
    collection.delete(mine[:1])
    missing = verify.collection_matches(memory.components, project, of)
    assert (missing.passed, missing.counts["missing"], missing.counts["extra"]) == (False, 1, 0)
    vector = np.zeros((1, 384), np.float32)
    vector[0, 0] = 1.0
    for name, owner in (("planted", project), ("elsewhere", "-another")):
        collection.upsert([name], vector, [seal(name)], [{"project": owner}])
    both = verify.collection_matches(memory.components, project, of)
    assert (both.passed, both.counts["missing"], both.counts["extra"]) == (False, 1, 1)


def test_sessions_that_matched_are_not_read_again(
    memory: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless a collection has another number of rows than were written to it."""
    components, project = memory.components, memory.harbor
    checks: list[Callable[[], Verdict]] = [
        partial(verify.collection_matches, components, project, SESSIONS_INDEX),
        partial(verify.embedder_consistent, components, project, SESSIONS_INDEX),
        partial(verify.rows_conserved, components, project),
    ]
    before = [check() for check in checks]
    read: list[object] = []

    def noting(method: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: read.append(given) or method(*given)  # type: ignore[func-returns-value]

    for name in ("read", "read_footer"):
        monkeypatch.setattr(components.lake, name, noting(getattr(components.lake, name)))
    assert [check() for check in checks] == before
    assert read == []
    collection = components.vectors.get("claude-code-sessions")
    collection.delete(sorted(collection.ids({"session_id": memory.flaky}))[:1])
    counts = checks[0]().counts
    assert (counts["missing"], counts["extra"]) == (1, 0)
    assert read


def test_a_collection_that_is_gone_is_a_failure_not_a_crash(memory: SampleMemory) -> None:
    """All its rows are missing, and the remedy makes it again."""
    memory.components.vectors.drop("session-summaries")
    verdict = verify.collection_matches(memory.components, memory.harbor, INDEX_OF["summaries"])
    assert (verdict.passed, verdict.counts["missing"]) == (False, 4)
    assert "--full" in verdict.remedy
    assert verify.embedder_consistent(
        memory.components, memory.harbor, INDEX_OF["summaries"]
    ).passed
    memory.components.catalog.products.forget_project(memory.harbor)
    memory.run(projects=[memory.harbor])
    assert verify.collection_matches(memory.components, memory.harbor, INDEX_OF["summaries"]).passed


def test_a_collection_of_another_embedder_is_found(memory: SampleMemory) -> None:
    """The settings ask for another model than the rows were made with."""
    memory.reopen(embedder=Renamed(memory.engines["embedder"], embedder_id="another"))
    verdict = verify.embedder_consistent(memory.components, memory.harbor, SESSIONS_INDEX)
    assert not verdict.passed
    assert verdict.counts["vectors"] == 0
    collections = 2
    vectors = len(memory.rows("turn_embeddings", memory.harbor))
    assert verdict.counts["of_other_embedders"] == vectors + collections


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
        == by_great_expectations.count_unmet(frame, table, expected)
        == {}
    )
    for column, count, broken in _broken(frame, expected):
        failed = by_arrow.unmet(broken, table, expected)
        assert by_great_expectations.count_unmet(broken, table, expected) == failed
        assert [(said.split(":")[0], number) for said, number in failed.items()] == [
            (column, count)
        ]


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
