"""A session's summary, and the list of what happened in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memory_assets.errors import NotFound
from memory_assets.recall.timeline.identified import find_session
from memory_assets.recall.timeline.items import Item, missing_kinds, session_items
from memory_assets.requests.timeline import ITEM_KINDS
from memory_assets.stores.lake.schemas import SESSION_SUMMARIES

if TYPE_CHECKING:
    from memory_assets.recall.memory import Memory

_LISTED = tuple(kind for kind in ITEM_KINDS if kind not in ("prompts", "summaries"))
_HIDDEN = frozenset({"content_hash", "text"})


@dataclass(frozen=True)
class SessionOverview:
    """A session's summary (None if it has none) and its turns, observations and commits, one line
    each; `missing` says why there are none of a kind."""

    session_id: str
    project: str
    agent: str
    summary: dict[str, Any] | None
    items: tuple[Item, ...]
    missing: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON contract of `memory summarize`."""
        return {
            "session_id": self.session_id,
            "project": self.project,
            "agent": self.agent,
            "summary": self.summary,
            **{
                kind: [item.to_dict() for item in self.items if item.kind == kind]
                for kind in _LISTED
            },
            "missing": self.missing,
        }


def session_overview(memory: Memory, session: str) -> SessionOverview:
    """Return the summary of one session and what happened in it.

    `session` is its id, the beginning of the id, or the id of any of its rows.

    Raises:
        NotFound: there is no such session.
    """
    project, session_id = find_session(memory, session)
    items = session_items(memory.lake, project, session_id, _LISTED, full=False)
    summary = _summary(memory, project, session_id)
    if summary is None and not items:
        raise NotFound(f"session {session_id} has no turns: nobody says anything in it")
    return SessionOverview(
        session_id=session_id,
        project=project,
        agent=str(summary["agent"]) if summary else items[0].agent,
        summary=summary,
        items=tuple(items),
        missing=missing_kinds(memory.lake, _LISTED),
    )


def _summary(memory: Memory, project: str, session_id: str) -> dict[str, Any] | None:
    try:
        rows = memory.lake.read(SESSION_SUMMARIES, project, session_id).to_pylist()
    except NotFound:
        return None
    if not rows:
        return None
    return {name: _plain(value) for name, value in rows[0].items() if name not in _HIDDEN}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
