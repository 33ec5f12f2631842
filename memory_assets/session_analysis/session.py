"""`SessionTurns`: one session, redacted, as all that reads a whole session is given it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memory_assets.models import RedactedRecord, Turn
from memory_assets.redacted_text import RedactedText


@dataclass(frozen=True, slots=True)
class SessionTurns:
    """One redacted session: its records in the lake's order, and its turns.

    `records` includes those of subagents, and those that belong to no turn: titles
    before the first prompt, and `leaf-summary` records of other sessions' files that name
    a record of this one (`parent_uuid` is the leaf).
    """

    project: str
    project_root: RedactedText
    agent: str
    session_id: str
    records: tuple[RedactedRecord, ...]
    turns: tuple[Turn, ...]


def session_turns(records: Iterable[RedactedRecord], turns: Iterable[Turn]) -> SessionTurns:
    """Return one session from its records and the turns built from them.

    Raises:
        ValueError: there is no record, or they belong to several sessions.
    """
    kept = tuple(records)
    if not kept:
        raise ValueError("a session has at least one record")
    own = [record for record in kept if record.subtype != "leaf-summary"] or list(kept)
    first = own[0]
    others = {record.session_id for record in own} - {first.session_id}
    if others:
        raise ValueError(f"records of {len(others) + 1} sessions given as one")
    return SessionTurns(
        project=first.project,
        project_root=first.project_root,
        agent=first.agent,
        session_id=first.session_id,
        records=kept,
        turns=tuple(turns),
    )
