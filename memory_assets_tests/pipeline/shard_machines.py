"""A memory that is pushed to a shard, and another machine that pulls it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from memory_assets.pipeline.ingest.passes import PASSES, Task, run_task
from memory_assets.pipeline.removal.forget import forget
from memory_assets.pipeline.removal.selection import SessionOnRecord
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import load_settings
from memory_assets.shards.pull import PullReport, pull
from memory_assets.shards.push import PushReport, push
from memory_assets.stores.lake.schemas import TABLES
from memory_assets.stores.shard.objects import DirectoryObjects
from memory_assets.stores.shard.replicas import replicas_of
from memory_assets.stores.shard.shard import Shard
from memory_assets_tests.loaded_engines import give
from memory_assets_tests.pipeline.conftest import NEW_TURN, SampleMemory


class Requests:
    """A directory of objects, which counts requests; a process may be killed at each."""

    def __init__(self, root: Path) -> None:
        self._objects = DirectoryObjects(root)
        self.url = self._objects.url
        self.number = 0

    def request(self) -> None:
        """Count a request, before it is made."""
        self.number += 1

    def create(self, key: str, content: bytes) -> bool:
        self.request()
        return self._objects.create(key, content)

    def get(self, key: str) -> bytes:
        self.request()
        return self._objects.get(key)

    def keys(self, prefix: str) -> list[str]:
        self.request()
        return self._objects.keys(prefix)

    def folders(self, prefix: str) -> list[str]:
        self.request()
        return self._objects.folders(prefix)

    def delete(self, keys: Iterable[str]) -> None:
        self.request()
        self._objects.delete(keys)

    def is_away(self) -> bool:
        self.request()
        return self._objects.is_away()


class Machine:
    """A memory that is pushed, and another machine that pulls."""

    def __init__(self, memory: SampleMemory, root: Path) -> None:
        memory.reopen(vector_backend="none")
        self.memory, self.root = memory, root
        self.objects = Requests(root / "objects")
        self.shard = Shard(self.objects, "laptop")

    def push(self, shard: Shard | None = None, **given: Any) -> PushReport:
        """Push the memory."""
        return push(
            self.memory.components, shard or self.shard, erase_traces=lambda names: 0, **given
        )

    def pull(self, into: str = "other") -> PullReport:
        """Pull the one shard there is."""
        settings = load_settings(data_dir=self.root / into)
        (pulled,) = pull(settings, self.objects)
        return pulled

    def replica(self, of: str = "other") -> Components:
        """The replica on the other machine."""
        (replica,) = replicas_of(self.root / of)
        settings = load_settings(data_dir=replica.directory, vector_backend="none")
        components = Components(settings)
        give(components, self.memory.engines)
        return components

    def go_on(self) -> None:
        """Let a session have a turn more, and take it in."""
        self.memory.append(self.memory.flaky, *NEW_TURN)
        for part in PASSES:
            assert list(run_task(self.memory.components, Task(self.memory.harbor, part.assets)))

    def forget(self, session_id: str) -> None:
        """Forget a session of the memory's project."""
        session = SessionOnRecord(self.memory.harbor, session_id)
        forget(self.memory.components, [session], erase_traces=lambda names: 0)

    def assert_equal(self, of: str = "other") -> None:
        """The replica has the rows, and the row hashes of the keyword index, of the memory."""
        replica = self.replica(of)
        assert lake_of(replica) == lake_of(self.memory.components)
        assert hashes_of(replica) == hashes_of(self.memory.components)


def lake_of(components: Components) -> dict[tuple[str, ...], object]:
    """Every row of the lake, by table and project."""
    lake = components.lake
    return {
        (table.name, project, session): lake.read(table, project, session).to_pylist()
        for table in TABLES.values()
        for project in lake.projects(table)
        for session in lake.sessions(table, project)
    }


def hashes_of(components: Components) -> set[tuple[str, str]]:
    """The ids and hashes of all rows of the keyword index."""
    with closing(sqlite3.connect(components.data_dir / "keywords.db")) as index:
        return set(index.execute("SELECT id, row_hash FROM rows"))


def holding(root: Path, text: str) -> list[Path]:
    """The files with a text in them, or in their names."""
    return [
        path
        for path in root.rglob("*")
        if text in path.name or (path.is_file() and text.encode() in path.read_bytes())
    ]
