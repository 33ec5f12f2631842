"""Finding the transcripts on disk, by project, without those of forgotten sessions."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from memory_assets.errors import ConfigurationError, StoreError, TranscriptError
from memory_assets.paths import WHERE_ROOTS_ARE_SET, Roots, home_variables, is_gone
from memory_assets.pipeline.stage.components import Components
from memory_assets.status.disk import roots_to_read
from memory_assets.status.excluded import Exclusions
from memory_assets.status.found_sources import find_all
from memory_assets.status.ledger_sources import LedgerSources
from memory_assets.status.words import counted
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.records import RECORD_DTYPE
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets.stores.catalog.sources import source_key
from memory_assets.transcripts import HISTORY_FILE, Note, Source, Unlisted, ignore, reader_of
from memory_assets.transcripts.claude.history import unnamed_prompts_ms

NO_DIRECTORY = (
    "No agent's directory is there, so nothing new is read; what is on record stays. If it is only "
    f"elsewhere, or not mounted, set {WHERE_ROOTS_ARE_SET}."
)
"""The message if `require_directories` returns no directory."""
_NEAR_MS = 5_000
"""Most milliseconds between a prompt's entry in the history and its record in a transcript."""


@dataclass
class TranscriptsOnDisk:
    """The transcripts on disk by project, the number of forgotten sessions skipped in each
    project, those excluded, and the files and directories that could not be listed, read or
    named."""

    sources: dict[str, list[Source]] = field(default_factory=dict)
    forgotten: Counter[str] = field(default_factory=Counter)
    unlisted: list[Unlisted] = field(default_factory=list)
    excluded: list[Source] = field(default_factory=list)
    """The transcripts that are never read."""

    def by_agent(self) -> list[str]:
        """Return the number of sessions of each agent, in words."""
        sources = chain.from_iterable(self.sources.values())
        sessions = {(one.agent, one.project, one.session_id) for one in sources}
        numbers = Counter(agent for agent, *_ in sessions).most_common()
        return [f"{counted(number, 'session')} of {agent}" for agent, number in numbers]


def require_directories(components: Components) -> Roots:
    """Return the directories to read per agent; none for a memory whose sessions are the user's own
    and whose agents' homes are all missing.

    Raises:
        ConfigurationError: no agent is selected, or a root that a setting or a variable names is no
            directory. One that cannot be looked at is reported later.
    """
    settings = components.settings
    roots = roots_to_read(settings, components.catalog)
    if not settings.transcript_roots():
        raise ConfigurationError("no agent is selected; see MEMORY_AGENTS and --agent")
    for missing in missing_directories(roots):
        raise ConfigurationError(
            f"{missing} Set --projects-dir, or {WHERE_ROOTS_ARE_SET}, to where it is."
        )
    return roots


def missing_directories(roots: Roots) -> Iterator[str]:
    """Yield a sentence on each root that does not exist, with the variable that names it. One that
    cannot be looked at is reported later."""
    for agent, path in ((agent, path) for agent, paths in roots.items() for path in paths):
        if is_gone(path) or os.path.isfile(path):  # noqa: PTH113 - one that may not be read: later
            variable = home_variables().get(agent)
            named = f" {variable} is {os.environ[variable]}." if variable else ""
            yield f"the {agent} directory {path} does not exist.{named}"


def find_sources(components: Components) -> dict[str, list[Source]]:
    """Return the transcripts on disk by project, without forgotten sessions. Costs a stat for
    each file; only files that are not in the ledger are opened."""
    return look_for_sources(components).sources


def look_for_sources(
    components: Components, agents: Container[str] | None = None
) -> TranscriptsOnDisk:
    """Return the transcripts on disk by project, of these agents or all, and what was skipped."""
    forgotten = components.tombstones.forgotten()
    transcripts = TranscriptsOnDisk()
    left_out: set[tuple[str, str]] = set()
    sources = components.catalog.sources
    known = LedgerSources(sources.rows(), sources.containers())
    notes = (transcripts.unlisted.append, transcripts.excluded.append)
    walked = list(transcripts_on_disk(components, *notes, known, agents))
    _note_unchanged(components.catalog, known, walked)
    for source in walked:
        session = (source.project, source.session_id)
        if session in forgotten:
            left_out.add(session)
        else:
            transcripts.sources.setdefault(source.project, []).append(source)
    transcripts.forgotten.update(project for project, _ in left_out)
    return transcripts


def _note_unchanged(catalog: Catalog, known: LedgerSources, walked: Sequence[Source]) -> None:
    """Note the containers (databases) that agree with the ledger: until their token changes, the
    next walks need not list their sessions."""
    members: dict[str, list[Source]] = {path: [] for path in known.seen}
    for source in walked:
        if source.member and str(source.path) in members:
            members[str(source.path)].append(source)
    for path, sources in members.items():
        on_record = {(one.locator, one.size, one.mtime_ns) for one in known.last_seen(Path(path))}
        if on_record == {(one.locator, one.size, one.mtime_ns) for one in sources}:
            with suppress(StoreError):  # if it cannot be written, the next walk lists them
                catalog.sources.note_container(path, known.seen[path])


def walk_once(components: Components) -> dict[str, list[Source]]:
    """Return the transcripts on disk by project, also those of forgotten sessions, as the argument
    `walked` of `sources_of` when many projects are scanned."""
    by_project: dict[str, list[Source]] = {}
    for source in transcripts_on_disk(components):
        by_project.setdefault(source.project, []).append(source)
    return by_project


def transcripts_on_disk(
    components: Components,
    note: Note = ignore,
    note_excluded: Callable[[Source], None] = lambda source: None,
    known: LedgerSources | None = None,
    agents: Container[str] | None = None,
) -> Iterator[Source]:
    """Yield every transcript on disk of these agents or all, including those of forgotten sessions.
    `note_excluded` is called with each excluded transcript, which is not yielded; `note` with each
    file or directory that could not be listed, read or named. `known`: the ledger's sources."""
    excluded = Exclusions.of(components.settings)
    sources = components.catalog.sources
    rows = sources.rows()
    known = known or LedgerSources(rows, sources.containers())
    roots = roots_to_read(components.settings, components.catalog)
    if agents is not None:
        roots = {agent: paths for agent, paths in roots.items() if agent in agents}
    read_before = {
        row.session_id for row in rows if not row.agent_id and row.file_name != HISTORY_FILE
    }
    unnamed = _UnnamedPrompts(components, rows)
    taken: Counter[tuple[str, str, str, str | None]] = Counter()
    listed = find_all(rows, roots, known, note)
    read_before |= {
        one.session_id for one in listed if one.agent_id is None and one.path.name != HISTORY_FILE
    }
    for source in listed:
        if excluded.cover_source(source):
            note_excluded(source)
            continue
        if source.path.name != HISTORY_FILE:
            unnamed.see(source)
        elif source.session_id in read_before or unnamed.is_duplicate(source):
            continue  # a transcript has, or had, these prompts
        key = (source.agent, source.project, source.session_id, source.agent_id)
        if taken[key]:  # two folders of a session have a subagent of this id
            source = replace(source, agent_id=f"{source.agent_id or 'main'}~{taken[key]}")
        taken[key] += 1
        yield source


def sources_of(
    components: Components, project: str, walked: Sequence[Source] | None = None
) -> tuple[list[Source], int]:
    """Return a project's transcripts on disk, and the number of forgotten sessions skipped.

    With the transcripts of an earlier walk the directories are not walked again: each has its
    present size, and one that appeared meanwhile is left to the next ingest.
    """
    if walked is None:
        on_disk = look_for_sources(components)
        return on_disk.sources.get(project, []), on_disk.forgotten[project]
    forgotten = components.tombstones.forgotten()
    current = [now for source in walked if (now := _with_present_size(source))]
    forgotten_ids = {one.session_id for one in current if (project, one.session_id) in forgotten}
    return [one for one in current if one.session_id not in forgotten_ids], len(forgotten_ids)


def _with_present_size(source: Source) -> Source | None:
    """Return a transcript with its present size and time; None if it is deleted."""
    if source.path.name == HISTORY_FILE:
        return source  # its size and time are not those of the file
    try:
        state = reader_of(source).state(source)
    except TranscriptError:
        return source
    return replace(source, size=state[0], mtime_ns=state[1]) if state else None


class _UnnamedPrompts:
    """Recognises prompts of Claude Code's `history.jsonl` that name no session and are also in a
    transcript; all transcripts on disk must be passed to `see` first.

    Prompts are compared by time with the records in the ledger, which also has those of deleted
    files. While the ledger lacks a transcript of a project, its unnamed prompts are left out.
    """

    def __init__(self, components: Components, ledger: Iterable[SourceRow]) -> None:
        self._components = components
        self._rows: dict[tuple[str, str], list[SourceRow]] = {}
        self._known: set[str] = set()
        for row in ledger:
            self._known.add(row.path)
            if not row.agent_id and row.file_name != HISTORY_FILE:
                self._rows.setdefault((row.agent, row.project), []).append(row)
        self._unread: dict[tuple[str, str], set[str]] = {}

    def see(self, source: Source) -> None:
        """Add a transcript that is on disk."""
        if source.agent_id is None and source.locator not in self._known:
            self._unread.setdefault((source.agent, source.project), set()).add(source.session_id)

    def is_duplicate(self, source: Source) -> bool:
        """Whether transcripts have all prompts of an unnamed session, or may have them, because
        some transcript is not yet read."""
        key = (source.agent, source.project, source.session_id, "")
        if str(source.path) in self._known and self._components.catalog.sources.records(key):
            return False
        try:
            times = np.array(sorted(unnamed_prompts_ms(source)), dtype=np.int64)
        except (OSError, TranscriptError):
            return False
        if not len(times):
            return False
        where = (source.agent, source.project)
        held = {
            entry.session_id
            for entry in self._components.catalog.quarantine.entries(source.project)
        }
        if self._unread.get(where, set()) - held:
            return True
        near = np.zeros(len(times), dtype=bool)
        for row in self._rows.get(where, ()):
            near |= self._near_records(row, times)
        return bool(near.all())

    def _near_records(self, row: SourceRow, times: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return for each time whether a record of the file was written near it."""
        ids = self._components.catalog.sources.records(source_key(row))
        written = np.sort(np.frombuffer(ids, dtype=RECORD_DTYPE)["time_ms"].astype(np.int64))
        if not len(written):
            return np.zeros(len(times), dtype=bool)
        at = np.searchsorted(written, times)
        before = np.abs(times - written[np.maximum(at - 1, 0)])
        after = np.abs(times - written[np.minimum(at, len(written) - 1)])
        near: npt.NDArray[np.bool_] = np.minimum(before, after) <= _NEAR_MS
        return near
