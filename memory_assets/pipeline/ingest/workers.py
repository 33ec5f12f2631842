"""The tasks of an ingest, which this process runs, and what other processes do of a pass before
it comes to it, session by session (`stage/pool.py`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import lru_cache, partial
from itertools import groupby

import numpy as np

from memory_assets.pipeline.ingest.passes import Outcome, Task, run_task
from memory_assets.pipeline.ownership.session_files import SessionFiles, session_files
from memory_assets.pipeline.redact.redacted_records import DueSessions, redacted_ahead
from memory_assets.pipeline.scan.on_disk import sources_of
from memory_assets.pipeline.scan.raw_sessions import STAGE as RAW_SESSIONS
from memory_assets.pipeline.scan.raw_sessions import newest_first, out_of_date, read_facts
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.pool import (
    BYTES_A_SECOND,
    Job,
    Make,
    Pool,
    Processes,
    Results,
    rare_collections,
)
from memory_assets.pipeline.stages import STAGES, Stage
from memory_assets.pipeline.tables.derive import DueProducts, in_order, made_ahead
from memory_assets.pipeline.tables.embeddings import embedded_ahead
from memory_assets.redaction import Redactor
from memory_assets.settings import Settings
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, WORKSPACE_DOCUMENTS
from memory_assets.transcripts import Source

_STAGES = {stage.table.name: stage for stage in STAGES}
_OF_TURNS = tuple(
    stage.table.name
    for stage in STAGES
    if stage.group == "turns" and stage.derived.upstream == REDACTED_RECORDS
)
_PROCESSES = partial(Processes, module=__name__)
_ROWS_A_SECOND = 5e3
"""Records summarized, observed or cut into turns in a CPU second."""
_DOCUMENTS_A_SECOND = 100.0
"""Documents cut into chunks."""
_VECTORS_A_SECOND = 35.0
"""Passages embedded."""


def run_job(settings: Settings, run_id: str, make: Make) -> tuple[Results, bytes]:
    """Run a job in this process; return its results, and hashes of texts in which the redactor
    found nothing. What fails has no result: who asks for it makes it again, and reports the
    error."""
    components = _components(settings, run_id)
    redactor: Redactor | None = components.opened.get("redactor")
    seen = redactor.at_rest.added if redactor is not None else 0
    results: Results = {}
    with suppress(Exception):
        results = make(components)
    components.sessions.forget()
    components.read_records.forget()
    redactor = components.opened.get("redactor")
    return results, redactor.at_rest.since(seen) if redactor is not None else b""


@lru_cache(maxsize=1)
def _components(settings: Settings, run_id: str) -> Components:
    components = Components(settings).for_run(run_id)
    _ = components.lake  # opening it keeps pandas out, which the first rows would import
    return components


def jobs_for(components: Components, tasks: Iterable[Task]) -> Iterator[Job]:
    """Yield the jobs of tasks, in their order, each once."""
    projects: set[str] = set()
    for task in tasks:
        if task.project not in projects:
            projects.add(task.project)
            with suppress(Exception):  # the task has the same error, and reports it
                yield from _jobs_of(components, task)


def _jobs_of(components: Components, task: Task) -> Iterator[Job]:
    if RAW_SESSIONS in task.assets:
        yield from _to_take_in(components, task)
        return
    by_source: defaultdict[str, list[Stage]] = defaultdict(list)
    for stage in (_STAGES[asset] for asset in task.assets if asset in _STAGES):
        source, is_local = stage.derived.upstream.name, stage.derived.is_local(components)
        if source not in task.assets and is_local and (components.embeds or not stage.embeds):
            by_source[source].append(stage)
    for source, stages in by_source.items():
        yield from _to_make(components, task.project, source, stages)


def _to_make(
    components: Components, project: str, source: str, stages: Sequence[Stage]
) -> Iterator[Job]:
    """Yield a job for each session of which some tables, all made of one, are not up to date."""
    products = components.catalog.products
    due = {stage.table.name: DueProducts(components, project, stage.derived) for stage in stages}
    speed = _DOCUMENTS_A_SECOND if source == WORKSPACE_DOCUMENTS.name else _ROWS_A_SECOND
    speed = _VECTORS_A_SECOND if stages[0].embeds else speed
    count = 0
    for product in in_order(products.of_project(source, project).values()):
        session_id = product.session_id
        wanted = [name for name in due if due[name].standing(product) == "due"]
        if not wanted:
            continue
        if components.enough(count):
            return
        count += 1
        if product.rows:
            seconds = len(wanted) * product.rows / speed
            make = partial(_made, source=product, wanted=wanted)
            yield Job((project, session_id), make, seconds, product.bytes)


def _made(components: Components, source: Product, wanted: Iterable[str]) -> Results:
    results: Results = {}
    for stage in map(_STAGES.__getitem__, wanted):
        make = embedded_ahead if stage.embeds else made_ahead
        if stage.embeds or stage.derived.make is not None:
            with suppress(Exception):  # who asks for it makes it again
                results |= make(components, stage.derived, source)
    return results


def _to_take_in(components: Components, task: Task) -> Iterator[Job]:
    """Yield a job for each session of a project with new or changed files, then one for each that
    is to be redacted for another reason."""
    project = task.project
    ledger = components.catalog.sources.rows(project)
    transcripts, _ = sources_of(components, project, task.walked)
    changed = newest_first(out_of_date(ledger, transcripts))
    for name, group in groupby(changed, key=lambda source: source.session_id):
        files = tuple(group)
        read = {(file.agent, file.agent_id or "") for file in files}
        rows = [row for row in ledger if row.session_id == name]
        others = [row for row in rows if (row.agent, row.agent_id) not in read]
        size = sum(file.size for file in files)
        make = partial(_taken_in, changed=files, rows=others)
        yield Job((project, name), make, size / BYTES_A_SECOND, size)
    begun, state = {file.session_id for file in changed}, DueSessions.of(components, project)
    for session in session_files(components, project):
        expected = session.input_hash(components.ruleset_version)
        if session.session_id not in begun and state.is_due(session, expected):
            size = sum(row.size for row in session.to_read)
            make = partial(_redacted, session=session)
            yield Job(session.key, make, size / BYTES_A_SECOND, size)


def _taken_in(
    components: Components, changed: Sequence[Source], rows: Sequence[SourceRow]
) -> Results:
    """Read the changed files of a session, of which the ledger has the other `rows`, redact it as
    if it shared no record with another, and cut it into turns."""
    read = {file: read_facts(components, file) for file in changed}
    of_session = sorted([*read.values(), *rows], key=lambda row: row.agent_id)
    key = of_session[0].project, of_session[0].session_id
    session = SessionFiles(*key, tuple(of_session), np.empty(0, dtype=np.uint64))
    results: Results = {(RAW_SESSIONS, file): row for file, row in read.items()}
    return results | _redacted(components, session)


def _redacted(components: Components, session: SessionFiles) -> Results:
    """Redact a session and cut it into turns."""
    results = redacted_ahead(components, session)
    ((redaction, _),) = results.values()
    if components.sessions.holds(redaction.records):
        results |= _made(components, redaction.records, _OF_TURNS)
    return results


class Workers:
    """Runs the tasks of one ingest; the processes stay for its next pass. `executor` makes what
    runs the jobs, for a number of workers."""

    def __init__(
        self, components: Components, executor: Callable[[int], Executor] = _PROCESSES
    ) -> None:
        run_components = self._components = components.for_run(components.run_id)
        run = partial(run_job, run_components.settings, run_components.run_id)
        self._pool = run_components.pool = Pool(run_components.settings, run, self._note, executor)

    def close(self) -> None:
        """End the processes; those that are at work are interrupted."""
        self._pool.close()

    def _note(self, clean: bytes) -> None:
        if clean:
            self._components.redactor.at_rest.include(clean)

    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Run tasks in this order; yield what comes of them as it comes. Those for a first answer
        are run by this process, which is ready; the others start after its first step, because
        before it a new machine compiles the scanners' patterns on two cores."""
        left = list(tasks)
        jobs = jobs_for(self._components, [task for task in tasks if not task.is_first])
        if left and not left[0].is_first:
            self._pool.start(jobs)
        with rare_collections():
            while left:
                task = left.pop(0)
                for outcome in run_task(self._components, task):
                    if task.is_first and not self._pool.is_running:
                        self._pool.start(jobs)
                    yield outcome
                if all(task.project != other.project for other in left):
                    self._pool.forget(task.project)
        self._pool.end_pass()
