"""What an id or another name of something in memory refers to: the stable ids of
docs/contracts.md, the beginning of a session's id, a commit, a file or a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.requests.times import parse_time
from memory_assets.stores.lake.schemas import COMMIT_LINKS, SESSION_COMMITS

if TYPE_CHECKING:
    from memory_assets.recall.memory import Memory
    from memory_assets.stores.stores import Stores

_FORMS = (
    re.compile(r"(?P<head>session)::(?P<session>.+)::turn::(?P<turn>\d+)(?:::part::\d+)?"),
    re.compile(r"(?P<head>prompt)::(?P<session>.+?)::(?P<turn>\d+)(?:::\d+)?"),
    re.compile(r"(?P<head>summary)::(?P<session>.+)"),
    re.compile(r"(?P<head>observation|commit|link)::(?P<session>.+?)::.+"),
)
_SESSION_HEAD = 8
"""Characters of a session's id that are enough to name it, if only one begins so."""
_NAMES = (
    "a turn, prompt, summary, observation or session id, a commit, a file's path, "
    "or a time such as 2d, 2026-11-01 or 2026-11-01T09:30"
)
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_PREFIX = re.compile(r"(file|commit|time|session):(?!:)(.+)", re.DOTALL)
_LIKE_A_FILE = re.compile(r"[/\\]|\w\.\w|^\.\w")
_FILE_TURNS = 100
_ALSO = 5


@dataclass(frozen=True)
class MemoryId:
    """A parsed id: `kind` is turn, prompt, summary, observation, commit, link (a commit linked by
    hand) or session; `turn_index` is set for turns and prompts."""

    session_id: str
    turn_index: int | None
    kind: str


def parse_id(text: str) -> MemoryId:
    """Return the parsed id of a turn, passage, prompt, summary, observation, commit or link, or of
    a bare session id.

    Raises:
        ConfigurationError: it looks like none of these.
    """
    for form in _FORMS:
        if found := form.fullmatch(text):
            parts = found.groupdict()
            kind = "turn" if parts["head"] == "session" else parts["head"]
            turn = parts.get("turn")
            return MemoryId(parts["session"], None if turn is None else int(turn), kind)
    if "::" in text or not text:
        raise ConfigurationError(
            f"{text!r} is not an id; ids look like session::ID::turn::N, prompt::ID::N, "
            "summary::ID, observation::ID::N, commit::ID::SHA"
        )
    return MemoryId(text, None, "session")


@dataclass(frozen=True)
class Anchor:
    """The middle of a timeline: an item of a session (`item_id`), or a moment (`time`). `also` are
    other turns that fit the given name, newest first."""

    given: str
    kind: str
    project: str | None = None
    session_id: str | None = None
    item_id: str | None = None
    time: datetime | None = None
    also: tuple[str, ...] = ()

    @property
    def item_kind(self) -> str | None:
        """The kind of the anchor's item, or None for a moment."""
        if self.item_id is None:
            return None
        kinds = {"prompt": "prompts", "summary": "summaries", "observation": "observations"}
        head = self.item_id.partition("::")[0]
        return "commits" if self.kind == "commit" else kinds.get(head, "turns")


def find_session(memory: Memory, text: str) -> tuple[str, str]:
    """Return the project and id of a session, by its id, the beginning of its id, or the id of one
    of its rows.

    Raises:
        ConfigurationError: it looks like no id.
        NotFound: it is in no session, or several sessions begin so.
    """
    text = text.strip()
    found = identified(memory, text) if "::" in text else session_named(memory, text, None)
    if found is None or found.project is None or found.session_id is None:
        raise NotFound(f"no session {text!r} in memory, or several begin so")
    return found.project, found.session_id


def identified(memory: Memory, text: str) -> Anchor:
    """Return the item that an id with `::` in it names.

    Raises:
        ConfigurationError: it is no id.
        NotFound: its session is not in memory.
    """
    wanted = parse_id(text)
    project = project_of(memory, wanted.session_id)
    kind = "commit" if wanted.kind == "link" else wanted.kind
    items = {
        "turn": f"session::{wanted.session_id}::turn::{wanted.turn_index}",
        "prompt": f"prompt::{wanted.session_id}::{wanted.turn_index}",
    }
    return Anchor(text, kind, project, wanted.session_id, items.get(kind, text))


def project_of(memory: Stores, session_id: str) -> str:
    """Return the project of a session, or raise `NotFound`."""
    project = memory.catalog.products.project_of(session_id)
    if project is None:
        raise NotFound(f"no session {session_id} in memory; see `memory status`")
    return project


def session_named(memory: Memory, text: str, project: str | None) -> Anchor | None:
    """Return a session by its full id, or by a beginning that only one session has."""
    known = memory.catalog.products.project_of(text)
    if known is not None:
        return Anchor(text, "session", known, text)
    if len(text) < _SESSION_HEAD:
        return None
    found = memory.catalog.products.sessions_beginning(text)
    if len(found) != 1:
        return None
    ((session_id, of_project),) = found.items()
    return Anchor(text, "session", of_project, session_id)


def resolve_anchor(memory: Memory, text: str, project: str | None = None) -> Anchor:
    """Return the anchor that `text` names; a prefix `file:`, `commit:`, `time:` or `session:`
    decides if several could fit.

    Raises:
        ConfigurationError: it is nothing that can be meant.
        NotFound: nothing in memory is called so.
    """
    text = text.strip()
    if not text:
        raise ConfigurationError(f"the anchor is empty; give {_NAMES}")
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
    raise NotFound(f"nothing in memory is called {text!r}; give {_NAMES}")


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
