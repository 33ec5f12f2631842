"""Sessions and their items by id: in full, or a session by the beginning of its id."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memory_assets.errors import NotFound
from memory_assets.recall.ids import parse_id

if TYPE_CHECKING:
    from memory_assets.recall.opened_memory import OpenedMemory

_SESSION_HEAD = 8
"""Characters of a session's id that are enough to name it, if only one begins so."""


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


def find_session(memory: OpenedMemory, text: str) -> tuple[str, str]:
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


def identified(memory: OpenedMemory, text: str) -> Anchor:
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


def project_of(memory: OpenedMemory, session_id: str) -> str:
    """Return the project of a session, or raise `NotFound`."""
    project = memory.catalog.products.project_of(session_id)
    if project is None:
        raise NotFound(f"no session {session_id} in memory; see `memory status`")
    return project


def session_named(memory: OpenedMemory, text: str, project: str | None) -> Anchor | None:
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
