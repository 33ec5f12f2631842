"""Sessions and turns that a person pinned, with a note, and sessions that a person hid."""

from __future__ import annotations

from memory_assets.agent_memory.policy import NOTE
from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.recall.names import ResolvedId, resolve_session
from memory_assets.recall.rows import one_line
from memory_assets.recall.sessions.session import session_title
from memory_assets.recall.show import show
from memory_assets.stores.agents.journal import has_journal
from memory_assets.stores.stores import Stores
from memory_assets.stores.tombstones import is_unique


def usual_note(stores: Stores, named: ResolvedId) -> str:
    """Return what a pin says without a note: the session's title, or the beginning of the turn.

    Raises:
        NotFound: there is no such turn.
        ConfigurationError: the session is hidden.
    """
    if (named.project, named.parts.session_id) in stores.hidden.all():
        again = f"`memory hide {named.parts.session_id} --remove`"
        raise ConfigurationError(f"session {named.parts.session_id} is hidden; {again} first")
    if named.parts.turn_index is not None:
        return one_line(show(stores, named.place)[0]["passages"][0])
    return session_title(stores.lake, named.project, named.parts.session_id) or named.place


def pin_key(project: str, session_id: str) -> tuple[str, str]:
    """Return by what the pins of a session are known: its id, which is that of no other wherever it
    moves, or that of a project where the id names one session of each."""
    return ("" if is_unique(session_id) else project, session_id)


def pins_by_session(stores: Stores) -> dict[tuple[str, str], list[dict[str, str]]]:
    """Return what is pinned, by `pin_key` of its session: the id of the session or turn, and the
    note, the oldest first."""
    if not has_journal(stores.data_dir):
        return {}
    of_session: dict[tuple[str, str], list[dict[str, str]]] = {}
    for memory in stores.journal.memories({"type": NOTE}, archived=False, sort="ts"):
        pinned = {"id": str(memory.entities[0]), "text": str(memory.text)}
        of_session.setdefault(pin_key(memory.project, memory.conversation_id), []).append(pinned)
    return of_session


def hide_session(stores: Stores, text: str, *, again: bool) -> str:
    """Hide a session, or show it `again`, and return its id.

    Raises:
        NotFound: there is no such session, or none that is hidden.
        ConfigurationError: it, or a turn of it, is pinned.
    """
    key = resolve_session(stores, text)
    if again:
        if not stores.hidden.remove([key]):
            raise NotFound(f"session {key[1]} is not hidden")
        return key[1]
    for pinned in pins_by_session(stores).get(pin_key(*key), []):
        first = f"`memory pin {pinned['id']} --remove`"
        raise ConfigurationError(f"{pinned['id']} is pinned; {first} first")
    stores.hidden.add([key])
    return key[1]
