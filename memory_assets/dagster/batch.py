"""The job `ingest_batch`: many projects in one run.

A run of `ingest_project` is for one
[partition](https://docs.dagster.io/guides/build/partitions-and-backfills), and costs nearly a
second whatever there is to do. This job has one op for each pass over all projects, and stores
the same materializations and check evaluations, for each project's partition.
"""

# No `from __future__ import annotations`: Dagster reads the annotation of an op's `context` at
# run time (dagster#26837).

from collections.abc import Iterator, Sequence
from pathlib import Path

import dagster as dg

from memory_assets.dagster.partitions import add_keys
from memory_assets.dagster.resources import MemoryParam, MemoryResource, memory_resource
from memory_assets.pipeline.ingest.batch_run import BatchRun
from memory_assets.pipeline.ingest.passes import SUMMARIES, VECTORS
from memory_assets.pipeline.ingest.workers import Workers
from memory_assets.settings import Settings
from memory_assets.stores.run_history.events import AssetEvent, Materialization
from memory_assets.stores.run_history.names import (
    BATCH_JOB_TAGS,
    BATCH_OPS,
    INGEST_BATCH,
    is_valid_key,
)

_IDS_AT_ONCE = 500
"""Partitions named in one query."""


class BatchConfig(dg.Config):
    """[Run configuration](https://docs.dagster.io/guides/operate/configuration/run-configuration)
    of ingest_batch."""

    projects: list[str]
    """The projects to bring up to date: partition keys."""
    limit: int | None = None
    """The most new or changed files to read, newest first; None: all."""


@dg.resource(required_resource_keys={"memory"}, description="The processes of one batch.")
def workers(context: dg.InitResourceContext) -> Iterator[Workers]:
    """Open the processes that run the steps of a batch, for the length of the run."""
    memory: MemoryResource = context.resources.memory
    opened = Workers(memory.components())
    try:
        yield opened
    finally:
        opened.close()


WorkersParam = dg.ResourceParam[Workers]


class OpEvents:
    """The events of an op of a run, each with the partition it is about; the op's context logs
    them, whatever keeps the events of the instance."""

    def __init__(self, context: dg.OpExecutionContext) -> None:
        self._context = context

    def store(self, events: Sequence[AssetEvent]) -> list[int]:
        """Store events, and return the ids of the materializations among them, in order."""
        for event in events:
            # Takes evaluations, too, which its annotation lacks (Dagster 1.13).
            self._context.log_event(_dagster_event(event))  # type: ignore[arg-type]
        made = [event for event in events if isinstance(event, Materialization)]
        ids: dict[tuple[str, str | None], int] = {}
        for asset in {event.asset for event in made}:
            partitions = [event.project for event in made if event.asset == asset]
            ids.update(self._ids(asset, partitions))
        return [ids[event.asset, event.project] for event in made]

    def error(self, message: str) -> None:
        """Store an error message."""
        self._context.log.error(message)

    def _ids(
        self, asset: str, partitions: Sequence[str | None]
    ) -> dict[tuple[str, str | None], int]:
        """Return the ids of this run's materializations of an asset, by asset and partition."""
        ids: dict[tuple[str, str | None], int] = {}
        for start in range(0, len(partitions), _IDS_AT_ONCE):
            names = [name for name in partitions[start : start + _IDS_AT_ONCE] if name is not None]
            wanted = dg.AssetRecordsFilter(dg.AssetKey(asset), asset_partitions=names or None)
            # Newest first: what other runs stored meanwhile, of the same partitions, is passed by.
            cursor, missing = None, set(partitions[start : start + _IDS_AT_ONCE])
            while missing:
                found = self._context.instance.fetch_materializations(
                    wanted, limit=len(missing), cursor=cursor
                )
                for record in found.records:
                    if record.run_id == self._context.run_id and record.partition_key in missing:
                        missing.discard(record.partition_key)
                        ids[asset, record.partition_key] = record.storage_id
                cursor = found.cursor
                if not found.has_more:
                    break
        return ids


_BATCH = dg.Out(io_manager_key="of_this_process")


def _dagster_event(event: AssetEvent) -> dg.AssetMaterialization | dg.AssetCheckEvaluation:
    if isinstance(event, Materialization):
        return dg.AssetMaterialization(
            event.asset,
            partition=event.project,
            metadata=dict(event.metadata),
            tags=dict(event.tags),
        )
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(event.asset),
        check_name=event.check,
        passed=event.passed,
        partition=event.project,
        metadata={
            name: dg.MetadataValue.path(value) if isinstance(value, Path) else value
            for name, value in event.metadata.items()
        },
        severity=dg.AssetCheckSeverity.WARN if event.warning else dg.AssetCheckSeverity.ERROR,
        description=event.description,
    )


@dg.op(name=BATCH_OPS[0], out=_BATCH)
def index_words(
    context: dg.OpExecutionContext,
    config: BatchConfig,
    memory: MemoryParam,
    workers: WorkersParam,
) -> BatchRun:
    """Read, redact and cut into turns what is new in each project, newest first, and index its
    words."""
    if not all(map(is_valid_key, config.projects)):
        raise dg.Failure("a name cannot be a partition key (docs/runs.md)", allow_retries=False)
    add_keys(context.instance, config.projects)
    run = BatchRun(memory.components(), workers)
    run.index_words(OpEvents(context), config.projects, config.limit)
    return run


@dg.op(name=BATCH_OPS[1], out=_BATCH)
def make_summaries(context: dg.OpExecutionContext, run: BatchRun) -> BatchRun:
    """Make and index what is derived from whole sessions: summaries, observations, commits."""
    run.run_pass(OpEvents(context), SUMMARIES)
    return run


@dg.op(name=BATCH_OPS[2])
def make_vectors(context: dg.OpExecutionContext, run: BatchRun) -> None:
    """Embed what was not embedded before, and write it to the keyword index and to Chroma."""
    run.run_pass(OpEvents(context), VECTORS)
    if failure := run.failure():
        raise dg.Failure(failure, allow_retries=False)


@dg.job(
    name=INGEST_BATCH,
    executor_def=dg.in_process_executor,
    tags=BATCH_JOB_TAGS,
    description="Transcripts of many projects to searchable memory, words first; stores "
    "materializations and checks of each project's partition.",
)
def ingest_batch() -> None:
    """Run the passes one after the other."""
    make_vectors(make_summaries(index_words()))


def batch_resources(settings: Settings | None = None) -> dict[str, dg.ResourceDefinition]:
    """Return the resources of a run, on the memory of `settings` or, without, of the
    environment. Assets hand each other nothing, so that a run can go on where another failed; what
    the ops of a batch hand each other stays in memory, and a batch is repeated whole."""
    return {
        "memory": memory_resource(settings),
        "workers": workers,
        "of_this_process": dg.mem_io_manager,
    }
