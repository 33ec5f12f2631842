"""The jobs: all assets and checks of a project; the search for known secrets in all; and,
every night, retention and a look at the whole."""

import dagster as dg

from memory_assets.resources import MemoryResource

INGEST_JOB = "ingest_project"
RECHECK_JOB = "recheck_known_secrets"

RETENTION_JOB = "apply_retention"

STATUS_JOB = "report_status"

_ALL_PROJECTS = dg.AssetSelection.assets("known_secrets", "retained_sessions", "memory_status")

ingest_project = dg.define_asset_job(
    INGEST_JOB,
    selection=dg.AssetSelection.all() - _ALL_PROJECTS,
    executor_def=dg.in_process_executor,
    description=(
        "Transcripts of one project to searchable memory. In one process: four assets and "
        "a check cost 3 CPU-seconds there and 16 in a process a step."
    ),
    tags={"dagster/max_runtime": "3600"},
)

recheck_known_secrets = dg.define_asset_job(
    RECHECK_JOB,
    selection=dg.AssetSelection.assets("known_secrets"),
    executor_def=dg.in_process_executor,
    description="Searches yesterday's sessions for the secrets that were found since.",
    tags={"dagster/max_runtime": "3600"},
)

apply_retention = dg.define_asset_job(
    RETENTION_JOB,
    selection=dg.AssetSelection.assets("retained_sessions"),
    executor_def=dg.in_process_executor,
    description="Cuts sessions older than MEMORY_RETENTION down to their prompts and summary.",
    tags={"dagster/max_runtime": "3600"},
)


@dg.schedule(
    job=apply_retention,
    cron_schedule="30 3 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)
def retention_schedule(
    context: dg.ScheduleEvaluationContext, memory: MemoryResource
) -> dg.RunRequest | dg.SkipReason:
    """Once a day, if MEMORY_RETENTION is set."""
    days = memory.settings().retention
    if days is None:
        return dg.SkipReason("MEMORY_RETENTION is not set: all is kept")
    return dg.RunRequest(tags={"memory/reason": f"sessions older than {days} days"})


report_status = dg.define_asset_job(
    STATUS_JOB,
    selection=dg.AssetSelection.assets("memory_status"),
    executor_def=dg.in_process_executor,
    description="The figures of `memory status`; reads all sources again to check them.",
    tags={"dagster/max_runtime": "3600"},
)

status_schedule = dg.ScheduleDefinition(
    name="status_schedule",
    job=report_status,
    cron_schedule="30 4 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)

JOBS = (ingest_project, recheck_known_secrets, apply_retention, report_status)
