"""Projects that have no work to do, and checks to pass: a table was altered on disk, or a check
failed when it last ran.

Somebody changed a file of the lake, or put another one back. Nothing that the catalogue knows of
differs then, so no check would look at what it passed before.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from memory_assets.pipeline.checks.expectations import matching_version
from memory_assets.pipeline.plan.plan import ProjectPlan, project_fingerprint
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.pending_checks import MATCHED, note_stage
from memory_assets.pipeline.stages import EXPECTATIONS
from memory_assets.status import counted, failed_checks
from memory_assets.stores.agents.partitions import is_agent_memory
from memory_assets.stores.lake.schemas import TABLES, Table
from memory_assets.stores.workspaces import is_workspace
from memory_assets.transcripts import Source

_STEP_NS = 1_000_000_000
"""Notes have their time to the second."""


def plan_unchecked(
    components: Components, sources: Mapping[str, list[Source]], projects: Iterable[str]
) -> list[ProjectPlan]:
    """Return those of the projects in which a check failed, or a table has rows that were written
    after its checks. Costs a stat for each file of the lake; files whose time was kept are not
    noticed, but by `memory verify`."""
    checked_at = {
        (row["stage"], row["project"]): datetime.fromisoformat(row["at"]).timestamp()
        for row in components.catalog.rows(
            "SELECT stage, project, MAX(made_at) AS at FROM products"
            " WHERE stage >= ? AND stage < ? GROUP BY stage, project",
            f"{MATCHED}/",
            f"{MATCHED}0",
        )
    }
    projects = sorted(projects)
    failed = Counter(project for project, _ in failed_checks(components.data_dir, projects))
    unchecked: list[ProjectPlan] = []
    for project in projects:
        if is_workspace(project) or is_agent_memory(project):
            continue
        tables = [
            table
            for table in TABLES.values()
            if (at := checked_at.get((note_stage(MATCHED, table), project)))
            and _is_newer(components, table, project, int(at * 1e9) + _STEP_NS)
        ]
        altered = any(_has_pending(components, table, project) for table in tables)
        if altered or project in failed:
            reason = "altered on disk" if altered else f"{counted(failed[project], 'check')} failed"
            fingerprint = project_fingerprint(components, project, sources.get(project, []))
            unchecked.append(ProjectPlan(project, reason, fingerprint))
    return unchecked


def _is_newer(components: Components, table: Table, project: str, than_ns: int) -> bool:
    try:
        with os.scandir(components.lake.partition_dir(table, project)) as entries:
            return any(entry.stat().st_mtime_ns > than_ns for entry in entries)
    except FileNotFoundError:
        return False


def _has_pending(components: Components, table: Table, project: str) -> bool:
    version = matching_version(table, EXPECTATIONS[table.name])
    return bool(components.pending_sessions(project, table, MATCHED, version))
