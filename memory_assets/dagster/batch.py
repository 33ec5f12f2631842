"""The job `ingest_batch`: many projects in one run.

A run of `ingest_project` is for one
[partition](https://docs.dagster.io/guides/build/partitions-and-backfills), and costs nearly a
second whatever there is to do. This job has one op for each pass over all projects, and stores
the same materializations and check evaluations, for each project's partition, in a few
transactions.
"""

# No `from __future__ import annotations`: Dagster reads the annotation of an op's `context` at
# run time (dagster#26837).

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256

import dagster as dg

from memory_assets.dagster.event_log import asset_event, store_asset_events
from memory_assets.dagster.jobs import INGEST_BATCH
from memory_assets.dagster.metadata import checked, materialized
from memory_assets.dagster.partitions import BATCH_OP, add_keys, is_valid_key
from memory_assets.dagster.resources import (
    Listener,
    MemoryParam,
    MemoryResource,
    ignore,
    memory_resource,
)
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.checks.checks import Verified
from memory_assets.pipeline.indexes.keywords import STAGE as KEYWORD_INDEX
from memory_assets.pipeline.ingest.passes import (
    SUMMARIES,
    VECTORS,
    WORDS,
    Batch,
    Outcome,
    Pass,
)
from memory_assets.pipeline.ingest.steps import STEPS, Failed, Made
from memory_assets.pipeline.ingest.workers import Workers, worker_count
from memory_assets.pipeline.scan.on_disk import one_walk
from memory_assets.settings import Settings
from memory_assets.stores.ingest_progress import IngestProgress, ingesting

_STORE_SECONDS = 1.0
"""How long an event may wait to be stored together with others."""


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
    opened = Workers(memory.components(), memory.run_id)
    try:
        yield opened
    finally:
        opened.close()


WorkersParam = dg.ResourceParam[Workers]
Stored = dict[tuple[str, str], tuple[str, int | None]]
"""The data version and the event of each (project, asset) that a run has made."""


@dataclass
class Progress:
    """What one op hands to the next: the batch, what searches are told of it, what is stored.
    `runs`: the runs to which the events of some projects belong; else it is the run itself."""

    batch: Batch
    shown: IngestProgress
    runs: Mapping[str, dg.DagsterRun] = field(default_factory=dict)
    stored: Stored = field(default_factory=dict)


@dg.op(name=BATCH_OP)
def index_words(
    context: dg.OpExecutionContext,
    config: BatchConfig,
    memory: MemoryParam,
    workers: WorkersParam,
) -> Progress:
    """Read, redact and cut into turns what is new in each project, newest first, and index its
    words."""
    if not all(map(is_valid_key, config.projects)):
        raise dg.Failure("a name cannot be a partition key (docs/runs.md)", allow_retries=False)
    add_keys(context.instance, config.projects)
    return run_words(context, memory, workers, config.projects, config.limit)


@dg.op
def make_summaries(
    context: dg.OpExecutionContext, memory: MemoryParam, workers: WorkersParam, progress: Progress
) -> Progress:
    """Make and index what is derived from whole sessions: summaries, observations, commits."""
    run_pass(context, memory, workers, progress, SUMMARIES)
    return progress


@dg.op
def make_vectors(
    context: dg.OpExecutionContext, memory: MemoryParam, workers: WorkersParam, progress: Progress
) -> None:
    """Embed what was not embedded before, and write it to the keyword index and to Chroma."""
    run_pass(context, memory, workers, progress, VECTORS)
    batch = progress.batch
    if batch.failed:
        raise dg.Failure(
            f"{len(batch.failed)} of {len(batch.projects)} projects failed; the others are done. "
            "The log says which and why.",
            allow_retries=False,
        )


def run_words(
    context: dg.OpExecutionContext,
    memory: MemoryResource,
    workers: Workers,
    projects: Sequence[str],
    limit: int | None = None,
    runs: Mapping[str, dg.DagsterRun] | None = None,
) -> Progress:
    """Run the first pass over projects, at most `limit` files of them, and return what the next
    one needs. The events of a project belong to the context's run, or to that in `runs`."""
    components = memory.components()
    with one_walk(components):
        sources = components.walked or {}
        batch = Batch.of(components, projects, sources, limit)
        size = sum(source.size for name in batch.projects for source in sources.get(name, ()))
        workers.count = worker_count(memory.settings, len(batch.projects), size)
        progress = Progress(batch, IngestProgress(len(batch.projects)), runs or {})
        run_pass(context, memory, workers, progress, WORDS)
    return progress


def run_pass(
    context: dg.OpExecutionContext,
    memory: MemoryResource,
    workers: Workers,
    progress: Progress,
    part: Pass,
) -> None:
    """Run a pass over all projects of a batch; store what came of it, and tell searches and the
    listener."""
    batch, events = progress.batch, _Events(context, memory, progress)
    tasks = batch.tasks(part)
    left = Counter(task.project for task in tasks)
    with ExitStack() as after:
        publish = after.enter_context(ingesting(memory.settings.data_dir, progress.shown))
        after.callback(events.store)
        after.enter_context(no_text_in_errors())
        for outcome in workers.run(tasks):
            batch.note(outcome)
            memory.listen(outcome)
            if isinstance(outcome, Made) and outcome.asset == KEYWORD_INDEX:
                left[outcome.project] -= 1
                if part is not SUMMARIES:
                    setattr(progress.shown, part.name, sum(not number for number in left.values()))
            if events.add(outcome):
                publish()
        publish()
        memory.listen(part)


class _Events:
    """Collects what came of a step, and stores the events of about a second at once."""

    def __init__(
        self, context: dg.OpExecutionContext, memory: MemoryResource, progress: Progress
    ) -> None:
        self._context = context
        self._components = memory.components()
        self._stored, self._runs = progress.stored, progress.runs
        self._waiting: list[Made | Verified] = []
        self._stored_at = time.monotonic()

    def add(self, outcome: Outcome) -> bool:
        """Note an outcome, and return whether it was time to store what waited; failures are
        logged."""
        if isinstance(outcome, Failed):
            self._context.log.error("%s: %s: %s", outcome.project, outcome.asset, outcome.reason)
            return False
        self._waiting.append(outcome)
        due = time.monotonic() - self._stored_at > _STORE_SECONDS
        if due:
            self.store()
        return due

    def store(self) -> None:
        """Store what waits: the assets in order, because each names the events of those that it
        is made of, then the checks."""
        waiting, self._waiting = self._waiting, []
        self._stored_at = time.monotonic()
        for asset in STEPS:
            made = [each for each in waiting if isinstance(each, Made) and each.asset == asset]
            ids = self._put([(each.project, self._materialization(each)) for each in made])
            for outcome, event_id in zip(made, ids, strict=True):
                key = outcome.project, outcome.asset
                self._stored[key] = outcome.report.data_version, event_id
        checked = [each for each in waiting if isinstance(each, Verified)]
        self._put([(each.project, _evaluation(each)) for each in checked])

    def _put(
        self, what: Sequence[tuple[str, dg.AssetMaterialization | dg.AssetCheckEvaluation]]
    ) -> Sequence[int | None]:
        if not what:
            return []
        own, step = self._context.run, self._context.op.name
        events = [asset_event(self._runs.get(name, own), step, each) for name, each in what]
        return store_asset_events(self._context.instance.event_log_storage, events)

    def _materialization(self, outcome: Made) -> dg.AssetMaterialization:
        """Return a materialization with the tags by which Dagster knows what it was made of."""
        step, report = STEPS[outcome.asset], outcome.report
        tags = {
            "dagster/code_version": step.code_version or self._components.ruleset_version,
            "dagster/data_version": report.data_version,
            "dagster/data_version_is_user_provided": "true",
        }
        for upstream in step.deps:
            if (outcome.project, upstream) in self._stored:
                version, event_id = self._stored[outcome.project, upstream]
                # As Dagster does for the partitions of an input, here one.
                digest = sha256(version.encode()).hexdigest()
                tags[f"dagster/input_data_version/{upstream}"] = digest
                tags[f"dagster/input_event_pointer/{upstream}"] = str(event_id or "NULL")
        result = materialized(self._components, report, step.table)
        return dg.AssetMaterialization(
            step.asset, partition=outcome.project, metadata=result.metadata, tags=tags
        )


def _evaluation(outcome: Verified) -> dg.AssetCheckEvaluation:
    result = checked(outcome.subject, outcome.name, outcome.verdict)
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(outcome.subject),
        check_name=outcome.name,
        passed=result.passed,
        metadata=result.metadata,
        severity=result.severity,
        description=result.description,
        partition=outcome.project,
    )


@dg.job(
    name=INGEST_BATCH,
    executor_def=dg.in_process_executor,
    tags={"dagster/max_runtime": "7200"},
    description="Transcripts of many projects to searchable memory, words first; stores "
    "materializations and checks of each project's partition.",
)
def ingest_batch() -> None:
    """Run the passes one after the other."""
    make_vectors(make_summaries(index_words()))


def batch_resources(
    settings: Settings | None = None, listen: Listener = ignore
) -> dict[str, dg.ResourceDefinition]:
    """Return the resources of a run, on the memory of `settings` or, without, of the
    environment. What assets and ops hand each other stays in memory: the lake keeps it."""
    return {
        "memory": memory_resource(settings, listen),
        "workers": workers,
        "io_manager": dg.mem_io_manager,
    }
