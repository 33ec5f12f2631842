"""The anchor of a timeline: an id, a session, a commit, a file or a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.recall.ids import parse_id
from memory_assets.recall.timeline.identified import (
    Anchor,
    identified,
    project_of,
    session_named,
)
from memory_assets.requests.times import parse_time
from memory_assets.stores.lake.schemas import COMMIT_LINKS, SESSION_COMMITS

if TYPE_CHECKING:
    from memory_assets.recall.memory import Memory

_FORMS = (
    "a turn, prompt, summary, observation or session id, a commit, a file's path, "
    "or a time such as 2d, 2026-11-01 or 2026-11-01T09:30"
)
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_PREFIX = re.compile(r"(file|commit|time|session):(?!:)(.+)", re.DOTALL)
_LIKE_A_FILE = re.compile(r"[/\\]|\w\.\w|^\.\w")
_FILE_TURNS = 100
_ALSO = 5


def resolve_anchor(memory: Memory, text: str, project: str | None = None) -> Anchor:
    """Return the anchor that `text` names; a prefix `file:`, `commit:`, `time:` or `session:`
    decides if several could fit.

    Raises:
        ConfigurationError: it is nothing that can be meant.
        NotFound: nothing in memory is called so.
    """
    text = text.strip()
    if not text:
        raise ConfigurationError(f"the anchor is empty; give {_FORMS}")
    said = _PREFIX.fullmatch(text)
    if said is not None:
        by_name = {"file": _file, "commit": _commit, "session": session_named, "time": _time}
        found = by_name[said[1]](memory, said[2].strip(), project)
        if found is None:
            raise NotFound(f"no {said[1]} {said[2].strip()!r} in memory")
        return found
    if "::" in text:
        return identified(memory, text)
    meanings = [session_named, _commit, _time, *([_file] if _LIKE_A_FILE.search(text) else [])]
    for meaning in meanings:
        if (found := meaning(memory, text, project)) is not None:
            return found
    raise NotFound(f"nothing in memory is called {text!r}; give {_FORMS}")


def _commit(memory: Memory, text: str, project: str | None) -> Anchor | None:
    if not _COMMIT.fullmatch(text.lower()):
        return None
    lake = memory.lake
    rows: list[dict[str, Any]] = [
        row
        for table in (SESSION_COMMITS, COMMIT_LINKS)
        for name in ([project] if project else lake.projects(table))
        for row in lake.read_partition(table, name).to_pylist()
        if row["commit"].startswith(text.lower())
    ]
    if not rows:
        return None
    rows.sort(key=lambda row: -float(row.get("score") or 1.0))  # a human's word counts in full
    best = rows[0]
    also = tuple(row["turn_id"] for row in rows[1 : 1 + _ALSO] if row.get("turn_id"))
    return Anchor(text, "commit", best["project"], best["session_id"], best["id"], also=also)


def _time(memory: Memory, text: str, project: str | None) -> Anchor | None:
    try:
        moment = parse_time(text)
    except ConfigurationError:
        return None
    return Anchor(text, "time", project, time=moment)


def _file(memory: Memory, text: str, project: str | None) -> Anchor | None:
    """Return the newest turn that touched a file."""
    answer = memory.search(text, file=text, project=project, n=_FILE_TURNS)
    if not answer.hits:
        return None
    hits = sorted(
        answer.hits, key=lambda hit: float(hit.metadata.get("ts_epoch") or 0.0), reverse=True
    )
    turn = hits[0].turn_id
    session_id = parse_id(turn).session_id
    return Anchor(
        text,
        "file",
        project_of(memory, session_id),
        session_id,
        turn,
        also=tuple(hit.turn_id for hit in hits[1 : 1 + _ALSO]),
    )
