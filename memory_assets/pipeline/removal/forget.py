"""Forgetting: sessions leave the memory, byte for byte, and do not come back.

In this order, each step harmless to repeat: tombstones (keyed ids, from then on the
sessions are never read again), the lake, what forks say of them, Chroma, the keyword index,
traces in Dagster, and last the catalogue, whose names are what an interrupted forgetting is
completed by. Files other than the lake's are made anew of what is left, not edited.

The agents' transcript files are not ours and stay.
"""

from __future__ import annotations

import time
from collections import Counter
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
from memory_assets.stores.tombstones import FILE_NAME, Tombstones

_LOCK = "forgotten.lock"


@dataclass(frozen=True)
class Names:
    """What no run history may name any more: sessions, and projects without a session left."""

    session_ids: frozenset[str] = field(default=frozenset(), repr=False)
    projects: frozenset[str] = field(default=frozenset(), repr=False)


EraseTraces = Callable[[Names], int]
"""Removes what a run history holds of these names; returns how many runs it removed.

Raises:
    StoreBusy: a run that it would have to remove is under way.
"""
Progress = Callable[[str], None]


@dataclass
class ForgetReport:
    """What was removed, and how long it took."""

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
    """Forget these sessions; return what was removed.

    Killed at any moment, it is completed by `complete`.

    Raises:
        StoreBusy: another process writes the memory; nothing was done yet.
        StoreError: a store cannot be used; what was begun is completed by `complete`.
    """
    keys = [session.key for session in sessions]
    progress("waiting for other writers of this memory")
    with all_writers_out(components, keys):
        owned = list(_owned_records(components, set(keys)))
        Tombstones(components.data_dir / FILE_NAME, components.install_key).begin(keys, owned)
        return _complete(components, erase_traces, progress)


def complete(
    components: Components,
    *,
    erase_traces: EraseTraces,
    progress: Progress = lambda step: None,
) -> ForgetReport:
    """Complete what was begun and interrupted, if anything was; return what was removed."""
    adopt_archive(components)
    with all_writers_out(components, []):
        return _complete(components, erase_traces, progress)


@contextmanager
def all_writers_out(components: Components, keys: Sequence[SessionKey]) -> Iterator[None]:
    """Hold every project: the collections, which all of them share, are made again."""
    lake = components.lake
    wait = components.settings.lock_timeout_seconds
    on_record = components.catalog.projects()
    components.data_dir.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(FileLock(components.data_dir / _LOCK, timeout=wait))
        except Timeout:
            raise StoreBusy(
                f"another process has been forgetting for {wait:.0f} s; wait for it"
            ) from None
        for project in sorted(on_record | {project for project, _ in keys}):
            held.enter_context(components.project_lock(project))
            if project not in on_record:  # nothing of it is here, and its name shall not be
                held.callback(lake.lock_path(project).unlink, missing_ok=True)
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
    if tombstone_store.unfinished():
        progress("rewriting the catalogue")
        compact(components.catalog.path)
        tombstone_store.advance("erased", "done")
    return report


def _owned_records(
    components: Components, selected: set[SessionKey]
) -> Iterator[tuple[int, Records]]:
    """Yield family and records (`RECORD_DTYPE`) that each of these sessions owns: forks may
    hold copies. What a session itself only copied stays with its owner."""
    wanted = Counter(project for project, _ in selected)
    for project in sorted(wanted):
        copied = {each.session_id: each.copied for each in session_files(components, project)}
        for row in components.catalog.sources.families_of(project):
            if (row.project, row.session_id) not in selected or row.project != project:
                continue
            if row.family is not None:
                records = np.frombuffer(row.records, dtype=RECORD_DTYPE)
                is_copy = np.isin(records["id"], copied[row.session_id])
                yield row.family, records[~is_copy]
