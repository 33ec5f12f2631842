"""Files of a project that are changed together, and files that nearly every change touches."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from memory_assets.procedures.lasting import Lasting, shown_by
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


@dataclass(frozen=True, slots=True)
class Changed:
    """The files that one turn changed, as paths in the project."""

    files: frozenset[str]
    session_id: str
    turn_id: str
    at: datetime | None


def changed(session: SessionTurns) -> Iterator[Changed]:
    """Yield the files of the project that each turn of a session changed, of turns that changed 30
    or fewer."""
    for turn in session.turns:
        paths = (str(path).replace("\\", "/") for path in touched(session, turn.records).modified)
        files = frozenset(path for path in paths if not _ROOTED.match(path))
        if files and len(files) <= _IN_A_TURN:
            times = [record.timestamp for record in turn.records if record.timestamp is not None]
            yield Changed(files, session.session_id, turn.id, max(times, default=None))


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
