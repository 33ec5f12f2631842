"""The [dynamic partitions](https://docs.dagster.io/guides/build/partitions-and-backfills): one for
each project, one for each workspace, and one for what agents wrote about each project."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import dagster as dg

from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.stores.run_history.history import UNDER_WAY
from memory_assets.stores.run_history.names import (
    AGENT_MEMORY_PARTITIONS,
    PARTITIONS,
    WORKSPACE_PARTITIONS,
    is_valid_key,
    projects_of,
)

projects = dg.DynamicPartitionsDefinition(name=PARTITIONS)
workspaces = dg.DynamicPartitionsDefinition(name=WORKSPACE_PARTITIONS)
agent_memory = dg.DynamicPartitionsDefinition(name=AGENT_MEMORY_PARTITIONS)
_BY_NAME = {str(each.name): each for each in (projects, workspaces, agent_memory)}

_ADD_BATCH = 500
"""Keys added in one statement; 36,000 of them broke SQLite (dagster#16260)."""


def partitions_of(asset: str) -> dg.DynamicPartitionsDefinition:
    """Return the partitions of an asset."""
    return _BY_NAME[STEPS[asset].partitions]


def new_keys(
    instance: dg.DagsterInstance,
    names: Iterable[str],
    of: dg.DynamicPartitionsDefinition = projects,
) -> list[str]:
    """Return the valid partition keys among `names` that the instance lacks, sorted."""
    existing = set(instance.get_dynamic_partitions(str(of.name)))
    return sorted(key for key in set(names) - existing if is_valid_key(key))


def add_keys(instance: dg.DagsterInstance, names: Iterable[str]) -> list[str]:
    """Add the valid partition keys among `names` that the instance lacks, and return them."""
    keys = new_keys(instance, names)
    for start in range(0, len(keys), _ADD_BATCH):
        instance.add_dynamic_partitions(str(projects.name), keys[start : start + _ADD_BATCH])
    return keys


def runs_under_way(instance: dg.DagsterInstance, job: str | None = None) -> Sequence[dg.DagsterRun]:
    """Return the runs of a job (None: of all) that are queued or in progress."""
    statuses = [dg.DagsterRunStatus(status) for status in UNDER_WAY]
    return instance.get_runs(dg.RunsFilter(job_name=job, statuses=statuses))


def busy_partitions(instance: dg.DagsterInstance, job: str | None = None) -> set[str]:
    """Return the partitions of those runs, which need no other."""
    return {name for run in runs_under_way(instance, job) for name in projects_of(run)}
