"""`memory ingest`: the Dagster job, project by project, in this process.

The runs, materializations and checks land in the same Dagster instance that the UI and
the daemon use; this is not a second pipeline.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import dagster as dg

from memory_assets import errors
from memory_assets.definitions import build_defs
from memory_assets.entrypoints.dagster_home import (
    PROCESS_TAG,
    fail_dead_runs,
    open_instance,
    this_process,
)
from memory_assets.jobs import INGEST_JOB, RECHECK_JOB
from memory_assets.partitions import add_keys, is_valid_key
from memory_assets.pipeline.plan import ProjectPlan
from memory_assets.resources import MemoryResource
from memory_assets.settings import Settings

Progress = Callable[[str, str, float], None]
"""Called with the project, the step that has just ended, and its share of the run's steps."""


@dataclass
class IngestResult:
    """What the runs came to: failed projects with the step and the reason, checks that did
    not pass (`project: asset.check`), and the seconds spent in each step."""

    projects: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    checks_failed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    step_seconds: dict[str, float] = field(default_factory=dict)


def run_plans(
    settings: Settings,
    plans: Sequence[ProjectPlan],
    *,
    limit: int | None = None,
    progress: Progress = lambda project, step, share: None,
) -> IngestResult:
    """Materialize the projects of `plans`, one run each, and say how it went.

    `limit` bounds the new or changed files taken in, project after project; with 0 none is,
    and what is on record is brought up to date. A failed project does not stop the others.
    """
    result = IngestResult()
    left = limit
    defs = build_defs({"memory": MemoryResource.of(settings)}, {"console": _step_logger(progress)})
    job = defs.resolve_job_def(INGEST_JOB)
    with open_instance(settings) as instance:
        fail_dead_runs(instance)
        add_keys(instance, [work.project for work in plans])
        for work in plans:
            if limit and left is not None and left <= 0:
                break
            if not is_valid_key(work.project):
                result.failed[work.project] = "its name cannot be a partition key (see README)"
                continue
            run = job.execute_in_process(
                instance=instance,
                partition_key=work.project,
                run_config={
                    "ops": {"raw_sessions": {"config": {"limit": left}}},
                    "loggers": {"console": {}},
                },
                tags={"memory/reason": work.reason, PROCESS_TAG: this_process()},
                raise_on_error=False,
            )
            _add_run(result, work.project, run)
            if left is not None:
                left -= _files_read(run)
    return result


def search_for_known_secrets(settings: Settings) -> str | None:
    """Search the sessions on record for secrets found since, in a run of its own; return
    the reason if it failed."""
    loggers = {"console": _step_logger(lambda project, step, share: None)}
    defs = build_defs({"memory": MemoryResource.of(settings)}, loggers)
    with open_instance(settings) as instance:
        run = defs.resolve_job_def(RECHECK_JOB).execute_in_process(
            instance=instance,
            run_config={"loggers": {"console": {}}},
            tags={PROCESS_TAG: this_process()},
            raise_on_error=False,
        )
    return next((_reason(event) for event in run.all_events if event.is_step_failure), None)


def _add_run(result: IngestResult, project: str, run: dg.ExecuteInProcessResult) -> None:
    result.projects += 1
    for event in run.all_events:
        if event.is_step_failure and not _is_check_failure(event):
            result.failed.setdefault(project, f"{event.step_key}: {_reason(event)}")
        elif event.is_step_success:
            seconds = event.step_success_data.duration_ms / 1000.0
            step = str(event.step_key)
            result.step_seconds[step] = result.step_seconds.get(step, 0.0) + seconds
    for check in run.get_asset_check_evaluations():
        if not check.passed:
            name = f"{project}: {check.asset_key.to_user_string()}.{check.check_name}"
            warn = check.severity == dg.AssetCheckSeverity.WARN
            (result.warnings if warn else result.checks_failed).append(name)


def _is_check_failure(event: dg.DagsterEvent) -> bool:
    """Whether a step failed because its blocking check did, which is told as such."""
    error = event.step_failure_data.error
    return error is not None and error.cls_name == "DagsterAssetCheckFailedError"


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


def _files_read(run: dg.ExecuteInProcessResult) -> int:
    for event in run.get_asset_materialization_events():
        if event.asset_key == dg.AssetKey("raw_sessions"):
            changed: Mapping[str, dg.MetadataValue] = event.materialization.metadata
            return int(str(changed["sessions_changed"].value))
    return 0


class _StepHandler(logging.Handler):
    """Hands the end of each step to `progress`; prints nothing."""

    def __init__(self, progress: Progress, steps: int) -> None:
        super().__init__()
        self._progress = progress
        self._share = 1 / max(steps, 1)

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(record, "dagster_meta", {}).get("dagster_event")
        if event is not None and (event.is_step_success or event.is_step_failure):
            self._progress(str(event.partition or ""), str(event.step_key), self._share)


def _step_logger(progress: Progress) -> dg.LoggerDefinition:
    def start(context: dg.InitLoggerContext) -> logging.Logger:
        logger = logging.Logger("memory_assets.ingest", level=logging.DEBUG)
        job = context.job_def
        steps = len(job.graph.node_dict) if isinstance(job, dg.JobDefinition) else 1
        logger.addHandler(_StepHandler(progress, steps))
        return logger

    return dg.LoggerDefinition(
        start, description="Reports the end of each step to the command line."
    )
