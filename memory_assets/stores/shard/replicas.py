"""Replicas: shards that were pulled to this machine. Each is a data directory for searches, which
only `memory pull` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path

from memory_assets.stores.catalog.catalog import CATALOG_FILE, Catalog
from memory_assets.stores.files.shared import REPLICA_FILE, remove_directory, replace_text
from memory_assets.stores.tombstones import travelling_name

FOLDER = "shards"
"""Where in the data directory of a memory the replicas are."""
_UNSAFE = re.compile(r"[^A-Za-z0-9.]+")


@dataclass
class Replica:
    """A shard on this machine. `manifests` has the key of each project's manifest, `files` the key
    of each file of a project, `forgotten` the sessions that its head names as forgotten; `head`:
    the id of that head, "" until all of it is known to be here."""

    directory: Path
    url: str
    generation: int = 0
    head: str = ""
    written_at: str = ""
    manifests: dict[str, str] = field(default_factory=dict)
    files: dict[str, dict[str, str]] = field(default_factory=dict)
    forgotten: list[str] = field(default_factory=list)

    def note(self) -> None:
        """Write the replica's state to its directory."""
        values = {**asdict(self), "directory": None}
        replace_text(self.directory / REPLICA_FILE, json.dumps(values))

    def remove(self) -> None:
        """Delete all of it, its state last, which says from the beginning that nothing is there:
        what a killed process leaves is deleted, or brought again, by the next pull.

        Raises:
            StoreError: something of it cannot be deleted.
        """
        with suppress(OSError):  # a full disk
            Replica(self.directory, self.url).note()
        remove_directory(self.directory, REPLICA_FILE)


def replica_at(data_dir: Path, url: str) -> Replica:
    """Return the replica of a shard in a memory's data directory; an empty one if there is none."""
    words = _UNSAFE.sub("-", "-".join(url.split("/")[-2:])).strip("-.")[-40:]
    name = f"{words}-{blake2b(url.encode(), digest_size=4).hexdigest()}"
    directory = data_dir / FOLDER / name
    return replica_in(directory) or Replica(directory, url)


def replicas_of(data_dir: Path, below: str = "") -> list[Replica]:
    """Return the replicas in a data directory of the shards below an address, sorted by address."""
    notes = (data_dir / FOLDER).glob(f"*/{REPLICA_FILE}")
    known = filter(None, (replica_in(path.parent) for path in notes))
    return sorted(
        (replica for replica in known if is_below(replica.url, below)),
        key=lambda replica: replica.url,
    )


def notes_of(data_dir: Path) -> tuple[tuple[str, int], ...]:
    """Return a value that changes when a replica in a data directory is added, changed or
    removed."""
    notes = []
    for note in sorted((data_dir / FOLDER).glob(f"*/{REPLICA_FILE}")):
        with suppress(FileNotFoundError):  # it went meanwhile
            notes.append((str(note), note.stat().st_mtime_ns))
    return tuple(notes)


def replicas_holding(data_dir: Path, sessions: Iterable[tuple[str, str]]) -> list[str]:
    """Return the addresses of the replicas in a data directory that have one of these sessions, by
    project and id."""
    names = {travelling_name(*session) for session in sessions}
    holding = []
    for replica in replicas_of(data_dir):
        with closing(Catalog(replica.directory / CATALOG_FILE)) as catalog:
            there = (
                travelling_name(project, product.session_id)
                for project in catalog.projects()
                for product in catalog.products.of_partition(project)
            )
            if not names.isdisjoint(there):
                holding.append(replica.url)
    return holding


def is_below(url: str, prefix: str) -> bool:
    """Whether an address is another one, or below it."""
    return not prefix or f"{url}/".startswith(f"{prefix.rstrip('/')}/")


def replica_in(directory: Path) -> Replica | None:
    """Return the replica that a data directory is; None if it is that of a memory."""
    try:
        values = json.loads((directory / REPLICA_FILE).read_text("utf-8"))
        return Replica(**{**values, "directory": directory})
    except (OSError, ValueError, TypeError, RecursionError):
        return None
