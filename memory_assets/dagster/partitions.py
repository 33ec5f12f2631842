"""Partitions: one dynamic partition per project, nothing else."""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg

PARTITION_TAG = "dagster/partition"
"""The tag of a run that says which project it is of."""

projects = dg.DynamicPartitionsDefinition(name="projects")

_FORBIDDEN = (",", "/", "\\", "...", "\n", "\t")
_ADD_BATCH = 500
"""Keys added at once; one statement with 36,000 broke SQLite (dagster#16260)."""


def is_valid_key(project: str) -> bool:
    """Whether a project's name can be a partition key: commas break selection in the UI,
    and slashes, `...` and control characters are refused by Dagster or unsafe in paths."""
    return (
        bool(project)
        and project not in (".", "..")
        and not any(part in project for part in _FORBIDDEN)
        and project.isprintable()
    )


def new_keys(instance: dg.DagsterInstance, wanted: Iterable[str]) -> list[str]:
    """Return the valid keys that the instance does not have yet, sorted."""
    existing = set(instance.get_dynamic_partitions(str(projects.name)))
    return sorted(key for key in set(wanted) - existing if is_valid_key(key))


def add_keys(instance: dg.DagsterInstance, wanted: Iterable[str]) -> list[str]:
    """Add the keys that the instance lacks, in batches, and return them."""
    keys = new_keys(instance, wanted)
    for start in range(0, len(keys), _ADD_BATCH):
        instance.add_dynamic_partitions(str(projects.name), keys[start : start + _ADD_BATCH])
    return keys
