"""redaction_audit: what was taken out of the archive, where, and by which rule."""

import dagster as dg

from memory_assets.dagster.assets.redacted_records import redacted_records
from memory_assets.dagster.assets.step import StepResults, stage_and_checks
from memory_assets.dagster.checks.asset_checks import specs_of
from memory_assets.dagster.metadata import OWNERS, definition_metadata
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam
from memory_assets.pipeline.redact.redacted_records import audit_project
from memory_assets.redaction import ENGINE_VERSION
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT

_TAGS = ("redactions", "text", "command", "paths", "cwd")
_LINEAGE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("field", "rule", "start", "end", "length", "tag"), _TAGS),
    "engine_version": ("ruleset_version",),
}


@dg.asset(
    deps=[redacted_records],
    partitions_def=projects,
    group_name="transcripts",
    kinds={"parquet"},
    owners=OWNERS,
    check_specs=specs_of("redaction_audit"),
    code_version=ENGINE_VERSION,
    metadata=definition_metadata(REDACTION_AUDIT, REDACTED_RECORDS.name, _LINEAGE),
)
def redaction_audit(context: dg.AssetExecutionContext, memory: MemoryParam) -> StepResults:
    """Every redaction of every record: field, offsets, rule, tag and versions; never the secret.

    Written together with the records, in one stage, so that neither is ever without the
    other; this step counts it by rule.
    """
    yield from stage_and_checks(context, memory, audit_project, REDACTION_AUDIT)
