"""Run Dagster's jobs for the command line, in this process.

Runs, materializations and checks are stored in the Dagster instance that the UI and the
daemon use.
"""

from __future__ import annotations

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
from memory_assets.dagster.batch import batch_resources, ingest_batch
from memory_assets.dagster.jobs import INGEST_BATCH, recheck_known_secrets
from memory_assets.dagster.partitions import BATCH_OP, add_keys, batch_tags, is_valid_key
from memory_assets.dagster.superseded_runs import delete_superseded
from memory_assets.pipeline.ingest.passes import Outcome, Pass
from memory_assets.pipeline.ingest.steps import Failed, Made
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.settings import Settings

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""Run configuration: Dagster prints nothing; its events are in the run."""
Progress = Callable[[Outcome | Pass], None]
"""Called with what comes of each step and each check of each project, and with each pass over
all projects when it has ended."""


@dataclass
class IngestResult:
    """The result of a run: failed projects with step and reason, checks that did not pass
    (`project: asset.check`), and the seconds spent in each step."""

    projects: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    checks_failed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    step_seconds: dict[str, float] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Add what came of a step or a check. The newest result of a check counts: words are
        indexed before the summaries that a killed run had begun are made again."""
        if isinstance(outcome, Failed):
            self.failed.setdefault(outcome.project, f"{outcome.asset}: {outcome.reason}")
        elif isinstance(outcome, Made):
            seconds = self.step_seconds.get(outcome.asset, 0.0)
            self.step_seconds[outcome.asset] = seconds + outcome.report.seconds
        else:
            name = f"{outcome.project}: {outcome.subject}.{outcome.name}"
            for noted in (self.warnings, self.checks_failed):
                if name in noted:
                    noted.remove(name)
            if not outcome.verdict.passed:
                (self.warnings if outcome.verdict.warning else self.checks_failed).append(name)


class BatchRuns:
    """Runs batches of projects in this process; the instance and the engines stay open."""

    def __init__(
        self,
        settings: Settings,
        instance: dg.DagsterInstance,
        progress: Progress = lambda event: None,
        tags: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._progress = progress
        self._tags = {PROCESS_TAG: this_process(), **tags}
        self._resources = batch_resources(settings, self._listen)
        self._instance = instance
        self._settings = settings
        self._result = IngestResult()
        self._begun: set[str] = set()

    def run(self, works: Sequence[ProjectPlan], limit: int | None = None) -> IngestResult:
        """Bring projects up to date in one run, and return the result. `limit` is the most new or
        changed files to read; with 0 no file is read, and tables are updated from the lake."""
        result = self._result = IngestResult()
        projects = [work.project for work in works if is_valid_key(work.project)]
        for work in works:
            if work.project not in projects:
                result.failed[work.project] = "its name cannot be a partition key (docs/runs.md)"
        if not projects:
            return result
        self._begun = set()
        reasons = {work.reason for work in works}
        tags = {"memory/reason": reasons.pop() if len(reasons) == 1 else f"{len(works)} projects"}
        run = ingest_batch.execute_in_process(
            instance=self._instance,
            resources=self._resources,
            run_config={
                "ops": {BATCH_OP: {"config": {"projects": projects, "limit": limit}}},
                **_QUIET,
            },
            tags={**tags, **batch_tags(projects), **self._tags},
            raise_on_error=False,
        )
        for event in run.all_events:
            if event.is_run_failure and _was_interrupted(event):
                raise KeyboardInterrupt  # Dagster has noted it, and swallowed it
            if event.is_step_failure and not result.failed and not result.checks_failed:
                result.failed[INGEST_BATCH] = f"{event.step_key}: {_reason(event)}"
        delete_superseded(self._instance, projects, self._settings.runs_kept)
        result.projects = len(self._begun)
        return result

    def _listen(self, event: Outcome | Pass) -> None:
        if not isinstance(event, Pass):
            self._begun.add(event.project)
            self._result.add(event)
        self._progress(event)


def begin(instance: dg.DagsterInstance, plans: Sequence[ProjectPlan]) -> None:
    """Bring the instance up to date: runs that died, and a partition for each project."""
    fail_dead_runs(instance)
    add_keys(instance, [work.project for work in plans])


def run_plans(
    settings: Settings,
    plans: Sequence[ProjectPlan],
    *,
    limit: int | None = None,
    progress: Progress = lambda event: None,
) -> IngestResult:
    """Bring the projects of `plans` up to date, in one run, and return the result.

    `limit` is the most new or changed files to read over all projects; with 0 no file is read,
    and tables are updated from the lake. A failed project does not stop the others.
    """
    with open_instance(settings) as instance:
        begin(instance, plans)
        return BatchRuns(settings, instance, progress).run(plans, limit)


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


def _was_interrupted(event: dg.DagsterEvent) -> bool:
    reason = event.job_failure_data.failure_reason
    return reason is not None and reason.name == "UNEXPECTED_TERMINATION"


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
