"""[Metadata](https://docs.dagster.io/guides/build/assets/metadata-and-tags) of assets: column
schemas from their tables, counts from the reports of stages."""

from __future__ import annotations

from collections.abc import Mapping

import dagster as dg

from memory_assets.pipeline.checks.pending import Verdict
from memory_assets.pipeline.ingest.batch_run import metadata_of
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.stores.lake.schemas import Table

REMOVES = {"memory/removes": "true"}
"""Tags of the assets and jobs that remove or archive."""
SEARCHED_FIRST = {"dagster/priority": "1"}
"""Tags of the steps that a search depends on: they run before all others."""


def table_schema(table: Table) -> dg.TableSchema:
    """Return a lake table's columns, types and descriptions for the UI."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=field.name,
                type=str(field.type),
                description=(field.metadata or {}).get(b"description", b"").decode(),
                constraints=dg.TableColumnConstraints(
                    nullable=field.nullable, unique=field.name == table.key == "id"
                ),
            )
            for field in table.schema
        ]
    )


def plain_schema(columns: Mapping[str, str]) -> dg.TableSchema:
    """Return a schema of column names and descriptions, without types."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(name=name, description=description)
            for name, description in columns.items()
        ]
    )


def definition_metadata(table: Table) -> dict[str, object]:
    """Return the metadata of a table's asset definition: schema and name."""
    return {"dagster/column_schema": table_schema(table), "dagster/table_name": table.name}


def materialization(components: Components, report: StageReport) -> dg.MaterializeResult[None]:
    """Return the materialization of an asset with the counts of its stage's report."""
    return dg.MaterializeResult(
        asset_key=report.stage,
        metadata=metadata_of(components, report),
        data_version=dg.DataVersion(report.data_version) if report.data_version else None,
    )


def check_result(asset: str, name: str, verdict: Verdict) -> dg.AssetCheckResult:
    """Return a verdict as the result of an asset check; the remedy is shown on failure."""
    severity = dg.AssetCheckSeverity.WARN if verdict.warning else dg.AssetCheckSeverity.ERROR
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=name,
        passed=verdict.passed,
        severity=severity,
        metadata=dict(verdict.counts),
        description=None if verdict.passed else verdict.remedy,
    )
