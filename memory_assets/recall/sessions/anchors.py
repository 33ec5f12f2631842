"""The middle of a timeline: what an id, a session, a commit, a file or a time refers to."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.recall.names import id_named, rows_of_commit, session_beginning
from memory_assets.requests.times import parse_time

if TYPE_CHECKING:
    from memory_assets.recall.searchable import Searchable
    from memory_assets.stores.stores import Stores

_SESSION_HEAD = 8
"""Characters of a session's id from which on it is that rather than a commit or a time."""
_NAMES = (
    "a turn, prompt, summary, observation or session id, a commit, a file's path, "
    "or a time such as 2d, yesterday, 2026-11-01 or 2026-11-01T09:30"
)
_PREFIX = re.compile(r"(file|commit|time|session):(?!:)(.+)", re.DOTALL)
_LIKE_A_FILE = re.compile(r"[/\\]|\w\.\w|^\.\w")
_TURN = re.compile(r"[^\s:]+:\d+")
_ALSO = 5


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


def anchor_of_id(memory: Stores, text: str) -> Anchor:
    """Return the item that an id names; of a session, the session.

    Raises:
        ConfigurationError: it is no id, or several sessions begin so.
        NotFound: its session is not in memory.
    """
    named = id_named(memory, text)
    parts = named.parts
    kind = "commit" if parts.kind == "link" else parts.kind
    items = {
        "turn": f"session::{parts.session_id}::turn::{parts.turn_index}",
        "prompt": f"prompt::{parts.session_id}::{parts.turn_index}",
        "session": None,
    }
    return Anchor(text, kind, named.project, parts.session_id, items.get(kind, named.id))


def _session(memory: Stores, text: str, project: str | None) -> Anchor | None:
    try:
        of_project, session_id = session_beginning(memory, text)
    except NotFound:
        return None
    return Anchor(text, "session", of_project, session_id)


def resolve_anchor(memory: Searchable, text: str, project: str | None = None) -> Anchor:
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
        by_name = {"file": _file, "commit": _commit, "session": _session, "time": _time}
        found = by_name[said[1]](memory, said[2].strip(), project)
        if found is None:
            raise NotFound(f"no {said[1]} {said[2].strip()!r} in memory")
        return found
    if "::" in text:
        return anchor_of_id(memory, text)
    if _TURN.fullmatch(text):
        with suppress(NotFound):  # it may be a file and a line
            return anchor_of_id(memory, text)
    meanings = [_commit, _time]
    meanings.insert(0 if len(text) >= _SESSION_HEAD else 2, _session)
    for meaning in (*meanings, *([_file] if _LIKE_A_FILE.search(text) else [])):
        if (found := meaning(memory, text, project)) is not None:
            return found
    raise NotFound(f"nothing in memory is called {text!r}; give {_NAMES}")


def _commit(memory: Searchable, text: str, project: str | None) -> Anchor | None:
    rows = rows_of_commit(memory.lake, text, project)
    if not rows:
        return None
    best, *others = rows
    also = tuple(row["turn_id"] for row in others[:_ALSO] if row.get("turn_id"))
    return Anchor(text, "commit", best["project"], best["session_id"], best["id"], also=also)


def _time(memory: Searchable, text: str, project: str | None) -> Anchor | None:
    try:
        moment = parse_time(text)
    except ConfigurationError:
        return None
    return Anchor(text, "time", project, time=moment)


def _file(memory: Searchable, text: str, project: str | None) -> Anchor | None:
    """Return the newest turn that touched a file."""
    hits = memory.search(file=text, project=project, n=1 + _ALSO).hits
    if not hits:
        return None
    newest = id_named(memory, hits[0].turn_id)
    also = tuple(hit.turn_id for hit in hits[1:])
    session_id = newest.parts.session_id
    return Anchor(text, "file", newest.project, session_id, newest.id, also=also)
