"""Forgetting sessions: removing every byte of them from the memory, for good.

The steps, each of which can be repeated: write tombstones (keyed ids; from then on the
sessions are never read again), delete the lake's files, amend the footers of forks, then
remove the sessions from Chroma, the keyword index, Dagster's history and, last, the
catalogue, because its names are needed to complete an interrupted forgetting. Files outside
the lake are rewritten from the remaining rows, not edited.

A text that redaction missed is cut out, and its sessions stay: it becomes a known secret of its own
(`redaction/forgotten_texts.py`), so that what holds it is redacted again without it; then all files
in which deleted rows may still stand are rewritten. Both can be repeated.

The agents' transcript files stay.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np

from memory_assets.errors import ConfigurationError, NotFound, StoreError
from memory_assets.paths import tombstones_copy
from memory_assets.pipeline.agent_memory.forgetting import (
    forget_written,
    leave_without,
    memories_from,
    said_too,
    written_since,
)
from memory_assets.pipeline.agent_memory.session_promotion import promoted_from
from memory_assets.pipeline.indexes.collections import collections_of
from memory_assets.pipeline.indexes.indexed_tables import INDEXES, IndexedTable
from memory_assets.pipeline.indexes.keywords import forget_keywords
from memory_assets.pipeline.ownership.attribution import SessionKey
from memory_assets.pipeline.ownership.session_files import session_files
from memory_assets.pipeline.plan.adopt import adopt_archive
from memory_assets.pipeline.plan.plan import partitions_with_agent_memory
from memory_assets.pipeline.redact.known_secrets import mark_affected
from memory_assets.pipeline.removal.selection import (
    SessionOnRecord,
    conversations_of,
    sessions_on_record,
)
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.tables.commit_links import redact_links
from memory_assets.redaction import KnownValues
from memory_assets.redaction.edits import FORGOTTEN_TEXT
from memory_assets.redaction.forgotten_texts import LONGEST, hashes_of_text
from memory_assets.status.excluded import exclude as exclude_in
from memory_assets.stores.agents.journal import FILE_NAME as JOURNAL
from memory_assets.stores.agents.journal_file import require_journal
from memory_assets.stores.agents.partitions import is_agent_memory
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.products import remove_sessions
from memory_assets.stores.catalog.records import RECORD_DTYPE, Records
from memory_assets.stores.chroma.copies import recover_others, rewrite_files
from memory_assets.stores.chroma.files import OTHERS_FILE, is_deletable, set_aside_directories
from memory_assets.stores.files.shared import locked, remove_directory
from memory_assets.stores.files.sqlite import compact, make_directory_of
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import (
    COMMIT_LINKS,
    REDACTED_RECORDS,
    TABLES,
    WORKSPACE_DOCUMENTS,
)
from memory_assets.stores.tombstones import FILE_NAME, Forgotten, Tombstones
from memory_assets.stores.workspaces import Workspaces, is_workspace

_LOCK = "forgotten.lock"
_COPIED_FROM = "copied_from"
_WHOLE = ""
"""In place of a document's path: all of a workspace was forgotten, which may be indexed again."""
_IDS_A_QUERY = 200


@dataclass(frozen=True)
class Names:
    """Names to remove from Dagster's runs: sessions, and projects that have no session left."""

    session_ids: frozenset[str] = field(default=frozenset(), repr=False)
    projects: frozenset[str] = field(default=frozenset(), repr=False)


EraseTraces = Callable[[Names], int]
"""Removes the runs that have these names from Dagster; returns their number.

Raises:
    StoreBusy: a run to be removed is in progress.
"""
Progress = Callable[[str], None]


@dataclass
class ForgetReport:
    """The numbers of removed rows and files, and the seconds that each step took."""

    sessions: int = 0
    projects_gone: int = 0
    journal_rows: int = 0
    lake_files: int = 0
    forks_amended: int = 0
    collection_rows: int = 0
    keyword_rows: int = 0
    catalog_rows: int = 0
    runs: int = 0
    workspaces: int = 0
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
    leaving: bool = False,
) -> ForgetReport:
    """Forget these sessions, and the memories that they showed (those that others show, too, are
    promoted again; those that others say, too, stay), and return the report. `complete` finishes
    an interrupted call. `leaving`: they are all of a workspace, which may be taken in again.

    Raises:
        StoreBusy: another process writes the memory; nothing was done.
        StoreError: a store cannot be used; `complete` finishes the rest.
    """
    progress("waiting for other writers of this memory")
    with lock_all_writers(components, [session.key for session in sessions]):
        _begin(components, sessions, leaving=leaving)
        return _complete(components, erase_traces, progress)


def _begin(components: Components, sessions: Sequence[SessionOnRecord], *, leaving: bool) -> None:
    """Note what is to be forgotten, in the copy of the tombstones, too."""
    # The journal leads to what comes from the forgotten.
    require_journal(components.data_dir / JOURNAL)
    keys = [session.key for session in sessions]
    # Or what was stored since the selection would stay.
    keys += memories_from(components, conversations_of(sessions), set(keys))
    stones = _tombstones(components)
    # These memories leave no tombstone: what other sessions show is promoted again, and what
    # others say stays. They come first, since nothing leads to them when the sessions are gone.
    along = promoted_from(components, keys)
    along += said_too(components, {*keys, *along})
    stones.begin(along, state="leaving")
    if leaving:
        stones.begin(keys, state="leaving")
        stones.begin({(project, _WHOLE) for project, _ in keys})
    else:
        stones.begin(keys, _owned_records(components, set(keys)))
    keep_copy(components)


def _tombstones(components: Components) -> Tombstones:
    """Return the tombstones, to note something in them."""
    return Tombstones(components.data_dir / FILE_NAME, components.install_key)


def keep_copy(components: Components) -> None:
    """Note in the copy of the tombstones what they have besides, where that can be written. A copy
    that is damaged, or of another install key, makes room for it under another name."""
    stones, path = _tombstones(components), tombstones_copy(components.data_dir)
    copy = Tombstones(path, components.install_key)
    with suppress(StoreError, OSError):
        if path.exists() and not copy.is_of_our_key():
            path.replace(path.with_name(f"{path.stem}.{path.stat().st_mtime_ns}.db"))
        make_directory_of(path)
        copy.take_over(stones.path)


def _begin_again(components: Components) -> None:
    """Begin to forget what a copy of the tombstones named, as far as it is here, and was not there
    anew after the forgetting: what agents wrote again, and a workspace that was indexed again."""
    stones = components.tombstones
    components.catalog.known_secrets.add("", dict.fromkeys(stones.texts(), FORGOTTEN_TEXT))
    restored = stones.forgotten("restored")
    if restored:
        known = sessions_on_record(components)
        again = [
            known[key]
            for key in known
            if (at := restored.at(*key)) and not written_since(components, key, at)
        ]
        gone = {
            partition
            for partition in {project for project, _ in known if is_workspace(project)}
            if (at := restored.at(partition, _WHOLE))
            and not _indexed_since(components.catalog, partition, at)
        }
        left = [known[key] for key in known if key[0] in gone]
        for sessions in filter(None, (again, left)):
            _begin(components, sessions, leaving=sessions is left)
    stones.advance("restored", "done")


def _indexed_since(catalog: Catalog, partition: str, moment: datetime) -> bool:
    """Whether all that is indexed of a workspace was indexed after a moment."""
    products = catalog.products.of_project(REDACTED_RECORDS.name, partition).values()
    times = [datetime.fromisoformat(product.made_at) for product in products]
    return bool(times) and min(times) > moment


def complete(
    components: Components,
    *,
    erase_traces: EraseTraces,
    progress: Progress = lambda step: None,
) -> ForgetReport:
    """Finish an interrupted forgetting, if there is one, and return the report."""
    adopt_archive(components)
    with lock_all_writers(components, []):
        _begin_again(components)
        return _complete(components, erase_traces, progress)


@contextmanager
def lock_all_writers(components: Components, keys: Sequence[SessionKey]) -> Iterator[None]:
    """Lock every project, because the files of collections, which all share, are rewritten."""
    lake = components.lake
    wait = components.settings.lock_timeout_seconds
    on_record = components.catalog.projects()
    busy = f"another process has been forgetting for {wait:.0f} s; wait for it"
    with locked(components.data_dir / _LOCK, wait, busy), ExitStack() as locks:
        for project in sorted(on_record | {project for project, _ in keys}):
            locks.enter_context(components.project_lock(project))
            if project not in on_record:  # leave no file with the name of an unknown project
                locks.callback(lake.lock_path(project).unlink, missing_ok=True)
        yield


def _complete(
    components: Components, erase_traces: EraseTraces, progress: Progress
) -> ForgetReport:
    report = ForgetReport()
    tombstone_store = components.tombstones
    begun, leaving = (tombstone_store.forgotten(state) for state in ("begun", "leaving"))
    if begun or leaving:
        known = sessions_on_record(components)
        selected = {key for key in known if key in begun or key in leaving}
        gone = {project for project, _ in selected} - {
            project for project, session_id in known.keys() - selected
        }
        along = {key for key in selected if key in leaving and is_agent_memory(key[0])}
        report.sessions = len(selected - along)
        report.projects_gone = len(gone & {project for project, _ in selected - along})
        # Paths of documents, and names of conversations, are too common to be searched for in the
        # run history.
        sessions = (
            session_id
            for name, session_id in selected
            if not (is_workspace(name) or is_agent_memory(name))
        )
        names = Names(frozenset(sessions), frozenset(gone))

        steps: dict[str, Callable[[], int]] = {
            "journal_rows": lambda: forget_written(
                components, selected - leave_without(components, selected, along)
            ),
            "lake_files": lambda: _remove_files(components.lake, selected, gone),
            "forks_amended": lambda: forget_references(components, selected),
            "collection_rows": lambda: forget_vectors(components, selected, progress=progress),
            "keyword_rows": lambda: forget_keywords(components, selected),
            "runs": lambda: erase_traces(names) if selected else 0,
            "workspaces": lambda: _remove_workspaces(components.data_dir, selected, leaving),
            "catalog_rows": lambda: _remove_rows(components, selected, names),
        }
        for name, step in steps.items():
            progress(f"forgetting: {name.replace('_', ' ')}")
            started = time.perf_counter()
            setattr(report, name, step())
            report.seconds[name] = round(time.perf_counter() - started, 2)
        tombstone_store.advance("begun", "erased")
        tombstone_store.advance("leaving", "left")
    if tombstone_store.forgotten("erased") or tombstone_store.forgotten("left"):
        progress("rewriting the catalogue")
        compact(components.catalog.path)
        tombstone_store.advance("erased", "done")
        tombstone_store.lift()
    return report


def _remove_workspaces(data_dir: Path, selected: Set[SessionKey], leaving: Forgotten) -> int:
    """Forget that the directories of what is leaving are workspaces; return their number."""
    known = Workspaces(data_dir)
    partitions = {project for project, path in selected if (project, path) in leaving}
    left = [registered for registered in known.all() if registered.partition in partitions]
    for workspace in left:
        known.remove(workspace.name)
    return len(left)


def _remove_rows(components: Components, selected: Set[SessionKey], names: Names) -> int:
    """Delete the rows of sessions from the catalogue, that they are hidden, and what names them or
    gone projects from the ledger of runs; return the number of the catalogue's."""
    components.hidden.remove(selected)
    if selected:
        components.runs.forget(names.projects, names.session_ids)
    return remove_sessions(components.catalog.path, selected, names.projects)


def _remove_files(lake: Lake, selected: Set[SessionKey], gone: Set[str]) -> int:
    """Remove these sessions' files from the lake, and the directories of projects that have no
    session left; return the number of files."""
    removed = 0
    for project in sorted({project for project, _ in selected}):
        sessions = [session_id for where, session_id in sorted(selected) if where == project]
        try:
            removed += lake.remove_sessions(project, sessions)
        except StoreError:
            if project not in gone:  # else its files go unread, whatever is wrong with them
                raise
    for project in sorted(gone):
        lake.remove_project(project)
    return removed


def _owned_records(
    components: Components, selected: set[SessionKey]
) -> Iterator[tuple[int, Records]]:
    """Yield family and owned records (`RECORD_DTYPE`) of each of these sessions, of which forks
    may have copies. Records that a session only copied are left out."""
    for project in sorted({project for project, _ in selected}):
        copied = {
            session_file.session_id: session_file.copied
            for session_file in session_files(components, project)
        }
        for row in components.catalog.sources.families_of(project):
            if (row.project, row.session_id) not in selected or row.project != project:
                continue
            if row.family is not None:
                records = np.frombuffer(row.records, dtype=RECORD_DTYPE)
                is_copy = np.isin(records["id"], copied[row.session_id])
                yield row.family, records[~is_copy]


def forget_references(components: Components, selected: Set[SessionKey]) -> int:
    """Remove these sessions from the footers of their forks, which name the sessions that they
    copied from; return the number of forks."""
    forks = {
        key
        for key, facts in components.catalog.products.facts_with(
            REDACTED_RECORDS.name, _COPIED_FROM
        ).items()
        if key not in selected and any(tuple(fact) in selected for fact in facts["copied_from"])
    }
    lake = components.lake
    for key in sorted(forks):
        try:
            _, footer = lake.read_footer(REDACTED_RECORDS, *key)
        except NotFound:  # a session of copies only has no rows
            continue
        facts = json.loads(footer["facts"])
        kept = [fact for fact in facts[_COPIED_FROM] if tuple(fact) not in selected]
        amended = json.dumps({**facts, _COPIED_FROM: kept})
        lake.amend_footer(REDACTED_RECORDS, *key, {**footer, "facts": amended})
    return len(forks)


def forget_vectors(
    components: Components,
    selected: Set[SessionKey],
    indexes: Sequence[IndexedTable] = INDEXES,
    *,
    progress: Progress = lambda step: None,
) -> int:
    """Remove the rows of these sessions from the collections of these tables, and return their
    number. Of a local Chroma the files are rewritten, and those set aside are deleted, so
    that no byte of the rows is left."""
    if components.vectors_url is None:
        _delete_set_aside(components.data_dir)
        if not components.has_chroma_files:
            return 0
    progress("removing rows from the collections")
    # Or what is made again as it was would count as written: the rows of a collection may be as
    # many as noted though these are gone.
    components.catalog.products.outdate(
        *((index.stage, *key) for index in indexes for key in selected)
    )
    removed = sum(
        _delete_rows(components, name, selected)
        for name, tables in sorted(collections_of(components).items())
        if any(table in indexes for table in tables)
    )
    if components.vectors_url is None:
        progress("rewriting Chroma's files")
        rewrite_files(components.data_dir, progress)
    return removed


def _delete_set_aside(data_dir: Path) -> None:
    """Delete the files of Chroma that were set aside as damaged.

    Raises:
        StoreError: some hold the only copy of a collection of another program, or cannot be
            deleted.
    """
    recover_others(data_dir)
    for path in set_aside_directories(data_dir):
        if not is_deletable(path):
            raise StoreError(
                f"{path} may hold forgotten rows, and the only copy of collections of other "
                "programs; move it elsewhere, or delete it, then run `memory status`, which "
                "completes the forgetting"
            )
        remove_directory(path, OTHERS_FILE)


def _delete_rows(components: Components, name: str, selected: Set[SessionKey]) -> int:
    try:
        collection = components.vectors.get(name)
    except NotFound:
        return 0
    session_ids = sorted({session_id for _, session_id in selected})
    removed = 0
    for start in range(0, len(session_ids), _IDS_A_QUERY):
        some = session_ids[start : start + _IDS_A_QUERY]
        places = collection.values({"session_id": {"$in": some}}, "project", "session_id")
        ids = sorted(row_id for row_id, key in places.items() if key in selected)
        collection.delete(ids)
        removed += len(ids)
    return removed


def note_text(components: Components, text: str) -> None:
    """Have a text taken out of all that is redacted from now on, in each form in which it may be
    written; `projects_to_redact` says what holds it.

    Raises:
        ConfigurationError: it is longer than `LONGEST`.
    """
    if len(text) > LONGEST:
        raise ConfigurationError(f"a text to cut out has at most {LONGEST:,} characters")
    hashes = hashes_of_text(text, components.install_key)
    _tombstones(components).begin_texts(hashes)
    components.catalog.known_secrets.add("", dict.fromkeys(hashes, FORGOTTEN_TEXT))
    keep_copy(components)


def texts_to_cut(components: Components) -> frozenset[bytes]:
    """Return the hashes of the texts that were to be cut and that files may still have."""
    return components.tombstones.texts_to_cut()


def projects_to_redact(components: Components) -> set[str]:
    """Have everything made again that holds a text that was cut; return the projects and workspaces
    in which something does, and all that agents wrote, which is looked at as a whole."""
    mark_affected(components)
    affected = components.catalog.known_secrets.affected_sessions()
    projects = {*(project for project, _ in affected), *partitions_with_agent_memory(components)}
    cut = KnownValues(
        components.install_key, components.catalog.known_secrets.hashes(FORGOTTEN_TEXT)
    )
    for table in (*TABLES.values(), COMMIT_LINKS):
        for project in components.lake.projects(table) if table != REDACTED_RECORDS else ():
            for session_id in components.lake.sessions(table, project):
                values = components.lake.read_redacted_values(table, project, session_id)
                if any(map(cut.are_in, values)):
                    projects.add(project)
                    if table == WORKSPACE_DOCUMENTS:
                        continue  # made again as what is known counts there
                    if is_workspace(project):  # or of a document that is left out by its path now
                        components.catalog.products.outdate((table.name, project, session_id))
                    else:
                        components.catalog.products.drop(table.name, project, session_id)
                    if table == COMMIT_LINKS:
                        redact_links(components, project, session_id)
    return projects


def is_noted(components: Components, text: str) -> bool:
    """Whether a text was cut out before."""
    return components.tombstones.texts() >= hashes_of_text(text, components.install_key)


def exclude(components: Components, names: Sequence[str]) -> None:
    """Note that these projects and directories are never read again, in the copy of the
    tombstones, too."""
    _tombstones(components).exclude(exclude_in(components.data_dir, names))
    keep_copy(components)


def rewrite_stores(
    components: Components, cut: Set[bytes], progress: Callable[[str], None]
) -> None:
    """Rewrite every file in which rows may stand that were replaced, which ends the cut of the
    texts with these hashes.

    Raises:
        StoreBusy: another process writes the memory.
        StoreError: a store cannot be used.
    """
    with lock_all_writers(components, []):
        forget_vectors(components, set(), progress=progress)
        progress("rewriting the index of words and the catalogue")
        forget_keywords(components, set())
        compact(components.catalog.path)
        if components.has_journal:
            components.journal.compact()
        _tombstones(components).end_texts(cut)
