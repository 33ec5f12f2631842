"""Great Expectations over a frame of facts about a table, as `pipeline/checks/expectations.py`
declares what must hold of it.

GX never gets text: a text column is replaced by its length before GX sees it, so no
result, log or data doc of its can quote a secret. Its import takes 3 s of CPU, several times
what the stages take for one new turn; so runs evaluate with Arrow, and Great Expectations once a
night, or whenever memory_status is materialized, over all that changed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa

from memory_assets.pipeline.checks.checks import projects_on_record
from memory_assets.pipeline.checks.expectations import matches_schema
from memory_assets.pipeline.checks.pending import Verdict
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stages import EXPECTATIONS
from memory_assets.stores.lake.schemas import TABLES, Expectations, Table


def great_expectations_agree(components: Components) -> Verdict:
    """Whether Great Expectations finds the expectations of every table met by the rows of all
    projects that it has not validated as they are now."""
    counts = {"rows_validated": 0, "sessions_validated": 0}
    failures: dict[str, int | str] = {}
    for project in projects_on_record(components):
        with components.project_lock(project):
            for name, expected in EXPECTATIONS.items():
                verdict = matches_schema(
                    components,
                    project,
                    TABLES[name],
                    expected,
                    unmet=count_unmet,
                    note="great_expectations",
                )
                for count in counts:
                    counts[count] += int(verdict.counts[count])
                failures |= {
                    f"{project} {name} {what}": number
                    for what, number in verdict.counts.items()
                    if what not in counts
                }
    return Verdict(
        not failures,
        {**counts, **failures},
        "Run `memory verify`, then `memory ingest --full` for the projects that are named; if "
        "it stays, report the expectation.",
    )


def count_unmet(frame: pa.Table, table: Table, expected: Expectations) -> dict[str, int]:
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
