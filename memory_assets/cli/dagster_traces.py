"""What Dagster's instance holds of forgotten sessions and projects, and its removal.

Names stand in partition keys, run tags, events (why a session was held back), check
results, logs, the sensor's cursor and ticks. Runs that name one are deleted; so are the
rows that still do, in every table of every SQLite file of the instance; then the files
are rewritten. Where the instance keeps its storage on a server, runs are deleted there
and the server's own files are out of reach.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import dagster as dg

from memory_assets.cli.dagster_home import fail_dead_runs, open_instance
from memory_assets.dagster.partitions import PARTITION_TAG
from memory_assets.dagster.partitions import projects as project_partitions
from memory_assets.errors import StoreBusy
from memory_assets.settings import Settings
from memory_assets.stores import erasure
from memory_assets.stores.erasure import Names

_UNDER_WAY = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)
_CONFIGURATION = "dagster.yaml"
_INDEX = "index"
_BLANKED = ("last_materialization", "cached_status_data", "asset_details", "tags")
"""Columns of `asset_keys` that repeat an event; the asset itself stays."""


def require_idle(settings: Settings, projects: Iterable[str]) -> None:
    """Return if no run of these projects is waiting or under way.

    Raises:
        StoreBusy: one is.
    """
    wanted = set(projects)
    with open_instance(settings) as instance:
        fail_dead_runs(instance)
        for run in instance.get_runs(dg.RunsFilter(statuses=list(_UNDER_WAY))):
            if run.tags.get(PARTITION_TAG) in wanted or PARTITION_TAG not in run.tags:
                _refuse(run)


def erase_traces(settings: Settings, names: Names) -> int:
    """Remove all that the instance holds of these names; return how many runs that took.

    Raises:
        StoreBusy: one of the runs is under way, or a file is in use.
    """
    home = settings.dagster_dir
    with open_instance(settings) as instance:
        run_ids = sorted(_runs_naming(home, names))
        for run in instance.get_runs(dg.RunsFilter(run_ids=run_ids)) if run_ids else ():
            if run.status in _UNDER_WAY:
                _refuse(run)
        for run_id in run_ids:
            instance.delete_run(run_id)
            instance.compute_log_manager.delete_logs(prefix=[run_id])
            for path in (home / "history" / "runs").glob(f"{run_id}.db*"):
                path.unlink(missing_ok=True)  # Dagster's own event log would leave it
        for project in names.projects:
            if instance.has_dynamic_partition(str(project_partitions.name), project):
                instance.delete_dynamic_partition(str(project_partitions.name), project)
        _forget_in_cursors(instance, names)
    for path in sorted(home.rglob("*")):
        if not path.is_file() or path.name == _CONFIGURATION:
            continue
        if erasure.is_sqlite(path):
            erasure.blank_naming(path, "asset_keys", _BLANKED, names)
            erasure.delete_naming(path, names, run_ids=run_ids)
            if not _is_of_one_run(path):
                erasure.compact(path)
        elif not path.name.endswith(("-wal", "-shm")) and names.are_in_file(path):
            path.unlink()
    return len(run_ids)


def _refuse(run: dg.DagsterRun) -> None:
    project = run.tags.get(PARTITION_TAG, "all projects")
    raise StoreBusy(
        f"run {run.run_id[:8]} of {project} is {run.status.value.lower()}. Wait until it has "
        "ended, or cancel it in `memory dev`; then try again."
    )


def _runs_naming(home: Path, names: Names) -> set[str]:
    found: set[str] = set()
    for path in home.rglob("*.db"):
        if not erasure.is_sqlite(path):
            continue
        if _is_of_one_run(path):
            if names.are_in_file(path) or names.are_in_file(Path(f"{path}-wal")):
                found.add(path.stem)
        else:
            found |= erasure.runs_naming(path, names)
    return found


def _is_of_one_run(path: Path) -> bool:
    return path.parent.name == "runs" and path.stem != _INDEX


def _forget_in_cursors(instance: dg.DagsterInstance, names: Names) -> None:
    """Take the projects out of the sensors' cursors: {"requested": {project: ...}}."""
    for state in instance.all_instigator_state():
        data = state.sensor_instigator_data
        if data is None or not names.are_in(json.dumps([data.cursor, data.last_run_key])):
            continue
        last_run_key = None if names.are_in(data.last_run_key) else data.last_run_key
        changed = data._replace(cursor=_without(data.cursor, names), last_run_key=last_run_key)
        instance.update_instigator_state(state.with_data(changed))


def _without(cursor: str | None, names: Names) -> str | None:
    if not names.are_in(cursor):
        return cursor
    values: dict[str, Any] = json.loads(cursor or "{}")
    requested = values.get("requested", {})
    kept = {project: last for project, last in requested.items() if not names.are_in(project)}
    after = values.get("after", "")
    return json.dumps({"requested": kept, "after": "" if names.are_in(after) else after})
