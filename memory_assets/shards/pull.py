"""Pulling: shards become memories on this machine, which can be searched there.

A replica gets the files of the lake and the rows of the catalogue as they are in the shard, and
makes its keyword index from them, of what changed: no vector is made, and nothing is redacted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memory_assets.errors import MemoryAssetsError, NotFound, StoreDamaged
from memory_assets.pipeline.indexes.keywords import index_keywords, keywords_path
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings
from memory_assets.shards.push import LOCAL_STAGES, was_pushed
from memory_assets.stores.catalog.catalog import CATALOG_FILE, Catalog
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.files.shared import locked, replace_text
from memory_assets.stores.files.sqlite import compact
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.parquet_files import staged_file
from memory_assets.stores.lake.partition import NAME
from memory_assets.stores.lake.schemas import TABLES
from memory_assets.stores.lake.segments import HASHED
from memory_assets.stores.shard.objects import Objects
from memory_assets.stores.shard.replicas import Replica, is_below, replica_at, replicas_of
from memory_assets.stores.shard.shard import Head, Manifest, Shard, reading, shards_below

_FILE = re.compile(r"(?P<table>[a-z_]+)/(?P<name>(?!\.)[\w%+@~.-]{1,220}\.parquet)", re.ASCII)
_ROWS = (".parquet", ".staging")
"""How the names of files with rows end: the lake's own, and those that were being written."""
_TRIES = 5
_AT_ONCE = 8
Choose = Callable[[Manifest], tuple[Manifest, Collection[str]]]
"""Takes a manifest; returns what is brought of it, and the tables that become so. Other tables stay
as they are here."""


@dataclass
class PullReport:
    """What a pull brought of a shard: its generation, the projects that changed, files and bytes;
    `gone`: the shard is no more, and its replica was deleted; `failed`: why it is as it was here,
    or not all of it came."""

    url: str
    generation: int = 0
    projects: int = 0
    files: int = 0
    bytes: int = 0
    gone: bool = False
    failed: str = ""


def pull(settings: Settings, objects: Objects, own_url: str = "") -> list[PullReport]:
    """Bring all shards below an address, except this memory's own at `own_url`, to this machine,
    and delete the replicas of those that are no more; return what came of each. One that cannot be
    read does not stop the others.

    Raises:
        StoreError: it cannot be told which shards there are.
    """
    shards = shards_below(objects)
    reports: list[PullReport] = []
    for shard in shards:
        if shard.url != own_url:
            try:
                reports.append(pull_shard(settings, shard))
            except MemoryAssetsError as error:
                reports.append(PullReport(shard.url, failed=str(error)))
    Catalog(settings.data_dir / CATALOG_FILE).close()  # a machine that has no memory of its own
    present_urls = {shard.url for shard in shards}
    for replica in replicas_of(settings.data_dir, objects.url):
        if replica.url not in present_urls:
            missing_reason = _missing_reason(
                settings, objects, "" if own_url in present_urls else own_url
            )
            if missing_reason:
                stays = f"{missing_reason}. If it was deleted, delete {replica.directory}, too."
                reports.append(PullReport(replica.url, failed=stays))
                continue
            replica.remove()
            reports.append(PullReport(replica.url, replica.generation, gone=True))
    return reports


def _missing_reason(settings: Settings, objects: Objects, own: str) -> str:
    """Return why shards may be missing without having been deleted, else "": the address is an
    empty directory, or lacks the `own` shard that was pushed there."""
    if own and is_below(own, objects.url) and was_pushed(settings.data_dir, own):
        return f"{own}, which this memory wrote, is gone or not mounted either"
    return f"{objects.url} is empty, or not mounted" if objects.is_away() else ""


def pull_shard(settings: Settings, shard: Shard) -> PullReport:
    """Bring a shard to this machine as it is now: two requests if it is as it was. Its generation
    does not tell, for a shard that was deleted begins anew.

    Raises:
        StoreError: the shard cannot be read, or the replica not be written.
        StoreBusy: another process pulls it.
    """
    replica = replica_at(settings.data_dir, shard.url)
    head = shard.head() or Head(0, "")
    report = PullReport(shard.url, head.generation)
    if head.id == replica.head and head.id:
        return report
    directory = replica.directory
    own = replace(settings, data_dir=directory, vector_backend="none", tenant=None)
    components = Components(own)
    busy = f"another process pulls {shard.url}"
    with locked(directory / "pull.lock", settings.lock_timeout_seconds, busy):
        replica = replica_at(settings.data_dir, shard.url)
        try:
            # What a pull deleted that was killed may still be in the files of the databases.
            cut_short = bool(replica.manifests) and not replica.head
            replica.head = ""
            replica.note()
            for _ in range(_TRIES):
                head = shard.head() or Head(0, "")
                try:
                    if update_replica(components, shard, replica, head, report) or cut_short:
                        compact_databases(components)
                except NotFound:  # it was swept: there is a newer head
                    cut_short = True
                    continue
                replica.head = head.id
                replica.generation = head.generation
                replica.written_at = head.written_at
                replica.forgotten = sorted(head.forgotten)
                report.generation = head.generation
                return report
        finally:
            components.catalog.close()
            replica.note()
    raise StoreDamaged(f"{shard.url} names objects that are not there")


def update_replica(
    components: Components,
    shard: Shard,
    replica: Replica,
    head: Head,
    report: PullReport,
    choose: Choose = lambda manifest: (manifest, TABLES),
) -> bool:
    """Make a replica's projects those of a head; return whether anything was deleted. What is there
    counts, not what was noted alone: a pull that was killed leaves more.

    Raises:
        NotFound: the shard has a newer head, and this one's blobs are gone.
        StoreError: the shard cannot be read, or the replica not be written.
    """
    deleted_any = False
    present = {name for table in TABLES.values() for name in components.lake.projects(table)}
    present |= components.catalog.projects() | replica.manifests.keys()
    for project in sorted(present - head.projects.keys()):
        deleted_any |= bool(
            _mirror_catalogue(components.catalog, Manifest(project, {}, (), ()), TABLES)
        )
        index_keywords(components, project)
        components.lake.remove_project(project)  # last, for its lock has the project's name
        replica.manifests.pop(project, None)
        replica.files.pop(project, None)
    for project, key in sorted(head.projects.items()):
        if replica.manifests.get(project) == key:
            continue
        with reading(f"{project} in {shard.url}"):
            manifest, tables = choose(Manifest.of(shard.get(key)))
            if manifest.project != project:
                raise StoreDamaged(f"{project} in {shard.url} is damaged: it is another project")
            stored_keys = replica.files.get(project, {})
            manifest_keys = _keys(manifest)
            # Noted first, and with it the project before: of a file that a killed pull replaced
            # nobody else knows.
            replica.files[project] = {
                name: manifest_keys[name]
                for name in stored_keys.keys() & manifest_keys
                if _has_same_content(stored_keys, manifest_keys, name)
            }
            replica.manifests[project] = ""
            replica.note()
            replica.files[project] = _fetch_files(
                components, shard, manifest, replica.files[project], report, tables
            )
            deleted_any |= bool(_mirror_catalogue(components.catalog, manifest, tables))
            index_keywords(components, project)
        replica.manifests[project] = key
        report.projects += 1
    return deleted_any


def compact_databases(components: Components) -> None:
    """Leave no byte of what was deleted in the catalogue and the keyword index."""
    compact(components.catalog.path)
    compact(keywords_path(components))


def _fetch_files(
    components: Components,
    shard: Shard,
    manifest: Manifest,
    before: Mapping[str, str],
    report: PullReport,
    tables: Collection[str],
) -> dict[str, str]:
    """Make the lake's files of a project those of its manifest; return their keys. New files come
    first, then those that take another one's place, so that each session is in one at any time."""
    manifest_keys = _keys(manifest)
    paths = {name: _path(components.lake, manifest.project, name) for name in manifest_keys}
    needed_paths = set(paths.values())
    new = [name for name, key in manifest_keys.items() if before.get(name) != key]
    new.sort(key=lambda name: paths[name].exists())
    with components.project_lock(manifest.project), ThreadPoolExecutor(_AT_ONCE) as threads:
        contents = threads.map(lambda name: shard.get(manifest_keys[name]), new)
        for name, content in zip(new, contents, strict=True):
            _write(paths[name], manifest.project, content)
            report.files += 1
            report.bytes += len(content)
        for table in map(TABLES.__getitem__, tables):
            for path in components.lake.partition_dir(table, manifest.project).glob("*"):
                if path.suffix in _ROWS and path not in needed_paths:
                    path.unlink()
    return manifest_keys


def _keys(manifest: Manifest) -> dict[str, str]:
    return {name: key for name, (key, _) in manifest.files.items()}


def _has_same_content(keys: Mapping[str, str], other_keys: Mapping[str, str], name: str) -> bool:
    """Whether two keys are of one content, in whatever shard and generation."""
    return keys[name].rpartition("/")[2] == other_keys[name].rpartition("/")[2]


def _write(path: Path, project: str, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if HASHED in path.parent.name and not (path.parent / NAME).exists():
        replace_text(path.parent / NAME, project)
    with staged_file(path) as staging:
        staging.write_bytes(content)
        staging.replace(path)


def _path(lake: Lake, project: str, name: str) -> Path:
    """Return where a file of a manifest belongs; a manifest is what another machine wrote."""
    match = _FILE.fullmatch(name)
    if match is None or match["table"] not in TABLES:
        raise StoreDamaged(f"a manifest of {project} names no file of the lake: {name!r}")
    return lake.partition_dir(TABLES[match["table"]], project) / match["name"]


def _mirror_catalogue(catalog: Catalog, manifest: Manifest, tables: Collection[str]) -> set[str]:
    """Make the catalogue's rows those of a manifest; return the sessions that went."""
    project = manifest.project
    products = [replace(Product(*values), project=project) for values in manifest.products]
    sources = list(_sources(project, manifest.sources))
    own = set(LOCAL_STAGES)
    if len(tables) < len(TABLES):
        stored_products = catalog.products.of_partition(project)
        own |= {product.stage for product in stored_products if product.stage not in tables}
    return catalog.mirror(project, sources, products, own)


def _sources(project: str, rows: Any) -> Iterator[SourceRow]:
    for agent, session_id, agent_id, reader_version, facts in rows:
        yield SourceRow(
            *(agent, project, session_id, agent_id, "", 0, 0, "", reader_version, None, facts),
            directory="",
        )
