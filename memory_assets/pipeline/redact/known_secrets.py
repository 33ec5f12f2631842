"""Searching redacted sessions for secrets that were found after they were redacted.

One session may reveal a secret (by an assignment, a vendor's prefix) that occurs without
such context in sessions redacted before. Those are marked here as affected, and the next
run of their project redacts them again, with all known secrets.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from memory_assets.errors import DamagedFile, NotFound
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.redaction import KnownValues
from memory_assets.stores.catalog.facts import RETAINED
from memory_assets.stores.catalog.known_secrets import UncheckedSession
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, SESSION_SUMMARIES
from memory_assets.stores.runs.events import Metadata


@dataclass
class SecretSearchReport:
    """Counts of one search: secrets that some session had not been searched for (`values`),
    sessions `searched`, sessions marked by this search (`affected_sessions`), and all marked
    sessions that are not yet redacted again (`holding`)."""

    values: int = 0
    searched: int = 0
    affected_sessions: int = 0
    holding: int = 0
    damaged: int = 0
    seconds: float = 0.0


def is_due(components: Components) -> bool:
    """Whether a secret is known that some session has not been searched for; one query."""
    return components.catalog.known_secrets.has_unchecked_sessions()


def due_fingerprint(components: Components) -> str | None:
    """Return a hash that identifies the search that is due, or None if none is."""
    if not is_due(components):
        return None
    sessions = components.catalog.known_secrets.unchecked_sessions()
    last = components.catalog.known_secrets.since(0)[-1].number
    states = (f"{s.project}/{s.session_id}:{s.through}:{s.output_hash}" for s in sessions)
    return input_hash(str(last), *states)


def mark_affected(components: Components) -> SecretSearchReport:
    """Search sessions for the secrets that became known after they were redacted, mark the
    affected ones, for which the plan then requests a run, and return the counts.

    Each session is read once, whatever the number of secrets, and never searched for one
    again. A session that changes during the search is left to the next one.
    """
    catalog = components.catalog
    started = time.perf_counter()
    report = SecretSearchReport()
    sessions = catalog.known_secrets.unchecked_sessions()
    if sessions:
        known, key = catalog.known_secrets.since(0), components.install_key

        @lru_cache(maxsize=1)  # sessions with the same number mostly follow each other
        def values_after(number: int) -> KnownValues:
            return KnownValues(
                key, frozenset(secret.hash for secret in known if secret.number > number)
            )

        report.values = len(values_after(min(session.through for session in sessions)).hashes)
        retained = catalog.products.facts_with(REDACTED_RECORDS.name, RETAINED)
        for session in sessions:
            try:
                values = values_after(session.through)
                texts = components.lake.read_redacted_values(
                    REDACTED_RECORDS, session.project, session.session_id
                )
                holds = _holds(values, texts)
                if (session.project, session.session_id) in retained:
                    _search_summary(components, session, values)
            except (DamagedFile, NotFound):  # the checks report it, and a rerun repairs it
                report.damaged += 1
                continue
            catalog.known_secrets.note_checked(session, known[-1].number, holds=holds)
            report.searched += 1
            report.affected_sessions += holds
    report.holding = len(catalog.known_secrets.affected_sessions())
    report.seconds = time.perf_counter() - started
    return report


def _search_summary(components: Components, session: UncheckedSession, values: KnownValues) -> None:
    """Drop the product of a retained session's summary if the summary contains one of the
    values, so that the next run redacts it again."""
    key = (session.project, session.session_id)
    try:
        texts = components.lake.read_redacted_values(SESSION_SUMMARIES, *key)
        holds = _holds(values, texts)
    except NotFound:
        return
    if holds:
        components.catalog.products.drop(SESSION_SUMMARIES.name, *key)


def _holds(values: KnownValues, texts: Iterator[str]) -> bool:
    return any(map(values.are_in, texts))


KNOWN_SECRETS = "known_secrets"


def search_for_known_secrets(components: Components) -> Metadata:
    """Mark the sessions that hold a secret found since they were redacted, and return the
    metadata of the asset's materialization."""
    report = mark_affected(components)
    return {
        "work": "brought up to date" if report.searched else "nothing to do",
        "values_known": len(components.catalog.known_secrets.hashes()),
        "values_searched_for": report.values,
        "sessions_searched": report.searched,
        "sessions_marked": report.affected_sessions,
        "sessions_to_redact_again": report.holding,
        "files_damaged": report.damaged,
        "seconds": round(report.seconds, 3),
    }
