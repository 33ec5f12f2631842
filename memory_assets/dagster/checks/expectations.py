"""Great Expectations over a frame of facts about a table, as `pipeline/checks/expectations.py`
declares what must hold of it.

GX never gets text: a text column is replaced by its length before GX sees it, so no
result, log or data doc of its can quote a secret. It is imported when a check runs (2 s
of CPU), and not at all for a table that passed before and has not changed since.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from memory_assets.dagster.checks.lean_import import lean_import
from memory_assets.pipeline.checks.expectations import facts
from memory_assets.pipeline.checks.verify import Verdict
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.pending_checks import (
    PendingSessions,
    note_passed,
    pending_sessions,
)
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.stores.lake.expectations import Expectations
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import Table


def validate(components: Components, project: str, table: Table, expected: Expectations) -> Verdict:
    """Validate a project's rows of a table; counts of unexpected rows, by expectation.

    Rows that passed before, in files that have not changed since, are left out; keys are
    compared with theirs within a session, and across sessions by `memory verify`.
    """
    catalog, lake = components.catalog, components.lake
    version = input_hash(expected.version, table.schema.to_string())
    sessions = pending_sessions(catalog, lake, project, table, "expected", version)
    batches = components.rows_to_check.batches(project, table, sessions)
    parts = [facts(table, batch.rows) for batch in batches]
    failures: dict[str, int | str] = {}
    rows = sum(map(len, parts))
    if rows:
        frame = pa.concat_tables(parts, promote_options="permissive")
        failures.update(unmet(frame, table, expected))
    grown = [session for session in sessions if session.skip]
    repeated = sum(_repeated(lake, project, table, expected.unique, each) for each in grown)
    if repeated:
        failures["key: repeated in the session"] = repeated
    if not failures:
        note_passed(catalog, sessions)
    return Verdict(
        not failures,
        {"rows_validated": rows, "sessions_validated": len(sessions), **failures},
        f"Run `memory ingest --full --project={project}`; if it stays, report the expectation.",
    )


def _repeated(
    lake: Lake, project: str, table: Table, key: Sequence[str], session: PendingSessions
) -> int:
    """Return how many rows of a session have the key of another one."""
    keys = lake.read(table, project, session.session_id, list(key))
    return len(keys) - len(keys.group_by(list(key)).aggregate([]))


def unmet(frame: pa.Table, table: Table, expected: Expectations) -> dict[str, int]:
    """Return the number of rows in a frame of facts that break each expectation, by name."""
    definition, suite = _gx(table, expected)
    result = definition.get_batch(batch_parameters={"dataframe": frame.to_pandas()}).validate(
        suite, result_format={"result_format": "BASIC", "partial_unexpected_count": 0}
    )
    return {
        _name(outcome): int((outcome.result or {}).get("unexpected_count") or 0)
        for outcome in result.results
        if not outcome.success
    }


@cache
def _gx_source() -> Any:
    """Return the one data source of this process; each context makes a directory."""
    with lean_import():
        import great_expectations as gx
        from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    return context.data_sources.add_pandas("lake")


_GX: dict[str, tuple[Any, Any]] = {}


def _gx(table: Table, expected: Expectations) -> tuple[Any, Any]:
    """Return the batch definition and the suite of a table, made once a process."""
    name = table.name
    if name not in _GX:
        asset = _gx_source().add_dataframe_asset(name)
        definition = asset.add_batch_definition_whole_dataframe("partition")
        _GX[name] = definition, _suite(table, expected)
    return _GX[name]


def _suite(table: Table, expected: Expectations) -> Any:
    import great_expectations as gx
    import great_expectations.expectations as gxe

    expectations: list[Any] = [
        gxe.ExpectTableColumnsToMatchOrderedList(column_list=table.schema.names)
    ]
    if len(expected.unique) == 1:
        expectations.append(gxe.ExpectColumnValuesToBeUnique(column=expected.unique[0]))
    else:
        expectations.append(gxe.ExpectCompoundColumnsToBeUnique(column_list=list(expected.unique)))
    # Nothing of nulls: Parquet refuses them in a column whose schema has none.
    expectations += [
        gxe.ExpectColumnValuesToBeBetween(column=name, min_value=low, max_value=high)
        for name, (low, high) in expected.bounds.items()
    ]
    expectations += [
        gxe.ExpectColumnValuesToBeInSet(column=name, value_set=list(values))
        for name, values in expected.one_of.items()
    ]
    expectations += [
        gxe.ExpectColumnPairValuesAToBeGreaterThanB(
            column_A=later, column_B=earlier, or_equal=True, ignore_row_if="either_value_is_missing"
        )
        for earlier, later in expected.ordered
    ]
    return gx.ExpectationSuite(name=table.name, expectations=expectations)


def _name(outcome: Any) -> str:
    config = outcome.expectation_config
    column = config.kwargs.get("column") or config.kwargs.get("column_A") or "table"
    return f"{column}: {config.type.removeprefix('expect_')}"
