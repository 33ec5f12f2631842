"""Pushing: the redacted products of this memory become the next generation of its shard.

What is in a shard: the files of the lake, and of the catalogue the products and the counts of
sources. Not in it: transcripts and their paths, keys, sessions that a check holds back, the
collections and the keyword index, which is made from the lake where it is searched. Only files that
the shard does not have are sent; those of the lake are never changed but by another one that takes
their place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import cast

from memory_assets.errors import StoreBusy, StoreMismatch
from memory_assets.pipeline.removal.forget import EraseTraces, forget
from memory_assets.pipeline.removal.selection import sessions_on_record
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.quarantine import names_held
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.stores.catalog.facts import ProductFacts
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.files.shared import locked, replace_text
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.parquet_files import STAGING
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TABLES, TURN_CHUNKS
from memory_assets.stores.shard.replicas import Replica
from memory_assets.stores.shard.shard import Head, Manifest, Shard
from memory_assets.stores.tombstones import FILE_NAME as TOMBSTONES
from memory_assets.stores.tombstones import Tombstones, travelling_name

STATE_FILE = "shard.json"
LOCAL_STAGES = frozenset(
    name for kind in SEARCH_KINDS.values() for name in (kind.asset, kind.keywords)
)
"""The stages of what each memory makes for itself from its lake."""
_COUNTS = (
    *("records", "blocks", "prompts", "bad_lines", "dropped", "lines", "agent_versions"),
    *("first_timestamp", "last_timestamp", "text_bytes", "text_beyond"),
)
"""The facts of a source that travel: counts, times, and the agent's versions."""
_OF_THE_MACHINE = ("repository", "state")
"""The facts of products that say where a repository lies, and how it was."""
_TRIES = 5
_AT_ONCE = 8

Stamp = tuple[int, int, int]
"""Inode, time and size of a file: another one has its name if they differ."""


@dataclass
class _State:
    """What this memory knows of its shard: the head that it wrote last and its generation, the
    generation that was swept, and by project the manifest's key, and stamp and key of each file."""

    url: str
    head: str = ""
    swept: int = 0
    manifests: dict[str, str] = field(default_factory=dict)
    files: dict[str, dict[str, tuple[int, int, int, str]]] = field(default_factory=dict)
    pending: str = ""
    """The head that was about to be swapped in; the rest is as it is then."""


@dataclass
class PushReport:
    """What a push sent: its generation, the projects that changed, files and bytes; and how many
    objects were swept, sessions forgotten because they were forgotten elsewhere, and sessions
    withheld, because a check holds them back or did not pass yet."""

    url: str
    generation: int = 0
    projects: int = 0
    files: int = 0
    bytes: int = 0
    swept: int = 0
    forgotten: int = 0
    withheld: int = 0


def push(
    components: Components,
    shard: Shard,
    *,
    erase_traces: EraseTraces,
    replace_other: bool = False,
    forgotten: frozenset[str] = frozenset(),
    made_of: str = "",
) -> PushReport:
    """Make the shard hold what this memory holds, and return what was sent. Sessions that the
    shard's head, or `forgotten`, has as forgotten are forgotten here first. `made_of` says in the
    head what a derived shard was made of.

    Raises:
        StoreMismatch: the shard was not written by this memory, or what it wrote is not there;
            `replace_other` has it replaced.
        StoreBusy: another writer of it was first, and nothing was changed.
        StoreError: the shard cannot be used.
    """
    path = components.data_dir / STATE_FILE
    wait = components.settings.lock_timeout_seconds
    with locked(path.with_suffix(".lock"), wait, "another process pushes this memory"):
        head = shard.head()
        state = _state_of(path, shard, head, replace_other=replace_other)
        report = PushReport(shard.url, head.generation if head else 0)
        forgotten_names = forgotten | (head.forgotten if head else frozenset())
        report.forgotten = forget_travelling(components, forgotten_names, erase_traces)
        own = Tombstones(components.data_dir / TOMBSTONES, components.install_key)
        sending = _Sending(components, shard, state, report)
        manifests = sending.projects()
        forgotten_names |= own.travelling()
        content = (manifests, forgotten_names, made_of)
        if head is None or content != (dict(head.projects), head.forgotten, head.made_of):
            now = datetime.now(UTC).isoformat(timespec="seconds")
            new = Head(report.generation + 1, now, *content)
            head = _swap_head(shard, new, state, path)
            report.generation = head.generation
        if state.swept != head.generation:
            report.swept = shard.sweep(head, sending.named())
            state.swept = head.generation
        state.head = head.id
        state.pending = ""
        replace_text(path, json.dumps(asdict(state)))
    return report


def _swap_head(shard: Shard, head: Head, state: _State, path: Path) -> Head:
    state.manifests = dict(head.projects)
    # Noted first: whoever is killed after the swap knows the head as its own.
    state.pending = sha256(head.to_bytes()).hexdigest()
    replace_text(path, json.dumps(asdict(state)))
    swapped = shard.swap_head(head)
    if swapped is None:
        raise StoreBusy(
            f"another writer of {shard.url} was first. What it wrote stands, and nothing is lost "
            "here: give each machine a shard of its own (MEMORY_SHARD_NAME)."
        )
    return swapped


def _state_of(path: Path, shard: Shard, head: Head | None, *, replace_other: bool) -> _State:
    """Return what is known of the shard, nothing if its head is not one that this memory wrote."""
    state, stored = _State(shard.url), _read_state(path, shard.url)
    if head is None and stored.head and not replace_other:
        raise StoreMismatch(
            f"the shard that this memory wrote is not at {shard.url} any more, or its share is not "
            "mounted. `memory push --replace` starts it anew."
        )
    if head is None:
        return state
    if head.id in (stored.head, stored.pending):
        stored.files = {
            project: {name: (*file,) for name, file in files.items()}
            for project, files in stored.files.items()
        }
        return stored
    if not replace_other:
        raise StoreMismatch(
            f"{shard.url} was written by another memory, or by a later state of this one. Set "
            "MEMORY_SHARD_NAME for a shard of its own; or `memory push --replace` puts what is "
            "here in its place, but for what was forgotten."
        )
    return state


def _read_state(path: Path, url: str) -> _State:
    """Return what was noted of the shard at an address; nothing if it was of another one."""
    try:
        stored = _State(**json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return _State(url)
    return stored if stored.url == url else _State(url)


def was_pushed(data_dir: Path, url: str) -> bool:
    """Whether this memory wrote the shard at an address."""
    return bool(_read_state(data_dir / STATE_FILE, url).head)


def note_pulled(components: Components, replica: Replica) -> None:
    """Let the next push of a replica that was just pulled go on from there, as that of its
    writer."""
    files = {
        project: {
            name: (*stamp, keys[name])
            for name, stamp in _stamps(components.lake, project).items()
            if name in keys
        }
        for project, keys in replica.files.items()
    }
    state = _State(replica.url, replica.head, 0, dict(replica.manifests), files)
    replace_text(components.data_dir / STATE_FILE, json.dumps(asdict(state)))


def note_pushed(components: Components, replica: Replica) -> None:
    """Let a replica that was just pushed be the shard as it is now."""
    state = _read_state(components.data_dir / STATE_FILE, replica.url)
    replica.head = state.head
    replica.manifests = state.manifests
    replica.files = {
        project: {name: key for name, (*_, key) in files.items()}
        for project, files in state.files.items()
    }
    replica.note()


def forget_travelling(
    components: Components, names: frozenset[str], erase_traces: EraseTraces
) -> int:
    """Forget the sessions here that were forgotten in another memory of the same person; return
    their number. From then on they are not taken in here, either."""
    if not names:
        return 0
    selected = [
        session
        for session in sessions_on_record(components).values()
        if travelling_name(*session.key) in names
    ]
    if selected:
        forget(components, selected, erase_traces=erase_traces)
    return len(selected)


class _Sending:
    """Sends what a shard lacks of a memory's projects, and keeps the state up to date."""

    def __init__(
        self, components: Components, shard: Shard, state: _State, report: PushReport
    ) -> None:
        self._components, self._shard, self._state = components, shard, state
        self._report = report
        self._generation = report.generation + 1
        self._withheld: dict[str, int] = {}

    def projects(self) -> dict[str, str]:
        """Send all projects; return the key of each one's manifest."""
        lake = self._components.lake
        names = sorted({name for table in TABLES.values() for name in lake.projects(table)})
        for gone in self._state.files.keys() - set(names):
            del self._state.files[gone]
        manifests = {name: self._project(name) for name in names}
        self._report.withheld = sum(self._withheld.values())
        return manifests

    def named(self) -> Iterator[str]:
        """Yield the keys of all blobs that the shard needs."""
        yield from self._state.manifests.values()
        for files in self._state.files.values():
            yield from (key for *_, key in files.values())

    def _project(self, project: str) -> str:
        """Send a project's new files and its manifest; return the manifest's key."""
        for _ in range(_TRIES):
            manifest, stamps, left_out = self._read(project)
            before = self._state.files.get(project, {})
            new = [name for name, stamp in stamps.items() if before.get(name, ())[:3] != stamp]
            try:
                with ThreadPoolExecutor(_AT_ONCE) as threads:
                    new_keys = threads.map(lambda name: self._send(self._path(project, name)), new)
                    keys = dict(zip(new, new_keys, strict=True))
            except FileNotFoundError:
                continue  # a writer replaced it meanwhile
            if stamps != _stamps(self._components.lake, project, left_out):
                continue
            files = {
                name: (*stamp, keys.get(name) or before[name][3]) for name, stamp in stamps.items()
            }
            self._state.files[project] = files
            keys_and_sizes = {name: (key, size) for name, (_, _, size, key) in files.items()}
            return self._manifest(replace(manifest, files=keys_and_sizes))
        raise StoreBusy(f"{project} keeps changing; run `memory push` again when it rests")

    def _read(self, project: str) -> tuple[Manifest, dict[str, Stamp], set[Path]]:
        """Return a project's manifest without its files, their stamps, of one state, and the files
        of sessions that are withheld."""
        components = self._components
        with components.project_lock(project):
            withheld = _withheld(components, project)
            left_out: set[Path] = set()
            for table in TABLES.values():
                partition = components.lake.partition(table, project)
                partition.tidy()
                left_out |= partition.set_apart(withheld) if withheld else set()
            products = [
                [*vars(_portable_product(product)).values()]
                for product in components.catalog.products.of_partition(project)
                if product.stage not in LOCAL_STAGES and product.session_id not in withheld
            ]
            sources = [
                _portable_counts(row)
                for row in components.catalog.sources.rows(project)
                if row.session_id not in withheld
            ]
            self._withheld[project] = len(withheld)
            stamps = _stamps(components.lake, project, left_out)
            return Manifest(project, {}, products, sources), stamps, left_out

    def _path(self, project: str, name: str) -> Path:
        table, _, file = name.partition("/")
        return self._components.lake.partition_dir(TABLES[table], project) / file

    def _send(self, path: Path) -> str:
        content = path.read_bytes()
        self._report.files += 1
        self._report.bytes += len(content)
        return self._shard.put_blob(self._generation, content)

    def _manifest(self, manifest: Manifest) -> str:
        """Send a manifest unless the shard has it; return its key."""
        content = manifest.to_bytes()
        key = self._state.manifests.get(manifest.project, "")
        if key.rpartition("/")[2] == sha256(content).hexdigest():
            return key
        self._report.projects += 1
        self._report.bytes += len(content)
        return self._shard.put_blob(self._generation, content)


def _withheld(components: Components, project: str) -> set[str]:
    """Return the sessions of a project whose records did not pass the checks that block: those that
    a check holds back, and those that were never cut into turns, which follows the checks."""
    products = components.catalog.products
    redacted = components.lake.partition(REDACTED_RECORDS, project).entries().keys()
    return (redacted - products.hashes(TURN_CHUNKS.name, project).keys()) | names_held(
        components, project
    )


def _stamps(lake: Lake, project: str, left_out: Collection[Path] = ()) -> dict[str, Stamp]:
    """Return the stamps of a project's files but those left out, by `<table>/<name>`."""
    stamps = {}
    for table in TABLES.values():
        directory = lake.partition_dir(table, project)
        if not directory.is_dir():
            continue
        with os.scandir(directory) as entries:
            for entry in entries:
                is_rows = entry.name.endswith(".parquet") and not STAGING.fullmatch(entry.name)
                if is_rows and directory / entry.name not in left_out:
                    status = entry.stat()
                    stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
                    stamps[f"{table.name}/{entry.name}"] = stamp
    return dict(sorted(stamps.items()))


def _portable_product(product: Product) -> Product:
    """Return a product without what is of this machine alone."""
    facts = {name: value for name, value in product.facts.items() if name not in _OF_THE_MACHINE}
    return replace(product, facts=cast("ProductFacts", facts), run_id="")


def _portable_counts(row: SourceRow) -> list[object]:
    """Return what travels of a source file: not where it lies, and no hash of what it holds."""
    facts: Mapping[str, object] = {
        name: value for name, value in row.facts.items() if name in _COUNTS
    }
    return [row.agent, row.session_id, row.agent_id, row.reader_version, facts]
