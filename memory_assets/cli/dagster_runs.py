"""Runs of the jobs of one asset for the command line, by Dagster, in this process."""

from __future__ import annotations

import dagster as dg

from memory_assets import errors
from memory_assets.cli.dagster_home import open_instance
from memory_assets.dagster.batch import batch_resources
from memory_assets.dagster.jobs import recheck_known_secrets
from memory_assets.settings import Settings
from memory_assets.stores.run_history.processes import PROCESS_TAG, this_process

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""Run configuration: Dagster prints nothing; its events are in the run."""


def search_for_known_secrets(settings: Settings) -> str | None:
    """Search the sessions on record for secrets found since, in a run of its own; return
    the reason if it failed."""
    from memory_assets.dagster.assets.known_secrets import known_secrets

    return _materialize(settings, known_secrets, recheck_known_secrets)[0]


def apply_retention(settings: Settings) -> tuple[str | None, dict[str, object]]:
    """Cut old sessions down to their prompts and summaries in a run of its own; return the
    reason if it failed, and the metadata of the asset."""
    from memory_assets.dagster.assets.retained_sessions import retained_sessions
    from memory_assets.dagster.jobs import apply_retention as job

    failure, run = _materialize(settings, retained_sessions, job)
    made = run.get_asset_materialization_events()
    values = made[0].materialization.metadata if made else {}
    return failure, {name: value.value for name, value in values.items()}


def _materialize(
    settings: Settings, asset: dg.AssetsDefinition, job: dg.UnresolvedAssetJobDefinition
) -> tuple[str | None, dg.ExecuteInProcessResult]:
    """Run the job of one asset, without the rest of the graph; return the reason if it failed."""
    defs = dg.Definitions(assets=[asset], jobs=[job], resources=batch_resources(settings))
    with open_instance(settings) as instance:
        run = defs.resolve_job_def(job.name).execute_in_process(
            instance=instance,
            run_config=_QUIET,
            tags={PROCESS_TAG: this_process()},
            raise_on_error=False,
        )
    failures = (_reason(event) for event in run.all_events if event.is_step_failure)
    return next(failures, None), run


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
