"""Bring projects up to date for the command line, in this process.

The passes are those of Dagster's job `ingest_batch`, without importing Dagster, which takes a
second of CPU: materializations and checks are noted in the ledger, from which Dagster's sensor
`ingests_sensor` has them recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from memory_assets.errors import no_text_in_errors, safe_reason
from memory_assets.pipeline.ingest.batch_run import BatchRun, Listener, ignore
from memory_assets.pipeline.ingest.noted_run import NotedRun, note_run_ends, noted_run
from memory_assets.pipeline.ingest.passes import SUMMARIES, VECTORS, Outcome, Pass
from memory_assets.pipeline.ingest.steps import Materialized, StepFailed
from memory_assets.pipeline.ingest.workers import Workers
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.pipeline.redact import known_secrets
from memory_assets.pipeline.redact.known_secrets import KNOWN_SECRETS
from memory_assets.pipeline.removal.retention import RETAINED_SESSIONS, retain, retention_metadata
from memory_assets.pipeline.stage.components import Components, Progress, components_of
from memory_assets.redaction import ENGINE_VERSION
from memory_assets.settings import Settings
from memory_assets.stores.runs.events import Materialization, Metadata
from memory_assets.stores.runs.names import (
    INGEST_BATCH,
    NO_KEY,
    RECHECK_JOB,
    RETENTION_JOB,
    is_valid_key,
)
from memory_assets.transcripts import Source


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
        if isinstance(outcome, StepFailed):
            self.failed.setdefault(outcome.project, f"{outcome.asset}: {outcome.reason}")
        elif isinstance(outcome, Materialized):
            seconds = self.step_seconds.get(outcome.asset, 0.0)
            self.step_seconds[outcome.asset] = seconds + outcome.report.seconds
            if wrong := outcome.report.details.get("chroma_set_aside"):
                self.warnings.append(
                    f"{outcome.project}: Chroma's files were set aside, and are made again from "
                    f"the lake ({wrong})"
                )
        else:
            name = f"{outcome.project}: {outcome.subject}.{outcome.name}"
            for noted in (self.warnings, self.checks_failed):
                if name in noted:
                    noted.remove(name)
            if not outcome.verdict.passed:
                (self.warnings if outcome.verdict.warning else self.checks_failed).append(name)


def run_plans(
    settings: Settings,
    plans: Sequence[ProjectPlan],
    *,
    limit: int | None = None,
    walked: Mapping[str, Sequence[Source]] | None = None,
    progress: Listener = ignore,
    advance: Progress | None = None,
) -> IngestResult:
    """Bring the projects of `plans` up to date, in one run, and return the result.

    `limit` is the most new or changed files to read over all projects; with 0 no file is read,
    and tables are updated from the lake. A failed project does not stop the others. `walked`: the
    transcripts by project, where the caller has them. `progress` hears of steps and passes,
    `advance` of sessions.
    """
    result = IngestResult()
    projects = [work.project for work in plans if is_valid_key(work.project)]
    for work in plans:
        if work.project not in projects:
            result.failed[work.project] = f"its name {NO_KEY}"
    if not projects:
        return result
    begun: set[str] = set()

    def listen(event: Outcome | Pass) -> None:
        if not isinstance(event, Pass):
            begun.add(event.project)
            result.add(event)
        progress(event)

    components = components_of(settings)
    try:
        with noted_run(components, INGEST_BATCH, projects) as run:
            of_run = components.for_run(run.run_id, advance)
            _run_passes(of_run, run, projects, limit, walked, listen)
    except Exception as error:  # noqa: BLE001 - the run is noted as failed
        result.failed[INGEST_BATCH] = safe_reason(error)
    note_run_ends(components)
    result.projects = len(begun)
    return result


def search_for_known_secrets(settings: Settings) -> str | None:
    """Search the sessions on record for secrets found since, in a run of its own; return
    the reason if it failed."""
    components = components_of(settings)
    try:
        with noted_run(components, RECHECK_JOB, []) as run, no_text_in_errors():
            metadata = known_secrets.search_for_known_secrets(components)
            event = Materialization(None, KNOWN_SECRETS, metadata, ENGINE_VERSION, run.run_id)
            run.store([event])
    except Exception as error:  # noqa: BLE001 - the run is noted as failed
        return safe_reason(error)
    return None


def apply_retention(settings: Settings) -> Metadata:
    """Cut old sessions down to their prompts and summaries, in a run of its own; return the
    metadata of the asset."""
    components = components_of(settings)
    with noted_run(components, RETENTION_JOB, []) as run, no_text_in_errors():
        metadata = retention_metadata(retain(components))
        run.store([Materialization(None, RETAINED_SESSIONS, metadata, None, run.run_id)])
    return metadata


def _run_passes(
    components: Components,
    run: NotedRun,
    projects: Sequence[str],
    limit: int | None,
    walked: Mapping[str, Sequence[Source]] | None,
    listen: Listener,
) -> None:
    with closing(Workers(components)) as workers:
        batch = BatchRun(components, workers, listen)
        batch.index_words(run, projects, limit, walked)
        for part in (SUMMARIES, VECTORS):
            batch.run_pass(run, part)
        run.failure = batch.failure()
