"""The assets that look after all projects at once. None has partitions.

Those that remove or archive are
[external](https://docs.dagster.io/guides/build/assets/external-assets), so that nobody does it by
"Materialize all": a job makes them.
"""

# No `from __future__ import annotations`: Dagster reads the annotation of an op's `context` at
# run time (dagster#26837).

from dataclasses import asdict
from datetime import timedelta

import dagster as dg

from memory_assets.dagster.assets.collections import COLLECTIONS, keyword_index
from memory_assets.dagster.assets.step import StepResults
from memory_assets.dagster.expectations import great_expectations_agree
from memory_assets.dagster.metadata import REMOVES, check_result
from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.agent_memory.upkeep import keep_up
from memory_assets.pipeline.checks.figures import (
    cost_figures,
    status_figures,
    status_report,
    status_verdicts,
)
from memory_assets.pipeline.redact.known_secrets import search_for_known_secrets
from memory_assets.pipeline.removal.retention import RETAINED_SESSIONS, retain, retention_metadata
from memory_assets.pipeline.stages import STAGES
from memory_assets.redaction import ENGINE_VERSION
from memory_assets.shards.delta import PUBLISHED, publish
from memory_assets.stores.lake.schemas import AGENT_MEMORY, REDACTED_RECORDS
from memory_assets.stores.runs.names import RETENTION_JOB, UPKEEP_JOB

_COST_DAYS = 7
CHECKS = {
    "everything_indexed": "Each collection has as many rows as its table.",
    "sources_are_found": "Every turn in the agents' files, read again, is in table, collection "
    "and keyword index, and nothing else is; by session.",
    "nothing_quarantined": "No session is held back. A warning, with the reasons.",
    "no_run_failed": "No run failed in seven days. A warning: the next run completes it.",
    "great_expectations_agree": "Great Expectations finds what matches_schema checks in each "
    "run, in every row that changed since it last looked.",
}


@dg.asset(
    deps=[REDACTED_RECORDS.name],
    group_name="maintenance",
    kinds={"sqlite"},
    code_version=ENGINE_VERSION,
)
@no_text_in_errors()
def known_secrets(memory: MemoryParam) -> dg.MaterializeResult[None]:
    """The search of sessions for secrets that became known, as keyed hashes, after they were
    redacted.

    One asset without [partitions](https://docs.dagster.io/guides/build/partitions-and-backfills),
    because a secret that one project reveals may occur in others. Affected sessions are marked,
    and the next run of their project redacts them again.
    """
    return dg.MaterializeResult(metadata=search_for_known_secrets(memory.components()))


retained_sessions = dg.AssetSpec(
    RETAINED_SESSIONS,
    deps=[stage.table.name for stage in STAGES if stage.retained and not stage.embeds],
    description="Sessions, and conversations of agents, older than MEMORY_RETENTION, cut down to "
    "prompts and summaries by the job `apply_retention`.\n\n"
    "One asset without [partitions](https://docs.dagster.io/guides/build/partitions-and-backfills),"
    " because all projects share the Chroma collections, whose files are rewritten. The next run "
    "of each project brings its other assets up to date.",
    group_name="maintenance",
    kinds={"parquet"},
    tags=REMOVES,
)


@dg.op(retry_policy=dg.RetryPolicy(max_retries=2, delay=60))
@no_text_in_errors()
def cut_old_sessions(context: dg.OpExecutionContext, memory: MemoryParam) -> None:
    """Cut old sessions down to their prompts and summary."""
    metadata = retention_metadata(retain(memory.components()))
    context.log_event(dg.AssetMaterialization(RETAINED_SESSIONS, metadata=dict(metadata)))


@dg.job(
    name=RETENTION_JOB,
    executor_def=dg.in_process_executor,
    tags={"dagster/max_runtime": "3600", **REMOVES},
    description="Cuts sessions older than MEMORY_RETENTION down to their prompts and summary.",
)
def apply_retention() -> None:
    """Apply the policy."""
    cut_old_sessions()


kept_memories = dg.AssetSpec(
    "kept_memories",
    deps=[AGENT_MEMORY.name, REDACTED_RECORDS.name],
    description="The upkeep of what agents remember, by the job `keep_memories`: archived is what "
    "was not said again for long (MEMORY_HALF_LIFE), merged is what says the same in other words. "
    "Nothing is deleted. With MEMORY_PROMOTE=on, what users said to be remembered is promoted to a "
    "memory, and what sessions show again and again.\n\n"
    "One asset without [partitions](https://docs.dagster.io/guides/build/partitions-and-backfills):"
    " all projects take a moment. What it changes, the next run of each partition takes in.",
    group_name="maintenance",
    kinds={"sqlite"},
    tags=REMOVES,
)


@dg.op
@no_text_in_errors()
def archive_and_merge(context: dg.OpExecutionContext, memory: MemoryParam) -> None:
    """Archive memories that have faded, merge those that say the same, and promote."""
    metadata = keep_up(memory.components()).to_dict()
    context.log_event(dg.AssetMaterialization(kept_memories.key, metadata=metadata))


@dg.job(
    name=UPKEEP_JOB,
    executor_def=dg.in_process_executor,
    tags={"dagster/max_runtime": "3600", **REMOVES},
    description="Archives memories of agents that have faded, and merges those that say the same.",
)
def keep_memories() -> None:
    """Keep up what agents remember."""
    archive_and_merge()


@dg.asset(
    deps=[*COLLECTIONS, keyword_index],
    group_name="maintenance",
    kinds={"sqlite"},
    freshness_policy=dg.FreshnessPolicy.time_window(
        fail_window=timedelta(hours=50), warn_window=timedelta(hours=26)
    ),
    check_specs=[
        dg.AssetCheckSpec(name, asset="memory_status", description=text)
        for name, text in CHECKS.items()
    ],
)
def memory_status(memory: MemoryParam) -> StepResults:
    """Coverage by set, lag, quarantined sessions, store sizes, versions and runs, of all projects.

    Materialized every night and on demand, because its checks read all sources again, as
    `memory verify` does.
    """
    with no_text_in_errors():
        components = memory.components()
        figures, current = status_figures(components)
        shown = dg.MetadataValue.md(status_report(components, current))
        yield dg.MaterializeResult(metadata={"report": shown, **figures})
        for name, verdict in status_verdicts(components, current).items():
            yield check_result("memory_status", name, verdict)
        agreed = great_expectations_agree(components)
        yield check_result("memory_status", "great_expectations_agree", agreed)


@dg.asset(deps=PUBLISHED, group_name="maintenance", kinds={"deltalake"})
@no_text_in_errors()
def published_lake(memory: MemoryParam) -> dg.MaterializeResult[None]:
    """The redacted tables, without vectors, as Delta tables at MEMORY_DELTA, for analysts.

    Only sessions with other rows are written. Of what was forgotten or redacted anew, no former
    version stays. There where MEMORY_DELTA is set; materialized every hour, and on demand.
    """
    return dg.MaterializeResult(metadata=asdict(publish(memory.components())))


@dg.asset(group_name="maintenance", kinds={"sqlite"})
@no_text_in_errors()
def gateway_costs(memory: MemoryParam) -> dg.MaterializeResult[None]:
    """Requests, tokens, time and cost of the last seven days, by route and model.

    The figures of `memory costs --since 7d`. Materialized every Monday, if a model at an endpoint
    was asked at all, and on demand.
    """
    figures, table = cost_figures(memory.components(), _COST_DAYS)
    return dg.MaterializeResult(
        metadata={**figures, "by_route_and_model": dg.MetadataValue.md(table)}
    )
