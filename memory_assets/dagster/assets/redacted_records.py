"""The assets redacted_records and redaction_audit, which one stage writes together: a
[multi-asset](https://docs.dagster.io/guides/build/assets/defining-assets)."""

import dagster as dg

from memory_assets.dagster.asset_checks import specs_of
from memory_assets.dagster.assets.step import StepResults, backfill_policy, run_steps
from memory_assets.dagster.batch import WorkersParam
from memory_assets.dagster.metadata import definition_metadata
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam, present_ruleset_version
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.pipeline.scan.raw_sessions import STAGE as RAW_SESSIONS
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT


def _spec(
    name: str,
    upstream: str,
    description: str,
    code_version: str | None,
    metadata: dict[str, object],
) -> dg.AssetSpec:
    return dg.AssetSpec(
        name,
        deps=[upstream],
        description=description,
        group_name="transcripts",
        kinds={"parquet"},
        code_version=code_version,
        metadata=metadata,
        skippable=True,
    )


@dg.multi_asset(
    name=REDACTED_RECORDS.name,
    specs=[
        _spec(
            REDACTED_RECORDS.name,
            RAW_SESSIONS,
            "Every content block of every record of a project, redacted: the archive.\n\n"
            "Two passes: a secret that any record of a session reveals is removed from all. "
            "Records that a fork or a resume copied from another session are kept once, in the "
            "oldest. A session that cannot be redacted is quarantined: nothing of it is written.",
            present_ruleset_version(),
            definition_metadata(REDACTED_RECORDS),
        ),
        _spec(
            REDACTION_AUDIT.name,
            REDACTED_RECORDS.name,
            "Every redaction of every record: field, offsets, rule, tag and versions; never the "
            "secret.",
            STEPS[REDACTION_AUDIT.name].code_version,
            definition_metadata(REDACTION_AUDIT),
        ),
    ],
    partitions_def=projects,
    backfill_policy=backfill_policy(REDACTED_RECORDS.name),
    check_specs=[*specs_of(REDACTED_RECORDS.name), *specs_of(REDACTION_AUDIT.name)],
    can_subset=True,
)
def redacted_records(
    context: dg.AssetExecutionContext, memory: MemoryParam, workers: WorkersParam
) -> StepResults:
    """Redact a project, then yield the materializations and check results of both tables.

    A session's records and audit are always written together. If a run selects only one of
    the assets, both tables are brought up to date and the selected one is reported.
    """
    yield from run_steps(context, memory, workers, (REDACTED_RECORDS.name, REDACTION_AUDIT.name))
