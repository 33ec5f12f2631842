"""The numbers of sessions by who prompted them: decided here for every screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from memory_assets.stores.catalog.catalog import Catalog

Whose = Literal["persons", "programs", "without_turn", "waiting"]
"""Who prompted a session: `persons`, if a person typed a prompt or handed over a plan; `programs`,
if only programs and agents did; `without_turn`: it has no turn (a title, a warm-up, a copy of
another session's beginning); `waiting`: it has no rows yet (quarantined, or the ingest was
stopped)."""


@dataclass(frozen=True)
class CountedSession:
    """A session in the catalogue, who prompted it, and the number of prompts of persons, without
    those that it copied from another session."""

    project: str
    session_id: str
    agent: str
    whose: Whose
    prompts: int


@dataclass(frozen=True)
class SessionCounts:
    """The number of sessions; `persons`, `programs`, `without_turn` and `waiting` add up to
    `total`."""

    total: int
    persons: int
    programs: int
    without_turn: int
    waiting: int

    @classmethod
    def of(cls, sessions: Sequence[CountedSession]) -> SessionCounts:
        """Return the counts of these sessions."""
        counts = Counter(session.whose for session in sessions)
        return cls(
            len(sessions),
            counts["persons"],
            counts["programs"],
            counts["without_turn"],
            counts["waiting"],
        )

    def shares(self) -> str:
        """Return the counts in words: `190 of persons, 16 of programs, 10 without a turn`; "" if
        all are of persons."""
        if self.persons == self.total:
            return ""
        shares = {
            "of persons": self.persons,
            "of programs": self.programs,
            "without a turn": self.without_turn,
            "not taken in": self.waiting,
        }
        return ", ".join(f"{number} {name}" for name, number in shares.items() if number)


_SESSIONS = """
SELECT known.project, known.session_id, MIN(known.agent),
    turns.rows, turns.facts ->> '$.asked', turns.facts ->> '$.typed', prompts.rows
FROM (
    SELECT project, session_id, agent FROM sources
    UNION
    SELECT project, session_id, facts ->> '$.agent' FROM products
    WHERE stage = 'redacted_records' AND (?1 IS NULL OR project = ?1)
) AS known
LEFT JOIN products AS turns ON turns.stage = 'turn_chunks'
    AND turns.project = known.project AND turns.session_id = known.session_id
LEFT JOIN products AS prompts ON prompts.stage = 'user_prompts'
    AND prompts.project = known.project AND prompts.session_id = known.session_id
WHERE ?1 IS NULL OR known.project = ?1 GROUP BY 1, 2
"""


def counted_sessions(
    catalog: Catalog, projects: Iterable[str] | None = None
) -> list[CountedSession]:
    """Return the sessions of a memory, or of some of its projects, each once. `turn_chunks` of
    earlier versions do not say what a person asked; there, the rows of `user_prompts` do."""
    sessions = []
    for name in (None,) if projects is None else projects:
        for row in catalog.rows(_SESSIONS, name):
            project, session_id, agent, rows, asked, typed, passages = row
            whose: Whose = "programs"
            if rows is None:
                whose = "waiting"
            elif not rows:
                whose = "without_turn"
            elif passages if asked is None else asked:
                whose = "persons"
            prompts = int((passages if typed is None else typed) or 0)
            sessions.append(CountedSession(project, session_id, agent or "", whose, prompts))
    return sessions


def sessions_of_persons(
    catalog: Catalog, projects: Iterable[str] | None = None
) -> frozenset[tuple[str, str]]:
    """Return project and id of the sessions in which a person asked for something."""
    return frozenset(
        (counted_session.project, counted_session.session_id)
        for counted_session in counted_sessions(catalog, projects)
        if counted_session.whose == "persons"
    )
