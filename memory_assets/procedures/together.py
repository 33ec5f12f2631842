"""Files of a project that are changed together, files that nearly every change touches, and
documents that its sessions read again and again."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from memory_assets.procedures.lasting import Lasting, Seen, shown_by
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.files import touched

_DATA = (".json", ".toml", ".yaml", ".yml", ".xml", ".strings", ".po", ".md")
_PROSE = (".md", ".mdx", ".txt", ".rst")
_FEWEST_TURNS = 3
_SHARE = 0.7
_MOST_FILES = 8
_IN_A_TURN = 30
_FEWEST_SESSIONS = 3
_MOST_SESSIONS = 0.5
_KEPT = frozenset((*_DATA, ".sh", ".txt", ".rst", ".mdx"))
_ROOTED = re.compile(r"^(?:[/~$]|[A-Za-z]:|\.\.)")
_SHARE_OF_SESSIONS = 1 / 3
_MOST_LISTED = 4
_DOCUMENT = re.compile(r"\.(?:md|mdx|rst|txt|adoc|pdf)$", re.IGNORECASE)
_LOADED = re.compile(
    r"(?:^|/)(?:README|CLAUDE|AGENTS|GEMINI|MEMORY|SKILL|CHANGELOG|LICENSE)(?:[.-][\w.-]*)?$"
    r"|^~/\.|/\.claude/|/\.codex/|^/tmp/|^/private/|^/var/|requirements[\w-]*\.txt$",
    re.IGNORECASE,
)
"""What agents read without being told, or what is theirs."""


@dataclass(frozen=True, slots=True)
class Changed(Seen):
    """The files that one turn changed, as paths in the project."""

    files: frozenset[str]


def changed(session: SessionTurns) -> Iterator[Changed]:
    """Yield the files of the project that each turn of a session changed, of turns that changed 30
    or fewer."""
    for turn in session.turns:
        paths = (str(path).replace("\\", "/") for path in touched(session, turn.records).modified)
        files = frozenset(path for path in paths if not _ROOTED.match(path))
        if files and len(files) <= _IN_A_TURN:
            times = [record.timestamp for record in turn.records if record.timestamp is not None]
            at = max(times, default=None)
            yield Changed(session.session_id, turn.id, at, files)


def together(changes: Sequence[Changed]) -> list[Lasting]:
    """Return the groups of files that are alike (of one name, or one directory and kind) and were
    changed in the same turns, in three of them or more."""
    turns: dict[str, set[str]] = defaultdict(set)
    for change in changes:
        for file in change.files:
            turns[file].add(change.turn_id)
    often = sorted(file for file, of in turns.items() if len(of) >= _FEWEST_TURNS)
    groups: list[set[str]] = []
    for file in often:
        mates = {other for other in often if other != file and _go_together(file, other, turns)}
        if mates:
            joined = [group for group in groups if group & (mates | {file})]
            groups = [group for group in groups if group not in joined]
            groups.append({file}.union(mates, *joined))
    lasting = []
    for group in groups:
        files = sorted(group)[:_MOST_FILES]
        evidence = [change for change in changes if len(change.files & group) > 1]
        if len({change.session_id for change in evidence}) < 2 and all(
            PurePosixPath(file).suffix in _PROSE for file in files
        ):
            continue  # the notes of one piece of work
        listed = ", ".join(f"`{file}`" for file in files)
        text = f"Changed together, so look at all of them: {listed}."
        lasting.append(shown_by(f"together {files[0]}", text, evidence))
    return lasting


def kept_up(changes: Sequence[Changed]) -> list[Lasting]:
    """Return the documents, settings and scripts that most sessions which change anything change,
    in three of them or more."""
    sessions: dict[str, set[str]] = defaultdict(set)
    for change in changes:
        for file in change.files:
            sessions[file].add(change.session_id)
    least = max(_FEWEST_SESSIONS, len({change.session_id for change in changes}) * _MOST_SESSIONS)
    lasting = []
    for file, of in sorted(sessions.items()):
        if len(of) >= least and PurePosixPath(file).suffix in _KEPT:
            text = (
                f"`{file}` is changed in most sessions that change anything in this project: see "
                "whether a change belongs there, too."
            )
            lasting.append(
                shown_by(f"kept {file}", text, [one for one in changes if file in one.files])
            )
    return lasting


def _go_together(one: str, other: str, turns: dict[str, set[str]]) -> bool:
    both = len(turns[one] & turns[other])
    least = min(len(turns[one]), len(turns[other]))
    return both >= _FEWEST_TURNS and both / least >= _SHARE and _alike(one, other)


def _alike(one: str, other: str) -> bool:
    first, second = PurePosixPath(one), PurePosixPath(other)
    if first.suffix != second.suffix:
        return False
    is_data = first.suffix in _DATA
    return first.name == second.name or (
        is_data and (first.parent == second.parent or _manifests(first, second))
    )


def _manifests(first: PurePosixPath, second: PurePosixPath) -> bool:
    """Whether both are small descriptions of a package for one tool each."""
    return all(
        re.search(r"plugin|package|manifest|extension|marketplace", path.name)
        for path in (first, second)
    )


@dataclass(frozen=True, slots=True)
class Read(Seen):
    """A document that a turn read."""

    path: str


def documents_read(session: SessionTurns) -> Iterator[Read]:
    """Yield the documents that each turn of a session read."""
    for turn in session.turns:
        for path in touched(session, turn.records).read:
            name = str(path).replace("\\", "/")
            if _DOCUMENT.search(name) and not _LOADED.search(name):
                at = turn.records[0].timestamp if turn.records else None
                yield Read(session.session_id, turn.id, at, name)


def documents(reads: Sequence[Read]) -> list[Lasting]:
    """Return the documents that a third of the sessions which read any read, and three at least, in
    one sentence; nothing where there are none."""
    by_path: dict[str, list[Read]] = defaultdict(list)
    for read in reads:
        by_path[read.path].append(read)
    counts = {path: len({read.session_id for read in of}) for path, of in by_path.items()}
    sessions = len({read.session_id for read in reads})
    least = max(_FEWEST_SESSIONS, sessions * _SHARE_OF_SESSIONS)
    often = sorted(
        (path for path in counts if counts[path] >= least), key=lambda p: (-counts[p], p)
    )
    if not often:
        return []
    best = often[:_MOST_LISTED]
    listed = ", ".join(f"`{path}`" for path in best)
    text = f"Documents that sessions of this project read before they work: {listed}."
    return [shown_by("documents", text, [read for path in best for read in by_path[path]])]
