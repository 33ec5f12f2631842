"""Retention for the command line: a run of its job by Dagster, in this process."""

from __future__ import annotations

import dagster as dg

from memory_assets import errors
from memory_assets.cli.dagster.home import open_instance
from memory_assets.dagster.assets.retained_sessions import retained_sessions
from memory_assets.dagster.batch import batch_resources
from memory_assets.dagster.jobs import apply_retention as job
from memory_assets.settings import Settings
from memory_assets.stores.run_history.processes import PROCESS_TAG, this_process

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""Run configuration: Dagster prints nothing; its events are in the run."""


def apply_retention(settings: Settings) -> tuple[str | None, dict[str, object]]:
    """Cut old sessions down to their prompts and summaries in a run of its own; return the
    reason if it failed, and the metadata of the asset."""
    defs = dg.Definitions([retained_sessions], jobs=[job], resources=batch_resources(settings))
    with open_instance(settings) as instance:
        run = defs.resolve_job_def(job.name).execute_in_process(
            instance=instance,
            run_config=_QUIET,
            tags={PROCESS_TAG: this_process()},
            raise_on_error=False,
        )
    failures = (_reason(event) for event in run.all_events if event.is_step_failure)
    made = run.get_asset_materialization_events()
    values = made[0].materialization.metadata if made else {}
    return next(failures, None), {name: value.value for name, value in values.items()}


def _reason(event: dg.DagsterEvent) -> str:
    """Return our own message, or just the type of an error that we did not raise: its
    message may quote anything."""
    error = event.step_failure_data.error
    while error is not None and error.cause is not None:
        error = error.cause
    if error is None:
        return "failed"
    if error.cls_name in vars(errors):
        return error.message.partition(": ")[2].strip()
    return f"{error.cls_name} (see the run in `memory dev`)"
