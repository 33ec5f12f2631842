"""The check matches_schema: the rows of each table meet its expectations (`pipeline/stages.py`).

Arrow evaluates them here over the rows that did not pass yet (`memory verify`: over all). Once a
night Great Expectations evaluates them, too, over changed rows (`dagster/expectations.py`). Both
read a frame of facts, in which each text is replaced by its length.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memory_assets.errors import DamagedFile
from memory_assets.pipeline.checks.pending import (
    MATCHED,
    Verdict,
    note_passed,
    note_stage,
    pending_rows,
    sessions_to_check,
)
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.pipeline.stages import EXPECTATIONS
from memory_assets.stores.lake.lake import redacted_columns
from memory_assets.stores.lake.schemas import TABLES, Expectations, Table

_NOTE_PRECISION_NS = 1_000_000_000
"""Passed checks are noted with a time in whole seconds."""

Unmet = Callable[[pa.Table, Table, Expectations], dict[str, int]]
"""An engine: how many rows of a frame of facts break each expectation, by its name."""


def unmet(frame: pa.Table, table: Table, expected: Expectations) -> dict[str, int]:
    """Return the number of rows in a frame of facts that break each expectation, by the
    name that Great Expectations gives it; nothing of what holds. Null breaks none: Parquet
    refuses it in a column whose schema has none."""
    if frame.column_names != table.schema.names:
        return {"table: table_columns_to_match_ordered_list": 0}
    keys = frame.group_by(list(expected.unique), use_threads=False)
    counts: Any = keys.aggregate([([], "count_all")])["count_all"]
    repeated = _sum(counts.filter(pc.greater(counts, pa.scalar(1))))
    one = len(expected.unique) == 1
    key = f"{expected.unique[0]}: column_values_to" if one else "table: compound_columns_to"
    counted = {f"{key}_be_unique": repeated}
    for name, (low, high) in expected.bounds.items():
        column: Any = frame[name]
        outside = _sum(pc.less(column, pa.scalar(low))) if low is not None else 0
        outside += _sum(pc.greater(column, pa.scalar(high))) if high is not None else 0
        counted[f"{name}: column_values_to_be_between"] = outside
    for name, values in expected.one_of.items():
        column = pc.drop_null(frame[name])
        inside = _sum(pc.is_in(column, value_set=pa.array(values, type=column.type)))
        counted[f"{name}: column_values_to_be_in_set"] = len(column) - inside
    for earlier, later in expected.ordered:
        pair: tuple[Any, Any] = (frame[later], frame[earlier])
        counted[f"{later}: column_pair_values_a_to_be_greater_than_b"] = _sum(pc.less(*pair))
    return {name: count for name, count in counted.items() if count}


def matching_version(table: Table, expected: Expectations) -> str:
    """Return a hash of a table's columns and expectations."""
    return input_hash(expected.version, table.schema.to_string())


def matches_schema(
    components: Components,
    project: str,
    table: Table,
    expected: Expectations,
    *,
    unmet: Unmet = unmet,
    note: str = MATCHED,
) -> Verdict:
    """Whether the rows of a project that did not pass yet have exactly the table's columns and
    meet its expectations, by the engine `unmet`; passing is noted under `note`. Keys must be
    unique among these rows."""
    version = matching_version(table, expected)
    sessions = sessions_to_check(components, project, table, note, version)
    parts: list[pa.Table] = []
    unlike = 0
    for batch in pending_rows(components.lake, project, table, sessions):
        if batch.rows.schema.equals(table.schema):
            parts.append(facts(table, batch.rows))
        else:
            unlike += len(batch.notes)
    rows = sum(map(len, parts))
    failures: dict[str, int | str] = {}
    if rows:
        frame = pa.concat_tables(parts, promote_options="permissive")
        failures.update(unmet(frame, table, expected))
    if unlike:
        failures["sessions_with_other_columns"] = unlike
    if not failures:
        note_passed(components, sessions)
    return Verdict(
        not failures,
        {"rows_validated": rows, "sessions_validated": len(sessions), **failures},
        f"Run `memory ingest --full --project={project}`; if it stays, report the expectation.",
    )


def altered_on_disk(components: Components, projects: Iterable[str]) -> set[str]:
    """Return those of these projects in which a table was written after its rows met what is
    expected of them. Costs a stat for each file of the lake; a changed file with its former time
    is only noticed by `memory verify`."""
    checked_at = {
        (row["stage"], row["project"]): datetime.fromisoformat(row["at"]).timestamp()
        for row in components.catalog.rows(
            "SELECT stage, project, MAX(made_at) AS at FROM products"
            " WHERE stage >= ? AND stage < ? GROUP BY stage, project",
            f"{MATCHED}/",
            f"{MATCHED}0",
        )
    }

    def is_altered(table: Table, project: str) -> bool:
        checked = int(checked_at.get((note_stage(MATCHED, table), project), 0.0) * 1e9)
        newest = checked + _NOTE_PRECISION_NS
        try:
            with os.scandir(components.lake.partition_dir(table, project)) as entries:
                if all(entry.stat().st_mtime_ns <= newest for entry in entries):
                    return False
            version = matching_version(table, EXPECTATIONS[table.name])
            return bool(sessions_to_check(components, project, table, MATCHED, version))
        except FileNotFoundError:  # the table is not there, or a writer replaces its files just now
            return components.lake.partition_dir(table, project).is_dir()
        except DamagedFile:  # the checks say so, and other projects go on
            return True

    return {
        project
        for project in projects
        if any(is_altered(table, project) for table in TABLES.values())
    }


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


def _sum(marked: Any) -> int:
    return int(pc.sum(marked).as_py() or 0)


def _norms(column: Any) -> Any:
    """Return the Euclidean length of each vector."""
    flat = pc.list_flatten(column).to_numpy().reshape(-1, column.type.list_size)
    return pa.array(np.linalg.norm(flat, axis=1))
