"""session_commits: which commits a session stands behind, and by what evidence."""

import dagster as dg

from memory_assets.commits import ATTRIBUTION_VERSION
from memory_assets.dagster.assets.step import StepResults, stage_and_checks
from memory_assets.dagster.checks.asset_checks import specs_of
from memory_assets.dagster.metadata import OWNERS, definition_metadata
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam
from memory_assets.pipeline.tables.session_commits import attribute_project
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, SESSION_COMMITS

_PRINTED = ("text", "command")
_LINEAGE: dict[str, tuple[str, ...]] = {
    "id": ("session_id", "text"),
    "turn_id": ("session_id", "kind"),
    "turn_index": ("kind", "seq"),
    **dict.fromkeys(("commit", "subject", "branch", "from_commit", "pull_request"), _PRINTED),
    **dict.fromkeys(("evidence", "score", "verified", "files"), (*_PRINTED, "paths", "timestamp")),
    "committed_at": ("timestamp",),
    "attribution_version": (),
}


@dg.asset(
    deps=[REDACTED_RECORDS.name],
    partitions_def=projects,
    group_name="sessions",
    kinds={"parquet", "git"},
    owners=OWNERS,
    check_specs=specs_of("session_commits"),
    code_version=ATTRIBUTION_VERSION,
    metadata=definition_metadata(SESSION_COMMITS, REDACTED_RECORDS.name, _LINEAGE),
)
def session_commits(context: dg.AssetExecutionContext, memory: MemoryParam) -> StepResults:
    """The commits and pull requests of each session, with graded evidence.

    From what git printed, trailers, `gh` and pr-link records; where the repository is on disk
    git is asked too, read only. What isn't proven is not claimed.
    """
    yield from stage_and_checks(context, memory, attribute_project, SESSION_COMMITS)
