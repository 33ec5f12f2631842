"""Deriving: a worker makes the products of a shard again, with its own versions of the code and its
own models, from the redacted records in it; they become a shard of their own, below another
address.

So a new model, chunker or kind of summary is there for 500 people without anything being done on
their machines, whose shards stay as they are. What only those machines can make, from transcripts,
repositories and journals, is taken as it is; so is, when a project is first seen, all that this
worker would make just so. A worker's disk is a cache: whatever is unfinished there is deleted, and
comes again from the derived shard. Of two workers at one shard one commits (`Shard.swap_head`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from memory_assets.pipeline.ingest.passes import Task, run_task
from memory_assets.pipeline.ingest.steps import STEPS, StepFailed
from memory_assets.pipeline.plan.plan import code_versions, derived_reason
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.pool import rare_collections
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.pipeline.stages import STAGES
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.settings import Settings
from memory_assets.shards.pull import PullReport, compact_databases, pull_shard, update_replica
from memory_assets.shards.push import note_pulled, note_pushed, push
from memory_assets.stores.files.shared import locked
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, SESSION_COMMITS, TABLES, TURN_CHUNKS
from memory_assets.stores.shard.objects import open_objects
from memory_assets.stores.shard.replicas import FOLDER, Replica, replica_at
from memory_assets.stores.shard.shard import Head, Manifest, Shard

MADE = {stage.table.name: stage for stage in STAGES if stage.table != SESSION_COMMITS}
"""The tables that a worker makes; those of commits need the repositories."""
TAKEN = TABLES.keys() - MADE.keys()
_KEYWORDS = {kind.keyword_asset for kind in SEARCH_KINDS.values()}
_ENGINES = {"redactor", "tokens", "_model", "_version_of_settings"}
"""What `Components` loads that does not depend on whose shard it is."""
_STAGE_COLUMN = 0
"""Index of the stage in a product's row of a manifest."""
_SESSION_COLUMN = 2


@dataclass(frozen=True)
class Work:
    """One shard for a worker: its name below the address `source`, and below `target`, where the
    derived one is to be."""

    settings: Settings
    source: str
    target: str
    name: str


@dataclass
class DeriveReport:
    """What came of it: the generation of the derived shard, how many projects were brought and
    made again, bytes fetched and sent; `failed`: steps that failed, or why nothing was done."""

    name: str
    generation: int = 0
    projects: int = 0
    made: int = 0
    fetched: int = 0
    sent: int = 0
    unchanged: bool = False
    gone: bool = False
    failed: str = ""


def made_of(head: Head, versions: Collection[str]) -> str:
    """Return what the head of a derived shard says if it was made of this one with these versions
    of the code."""
    return input_hash(head.id, *versions)


def derive(work: Work) -> DeriveReport:
    """Bring a derived shard up to date; four requests if it is. Where there is no shard any more,
    delete the derived one.

    Raises:
        StoreBusy: another worker was first; what it wrote stands.
        StoreError: a shard cannot be read or written.
    """
    source = Shard(open_objects(work.source), work.name)
    target = Shard(open_objects(work.target), work.name)
    settings = replace(work.settings, vector_backend="none", tenant=None, shard=None)
    directory = replica_at(settings.data_dir, target.url).directory
    report = DeriveReport(work.name)
    busy = f"another process derives {target.url}"
    with locked(Path(f"{directory}.lock"), settings.lock_timeout_seconds, busy):
        replica = replica_at(settings.data_dir, target.url)
        head = source.head()
        if directory.exists() and (head is None or not replica.head):
            replica.remove()
        if head is None:
            report.gone = target.delete() > 0
            return report
        with _open_components(settings, directory) as components:
            mark = made_of(head, code_versions(components))
            before = target.head()
            report.generation = before.generation if before else 0
            report.unchanged = before is not None and before.made_of == mark
            if report.unchanged:
                return report
            if before is not None:
                report.fetched = pull_shard(settings, target).bytes
            directory.mkdir(parents=True, exist_ok=True)
            replica = replica_at(settings.data_dir, target.url)
            _bring_and_make(components, source, head, replica, report)
            pushed = push(
                components,
                target,
                erase_traces=lambda names: 0,
                forgotten=head.forgotten,
                made_of="" if report.failed else mark,
            )
            note_pushed(components, replica)
        report.generation = pushed.generation
        report.sent = pushed.bytes
    return report


@contextmanager
def _open_components(settings: Settings, directory: Path) -> Iterator[Components]:
    """Open the stores in a directory for a block, with engines that are loaded once a process."""
    components = Components(replace(settings, data_dir=directory))
    engines = _engines(settings)
    components.opened.update(engines)
    try:
        yield components
    finally:
        loaded = components.opened.keys() & _ENGINES
        engines.update({name: components.opened[name] for name in loaded})
        if "catalog" in components.opened:
            components.catalog.close()


@lru_cache(maxsize=1)
def _engines(settings: Settings) -> dict[str, Any]:
    return {}


def _bring_and_make(
    components: Components, source: Shard, head: Head, replica: Replica, report: DeriveReport
) -> None:
    """Bring what is new in a shard into the replica of the derived one, and make what follows."""
    note_pulled(components, replica)
    replica.head = ""  # not the shard any more, until it is pushed
    replica.note()
    source_replica = Replica(components.data_dir / FOLDER / "source", source.url)
    source_replica.directory.mkdir(parents=True, exist_ok=True)
    source_replica.files = {
        project: {name: key for name, key in files.items() if _table(name) in TAKEN}
        for project, files in replica.files.items()
    }
    known_projects, brought = frozenset(replica.manifests), PullReport(source.url)
    deleted_any = update_replica(
        components,
        source,
        source_replica,
        head,
        brought,
        lambda path: _chosen(path, known_projects),
    )
    report.fetched, report.projects = report.fetched + brought.bytes, brought.projects
    report.failed = "; ".join(_make(components, report))
    if deleted_any:
        compact_databases(components)


def _chosen(manifest: Manifest, known: Collection[str]) -> tuple[Manifest, Collection[str]]:
    """Return what of a project is taken: all if it is not known yet. A session whose turns were
    never cut is one that a check holds back on its machine: nothing is to be made of it here."""
    tables = TAKEN if manifest.project in known else TABLES.keys()
    cut = {
        row[_SESSION_COLUMN] for row in manifest.products if row[_STAGE_COLUMN] == TURN_CHUNKS.name
    }
    products = [
        row
        for row in manifest.products
        if row[_STAGE_COLUMN] in tables
        and (row[_STAGE_COLUMN] != REDACTED_RECORDS.name or row[_SESSION_COLUMN] in cut)
    ]
    files = {name: file for name, file in manifest.files.items() if _table(name) in tables}
    return replace(manifest, products=products, files=files), tables


def _table(name: str) -> str:
    return name.partition("/")[0]


def _make(components: Components, report: DeriveReport) -> Iterator[str]:
    """Make what is out of date in all projects; yield what failed."""
    assets = tuple(name for name in STEPS if name in MADE or name in _KEYWORDS)
    for project in sorted(components.catalog.projects()):
        if not derived_reason(components, project):
            continue
        report.made += 1
        kinds = {
            STEPS[product.stage].partitions
            for product in components.catalog.products.of_partition(project)
            if product.stage in STEPS
        }
        due_assets = tuple(name for name in assets if STEPS[name].partitions in kinds)
        with rare_collections():
            for outcome in run_task(components, Task(project, due_assets)):
                if isinstance(outcome, StepFailed):
                    yield f"{project}: {outcome.asset}: {outcome.reason}"
