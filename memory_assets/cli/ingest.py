"""Run Dagster's ingest job for `memory ingest`, project by project, in this process.

Runs, materializations and checks are stored in the Dagster instance that the UI and the
daemon use.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import dagster as dg

from memory_assets import errors
from memory_assets.cli.dagster_home import (
    PROCESS_TAG,
    fail_dead_runs,
    open_instance,
    this_process,
)
from memory_assets.dagster.definitions import build_defs
from memory_assets.dagster.jobs import INGEST_JOB, RECHECK_JOB, RETENTION_JOB
from memory_assets.dagster.partitions import add_keys, is_valid_key
from memory_assets.dagster.resources import MemoryResource
from memory_assets.dagster.superseded_runs import delete_superseded
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.pipeline.scan.on_disk import one_walk
from memory_assets.settings import Settings

Progress = Callable[[str, str, float], None]
"""Called with the project, the step that has just ended, and its share of the run's steps."""


@dataclass
class IngestResult:
    """The result of runs: failed projects with step and reason, checks that did not pass
    (`project: asset.check`), and the seconds spent in each step."""

    projects: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    checks_failed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    step_seconds: dict[str, float] = field(default_factory=dict)

    def add(self, other: IngestResult) -> None:
        """Add the result of another process's runs."""
        self.projects += other.projects
        self.failed.update(other.failed)
        self.checks_failed += other.checks_failed
        self.warnings += other.warnings
        for step, seconds in other.step_seconds.items():
            self.step_seconds[step] = self.step_seconds.get(step, 0.0) + seconds


class ProjectRuns:
    """Runs the job in this process, one project after the other."""

    def __init__(
        self,
        settings: Settings,
        instance: dg.DagsterInstance,
        progress: Progress = lambda project, step, share: None,
        tags: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._project = ""
        self._tags = {PROCESS_TAG: this_process(), **tags}
        logger = _step_logger(lambda step, share: progress(self._project, step, share))
        self._memory = MemoryResource(settings)
        defs = build_defs(settings, {"console": logger})
        self._job = defs.resolve_job_def(INGEST_JOB)
        self._instance = instance
        self._runs_kept = settings.runs_kept

    def run(self, work: ProjectPlan, result: IngestResult, limit: int | None = None) -> int:
        """Materialize a project, add the outcome to `result`, and return the number of files
        that were read: at most `limit` new or changed ones."""
        if not is_valid_key(work.project):
            result.failed[work.project] = "its name cannot be a partition key (see README)"
            return 0
        self._project = work.project
        run = self._job.execute_in_process(
            instance=self._instance,
            partition_key=work.project,
            run_config={
                "ops": {"raw_sessions": {"config": {"limit": limit}}},
                "loggers": {"console": {}},
            },
            tags={"memory/reason": work.reason, **self._tags},
            raise_on_error=False,
        )
        self._memory.components().sessions.forget()
        _add_run(result, work.project, run)
        delete_superseded(self._instance, work.project, self._runs_kept)
        return _files_read(run)


def begin(instance: dg.DagsterInstance, plans: Sequence[ProjectPlan]) -> None:
    """Bring the instance up to date: runs that died, and a partition for each project."""
    fail_dead_runs(instance)
    add_keys(instance, [work.project for work in plans])


def run_plans(
    settings: Settings,
    plans: Sequence[ProjectPlan],
    *,
    limit: int | None = None,
    progress: Progress = lambda project, step, share: None,
) -> IngestResult:
    """Materialize the projects of `plans`, one run each, and return the result.

    `limit` is the most new or changed files to read over all projects; with 0 no file is read,
    and tables are updated from the lake. A failed project does not stop the others.
    """
    result = IngestResult()
    left = limit
    with open_instance(settings) as instance:
        begin(instance, plans)
        runs = ProjectRuns(settings, instance, progress)
        with one_walk(MemoryResource(settings).components()):
            for work in plans:
                if limit and left is not None and left <= 0:
                    break
                read = runs.run(work, result, left)
                if left is not None:
                    left -= read
    return result


def search_for_known_secrets(settings: Settings) -> str | None:
    """Search the sessions on record for secrets found since, in a run of its own; return
    the reason if it failed."""
    return _run_over_all(settings, RECHECK_JOB)[0]


def apply_retention(settings: Settings) -> tuple[str | None, dict[str, object]]:
    """Cut old sessions down to their prompts and summaries in a run of its own; return the
    reason if it failed, and the metadata of the asset."""
    failure, run = _run_over_all(settings, RETENTION_JOB)
    made = run.get_asset_materialization_events()
    values = made[0].materialization.metadata if made else {}
    return failure, {name: value.value for name, value in values.items()}


def _run_over_all(settings: Settings, job: str) -> tuple[str | None, dg.ExecuteInProcessResult]:
    loggers = {"console": _step_logger(lambda step, share: None)}
    defs = build_defs(settings, loggers)
    with open_instance(settings) as instance:
        run = defs.resolve_job_def(job).execute_in_process(
            instance=instance,
            run_config={"loggers": {"console": {}}},
            tags={PROCESS_TAG: this_process()},
            raise_on_error=False,
        )
    failures = (_reason(event) for event in run.all_events if event.is_step_failure)
    return next(failures, None), run


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
    """Return True if a step failed because its blocking check did; that is reported apart."""
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
    """Hands the end of each step to `ended`; prints nothing."""

    def __init__(self, ended: Callable[[str, float], None], steps: int) -> None:
        super().__init__()
        self._ended = ended
        self._share = 1 / max(steps, 1)

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(record, "dagster_meta", {}).get("dagster_event")
        if event is not None and (event.is_step_success or event.is_step_failure):
            self._ended(str(event.step_key), self._share)


def _step_logger(ended: Callable[[str, float], None]) -> dg.LoggerDefinition:
    def start(context: dg.InitLoggerContext) -> logging.Logger:
        logger = logging.Logger("memory_assets.ingest", level=logging.DEBUG)
        job = context.job_def
        steps = len(job.graph.node_dict) if isinstance(job, dg.JobDefinition) else 1
        logger.addHandler(_StepHandler(ended, steps))
        return logger

    return dg.LoggerDefinition(
        start, description="Reports the end of each step to the command line."
    )
