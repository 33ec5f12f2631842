"""The [dynamic partitions](https://docs.dagster.io/guides/build/partitions-and-backfills): one for
each project."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import dagster as dg

PARTITION_TAG = "dagster/partition"
"""Dagster's tag of a run with its partition key, the project."""
BACKFILL_TAG = "dagster/backfill"
"""Dagster's tag of a run with the id of the backfill that requested it."""
BATCH_TAG = "memory/batch"
"""The tag of a run of ingest_batch that is for several projects; its value is "true"."""
FORGOTTEN = "(forgotten)"
"""Stands for a forgotten project in the configuration of a run that was for others, too."""
BATCH_OP = "index_words"
"""The op of ingest_batch whose configuration names its projects."""

projects = dg.DynamicPartitionsDefinition(name="projects")

_FORBIDDEN = (",", "/", "\\", "...", "\n", "\t")
_ADD_BATCH = 500
"""Keys added in one statement; 36,000 of them broke SQLite (dagster#16260)."""


def is_valid_key(project: str) -> bool:
    """Whether a project's name can be a partition key: commas break selection in the UI,
    and slashes, `...` and control characters are refused by Dagster or unsafe in paths."""
    return (
        bool(project)
        and project not in (".", "..")
        and not any(part in project for part in _FORBIDDEN)
        and project.isprintable()
    )


def new_keys(instance: dg.DagsterInstance, names: Iterable[str]) -> list[str]:
    """Return the valid partition keys among `names` that the instance lacks, sorted."""
    existing = set(instance.get_dynamic_partitions(str(projects.name)))
    return sorted(key for key in set(names) - existing if is_valid_key(key))


def add_keys(instance: dg.DagsterInstance, names: Iterable[str]) -> list[str]:
    """Add the valid partition keys among `names` that the instance lacks, and return them."""
    keys = new_keys(instance, names)
    for start in range(0, len(keys), _ADD_BATCH):
        instance.add_dynamic_partitions(str(projects.name), keys[start : start + _ADD_BATCH])
    return keys


def batch_tags(names: Sequence[str]) -> dict[str, str]:
    """Return the tags of a run of ingest_batch for these projects."""
    return {PARTITION_TAG: names[0]} if len(names) == 1 else {BATCH_TAG: "true"}


def projects_of(run: dg.DagsterRun) -> Sequence[str]:
    """Return the projects that a run of ingest_project or ingest_batch is for."""
    if PARTITION_TAG in run.tags:
        return [run.tags[PARTITION_TAG]]
    if BATCH_TAG not in run.tags:
        return []
    config: Any = run.run_config
    names: list[str] = config["ops"][BATCH_OP]["config"]["projects"]
    return [name for name in names if name != FORGOTTEN]
