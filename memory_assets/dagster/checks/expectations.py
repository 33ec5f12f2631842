"""Great Expectations over a frame of facts about a table.

GX never gets text: a text column is replaced by its length before GX sees it, so no
result, log or data doc of its can quote a secret. It is imported when a check runs (2.5 s
of CPU), and not at all for a table that passed before and has not changed since.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from memory_assets.pipeline.checks.verify import Verdict
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.pending_checks import (
    PendingSessions,
    note_passed,
    pending_sessions,
)
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.stores.lake.lake import Lake, redacted_columns
from memory_assets.stores.lake.schemas import Table

if TYPE_CHECKING:
    import pandas as pd

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class TableExpectations:
    """What must hold of each row: key columns together unique, columns within bounds
    (text and lists: of their length), columns from a closed set."""

    table: Table
    unique: tuple[str, ...]
    bounds: dict[str, Bounds] = field(default_factory=dict)
    one_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ordered: tuple[tuple[str, str], ...] = ()

    @property
    def version(self) -> str:
        """Changes with what is expected: what passed before is then looked at again."""
        said = (self.unique, self.bounds, self.one_of, self.ordered, self.table.schema.to_string())
        return input_hash(*map(repr, said))


def validate(components: Components, project: str, wanted: TableExpectations) -> Verdict:
    """Validate a project's rows of a table; counts of unexpected rows, by expectation.

    Rows that passed before, in files that have not changed since, are left out; keys are
    compared with theirs within a session, and across sessions by `memory verify`.
    """
    table, catalog, lake = wanted.table, components.catalog, components.lake
    sessions = pending_sessions(catalog, lake, project, table, "expected", wanted.version)
    batches = components.rows_to_check.batches(project, table, sessions)
    parts = [facts(table, batch.rows) for batch in batches]
    failures: dict[str, int | str] = {}
    rows = sum(map(len, parts))
    if rows:
        failures = _failures(
            pa.concat_tables(parts, promote_options="permissive").to_pandas(), wanted
        )
    repeated = sum(_repeated(lake, project, wanted, each) for each in sessions if each.skip)
    if repeated:
        failures["key: repeated in the session"] = repeated
    if not failures:
        note_passed(catalog, sessions)
    return Verdict(
        not failures,
        {"rows_validated": rows, "sessions_validated": len(sessions), **failures},
        f"Run `memory ingest --full --project={project}`; if it stays, report the expectation.",
    )


def _repeated(lake: Lake, project: str, wanted: TableExpectations, session: PendingSessions) -> int:
    """Return how many rows of a session have the key of another one."""
    keys = lake.read(wanted.table, project, session.session_id, list(wanted.unique))
    return len(keys) - len(keys.group_by(list(wanted.unique)).aggregate([]))


def facts(table: Table, rows: pa.Table) -> pa.Table:
    """Return rows with every text and list replaced by its length, vectors by their norm
    and times by microseconds since 1970."""
    texts = redacted_columns(table.model)
    columns: dict[str, Any] = {}
    for name in rows.column_names:
        column: Any = rows[name]
        if pa.types.is_list(column.type):
            column = pc.list_value_length(column)
        elif pa.types.is_fixed_size_list(column.type):
            column = _norms(column)
        elif pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        elif name in texts:
            column = pc.utf8_length(column)
        columns[name] = column
    return pa.table(columns)


def _norms(column: Any) -> Any:
    """Return the Euclidean length of each vector."""
    import numpy as np

    width = column.type.list_size
    flat = pc.list_flatten(column).to_numpy().reshape(-1, width)
    return pa.array(np.linalg.norm(flat, axis=1))


def _failures(frame: pd.DataFrame, wanted: TableExpectations) -> dict[str, int | str]:
    definition, suite = _gx(wanted)
    result = definition.get_batch(batch_parameters={"dataframe": frame}).validate(
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
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    return context.data_sources.add_pandas("lake")


_GX: dict[str, tuple[Any, Any]] = {}


def _gx(wanted: TableExpectations) -> tuple[Any, Any]:
    """Return the batch definition and the suite of a table, made once a process."""
    name = wanted.table.name
    if name not in _GX:
        asset = _gx_source().add_dataframe_asset(name)
        definition = asset.add_batch_definition_whole_dataframe("partition")
        _GX[name] = definition, _suite(wanted)
    return _GX[name]


def _suite(wanted: TableExpectations) -> Any:
    import great_expectations as gx
    import great_expectations.expectations as gxe

    expectations: list[Any] = [
        gxe.ExpectTableColumnsToMatchOrderedList(column_list=wanted.table.schema.names)
    ]
    if len(wanted.unique) == 1:
        expectations.append(gxe.ExpectColumnValuesToBeUnique(column=wanted.unique[0]))
    else:
        expectations.append(gxe.ExpectCompoundColumnsToBeUnique(column_list=list(wanted.unique)))
    # Nothing of nulls: Parquet refuses them in a column whose schema has none.
    expectations += [
        gxe.ExpectColumnValuesToBeBetween(column=name, min_value=low, max_value=high)
        for name, (low, high) in wanted.bounds.items()
    ]
    expectations += [
        gxe.ExpectColumnValuesToBeInSet(column=name, value_set=list(values))
        for name, values in wanted.one_of.items()
    ]
    expectations += [
        gxe.ExpectColumnPairValuesAToBeGreaterThanB(
            column_A=later, column_B=earlier, or_equal=True, ignore_row_if="either_value_is_missing"
        )
        for earlier, later in wanted.ordered
    ]
    return gx.ExpectationSuite(name=wanted.table.name, expectations=expectations)


def _name(outcome: Any) -> str:
    config = outcome.expectation_config
    column = config.kwargs.get("column") or config.kwargs.get("column_A") or "table"
    return f"{column}: {config.type.removeprefix('expect_')}"
