"""Find the transcripts on disk, and assign each to its project and session.

A reader says what a file is called and which directory its records name. Which project that is, and
which files are of one session, follows from all files together and from what is on record: a
session stays in the project that it is in, and a project keeps its name.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from memory_assets.agents import AGENTS
from memory_assets.errors import TranscriptError, printable
from memory_assets.paths import Roots, is_gone, project_slug
from memory_assets.project_names import ProjectNames, folded, spelled
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets.stores.tombstones import is_unique
from memory_assets.transcripts import (
    HISTORY_FILE,
    Known,
    Note,
    Source,
    Unlisted,
    discover,
    ignore,
    is_compressed,
    plain_name,
    write_alike,
)
from memory_assets.transcripts.lines import read_head

_CLAUDE_CODE = "claude-code"
_AGENTS_WITH_COPIES = frozenset(name for name, agent in AGENTS.items() if agent.of_others)
_WRITTEN = re.compile(rb'"timestamp":\s*"([^"]{10,40})"')
_LOST_PART = "the file that it goes on from is deleted; what was read of the session stays"
_DUPLICATE = "a session of another agent has the same id in this project"
_REMEDY = "nothing, if it is a copy of that session; else give its file or directory another name"
_RESTORE_REMEDY = "restore the deleted file, and run `memory ingest`"

FileKey = tuple[str, str, str, str]
"""Agent, session, subagent ("" for none), and what project and path say beside."""


def find_all(
    rows: Sequence[SourceRow], roots: Roots, known: Known, note: Note = ignore
) -> list[Source]:
    """Return every transcript on disk, those of forgotten sessions included, with the project and
    the session that it belongs to. `rows` are those of the catalogue, `known` is what discovery
    need not read again; `note` is called with each file or directory that could not be listed, read
    or named."""
    sources = list(discover(roots, known, note))
    return _join_files(_of_one_agent(_Projects(rows, sources).given(), rows, note), rows, note)


class _Projects:
    """Gives each source of a walk its project."""

    def __init__(self, rows: Sequence[SourceRow], sources: Sequence[Source]) -> None:
        self._found = [(one, replace(one, directory=spelled(one.directory))) for one in sources]
        main = {(row.agent, row.session_id, row.project) for row in rows if not row.agent_id}
        several = Counter((agent, session_id) for agent, session_id, _ in main)
        self._of_path = {
            row.path: row.project for row in rows if several[row.agent, row.session_id] > 1
        }
        self._on_record = {
            (row.agent, row.session_id): row.project
            for row in sorted(rows, key=lambda row: (row.agent_id == "", row.project))
            if is_unique(row.session_id)
        }
        """Earlier versions put the files of one session into several projects, where they stay."""
        self._names = ProjectNames.of_record({(row.project, row.directory or "") for row in rows})
        self._claims: dict[str, set[str]] = {}
        """Folders that are not called after it, by the directory that sessions in them name."""
        self._at_home: set[str] = set()
        """Directories after which a folder is called that is there."""
        in_folders = [
            (_folder_of(row.path), row.directory, row.project)
            for row in rows
            if row.agent == _CLAUDE_CODE and not row.agent_id and row.directory
        ]
        for folder, directory, _ in in_folders:
            self._claim(folder, directory)
        for _, one in self._found:
            is_main = one.agent == _CLAUDE_CODE and one.agent_id is None and one.directory
            if is_main and self._claim(_folder_of(str(one.path)), one.directory):
                self._at_home.add(one.directory)
        for folder, directory, project in in_folders:
            self._note_folder(folder, directory, project)
        self._of_session: dict[tuple[str, str], tuple[str, str]] = {}

    def given(self) -> list[Source]:
        """Return the sources with their projects, in order. Those whose directory was moved come
        first, so that what was written there since joins them; a subagent follows its session."""
        order = sorted(self._found, key=lambda pair: (pair[1].agent_id is not None, pair[1].path))
        placed: dict[int, Source] = {}
        for moved in (True, False):
            for raw, source in order:
                if id(raw) not in placed and (not moved or _is_moved(source)):
                    placed[id(raw)] = self._assign_project(raw, source)
        return [placed[id(raw)] for raw, _ in self._found]

    def _assign_project(self, raw: Source, source: Source) -> Source:
        session = source.agent, source.session_id
        if project := self._of_path.get(source.locator):
            return replace(source, project=project)
        is_known = is_unique(source.session_id)
        if is_known and (owner := self._of_session.get(session)):
            return replace(source, project=owner[0], directory=source.directory or owner[1])
        slug = project_slug(raw.directory) if _is_moved(source) else source.project
        project = self._on_record.get(session) or self._names.name(
            source.directory, slug, "" if raw.directory == source.directory else raw.directory
        )
        if source.directory:
            self._names.note(project, source.directory)
            if _is_moved(source):
                self._note_folder(_folder_of(str(source.path)), source.directory, project)
        if is_known:
            self._of_session[session] = project, source.directory
        return replace(source, project=project)

    def _claim(self, folder: str, directory: str) -> bool:
        """Return whether a folder is named after a directory; note the folder if it is not."""
        is_own = _is_called_after(folder, directory)
        if not is_own:
            self._claims.setdefault(directory, set()).add(folder)
        return is_own

    def _note_folder(self, folder: str, directory: str, project: str) -> None:
        """Note a folder that was renamed: it is the only one with sessions of a directory."""
        if self._claims.get(directory) == {folder} and directory not in self._at_home:
            self._names.note_folder(folder, project)


def _is_moved(source: Source) -> bool:
    """Whether the folder of a session is named after another directory."""
    return (
        source.agent == _CLAUDE_CODE
        and source.agent_id is None
        and bool(source.directory)
        and source.path.name != HISTORY_FILE
        and not _is_called_after(_folder_of(str(source.path)), source.directory)
    )


def _folder_of(path: str) -> str:
    return os.path.basename(os.path.dirname(path))  # noqa: PTH119, PTH120 - of every file


def _is_called_after(folder: str, directory: str) -> bool:
    """Whether a folder's name ends as the slug of a directory in its one spelling, from which the
    place of the home is missing."""
    return folded(folder).endswith(folded(project_slug(directory.lstrip("~/"))))


def _of_one_agent(
    sources: Sequence[Source], rows: Sequence[SourceRow], note: Note
) -> Iterator[Source]:
    """Yield the sources without those whose session is another agent's: the one on record, else
    the first. One in that agent's own format is that agent's, moved or copied.
    Documents that were made of other agents' sessions are left out for those."""
    owners = {(row.project, row.session_id): row.agent for row in rows}
    ids = {source.session_id for source in sources if source.agent not in _AGENTS_WITH_COPIES}
    ids |= {row.session_id for row in rows if row.agent not in _AGENTS_WITH_COPIES}
    for source in sources:
        owner = owners.setdefault((source.project, source.session_id), source.agent)
        if source.agent in _AGENTS_WITH_COPIES:
            if source.session_id not in ids:
                yield source
        elif owner in (source.agent, *_AGENTS_WITH_COPIES):
            yield source
        elif write_alike(owner, source.agent):
            yield replace(source, agent=owner)
        else:
            place = printable(source.locator)
            note(Unlisted(source.agent, place, f"{_DUPLICATE} ({AGENTS[owner].title})", _REMEDY))


def _join_files(sources: Iterable[Source], rows: Iterable[SourceRow], note: Note) -> list[Source]:
    """Return one source for all files of a session, or of a subagent, that lie in several folders
    or homes: copies, and what a session wrote after it went on in a working tree."""
    sources = list(sources)
    groups: dict[FileKey, list[Source]] = {}
    for source in sources:
        groups.setdefault(_file_key(source), []).append(source)
    on_record = {(row.agent, row.session_id, row.agent_id): row for row in rows}
    joined = []
    for source in sources:
        group = groups.pop(_file_key(source), None)
        if group is None:
            continue
        whole = group[0] if len(group) == 1 else _join_group(group)
        row = on_record.get((whole.agent, whole.session_id, whole.agent_id or ""))
        if row is not None and _is_stub(row, whole):
            joined.append(replace(whole, agent_id=f"{whole.agent_id or 'main'}~1"))
        elif row is None or not _lost_parts(row, whole):
            joined.append(whole)
        elif whole.mtime_ns > row.mtime_ns:
            note(Unlisted(whole.agent, printable(str(whole.path)), _LOST_PART, _RESTORE_REMEDY))
    return joined


def _file_key(source: Source) -> FileKey:
    """Return what the files of one source have in common; a name that is not unique stands for the
    file alone."""
    if not is_unique(source.session_id) or source.path.name == HISTORY_FILE:
        place = f"{os.path.realpath(source.path)}:{source.project}"
        return source.agent, source.session_id, source.agent_id or "", place
    inside = plain_name(str(source.path).partition(source.session_id)[2]) or source.path.suffix
    return source.agent, source.session_id, source.agent_id or "", f"{source.project}:{inside}"


def _join_group(group: Sequence[Source]) -> Source:
    """Return one source of several, by the time of their first records; of copies the shorter one
    comes first, as the other one goes on. What only links lead to counts once."""
    places = {os.path.realpath(source.path): source for source in group}
    places |= {str(source.path): source for source in group if str(source.path) in places}
    ordered = sorted(
        places.values(), key=lambda source: (_first_time(source), source.size, str(source.path))
    )
    if len(ordered) == 1:
        return ordered[0]
    return replace(
        ordered[0],
        size=sum(source.size for source in ordered),
        mtime_ns=max(source.mtime_ns for source in ordered),
        parts=tuple(path for source in ordered for path in source.files)[1:],
    )


def _first_time(source: Source) -> str:
    try:
        written = _WRITTEN.search(read_head(source.path))
    except TranscriptError:
        return ""  # the reading of the file says why
    return written[1].decode("utf-8", "replace") if written else ""


def _is_stub(row: SourceRow, source: Source) -> bool:
    """Whether a session's file was deleted, and what is in another place is less than it: a title
    or a mark that an agent left there, which does not stand for the session."""
    return (
        row.path not in ("", *map(str, source.files))
        and is_unique(source.session_id)
        and source.path.name != HISTORY_FILE
        and source.size < row.size
        and not row.facts.get("parts")
        and not any(map(is_compressed, source.files))
        and is_gone(row.path)
    )


def _lost_parts(row: SourceRow, source: Source) -> Counter[str]:
    """Return the names of files that a source had when it was read, and has no longer."""
    parts = row.facts.get("parts", ())
    if not parts:
        return Counter()
    had = Counter(plain_name(Path(path).name) for path in (row.path, *parts))
    return had - Counter(plain_name(path.name) for path in source.files)
