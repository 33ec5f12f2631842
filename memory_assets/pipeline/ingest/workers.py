"""Running the tasks of an ingest in this process, and the jobs by which worker processes compute
its rows ahead, session by session (`stage/pool.py`)."""

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
from memory_assets.pipeline.redact.redacted_records import DueSessions, precompute_redaction
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
from memory_assets.pipeline.tables.derive import DueProducts, in_order, precompute_rows
from memory_assets.pipeline.tables.embeddings import precompute_vectors
from memory_assets.redaction import Redactor
from memory_assets.settings import Settings
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, WORKSPACE_DOCUMENTS
from memory_assets.transcripts import Source

_STAGES = {stage.table.name: stage for stage in STAGES}
_TURN_TABLES = tuple(
    stage.table.name
    for stage in STAGES
    if stage.group == "turns" and stage.derived.upstream == REDACTED_RECORDS
)
_NEW_PROCESSES = partial(Processes, module=__name__)
_ROWS_A_CPU_SECOND = 5e3
"""Records summarized, observed or cut into turns in a CPU second."""
_DOCUMENTS_A_CPU_SECOND = 100.0
"""Documents cut into chunks."""
_VECTORS_A_CPU_SECOND = 35.0
"""Passages embedded."""


def run_job(settings: Settings, run_id: str, make: Make) -> tuple[Results, bytes]:
    """Run a job in this process; return its results, and hashes of texts in which the redactor
    found nothing. A job that fails has no result: the stage computes it again, and reports the
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
            with suppress(Exception):  # the task raises and reports the same error
                yield from _jobs_of(components, task)


def _jobs_of(components: Components, task: Task) -> Iterator[Job]:
    if RAW_SESSIONS in task.assets:
        yield from _redaction_jobs(components, task)
        return
    by_source: defaultdict[str, list[Stage]] = defaultdict(list)
    for stage in (_STAGES[asset] for asset in task.assets if asset in _STAGES):
        source, is_pure = stage.derived.upstream.name, stage.derived.is_pure(components)
        if source not in task.assets and is_pure and (components.embeds or not stage.embeds):
            by_source[source].append(stage)
    for source, stages in by_source.items():
        yield from _derivation_jobs(components, task.project, source, stages)


def _derivation_jobs(
    components: Components, project: str, source: str, stages: Sequence[Stage]
) -> Iterator[Job]:
    """Yield a job for each session with outdated rows in tables made from the table `source`."""
    products = components.catalog.products
    due = {stage.table.name: DueProducts(components, project, stage.derived) for stage in stages}
    speed = _DOCUMENTS_A_CPU_SECOND if source == WORKSPACE_DOCUMENTS.name else _ROWS_A_CPU_SECOND
    speed = _VECTORS_A_CPU_SECOND if stages[0].embeds else speed
    count = 0
    for product in in_order(products.of_project(source, project).values()):
        session_id = product.session_id
        tables = [name for name in due if due[name].status(product) == "due"]
        if not tables:
            continue
        if components.enough(count):
            return
        count += 1
        if product.rows:
            seconds = len(tables) * product.rows / speed
            make = partial(_derive_session, source=product, tables=tables)
            yield Job((project, session_id), make, seconds, product.bytes)


def _derive_session(components: Components, source: Product, tables: Iterable[str]) -> Results:
    results: Results = {}
    for stage in map(_STAGES.__getitem__, tables):
        make = precompute_vectors if stage.embeds else precompute_rows
        with suppress(Exception):  # the stage makes it again
            results |= make(components, stage.derived, source)
    return results


def _redaction_jobs(components: Components, task: Task) -> Iterator[Job]:
    """Yield a job for each session of a project with new or changed files, then one for each
    session to be redacted for another reason."""
    project = task.project
    ledger = components.catalog.sources.rows(project)
    transcripts, _ = sources_of(components, project, task.walked)
    changed = newest_first(out_of_date(ledger, transcripts))
    for name, group in groupby(changed, key=lambda source: source.session_id):
        files = tuple(group)
        keys = {(file.agent, file.agent_id or "") for file in files}
        rows = [row for row in ledger if row.session_id == name]
        unchanged = [row for row in rows if (row.agent, row.agent_id) not in keys]
        size = sum(file.size for file in files)
        make = partial(_read_and_redact, changed=files, rows=unchanged)
        yield Job((project, name), make, size / BYTES_A_SECOND, size)
    changed_sessions = {file.session_id for file in changed}
    due = DueSessions(components, project)
    for session in session_files(components, project):
        if session.session_id not in changed_sessions and due.status(session) == "due":
            size = sum(row.size for row in session.to_read)
            make = partial(_redact_and_cut, session=session)
            yield Job(session.key, make, size / BYTES_A_SECOND, size)


def _read_and_redact(
    components: Components, changed: Sequence[Source], rows: Sequence[SourceRow]
) -> Results:
    """Read the changed files of a session, whose unchanged files are the ledger's `rows`; redact it
    as if it shared no record with another session, and cut it into turns."""
    read = {file: read_facts(components, file) for file in changed}
    of_session = sorted([*read.values(), *rows], key=lambda row: row.agent_id)
    key = of_session[0].project, of_session[0].session_id
    session = SessionFiles(*key, tuple(of_session), np.empty(0, dtype=np.uint64))
    results: Results = {(RAW_SESSIONS, file): row for file, row in read.items()}
    return results | _redact_and_cut(components, session)


def _redact_and_cut(components: Components, session: SessionFiles) -> Results:
    """Redact a session and cut it into turns."""
    results = precompute_redaction(components, session)
    ((redaction, _),) = results.values()
    if components.sessions.has(redaction.records):
        results |= _derive_session(components, redaction.records, _TURN_TABLES)
    return results


class Workers:
    """Runs the tasks of one ingest; the processes stay for its next pass. `executor` returns an
    executor of the jobs for a number of workers."""

    def __init__(
        self, components: Components, executor: Callable[[int], Executor] = _NEW_PROCESSES
    ) -> None:
        run_components = self._components = components.for_run(components.run_id)
        run = partial(run_job, run_components.settings, run_components.run_id)
        self._pool = run_components.pool = Pool(run_components.settings, run, self._note, executor)

    def close(self) -> None:
        """End the processes at once."""
        self._pool.close()

    def _note(self, clean: bytes) -> None:
        if clean:
            self._components.redactor.at_rest.include(clean)

    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Run tasks in this order; yield their outcomes. Tasks for a first answer run in this
        process alone; the worker processes start after its first step, because a new machine
        compiles the scanners' patterns until then."""
        waiting = list(tasks)
        jobs = jobs_for(self._components, [task for task in tasks if not task.is_first])
        if waiting and not waiting[0].is_first:
            self._pool.start(jobs)
        with rare_collections():
            while waiting:
                task = waiting.pop(0)
                for outcome in run_task(self._components, task):
                    if task.is_first and not self._pool.is_running:
                        self._pool.start(jobs)
                    yield outcome
                if all(task.project != other.project for other in waiting):
                    self._pool.forget(task.project)
        self._pool.end_pass()
