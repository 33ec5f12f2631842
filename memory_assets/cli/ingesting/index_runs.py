"""Bring workspaces, and what agents wrote, up to date for the command line, in this process: the
steps of Dagster's jobs `index_workspace` and `index_agent_memory`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from memory_assets.cli.ingesting.ingest import IngestResult
from memory_assets.errors import safe_reason
from memory_assets.pipeline.checks.checks import Verified
from memory_assets.pipeline.ingest.batch_run import BatchRun
from memory_assets.pipeline.ingest.noted_run import note_run_ends, noted_run
from memory_assets.pipeline.ingest.passes import DOCUMENT_VECTORS, DOCUMENTS, WRITTEN, Outcome, Pass
from memory_assets.pipeline.ingest.steps import Materialized
from memory_assets.pipeline.ingest.workers import Workers
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.pipeline.stage.components import Enough, Progress, components_of
from memory_assets.settings import Settings
from memory_assets.stores.lake.schemas import WORKSPACE_DOCUMENTS, WORKSPACE_EMBEDDINGS
from memory_assets.stores.runs.names import AGENT_MEMORY_JOB, WORKSPACE_JOB
from memory_assets.stores.workspaces import Workspaces, is_workspace

_WORDS = tuple(Pass(asset, (asset,)) for asset in DOCUMENTS.assets)
_FIRST_DOCUMENTS = 32
"""The newest documents that can be found before others are read: about .5 CPU seconds by words."""
_DOCUMENTS_A_PASS = 256
"""Documents of each later pass: about 2 CPU seconds by words."""
_CALM_SECONDS = 2.0
"""While changes are no older, no more than the first documents are embedded at once."""


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
        return _run(settings, work, WORKSPACE_JOB, [*words, DOCUMENT_VECTORS], result, progress)
    parts = _Parts(words, result, seconds_of_calm)
    return _run(settings, work, WORKSPACE_JOB, parts, result, progress, parts.enough)


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
    return _run(settings, work, AGENT_MEMORY_JOB, [WRITTEN], IndexResult(projects=1))


def _run(
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
