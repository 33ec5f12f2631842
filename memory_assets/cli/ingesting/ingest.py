"""Bring projects, workspaces, and what agents wrote, up to date for the command line, in this
process.

The passes are those of Dagster's jobs, without importing Dagster, which takes a second of CPU:
materializations and checks are noted in the ledger, from which Dagster's sensor `ingests_sensor`
has them recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from memory_assets.errors import no_text_in_errors, safe_reason
from memory_assets.pipeline.checks.checks import Verified
from memory_assets.pipeline.ingest.batch_run import BatchRun, Listener, ignore
from memory_assets.pipeline.ingest.noted_run import NotedRun, note_run_ends, noted_run
from memory_assets.pipeline.ingest.passes import (
    DOCUMENT_VECTORS,
    DOCUMENTS,
    SUMMARIES,
    VECTORS,
    WRITTEN,
    Outcome,
    Pass,
)
from memory_assets.pipeline.ingest.steps import Materialized, StepFailed
from memory_assets.pipeline.ingest.workers import Workers
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.pipeline.redact import known_secrets
from memory_assets.pipeline.redact.known_secrets import KNOWN_SECRETS
from memory_assets.pipeline.removal.retention import RETAINED_SESSIONS, retain, retention_metadata
from memory_assets.pipeline.stage.components import Components, Enough, Progress, components_of
from memory_assets.redaction import ENGINE_VERSION
from memory_assets.settings import Settings
from memory_assets.stores.lake.schemas import WORKSPACE_DOCUMENTS, WORKSPACE_EMBEDDINGS
from memory_assets.stores.runs.events import Materialization, Metadata
from memory_assets.stores.runs.names import (
    AGENT_MEMORY_JOB,
    INGEST_BATCH,
    NO_KEY,
    RECHECK_JOB,
    RETENTION_JOB,
    WORKSPACE_JOB,
    is_valid_key,
)
from memory_assets.stores.workspaces import Workspaces, is_workspace
from memory_assets.transcripts import Source

_WORDS = tuple(Pass(asset, (asset,)) for asset in DOCUMENTS.assets)
_FIRST_DOCUMENTS = 32
"""The newest documents that can be found before others are read: about .5 CPU seconds by words."""
_DOCUMENTS_A_PASS = 256
"""Documents of each later pass: about 2 CPU seconds by words."""
_CALM_SECONDS = 2.0
"""While changes are no older, no more than the first documents are embedded at once."""


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


@dataclass
class IndexResult(IngestResult):
    """The result of a run of a workspace, with the places that failed checks name, numbers of what
    was done, and whether something is left to the next run."""

    places: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    unfinished: bool = False


def index_workspace(
    settings: Settings,
    work: ProjectPlan,
    *,
    progress: Progress | None = None,
    seconds_of_calm: Callable[[], float] | None = None,
) -> IndexResult:
    """Bring a workspace up to date in a run of its own, and return the result. Its words can be
    searched before anything is embedded. Where its directory is gone, what is on record is brought
    up to date.

    `seconds_of_calm` returns how long ago a file changed, 0 while a change waits. Then documents
    are taken in in parts, the newest first, and the run makes way for changes that wait."""
    registry, result = Workspaces(settings.data_dir), IndexResult(projects=1)
    present = registry.of_partition(work.project).root.is_dir()
    words = _WORDS if present else _WORDS[1:]
    if seconds_of_calm is None:
        return _run_partition(
            settings, work, WORKSPACE_JOB, [*words, DOCUMENT_VECTORS], result, progress
        )
    parts = _Parts(words, result, seconds_of_calm)
    return _run_partition(settings, work, WORKSPACE_JOB, parts, result, progress, parts.enough)


class _Parts:
    """The passes of a run that makes way for changes."""

    def __init__(
        self, words: Sequence[Pass], result: IndexResult, seconds_of_calm: Callable[[], float]
    ) -> None:
        self._words, self._result, self._seconds_of_calm = words, result, seconds_of_calm
        self._most, self._embeds = _FIRST_DOCUMENTS, False

    def enough(self, count: int) -> bool:
        """Whether a pass has made enough documents for now."""
        if count < self._most:
            return False
        return not self._embeds or self._seconds_of_calm() < _CALM_SECONDS

    def __iter__(self) -> Iterator[Pass]:
        """Yield words in parts until all is read or a change waits, then vectors."""
        result = self._result
        while True:
            result.unfinished = False
            yield from self._words
            if not result.unfinished:
                break
            if not self._seconds_of_calm():
                return
            self._most = _DOCUMENTS_A_PASS
        self._most, self._embeds = _FIRST_DOCUMENTS, True
        for asset in DOCUMENT_VECTORS.assets:
            yield Pass(asset, (asset,))
            if result.unfinished and not self._seconds_of_calm():
                return


def index_partition(settings: Settings, work: ProjectPlan) -> IngestResult:
    """Bring a workspace, or what agents wrote about a project, up to date; return the result."""
    if is_workspace(work.project):
        return index_workspace(settings, work)
    return index_agent_memory(settings, work)


def index_agent_memory(settings: Settings, work: ProjectPlan) -> IngestResult:
    """Bring what agents wrote about a project up to date in a run of its own; return the result."""
    return _run_partition(settings, work, AGENT_MEMORY_JOB, [WRITTEN], IndexResult(projects=1))


def _run_partition(
    settings: Settings,
    work: ProjectPlan,
    job: str,
    passes: Iterable[Pass],
    result: IndexResult,
    progress: Progress | None = None,
    enough: Enough | None = None,
) -> IndexResult:
    """Take a partition through passes, in a run of a job; return the result as it comes."""
    partition = work.project

    def listen(event: Outcome | Pass) -> None:
        if not isinstance(event, Pass):
            result.add(event)
            if isinstance(event, Verified) and event.failed:
                places = str(event.verdict.counts.get("places", ""))
                result.places += filter(None, places.split("; "))
            elif isinstance(event, Materialized):
                result.unfinished |= event.report.unfinished
                result.counts.update(_counts(event))

    components = components_of(settings)
    try:
        with (
            noted_run(components, job, [partition]) as run,
            closing(Workers(of_run := components.for_run(run.run_id, progress, enough))) as workers,
        ):
            batch = BatchRun(of_run, workers, listen)
            batch.take([partition])
            for part in passes:
                batch.run_pass(run, part)
            run.failure = batch.failure()
    except Exception as error:  # noqa: BLE001 - the run is noted as failed
        result.failed.setdefault(partition, safe_reason(error))
    note_run_ends(components)
    return result


def _counts(output: Materialized) -> Counter[str]:
    """Return what a step did: documents and vectors, by what became of them."""
    report, details = output.report, output.report.details
    counts: Counter[str] = Counter()
    if output.asset == WORKSPACE_DOCUMENTS.name:
        counts.update(documents_read=report.changed, documents_removed=report.removed)
    elif output.asset == WORKSPACE_EMBEDDINGS.name and "texts_embedded" in details:
        for name in ("texts_embedded", "vectors_reused"):
            counts[name] = int(details[name])
    return counts
