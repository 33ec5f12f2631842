"""The job `ingest_batch`: many projects in one run.

A run of `ingest_project` is for one
[partition](https://docs.dagster.io/guides/build/partitions-and-backfills), and costs nearly a
second whatever there is to do. This job has one op for each pass over all projects, and stores
the same materializations and check evaluations, for each project's partition.
"""

# No `from __future__ import annotations`: Dagster reads the annotation of an op's `context` at
# run time (dagster#26837).

import dagster as dg

from memory_assets.dagster.op_events import OpEvents
from memory_assets.dagster.partitions import add_keys
from memory_assets.dagster.resources import MemoryParam, WorkersParam
from memory_assets.pipeline.ingest.batch_run import BatchRun
from memory_assets.pipeline.ingest.passes import SUMMARIES, VECTORS
from memory_assets.stores.runs.names import (
    BATCH_JOB_TAGS,
    BATCH_OPS,
    INGEST_BATCH,
    NO_KEY,
    is_valid_key,
)


class BatchConfig(dg.Config):
    """[Run configuration](https://docs.dagster.io/guides/operate/configuration/run-configuration)
    of ingest_batch."""

    projects: list[str]
    """The projects to bring up to date: partition keys."""
    limit: int | None = None
    """The most new or changed files to read, newest first; None: all."""


_BATCH = dg.Out(io_manager_key="of_this_process")


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
        raise dg.Failure(f"a name {NO_KEY}", allow_retries=False)
    if not config.projects:
        raise dg.Failure("`projects` names none: give partition keys", allow_retries=False)
    add_keys(context.instance, config.projects)
    run = BatchRun(memory.components(), workers)
    run.index_words(OpEvents(context), config.projects, config.limit)
    return run


@dg.op(name=BATCH_OPS[1], out=_BATCH)
def make_summaries(context: dg.OpExecutionContext, run: BatchRun) -> BatchRun:
    """Make what is derived from whole sessions, and index its words."""
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
