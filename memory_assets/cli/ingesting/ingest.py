"""Bring projects up to date for the command line, in this process.

The passes are those of Dagster's job `ingest_batch`, and runs, materializations and checks are
stored in the Dagster instance that the UI and the daemon use, without importing Dagster: that
takes a second of CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from memory_assets.cli.printing.rendering import escaped
from memory_assets.errors import StoreError, no_text_in_errors, safe_reason
from memory_assets.pipeline.checks.checks import Verified
from memory_assets.pipeline.ingest import secret_search
from memory_assets.pipeline.ingest.batch_run import BatchRun, Listener, ignore
from memory_assets.pipeline.ingest.passes import PASSES, SUMMARIES, VECTORS, Outcome, Pass
from memory_assets.pipeline.ingest.run_ends import note_run_ends
from memory_assets.pipeline.ingest.secret_search import KNOWN_SECRETS
from memory_assets.pipeline.ingest.steps import Failed, Made
from memory_assets.pipeline.ingest.workers import Workers
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.pipeline.stage.components import components_of
from memory_assets.redaction import ENGINE_VERSION
from memory_assets.settings import Settings
from memory_assets.stores.run_history.create import create_files
from memory_assets.stores.run_history.events import Materialization
from memory_assets.stores.run_history.history import RunHistory
from memory_assets.stores.run_history.names import (
    BATCH_JOB_TAGS,
    BATCH_OPS,
    INGEST_BATCH,
    RECHECK_JOB,
    batch_config,
    batch_tags,
    is_valid_key,
)
from memory_assets.stores.run_history.processes import PROCESS_TAG, this_process
from memory_assets.stores.run_history.recorded_run import RecordedRun
from memory_assets.stores.run_history.superseded import delete_superseded
from memory_assets.transcripts import Source

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

STEPS_OF_ALL = sum(len(each.assets) for each in PASSES)
"""The steps of a project in all passes."""


@dataclass
class IngestResult:
    """The result of a run: failed projects with step and reason, checks that did not pass
    (`project: asset.check`), and the seconds spent in each step."""

    projects: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    checks_failed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    step_seconds: dict[str, float] = field(default_factory=dict)

    def include(self, other: IngestResult) -> None:
        """Add the result of a run of other projects."""
        self.projects += other.projects
        self.failed |= other.failed
        self.checks_failed += other.checks_failed
        self.warnings += other.warnings

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


@contextmanager
def open_history(settings: Settings) -> Iterator[RunHistory]:
    """Open the run history for a block, in which runs that died count as failed. It is created if
    there is none; a broken one is set aside by way of Dagster.

    Raises:
        StoreError: it is not what Dagster 1.13 creates.
    """
    history = RunHistory(settings.dagster_dir)
    if not history.is_usable():
        history.close()
        create_files(settings.dagster_dir, settings.lock_timeout_seconds)
        history = RunHistory(settings.dagster_dir)
    if not history.is_usable():
        history.close()
        from memory_assets.cli.dagster.home import open_instance

        open_instance(settings).dispose()
        history = RunHistory(settings.dagster_dir)
    if not history.is_usable():
        raise StoreError(
            f"the run history in {settings.dagster_dir} is not one of Dagster 1.13. Install the "
            "versions in requirements.lock, or move that directory away: nothing of the memory "
            "is lost."
        )
    with closing(history):
        history.fail_dead_runs()
        yield history


def advancing(bar: Progress, task: TaskID) -> Listener:
    """Return a listener that advances a task of a progress bar by each step that ended."""

    def show(event: Outcome | Pass) -> None:
        if not isinstance(event, Pass | Verified):
            about = escaped(f"{event.project[-40:]} {event.asset}")
            bar.update(task, advance=1, description=about)

    return show


def run_plans(
    settings: Settings,
    plans: Sequence[ProjectPlan],
    *,
    limit: int | None = None,
    walked: Mapping[str, Sequence[Source]] | None = None,
    progress: Listener = ignore,
    tags: Mapping[str, str] = MappingProxyType({}),
    opened: RunHistory | None = None,
) -> IngestResult:
    """Bring the projects of `plans` up to date, in one run, and return the result.

    `limit` is the most new or changed files to read over all projects; with 0 no file is read,
    and tables are updated from the lake. A failed project does not stop the others. `tags` are
    added to those of the run. `walked`: the transcripts by project, `opened`: the run history,
    where the caller has them.
    """
    result = IngestResult()
    projects = [work.project for work in plans if is_valid_key(work.project)]
    for work in plans:
        if work.project not in projects:
            result.failed[work.project] = "its name cannot be a partition key (docs/runs.md)"
    if not projects:
        return result
    begun: set[str] = set()
    reasons = {work.reason for work in plans}
    reason = reasons.pop() if len(reasons) == 1 else f"{len(plans)} projects"

    def listen(event: Outcome | Pass) -> None:
        if not isinstance(event, Pass):
            begun.add(event.project)
            result.add(event)
        progress(event)

    all_tags = {
        **BATCH_JOB_TAGS,
        "memory/reason": reason,
        **batch_tags(projects),
        PROCESS_TAG: this_process(),
        **tags,
    }
    with nullcontext(opened) if opened else open_history(settings) as history:
        history.add_partitions(projects)
        config = batch_config(projects, limit)
        try:
            with history.run(INGEST_BATCH, BATCH_OPS, config, all_tags) as run:
                _run_passes(settings, run, projects, limit, walked, listen)
        except Exception as error:  # noqa: BLE001 - it is in the run
            if not result.failed and not result.checks_failed:
                result.failed[INGEST_BATCH] = safe_reason(error)
        note_run_ends(components_of(settings))
        delete_superseded(history, projects, settings.runs_kept)
    result.projects = len(begun)
    return result


def search_for_known_secrets(settings: Settings) -> str | None:
    """Search the sessions on record for secrets found since, in a run of its own; return
    the reason if it failed."""
    components = components_of(settings)
    tags = {PROCESS_TAG: this_process(), "dagster/max_runtime": "3600"}
    with open_history(settings) as history:
        try:
            with (
                history.run(RECHECK_JOB, [KNOWN_SECRETS], {}, tags) as run,
                run.step(KNOWN_SECRETS) as step,
                no_text_in_errors(),
            ):
                metadata = secret_search.search_for_known_secrets(components)
                versions = {
                    "dagster/code_version": ENGINE_VERSION,
                    "dagster/data_version": run.run_id,
                }
                step.store([Materialization(None, KNOWN_SECRETS, metadata, versions)])
        except Exception as error:  # noqa: BLE001 - it is in the run
            return safe_reason(error)
    return None


def _run_passes(
    settings: Settings,
    run: RecordedRun,
    projects: Sequence[str],
    limit: int | None,
    walked: Mapping[str, Sequence[Source]] | None,
    listen: Listener,
) -> None:
    components = components_of(settings).for_run(run.run_id)
    words, *later = BATCH_OPS
    with closing(Workers(components)) as workers:
        batch = BatchRun(components, workers, listen)
        with run.step(words) as step:
            batch.index_words(step, projects, limit, walked)
        for name, part in zip(later, (SUMMARIES, VECTORS), strict=True):
            with run.step(name) as step:
                batch.run_pass(step, part)
                step.failure = batch.failure() if part is VECTORS else ""
