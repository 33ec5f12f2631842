"""A worker derives a shard of its own from another one, starting from redacted records."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import StoreBusy
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.tables.turn_chunks import CHUNKED
from memory_assets.pipeline.tables.whole_sessions import SUMMARISED
from memory_assets.settings import Settings, load_settings
from memory_assets.shards import derive as derive_module
from memory_assets.shards.derive import MADE, DeriveReport, Work, derive
from memory_assets.stores.shard import shard as shard_module
from memory_assets.stores.shard.objects import DirectoryObjects
from memory_assets.stores.shard.replicas import replicas_of
from memory_assets.stores.shard.shard import Head, Shard
from memory_assets_tests.kills import killed_at
from memory_assets_tests.loaded_engines import give
from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.pipeline.shard_machines import Machine, hashes_of, holding, lake_of


class Fleet(Machine):
    """A memory that is pushed, and workers that derive from its shard."""

    def derive(self, worker: str = "worker") -> DeriveReport:
        """Let a worker bring the derived shard up to date."""
        settings = load_settings(data_dir=self.root / worker)
        return derive(Work(settings, str(self.root / "objects"), self.target, "laptop"))

    @property
    def target(self) -> str:
        """The address below which the derived shard is."""
        return str(self.root / "made")

    @property
    def made(self) -> Shard:
        """The derived shard."""
        return Shard(DirectoryObjects(Path(self.target)), "laptop")

    def made_by(self, worker: str = "worker") -> Components:
        """What a worker has on its disk."""
        (replica,) = replicas_of(self.root / worker)
        components = Components(load_settings(data_dir=replica.directory, vector_backend="none"))
        give(components, self.memory.engines)
        return components

    def assert_same(self, worker: str = "worker") -> None:
        """A worker has the rows of the memory, but for the time at which it cut what is new, and
        all of them can be found."""
        made = self.made_by(worker)
        assert without_times(made) == without_times(self.memory.components)
        ids, there = hashes_of(made), hashes_of(self.memory.components)
        assert {each for each, _ in ids} == {each for each, _ in there}


def without_times(components: Components) -> dict[tuple[str, ...], Any]:
    """All rows, but for the times at which passages were cut."""
    lake: dict[tuple[str, ...], Any] = lake_of(components)
    return {
        key: [{name: row[name] for name in row if name != "ingested_at"} for row in rows]
        for key, rows in lake.items()
    }


@pytest.fixture
def fleet(memory: SampleMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """A shard, of which nothing is derived yet; workers need not load engines."""

    monkeypatch.setattr(derive_module, "Components", opened_with(memory))
    fleet = Fleet(memory, tmp_path / "shards")
    fleet.push()
    yield fleet


def rows_of(components: Components, table: str) -> dict[tuple[str, ...], object]:
    """The rows of one table."""
    return {key: rows for key, rows in lake_of(components).items() if key[0] == table}


def test_what_is_made_with_the_same_versions_is_the_shard(fleet: Fleet) -> None:
    """Nothing is made again, and a second look changes nothing; whoever pulls the derived shard
    has rows and hashes of the memory."""
    first = fleet.derive()
    assert (first.generation, first.made, first.unchanged, first.failed) == (1, 0, False, "")
    assert first.projects == len(fleet.memory.components.catalog.projects())
    assert lake_of(fleet.made_by()) == lake_of(fleet.memory.components)
    assert hashes_of(fleet.made_by()) == hashes_of(fleet.memory.components)
    again = fleet.derive()
    assert (again.generation, again.unchanged, again.sent) == (1, True, 0)


def test_new_versions_are_made_of_redacted_records(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each session's product is one of the new version, in the derived shard alone; a turn more on
    the machine is made of its project only. Another worker, with an empty disk, goes on."""
    fleet.derive()
    monkeypatch.setitem(vars(SUMMARISED), "chosen", lambda components: "next")
    projects = fleet.memory.components.catalog.projects()
    assert fleet.derive().made == len(projects)
    assert rows_of(fleet.made_by(), "turn_chunks") == rows_of(
        fleet.memory.components, "turn_chunks"
    )
    source = inputs_of(fleet.memory.components)
    derived = inputs_of(fleet.made_by())
    assert source.keys() == derived.keys() and not set(source.values()) & set(derived.values())
    monkeypatch.undo()  # the machine is not updated
    fleet.go_on()
    fleet.push()
    monkeypatch.setattr(derive_module, "Components", opened_with(fleet.memory))
    monkeypatch.setitem(vars(SUMMARISED), "chosen", lambda components: "next")
    more = fleet.derive("another")
    assert (more.projects, more.made, more.failed) == (len(projects), 1, "")
    assert 0 < more.sent < more.fetched
    assert fleet.derive("worker").unchanged
    fleet.assert_same("another")


def opened_with(memory: SampleMemory) -> type[Components]:
    """Components that need not load engines."""

    class Given(Components):
        def __init__(self, settings: Settings) -> None:
            super().__init__(settings)
            give(self, memory.engines)

    return Given


def inputs_of(components: Components) -> dict[tuple[str, str], str]:
    """What each summary was made of."""
    products = components.catalog.products.of_stage("session_summaries")
    return {key: product.input_hash for key, product in products.items()}


def test_a_session_that_a_check_holds_back_is_not_made(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its records are in the shard, and its machine has made nothing of them."""
    memory = fleet.memory
    memory.components.catalog.products.drop("turn_chunks", memory.harbor, memory.fork)
    fleet.push()
    monkeypatch.setitem(vars(CHUNKED), "code_version", "next")
    fleet.derive()
    stages = {
        each.stage
        for each in fleet.made_by().catalog.products.of_partition(memory.harbor)
        if each.session_id == memory.fork
    }
    assert not stages & MADE.keys()


def test_what_is_forgotten_leaves_the_derived_shard_at_once(fleet: Fleet) -> None:
    """No byte of it stays there or on the worker's disk; and nothing where the shard is gone."""
    fleet.derive()
    assert holding(fleet.root / "worker", fleet.memory.fork)
    fleet.forget(fleet.memory.fork)
    fleet.push()
    fleet.derive()
    for place in (fleet.target, fleet.root / "worker"):
        assert holding(Path(place), fleet.memory.fork) == []
    head = fleet.made.head()
    assert head is not None and len(head.forgotten) == 1
    fleet.shard.delete()
    assert fleet.derive().gone
    assert replicas_of(fleet.root / "worker") == [] and fleet.made.head() is None


def test_of_two_workers_at_one_shard_one_commits(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one is told, and its next try changes nothing, for all of it is there."""
    fleet.derive()
    fleet.go_on()
    fleet.push()
    swap = shard_module.Shard.swap_head

    def slow(shard: Shard, head: Head) -> Head | None:
        monkeypatch.setattr(shard_module.Shard, "swap_head", swap)
        fleet.derive("another")  # is faster
        return swap(shard, head)

    monkeypatch.setattr(shard_module.Shard, "swap_head", slow)
    with pytest.raises(StoreBusy):
        fleet.derive()
    assert fleet.derive().unchanged
    head = fleet.made.head()
    assert head is not None and head.generation == 2
    fleet.assert_same("another")


def test_a_worker_that_is_killed_is_made_up_for(fleet: Fleet) -> None:
    """At some of its requests (`benchmarks/shard_kills.py`: at any moment), or at none: the next
    worker, on this disk or an empty one, completes what it left."""
    fleet.derive()
    fleet.go_on()
    fleet.push()
    shutil.copytree(fleet.root / "made", fleet.root / "saved")
    shutil.copytree(fleet.root / "worker", fleet.root / "disk")
    code = -signal.SIGKILL
    for number in (0, 3, 999):
        for place, kept in (("made", "saved"), ("worker", "disk")):
            shutil.rmtree(fleet.root / place)
            shutil.copytree(fleet.root / kept, fleet.root / place)
        fleet.memory.close()
        code = killed_at(
            DirectoryObjects, "create", number, lambda: os._exit(fleet.derive().unchanged)
        )
        assert code in (0, -signal.SIGKILL)
        fleet.memory.reopen(vector_backend="none")
        fleet.derive()
        assert fleet.derive("another").unchanged
        fleet.assert_same()
    assert code == 0
