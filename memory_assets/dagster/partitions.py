"""The [dynamic partitions](https://docs.dagster.io/guides/build/partitions-and-backfills): one for
each project, one for each workspace, and one for what agents wrote about each project; and what a
sensor remembers of each."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

import dagster as dg

from memory_assets.dagster.instance_runs import busy_partitions
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.stores.agents.partitions import is_agent_memory
from memory_assets.stores.runs.names import (
    AGENT_MEMORY_PARTITIONS,
    PARTITIONS,
    WORKSPACE_PARTITIONS,
    is_valid_key,
)
from memory_assets.stores.workspaces import is_workspace

projects = dg.DynamicPartitionsDefinition(name=PARTITIONS)
workspaces = dg.DynamicPartitionsDefinition(name=WORKSPACE_PARTITIONS)
agent_memory = dg.DynamicPartitionsDefinition(name=AGENT_MEMORY_PARTITIONS)
_BY_NAME = {str(definition.name): definition for definition in (projects, workspaces, agent_memory)}
DEFINITIONS = tuple(_BY_NAME)
"""The names of the definitions."""

PartitionsRequest = dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest
_ADD_BATCH = 500
"""Keys added in one statement; 36,000 of them broke SQLite (dagster#16260)."""


def partitions_of(asset: str) -> dg.DynamicPartitionsDefinition:
    """Return the partitions of an asset."""
    return _BY_NAME[STEPS[asset].partitions]


def new_keys(
    instance: dg.DagsterInstance,
    names: Iterable[str],
    definition: dg.DynamicPartitionsDefinition = projects,
) -> list[str]:
    """Return the valid partition keys among `names` that the instance lacks, sorted."""
    existing = set(instance.get_dynamic_partitions(str(definition.name)))
    return sorted(key for key in set(names) - existing if is_valid_key(key))


def add_keys(
    instance: dg.DagsterInstance,
    names: Iterable[str],
    definition: dg.DynamicPartitionsDefinition = projects,
) -> list[str]:
    """Add the valid partition keys among `names` that the instance lacks, and return them."""
    keys = new_keys(instance, names, definition)
    for start in range(0, len(keys), _ADD_BATCH):
        instance.add_dynamic_partitions(str(definition.name), keys[start : start + _ADD_BATCH])
    return keys


def requests_to_add(instance: dg.DagsterInstance, names: Iterable[str]) -> list[PartitionsRequest]:
    """Return a sensor's requests to add those of these partitions that the instance lacks, each to
    its definition."""
    by_kind: dict[str, list[str]] = {}
    for name in names:
        by_kind.setdefault(_definition_name(name), []).append(name)
    new = {kind: new_keys(instance, keys, _BY_NAME[kind]) for kind, keys in by_kind.items()}
    return [
        _BY_NAME[kind].build_add_request(keys[start : start + _ADD_BATCH])
        for kind, keys in new.items()
        for start in range(0, len(keys), _ADD_BATCH)
    ]


def requests_to_remove(
    instance: dg.DagsterInstance,
    definition: dg.DynamicPartitionsDefinition,
    existing: Container[str],
) -> list[PartitionsRequest]:
    """Return a sensor's requests to remove partitions that are not among the `existing` ones, those
    with anything on disk or on record, and that no run is working on."""
    gone = {
        key for key in instance.get_dynamic_partitions(str(definition.name)) if key not in existing
    }
    gone -= busy_partitions(instance) if gone else set()
    return [definition.build_delete_request(sorted(gone))] if gone else []


def _definition_name(name: str) -> str:
    if is_workspace(name):
        return WORKSPACE_PARTITIONS
    return AGENT_MEMORY_PARTITIONS if is_agent_memory(name) else PARTITIONS


_RETRY_SECONDS = 120.0
"""Wait before a request is repeated; doubled each time. The run key changes with each attempt,
because Dagster never repeats one (dagster#15982)."""
_MOST_DOUBLINGS = 16


class LastRequest(NamedTuple):
    """A sensor's last request for a partition, which is repeated while its work stays undone, after
    waits that double: the fingerprint of the work, the number of attempts (0: the
    work is done), and the time in Unix seconds."""

    fingerprint: str = ""
    attempt: int = 0
    at: float = 0.0

    def still_covers(self, fingerprint: str, now: float, most_seconds: float) -> bool:
        """Return whether this work is done, or was requested too recently to be requested again;
        waits are at most `most_seconds`."""
        wait = min(_RETRY_SECONDS * 2.0 ** min(self.attempt - 1, _MOST_DOUBLINGS), most_seconds)
        is_recent = 0 <= now - self.at < wait  # not if the clock was ahead, and was put right
        return self.fingerprint == fingerprint and (is_recent or not self.attempt)

    def again(self, fingerprint: str, now: float) -> LastRequest:
        """Return the request that follows this one."""
        attempt = self.attempt + 1 if self.fingerprint == fingerprint else 1
        return LastRequest(fingerprint, attempt, now)
