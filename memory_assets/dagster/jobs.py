"""The [jobs](https://docs.dagster.io/guides/build/jobs): ingest of one project, the search for
known secrets in all projects, and retention, upkeep and the reports of status and costs with their
[schedules](https://docs.dagster.io/guides/automate/schedules)."""

from functools import partial

import dagster as dg

from memory_assets.dagster.assets.maintenance import apply_retention, keep_memories, published_lake
from memory_assets.dagster.resources import MemoryParam
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.stores.agents.journal import has_journal
from memory_assets.stores.gateway_usage import FILE_NAME as GATEWAY_USAGE
from memory_assets.stores.runs.names import (
    AGENT_MEMORY_JOB,
    AGENT_MEMORY_PARTITIONS,
    INGEST_JOB,
    PARTITIONS,
    RECHECK_JOB,
    WORKSPACE_JOB,
    WORKSPACE_PARTITIONS,
)

STATUS_JOB = "report_status"
COSTS_JOB = "report_costs"

_job = partial(
    dg.define_asset_job,
    executor_def=dg.in_process_executor,
    tags={"dagster/max_runtime": "3600"},
)


def _assets_of(partitions: str) -> dg.AssetSelection:
    """Return the assets that have these partitions."""
    return dg.AssetSelection.assets(
        *(step.asset for step in STEPS.values() if step.partitions == partitions)
    )


ingest_project = _job(
    INGEST_JOB,
    _assets_of(PARTITIONS),
    description="Transcripts of one project to searchable memory. In one process: four assets and "
    "a check cost 3 CPU-seconds there and 16 in a process a step.",
)
index_workspace = _job(
    WORKSPACE_JOB,
    _assets_of(WORKSPACE_PARTITIONS),
    description="Documents and code of one workspace to searchable memory.",
)
index_agent_memory = _job(
    AGENT_MEMORY_JOB,
    _assets_of(AGENT_MEMORY_PARTITIONS),
    description="What agents wrote about one project to searchable memory.",
)
recheck_known_secrets = _job(
    RECHECK_JOB,
    dg.AssetSelection.assets("known_secrets"),
    description="Searches redacted sessions for secrets that were found later.",
)
report_status = _job(
    STATUS_JOB,
    dg.AssetSelection.assets("memory_status"),
    description="The figures of `memory status`; reads all sources again to check them.",
)
report_costs = _job(
    COSTS_JOB,
    dg.AssetSelection.assets("gateway_costs"),
    description="What models at endpoints cost in the last seven days, as `memory costs` says it.",
)
publish_lake = _job(
    "publish_lake",
    dg.AssetSelection.assets(published_lake),
    description="What changed in the redacted tables to the Delta tables at MEMORY_DELTA.",
)
JOBS = (
    ingest_project,
    index_workspace,
    index_agent_memory,
    recheck_known_secrets,
    apply_retention,
    report_status,
    report_costs,
    keep_memories,
)


@dg.schedule(
    job=apply_retention,
    cron_schedule="30 3 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Cuts old sessions down, where MEMORY_RETENTION is set.",
)
def retention_schedule(
    context: dg.ScheduleEvaluationContext, memory: MemoryParam
) -> dg.RunRequest | dg.SkipReason:
    """Request a run of apply_retention once a day, if MEMORY_RETENTION is set."""
    days = memory.settings.retention
    if days is None:
        return dg.SkipReason("MEMORY_RETENTION is not set: all is kept")
    return dg.RunRequest(tags={"memory/reason": f"sessions older than {days} days"})


@dg.schedule(
    job=keep_memories,
    cron_schedule="15 3 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Archives and merges agents' memories, where there are any.",
)
def upkeep_schedule(
    context: dg.ScheduleEvaluationContext, memory: MemoryParam
) -> dg.RunRequest | dg.SkipReason:
    """Request a run of keep_memories once a day, if an agent ever wrote anything or sessions are
    promoted."""
    promotes = memory.settings.promote == "on"
    if not promotes and not has_journal(memory.settings.data_dir):
        return dg.SkipReason("no agent wrote a memory")
    return dg.RunRequest()


status_schedule = dg.ScheduleDefinition(
    name="status_schedule",
    job=report_status,
    cron_schedule="30 4 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Checks everything against the transcripts.",
)


publish_schedule = dg.ScheduleDefinition(
    name="publish_schedule",
    job=publish_lake,
    cron_schedule="45 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Publishes what changed as Delta tables.",
)


@dg.schedule(
    job=report_costs,
    cron_schedule="0 5 * * 1",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Reports what models at endpoints cost, if any was asked.",
)
def costs_schedule(
    context: dg.ScheduleEvaluationContext, memory: MemoryParam
) -> dg.RunRequest | dg.SkipReason:
    """Request a run of report_costs every Monday, if a model at an endpoint was ever asked."""
    if not (memory.settings.data_dir / GATEWAY_USAGE).exists():
        return dg.SkipReason("no model at an endpoint was asked")
    return dg.RunRequest()
