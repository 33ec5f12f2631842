"""One ingest of many projects, pass by pass, with the events that Dagster shows of it."""

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
from memory_assets.pipeline.ingest.passes import SUMMARIES, WORDS, Batch, Outcome, Pass
from memory_assets.pipeline.ingest.steps import STEPS, Failed, Made, Step
from memory_assets.pipeline.ingest.workers import Workers
from memory_assets.pipeline.scan.on_disk import walk_once
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.stores.runs.events import (
    AssetEvent,
    Evaluation,
    Materialization,
    Metadata,
)
from memory_assets.stores.under_way.ingest import IngestProgress, ingesting
from memory_assets.transcripts import Source

_STORE_SECONDS = 1.0
"""How long an event may wait to be stored together with others."""

_ORDER = {asset: number for number, asset in enumerate(STEPS)}

Listener = Callable[[Outcome | Pass], None]
"""Called with what comes of each step and each check of each project, and with each pass over
all projects when it has ended."""


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

    batch: Batch
    _shown: IngestProgress | None = None
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
        """Run the first pass over projects, at most `limit` files of them. `walked`: all
        transcripts by project, where they have just been looked for."""
        compile_kingfisher()
        components = self._components
        sources = walk_once(components) if walked is None else walked
        self.batch = Batch.of(components, projects, sources, limit)
        names = self.batch.projects
        self._shown = IngestProgress(len(names))
        self.run_pass(log, WORDS)

    def take(self, partitions: Sequence[str]) -> None:
        """Make the passes to come those of these partitions, which are no projects, in this
        process."""
        compile_kingfisher()
        self.batch = Batch(partitions)

    def run_pass(self, log: EventLog, part: Pass) -> None:
        """Run a pass over all projects; store what comes of it, and tell searches and the
        listener."""
        tasks = self.batch.tasks(part)
        left = Counter(task.project for task in tasks)
        events = _Waiting(self._components, log)
        shown = self._shown
        with ExitStack() as after:
            publish: Callable[[], None] = lambda: None  # noqa: E731
            if shown is not None:
                publish = after.enter_context(ingesting(self._components.data_dir, shown))
            after.callback(events.store)
            after.enter_context(no_text_in_errors())
            for outcome in self._workers.run(tasks):
                self.batch.note(outcome)
                self._listen(outcome)
                if isinstance(outcome, Made) and outcome.asset == KEYWORD_INDEX:
                    left[outcome.project] -= 1
                    if shown is not None and part is not SUMMARIES:
                        done = sum(not number for number in left.values())
                        setattr(shown, part.name, done)
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


class _Waiting:
    """Collects what came of steps, and stores the events of about a second at once."""

    def __init__(self, components: Components, log: EventLog) -> None:
        self._components, self._log = components, log
        self._waiting: list[Made | Verified] = []
        self._stored_at = time.monotonic()

    def add(self, outcome: Outcome) -> bool:
        """Note an outcome, and return whether it was time to store what waited; failures are
        logged."""
        if isinstance(outcome, Failed):
            self._log.error(f"{outcome.project}: {outcome.asset}: {outcome.reason}")
            return False
        self._waiting.append(outcome)
        due = time.monotonic() - self._stored_at > _STORE_SECONDS
        if due:
            self.store()
        return due

    def store(self) -> None:
        """Store what waits: each asset after those that it is made of, then the checks."""
        waiting, self._waiting = self._waiting, []
        self._stored_at = time.monotonic()
        outputs = [event for event in waiting if isinstance(event, Made)]
        outputs.sort(key=lambda output: _ORDER[output.asset])
        events: list[AssetEvent] = [self._materialization(output) for output in outputs]
        events += [evaluation(event) for event in waiting if isinstance(event, Verified)]
        if events:
            self._log.store(events)

    def _materialization(self, outcome: Made) -> Materialization:
        step, report = STEPS[outcome.asset], outcome.report
        return Materialization(
            outcome.project,
            step.asset,
            metadata_of(self._components, report, step),
            step.code_version or self._components.ruleset_version,
            report.data_version,
        )


def metadata_of(components: Components, report: StageReport, step: Step) -> Metadata:
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
    if step.table is not None:
        partition = components.lake.partition(step.table, report.project)
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
