"""One ingest of many projects, pass by pass, and its events for Dagster."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.checks.checks import Verified
from memory_assets.pipeline.checks.kingfisher import compile_kingfisher
from memory_assets.pipeline.indexes.keywords import STAGE as KEYWORD_INDEX
from memory_assets.pipeline.ingest.passes import SUMMARIES, WORDS, IngestBatch, Outcome, Pass
from memory_assets.pipeline.ingest.steps import STEPS, Materialized, StepFailed
from memory_assets.pipeline.ingest.workers import Workers
from memory_assets.pipeline.scan.on_disk import walk_once
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.stores.lake.schemas import TABLES
from memory_assets.stores.runs.events import AssetEvent, Evaluation, Materialization, Metadata
from memory_assets.stores.under_way import IndexedProjects, ingesting
from memory_assets.transcripts import Source

_STORE_SECONDS = 1.0
"""How long events are collected before they are stored together."""

Listener = Callable[[Outcome | Pass], None]
"""Called with the outcome of each step and check, and with each pass over all projects when it has
ended."""


class EventLog(Protocol):
    """The events of one op of a run."""

    def store(self, events: Sequence[AssetEvent]) -> None:
        """Store events."""

    def error(self, message: str) -> None:
        """Store an error message."""


def ignore(event: Outcome | Pass) -> None:
    """Do nothing."""


class BatchRun:
    """Takes projects through the passes; each pass is an op of a run, and has a log of its own."""

    batch: IngestBatch
    _progress: IndexedProjects | None = None
    """The progress that searches report; None where the batch has no projects."""

    def __init__(self, components: Components, workers: Workers, listen: Listener = ignore) -> None:
        self._components = components
        self._workers = workers
        self._listen = listen

    def index_words(
        self,
        log: EventLog,
        projects: Sequence[str],
        limit: int | None = None,
        walked: Mapping[str, Sequence[Source]] | None = None,
    ) -> None:
        """Run the first pass over projects, with at most `limit` files. `walked`: the transcripts
        by project, if they have just been listed."""
        compile_kingfisher()
        components = self._components
        sources = walk_once(components) if walked is None else walked
        self.batch = IngestBatch.of(components, projects, sources, limit)
        names = self.batch.projects
        self._progress = IndexedProjects(len(names))
        self.run_pass(log, WORDS)

    def take(self, partitions: Sequence[str]) -> None:
        """Set the partitions of the following passes, for partitions that are not projects."""
        compile_kingfisher()
        self.batch = IngestBatch(partitions)

    def run_pass(self, log: EventLog, part: Pass) -> None:
        """Run a pass over all projects; store its events, and inform searches and the listener."""
        tasks = self.batch.tasks(part)
        left = Counter(task.project for task in tasks)
        events = _EventBuffer(self._components, log)
        progress = self._progress
        with ExitStack() as after:
            publish: Callable[[], None] = lambda: None  # noqa: E731
            if progress is not None:
                publish = after.enter_context(ingesting(self._components.data_dir, progress))
            after.callback(events.store, last=True)
            after.enter_context(no_text_in_errors())
            for outcome in self._workers.run(tasks):
                self.batch.note(outcome)
                self._listen(outcome)
                if isinstance(outcome, Materialized) and outcome.asset == KEYWORD_INDEX:
                    left[outcome.project] -= 1
                    if progress is not None and part is not SUMMARIES:
                        done = sum(not number for number in left.values())
                        setattr(progress, part.name, done)
                if events.add(outcome):
                    publish()
            publish()
            self._listen(part)

    def failure(self) -> str:
        """Return how many projects failed, "" if none did."""
        if not self.batch.failed:
            return ""
        return (
            f"{len(self.batch.failed)} of {len(self.batch.projects)} projects failed; the others "
            "are done. The log says which and why."
        )


class _EventBuffer:
    """Collects outcomes, and stores the events of about a second at once; failed checks last,
    because Dagster's page shows the last result of a check, whatever its project."""

    def __init__(self, components: Components, log: EventLog) -> None:
        self._components, self._log = components, log
        self._waiting: list[Materialized | Verified] = []
        self._failed: list[Verified] = []
        self._stored_at = time.monotonic()

    def add(self, outcome: Outcome) -> bool:
        """Add an outcome, and return whether the buffer was stored; failures are logged."""
        if isinstance(outcome, StepFailed):
            self._log.error(f"{outcome.project}: {outcome.asset}: {outcome.reason}")
            return False
        if isinstance(outcome, Verified) and not outcome.verdict.passed:
            self._failed.append(outcome)
        else:
            self._waiting.append(outcome)
        due = time.monotonic() - self._stored_at > _STORE_SECONDS
        if due:
            self.store()
        return due

    def store(self, *, last: bool = False) -> None:
        """Store the buffer. With `last`, when nothing more comes, store failed checks, too."""
        waiting, self._waiting = self._waiting, []
        if last:
            waiting += self._failed
        self._stored_at = time.monotonic()
        if waiting:
            self._log.store(
                [
                    self._materialization(event)
                    if isinstance(event, Materialized)
                    else evaluation(event)
                    for event in waiting
                ]
            )

    def _materialization(self, outcome: Materialized) -> Materialization:
        step, report = STEPS[outcome.asset], outcome.report
        return Materialization(
            outcome.project,
            step.asset,
            metadata_of(self._components, report),
            step.code_version or self._components.ruleset_version,
            report.data_version,
        )


def metadata_of(components: Components, report: StageReport) -> Metadata:
    """Return the metadata of an asset's materialization: the counts of its stage's report.

    Only counts, names and hashes: Dagster's event log is not redacted, so no text of a
    transcript may be in metadata.
    """
    metadata: dict[str, str | int | float | Path] = {
        "work": "nothing to do" if report.unchanged else "brought up to date",
        "sessions": report.sessions,
        "sessions_changed": report.changed,
        "sessions_removed": report.removed,
        "sessions_quarantined": report.quarantined,
        "dagster/partition_row_count": report.rows,
        "rows_written": report.rows_written,
        "bytes": report.bytes,
        "seconds": round(report.seconds, 3),
        **report.details,
    }
    if table := TABLES.get(report.stage):
        partition = components.lake.partition(table, report.project)
        metadata |= {"dagster/uri": partition.directory, "bytes": partition.size()}
    return metadata


def evaluation(outcome: Verified) -> Evaluation:
    """Return the result of a check as an event."""
    verdict = outcome.verdict
    return Evaluation(
        outcome.project,
        outcome.subject,
        outcome.name,
        verdict.passed,
        verdict.warning,
        verdict.counts,
        None if verdict.passed else verdict.remedy,
    )
