"""The jobs: all assets and checks of a project, and the search for known secrets in all."""

import dagster as dg

INGEST_JOB = "ingest_project"
RECHECK_JOB = "recheck_known_secrets"

_ALL_PROJECTS = dg.AssetSelection.assets("known_secrets")

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
    selection=_ALL_PROJECTS,
    executor_def=dg.in_process_executor,
    description="Searches yesterday's sessions for the secrets that were found since.",
    tags={"dagster/max_runtime": "3600"},
)
