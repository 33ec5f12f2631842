"""Yesterday's sessions, searched for the secrets that were found today.

A secret may be given away by one session (an assignment, a vendor's prefix) and stand
bare in others that were redacted before. Those are marked here, and redacted again by
the next run of their project, where every known value goes.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from memory_assets.errors import DamagedFile, NotFound
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.redaction import KnownValues
from memory_assets.stores.catalog.facts import RETAINED
from memory_assets.stores.catalog.known_secrets import KnownValue, UncheckedSession
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, SESSION_SUMMARIES


@dataclass
class SweepReport:
    """Counts of one search: `values` that some session was not yet searched for, sessions
    marked now (`affected_sessions`), and all that wait to be redacted again (`holding`)."""

    values: int = 0
    searched: int = 0
    affected_sessions: int = 0
    holding: int = 0
    damaged: int = 0
    seconds: float = 0.0


def is_due(components: Components) -> bool:
    """Whether any session was redacted before a value was known that it was not searched
    for; one query."""
    return components.catalog.known_secrets.has_unchecked_sessions()


def due_fingerprint(components: Components) -> str | None:
    """Return a name for the search that is due, or None if none is."""
    if not is_due(components):
        return None
    sessions = components.catalog.known_secrets.unchecked_sessions()
    last = components.catalog.known_secrets.since(0)[-1].number
    states = (f"{s.project}/{s.session_id}:{s.through}:{s.output_hash}" for s in sessions)
    return input_hash(str(last), *states)


def mark_affected(components: Components) -> SweepReport:
    """Search the sessions on record for the values that became known after they were
    redacted, and mark those that hold one; the plan then has work for their projects.

    One pass over just the sessions concerned, whatever the number of values. A session is
    searched once for each value, and one that changes meanwhile is left to the next sweep.
    """
    catalog = components.catalog
    started = time.perf_counter()
    report = SweepReport()
    sessions = catalog.known_secrets.unchecked_sessions()
    if sessions:
        searches = _Searches(catalog.known_secrets.since(0), components.install_key)
        report.values = searches.count_after(min(session.through for session in sessions))
        retained = catalog.products.facts_with(REDACTED_RECORDS.name, RETAINED)
        for session in sessions:
            try:
                values = searches.after(session.through)
                holds = _holds(values, _texts(components, session))
                if (session.project, session.session_id) in retained:
                    _search_summary(components, session, values)
            except (DamagedFile, NotFound):  # the checks tell of it, and a rerun makes it anew
                report.damaged += 1
                continue
            catalog.known_secrets.note_checked(session, searches.last, holds=holds)
            report.searched += 1
            report.affected_sessions += holds
    report.holding = len(catalog.known_secrets.affected_sessions())
    report.seconds = time.perf_counter() - started
    return report


def _texts(components: Components, session: UncheckedSession) -> Iterator[str]:
    return components.lake.read_redacted_values(
        REDACTED_RECORDS, session.project, session.session_id
    )


def _search_summary(components: Components, session: UncheckedSession, values: KnownValues) -> None:
    """Count the summary of a session that is not made of its records any more as not made,
    if it holds one of the values: it is redacted again by the next run."""
    key = (session.project, session.session_id)
    try:
        texts = components.lake.read_redacted_values(SESSION_SUMMARIES, *key)
        holds = _holds(values, texts)
    except NotFound:
        return
    if holds:
        components.catalog.products.drop(SESSION_SUMMARIES.name, *key)


def _holds(values: KnownValues, texts: Iterator[str]) -> bool:
    return any(next(values.spans(text), None) is not None for text in texts)


class _Searches:
    """The search for the values behind a number, kept for the next session with the same."""

    def __init__(self, values: list[KnownValue], key: bytes) -> None:
        self.last = values[-1].number if values else 0
        self._values = values
        self._numbers = [value.number for value in values]
        self._key = key
        self._made: dict[int, KnownValues] = {}

    def count_after(self, number: int) -> int:
        return len(self._values) - bisect_right(self._numbers, number)

    def after(self, number: int) -> KnownValues:
        if number not in self._made:
            new = self._values[bisect_right(self._numbers, number) :]
            hashes = frozenset(value.hash for value in new)
            self._made = {number: KnownValues(self._key, hashes)}
        return self._made[number]
