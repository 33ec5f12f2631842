"""Which sessions of a project are retained: only their prompts are kept."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from memory_assets.pipeline.ownership.session_files import Retained, SessionFiles
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.facts import RETAINED, RecordFacts
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

_DAY_SECONDS = 86_400.0


def with_retained(
    components: Components, project: str, sessions: list[SessionFiles], retain: Container[str]
) -> list[SessionFiles]:
    """Return the sessions, with those marked that are retained: those that are so on record and
    are still over, or have lost their main file, and those of `retain`."""
    before = components.catalog.products.facts_with(REDACTED_RECORDS.name, RETAINED, project)
    if not (before or retain):
        return sessions
    made = components.catalog.products.of_project(REDACTED_RECORDS.name, project) if retain else {}
    result = []
    for session in sessions:
        facts: RecordFacts | None = before.get((project, session.session_id))
        if session.session_id in retain:
            facts = made[session.session_id].facts
        elif facts is not None and not (session.main_gone or is_over(components, session)):
            facts = None
        if facts is not None:
            session = replace(session, retained=Retained.of_facts(facts))
        result.append(session)
    return result


def is_over(components: Components, session: SessionFiles) -> bool:
    """Whether a session ended before the days that the retention policy keeps; False without
    a policy."""
    days = components.settings.retention
    return days is not None and session.ended_at < components.clock() - days * _DAY_SECONDS
