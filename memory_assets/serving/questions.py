"""Questions as clients put them, in words, to what `recall/` takes; the same for MCP and HTTP."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from memory_assets.errors import ConfigurationError, NotFound, StoreError
from memory_assets.recall.memory import Memory
from memory_assets.recall.observation_search import find_observations
from memory_assets.recall.search.request import parse_kinds, parse_time
from memory_assets.recall.summarize import session_overview
from memory_assets.recall.timeline.anchor import find_session, resolve_anchor
from memory_assets.recall.timeline.items import session_items

if TYPE_CHECKING:
    from memory_assets.recall.search.answer import Answer

MAX_QUERY = 2_000
"""Characters of a question."""


def search(memory: Memory, *, query: str = "", kind: str = "sessions", **given: Any) -> Answer:
    """Return the answer to a search. `given` are the arguments of `Memory.search`, times in
    words, and `type` and `concept`, which mean observations; a search for a file, tool,
    concept or type alone needs no query.

    Raises:
        ConfigurationError: a value makes no sense, or this kind has no such filter.
        NotFound: there is no such session, or there are no observations.
        StoreError: nothing can be searched now.
    """
    if len(query) > MAX_QUERY:
        raise ConfigurationError(
            f"the query has {len(query)} characters, more than {MAX_QUERY}; ask in a few words"
        )
    filters = {name: value for name, value in given.items() if value is not None}
    for name in ("since", "until"):
        if isinstance(filters.get(name), str):
            filters[name] = parse_time(filters[name])
    if "session" in filters:
        filters["session"] = find_session(memory, filters["session"])[1]
    if filters.keys() & {"type", "concept"} or (kind == "observations" and not query.strip()):
        mode = filters.pop("mode", "hybrid")
        _require({*filters}, "observations", _arguments(find_observations))
        if mode == "keyword":
            raise ConfigurationError("observations are found by filters and by meaning")
        return find_observations(memory, query, **filters)
    _require({*filters}, kind, _arguments(Memory.search))
    asked = query if query.strip() else filters.get("file") or filters.get("tool") or query
    try:
        return memory.search(asked, kinds=parse_kinds(kind), **filters)
    except NotFound as error:  # nothing is left to search in: not a hit, a store
        raise StoreError(str(error)) from None


def _require(given: set[str], kind: str, known: frozenset[str]) -> None:
    unknown = sorted(given - known)
    if unknown:
        raise ConfigurationError(f"{kind} cannot be filtered by {', '.join(unknown)}")


@cache
def _arguments(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def whole(memory: Memory, any_id: str) -> dict[str, Any]:
    """Return everything under one id: `id`, `kind`, `time`, and `text` in full.

    Raises:
        ConfigurationError: it is no id.
        NotFound: there is no such thing.
    """
    anchor = resolve_anchor(memory, any_id)
    if anchor.project is None or anchor.session_id is None or anchor.kind not in _WHOLE:
        raise ConfigurationError(f"{any_id!r} is not an id; ids are those that recall names")
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


_WHOLE = ("turn", "prompt", "summary", "observation", "session", "commit")


def overview(memory: Memory, session: str) -> dict[str, Any]:
    """Return a session's summary and the index of what happened in it; see `recall`."""
    return session_overview(memory, session).to_dict()
