"""Forgetting sessions: removing every byte of them from the memory, for good.

The steps, each of which can be repeated: write tombstones (keyed ids; from then on the
sessions are never read again), delete the lake's files, amend the footers of forks, then
remove the sessions from Chroma, the keyword index, Dagster's history and, last, the
catalogue, because its names are needed to complete an interrupted forgetting. Files outside
the lake are rewritten from the remaining rows, not edited.

The agents' transcript files stay.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field

import numpy as np
from filelock import FileLock, Timeout

from memory_assets.errors import StoreBusy
from memory_assets.pipeline.indexes.keywords import forget_keywords
from memory_assets.pipeline.ownership.forgotten_records import tombstones
from memory_assets.pipeline.ownership.project_sessions import session_files
from memory_assets.pipeline.plan.adopt import adopt_archive
from memory_assets.pipeline.removal.references import forget_references
from memory_assets.pipeline.removal.selection import (
    SessionKey,
    SessionOnRecord,
    sessions_on_record,
)
from memory_assets.pipeline.removal.vectors import forget_vectors
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.records import RECORD_DTYPE, Records
from memory_assets.stores.catalog.removal import remove_sessions
from memory_assets.stores.sqlite_files import compact
from memory_assets.stores.tombstones import FILE_NAME, Tombstones, unfinished

_LOCK = "forgotten.lock"


@dataclass(frozen=True)
class Names:
    """Names to remove from the run history: sessions, and projects that have no session left."""

    session_ids: frozenset[str] = field(default=frozenset(), repr=False)
    projects: frozenset[str] = field(default=frozenset(), repr=False)


EraseTraces = Callable[[Names], int]
"""Removes runs and events with these names from the run history; returns the number of runs.

Raises:
    StoreBusy: a run to be removed is in progress.
"""
Progress = Callable[[str], None]


@dataclass
class ForgetReport:
    """The numbers of removed rows and files, and the seconds that each step took."""

    sessions: int = 0
    projects_gone: int = 0
    lake_files: int = 0
    forks_amended: int = 0
    collection_rows: int = 0
    keyword_rows: int = 0
    catalog_rows: int = 0
    runs: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Return the report as plain values."""
        return asdict(self)


def forget(
    components: Components,
    sessions: Sequence[SessionOnRecord],
    *,
    erase_traces: EraseTraces,
    progress: Progress = lambda step: None,
) -> ForgetReport:
    """Forget these sessions, and return the report. `complete` finishes an interrupted call.

    Raises:
        StoreBusy: another process writes the memory; nothing was done.
        StoreError: a store cannot be used; `complete` finishes the rest.
    """
    keys = [session.key for session in sessions]
    progress("waiting for other writers of this memory")
    with lock_all_writers(components, keys):
        owned = list(_owned_records(components, set(keys)))
        Tombstones(components.data_dir / FILE_NAME, components.install_key).begin(keys, owned)
        return _complete(components, erase_traces, progress)


def complete(
    components: Components,
    *,
    erase_traces: EraseTraces,
    progress: Progress = lambda step: None,
) -> ForgetReport:
    """Finish an interrupted forgetting, if there is one, and return the report."""
    adopt_archive(components)
    with lock_all_writers(components, []):
        return _complete(components, erase_traces, progress)


@contextmanager
def lock_all_writers(components: Components, keys: Sequence[SessionKey]) -> Iterator[None]:
    """Lock every project, because the files of collections, which all share, are rewritten."""
    lake = components.lake
    wait = components.settings.lock_timeout_seconds
    on_record = components.catalog.projects()
    components.data_dir.mkdir(parents=True, exist_ok=True)
    with ExitStack() as locks:
        try:
            locks.enter_context(FileLock(components.data_dir / _LOCK, timeout=wait))
        except Timeout:
            raise StoreBusy(
                f"another process has been forgetting for {wait:.0f} s; wait for it"
            ) from None
        for project in sorted(on_record | {project for project, _ in keys}):
            locks.enter_context(components.project_lock(project))
            if project not in on_record:  # leave no file with the name of an unknown project
                locks.callback(lake.lock_path(project).unlink, missing_ok=True)
        yield


def _complete(
    components: Components, erase_traces: EraseTraces, progress: Progress
) -> ForgetReport:
    report = ForgetReport()
    tombstone_store = tombstones(components)
    begun = tombstone_store.forgotten("begun")
    if begun:
        known = sessions_on_record(components)
        selected = {key for key in known if key in begun}
        gone = {project for project, _ in selected} - {
            project for project, session_id in known.keys() - selected
        }
        report.sessions, report.projects_gone = len(selected), len(gone)
        names = Names(frozenset(session_id for _, session_id in selected), frozenset(gone))

        def lake_files() -> int:
            progress("removing files of the lake")
            removed = sum(components.lake.remove_session(*key) for key in sorted(selected))
            for project in sorted(gone):
                components.lake.remove_project(project)
            return removed

        def catalog_rows() -> int:
            progress("removing rows of the catalogue")
            return remove_sessions(components.catalog.path, selected, gone)

        steps: dict[str, Callable[[], int]] = {
            "lake_files": lake_files,
            "forks_amended": lambda: forget_references(components, selected),
            "collection_rows": lambda: forget_vectors(components, selected, progress=progress),
            "keyword_rows": lambda: forget_keywords(components, selected),
            "runs": lambda: erase_traces(names) if selected else 0,
            "catalog_rows": catalog_rows,
        }
        for name, step in steps.items():
            started = time.perf_counter()
            setattr(report, name, step())
            report.seconds[name] = round(time.perf_counter() - started, 2)
        tombstone_store.advance("begun", "erased")
    if unfinished(tombstone_store.path):
        progress("rewriting the catalogue")
        compact(components.catalog.path)
        tombstone_store.advance("erased", "done")
    return report


def _owned_records(
    components: Components, selected: set[SessionKey]
) -> Iterator[tuple[int, Records]]:
    """Yield family and owned records (`RECORD_DTYPE`) of each of these sessions, of which forks
    may have copies. Records that a session only copied are left out."""
    for project in sorted({project for project, _ in selected}):
        copied = {each.session_id: each.copied for each in session_files(components, project)}
        for row in components.catalog.sources.families_of(project):
            if (row.project, row.session_id) not in selected or row.project != project:
                continue
            if row.family is not None:
                records = np.frombuffer(row.records, dtype=RECORD_DTYPE)
                is_copy = np.isin(records["id"], copied[row.session_id])
                yield row.family, records[~is_copy]
