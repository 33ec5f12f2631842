"""What has one id, as one text: the MCP tool `get`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.recall.timeline.anchor import resolve_anchor
from memory_assets.recall.timeline.items import session_items

if TYPE_CHECKING:
    from memory_assets.recall.memory import Memory

_WHOLE = ("turn", "prompt", "summary", "observation", "session", "commit")


def whole(memory: Memory, any_id: str) -> dict[str, Any]:
    """Return everything under one id: `id`, `kind`, `time`, and `text` in full.

    Raises:
        ConfigurationError: it is no id.
        NotFound: there is no such thing.
    """
    anchor = resolve_anchor(memory, any_id)
    if anchor.project is None or anchor.session_id is None or anchor.kind not in _WHOLE:
        raise ConfigurationError(f"{any_id!r} is not an id; ids are those that a search names")
    if anchor.item_id is None:
        anchor = resolve_anchor(memory, f"summary::{anchor.session_id}")
    kind = anchor.item_kind or "turns"
    items = session_items(
        memory.lake, anchor.project or "", anchor.session_id or "", (kind,), full=True
    )
    for item in items:
        if item.id == anchor.item_id:
            return {**item.to_dict(), "project": item.project, "session_id": item.session_id}
    raise NotFound(f"no {anchor.item_id} in memory")
