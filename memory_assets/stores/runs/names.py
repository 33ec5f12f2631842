"""Names of jobs, tags and partitions, and the projects in the tags and configuration of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

INGEST_BATCH = "ingest_batch"
INGEST_JOB = "ingest_project"
RECHECK_JOB = "recheck_known_secrets"
PRUNE_JOB = "prune_superseded_runs"
RECORD_JOB = "record_ingests"
RETENTION_JOB = "apply_retention"
UPKEEP_JOB = "keep_memories"
WORKSPACE_JOB = "index_workspace"
AGENT_MEMORY_JOB = "index_agent_memory"
PARTITIONS = "projects"
"""The name of the dynamic partitions, one for each project."""
WORKSPACE_PARTITIONS = "workspaces"
"""The name of the dynamic partitions, one for each workspace."""
AGENT_MEMORY_PARTITIONS = "agent_memory"
"""The name of the dynamic partitions, one for what agents wrote about each project, or none."""
PARTITION_TAG = "dagster/partition"
"""Dagster's tag of a run with its partition key, the project."""
RANGE_TAGS = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
"""Dagster's tags of a run for a range of partitions, with the first and the last of them; a
backfill of one partition has them, too."""
BACKFILL_TAG = "dagster/backfill"
"""Dagster's tag of a run with the id of the backfill that requested it."""
BATCH_TAG = "memory/batch"
"""The tag of a run of ingest_batch or record_ingests that is for several partitions; its value is
"true"."""
PART_TAG = "memory/part"
"""The tag of a run that did not make all assets of its projects; its value is "true"."""
BATCH_OPS = ("index_words", "make_summaries", "make_vectors")
"""The ops of ingest_batch, one for each pass; the configuration of the first names projects."""
BATCH_OP = BATCH_OPS[0]
BATCH_JOB_TAGS = {"dagster/max_runtime": "7200", "dagster/retry_strategy": "ALL_STEPS"}
"""Tags of every run of ingest_batch: the daemon ends it after so many seconds, and repeats all of
it if its process was killed."""

_FORBIDDEN = (",", "/", "\\", "...", "\n", "\t")


class _Run(Protocol):
    """A run of Dagster, read by Dagster or by us."""

    @property
    def tags(self) -> Mapping[str, str]: ...

    @property
    def run_config(self) -> Mapping[str, Any]: ...


NO_KEY = (
    "cannot be a partition key: it is empty, or has a comma, a slash, `...` or an invisible "
    "character in it"
)
"""What is said of a name that is no valid key."""


def is_valid_key(project: str) -> bool:
    """Whether a project's name can be a partition key: commas break selection in the UI,
    and slashes, `...` and control characters are refused by Dagster or unsafe in paths."""
    return (
        bool(project)
        and project not in (".", "..")
        and not any(part in project for part in _FORBIDDEN)
        and project.isprintable()
    )


def batch_config(names: Sequence[str], *, of: str = BATCH_OP) -> dict[str, Any]:
    """Return the configuration of a run of ingest_batch, or one whose first op is `of`, for these
    partitions."""
    return {"ops": {of: {"config": {"projects": list(names)}}}}


def batch_tags(names: Sequence[str]) -> dict[str, str]:
    """Return the tags of a run of ingest_batch for these projects."""
    return {PARTITION_TAG: names[0]} if len(names) == 1 else {BATCH_TAG: "true"}


def is_of_range(run: _Run) -> bool:
    """Whether a run is for a range of several partitions, of which its tags name two."""
    first, last = map(run.tags.get, RANGE_TAGS)
    return first != last


def projects_of(run: _Run) -> Sequence[str]:
    """Return the projects that a run of ingest_project, ingest_batch or record_ingests is for; none
    for a range of several, which only Dagster knows."""
    if PARTITION_TAG in run.tags:
        return [run.tags[PARTITION_TAG]]
    if RANGE_TAGS[0] in run.tags and not is_of_range(run):
        return [run.tags[RANGE_TAGS[0]]]
    if BATCH_TAG not in run.tags:
        return []
    (config,) = run.run_config["ops"].values()
    names: list[str] = config["config"]["projects"]
    return names
