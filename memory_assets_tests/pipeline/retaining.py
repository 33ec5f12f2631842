"""What the tests of retention share: the day in question, and one day's retention."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.removal.retention import RetentionReport, retain
from memory_assets.pipeline.stage.components import Components
from memory_assets_tests.pipeline.conftest import SampleMemory

DAYS = 100
NOW = datetime(2026, 3, 30, 9, 0, tzinfo=UTC) + timedelta(days=DAYS)
OLD = {
    SampleMemory.flaky,
    "71b3e8c6-0f2d-4a95-8e47-d6c1905ab2f3",
    "e94d20b7-63fa-4c1e-a8d5-17b6f3c0928e",
}
"""Sessions of the sample that ended before the day in question, in two projects; the fork of
the first ended half an hour after it."""
TIDEPOOL = "-Users-jonas-work-tidepool-web"


def retained(memory: SampleMemory) -> RetentionReport:
    """One day's retention, and the runs that follow, as a new process."""
    report = retain(reopened(memory, retention=f"{DAYS}d"))
    run(memory)
    return report


def reopened(memory: SampleMemory, **given: Any) -> Components:
    """Start over with further settings, as a new process would."""
    memory.close()
    memory.given = {**memory.given, **given}
    memory.components = memory._opened()
    return memory.components


def run(memory: SampleMemory) -> None:
    """One run of each project that has work."""
    memory.run(projects=[work.project for work in memory.behind()] or [memory.harbor])


def is_of(session_ids: set[str], row: dict[str, Any]) -> bool:
    """Whether a row is of one of these sessions."""
    if "session_id" in row:
        return row["session_id"] in session_ids
    return any(session_id in row["id"] for session_id in session_ids)


def assert_all_holds(memory: SampleMemory) -> None:
    """Nothing is behind, every verification passes, and Chroma has what the lake has."""
    assert memory.behind() == []
    failed = [
        (made.project, made.subject, made.name)
        for project in memory.projects()
        for made in verify_project(memory.components, project)
        if made.failed
    ]
    assert failed == []
    if memory.components.embeds:
        memory.assert_collections_equal_the_lake()
