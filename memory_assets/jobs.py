"""The one job: all assets and checks of a project."""

import dagster as dg

INGEST_JOB = "ingest_project"

ingest_project = dg.define_asset_job(
    INGEST_JOB,
    selection=dg.AssetSelection.all() | dg.AssetSelection.all_asset_checks(),
    executor_def=dg.in_process_executor,
    description=(
        "Transcripts of one project to searchable memory. In one process: four assets and "
        "a check cost 3 CPU-seconds there and 16 in a process a step."
    ),
    tags={"dagster/max_runtime": "3600"},
)
