"""An ingest of many projects walks the agents' directories once, and reads files as they are."""

from __future__ import annotations

from typing import Any

import pytest

from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.scan import raw_sessions as scan
from memory_assets.status import found_sources
from memory_assets.transcripts import discover
from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.pipeline.forgetting import forget_sessions

TOLD = ("and the zanzibar clock?", "It has no summer time.")


def test_all_projects_are_scanned_after_one_walk(
    memory: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each finds its own; without the walk each scan walks by itself."""
    walks: list[object] = []

    def counted(*given: Any) -> Any:
        walks.append(given)
        return discover(*given)

    projects = memory.projects()
    monkeypatch.setattr(found_sources, "discover", counted)
    alone = [scan.scan_project(memory.components, project).rows for project in projects]
    walked = on_disk.walk_once(memory.components)
    together = [
        scan.scan_project(memory.components, project, walked=walked[project]).rows
        for project in projects
    ]
    assert together == alone
    assert len(walks) == len(projects) + 1 > 2


def test_a_file_that_grew_since_the_walk_is_read_to_its_end(memory: SampleMemory) -> None:
    """The ledger then knows it as it is now: nothing is behind."""
    walked = on_disk.walk_once(memory.components)[memory.harbor]
    memory.append(memory.flaky, *TOLD)
    assert scan.scan_project(memory.components, memory.harbor, walked=walked).changed == 1
    assert scan.scan_project(memory.components, memory.harbor).changed == 0


def test_a_file_that_vanished_since_the_walk_is_gone(memory: SampleMemory) -> None:
    """It is not held back as one that cannot be read."""
    walked = on_disk.walk_once(memory.components)[memory.harbor]
    memory.path(memory.flaky).unlink()
    report = scan.scan_project(memory.components, memory.harbor, walked=walked)
    assert (report.details["newly_gone"], report.quarantined) == (1, 0)


def test_a_session_forgotten_since_the_walk_is_left_out(memory: SampleMemory) -> None:
    """Tombstones are looked at for each project."""
    walked = on_disk.walk_once(memory.components)[memory.harbor]
    forget_sessions(memory, session=memory.flaky)
    memory.append(memory.flaky, *TOLD)
    report = scan.scan_project(memory.components, memory.harbor, walked=walked)
    assert (report.details["forgotten"], report.changed) == (1, 0)
