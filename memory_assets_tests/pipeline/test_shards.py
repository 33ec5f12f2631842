"""A memory in a shard, and on another machine."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import DamagedFile, StoreBusy, StoreMismatch, StoreReadOnly
from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.recall.memory import Memory
from memory_assets.settings import load_settings
from memory_assets.shards import pull as pull_module
from memory_assets.shards.pull import PullReport, pull
from memory_assets.stores.catalog.facts import ProductFacts
from memory_assets.stores.catalog.schema import HELD_BY_CHECK, Quarantined
from memory_assets.stores.files.shared import require_own
from memory_assets.stores.lake.schemas import REDACTED_RECORDS
from memory_assets.stores.shard.replicas import FOLDER, replicas_of
from memory_assets.stores.shard.shard import Head, Manifest, Shard
from memory_assets_tests.kills import killed_at
from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.pipeline.shard_machines import Machine, Requests, holding, lake_of

QUESTION = "why is the integration test flaky"


@pytest.fixture
def machine(memory: SampleMemory, tmp_path: Path) -> Iterator[Machine]:
    """A memory with vectors and without collections, which is not pushed yet."""
    yield Machine(memory, tmp_path / "shards")


def test_a_pulled_shard_is_the_memory_that_was_pushed(machine: Machine) -> None:
    """Rows, hashes, verdicts of all checks with their counts, and answers by meaning to the same
    scores."""
    machine.push()
    machine.pull()
    machine.assert_equal()
    memory, replica = machine.memory, machine.replica()
    projects = memory.components.catalog.projects()
    assert replica.catalog.projects() == projects
    for project in sorted(projects):
        assert told(verify_project(replica, project)) == told(
            verify_project(memory.components, project)
        )
    there, here = (
        Memory(each.settings).search(QUESTION, n=5) for each in (replica, memory.components)
    )
    assert [(hit.id, hit.score) for hit in there.hits] == [(hit.id, hit.score) for hit in here.hits]
    assert there.reason is None and "meaning" in there.hits[0].why
    with pytest.raises(StoreReadOnly):
        require_own(replica.data_dir)


def told(verified: Iterable[Any]) -> list[tuple[str, ...]]:
    """What checks said, in order; but how much they had to look at, which differs by what they
    looked at before."""
    counts = ("rows", "missing", "extra", "vectors", "secrets_found")
    return [
        (each.subject, each.name, str([each.verdict.passed, *map(each.verdict.counts.get, counts)]))
        for each in verified
    ]


def test_only_what_changed_travels(machine: Machine) -> None:
    """Nothing where nothing changed, by two requests of who pulls; of a new turn the files of its
    session, and the manifest of its project."""
    everything = machine.push().files
    machine.pull()
    assert (machine.push().files, machine.pull().files) == (0, 0)
    before = machine.objects.number
    assert machine.pull().projects == 0
    assert machine.objects.number - before <= 4  # two folders to find it, its heads, the head
    machine.go_on()
    pushed, pulled = machine.push(), machine.pull()
    assert (pushed.generation, pushed.projects, pulled.projects) == (2, 1, 1)
    assert 0 < pushed.files == pulled.files < everything
    machine.assert_equal()


def test_a_shard_has_no_path_and_no_key_of_the_machine(machine: Machine) -> None:
    """Neither where transcripts and repositories lie, nor what was not redacted."""
    catalog = machine.memory.components.catalog
    made = catalog.products.of_stage("session_commits").values()
    for product in made:
        facts = ProductFacts(**{**product.facts, "repository": "/code/repository"})
        catalog.products.put(replace(product, facts=facts))
    machine.push()
    head = machine.shard.head()
    assert head is not None
    manifests = [Manifest.of(machine.shard.get(key)) for key in head.projects.values()]
    text = head.to_bytes().decode() + str(manifests)
    assert str(machine.memory.root) not in text and ".jsonl" not in text
    assert "/code/repository" in str(list(catalog.products.of_stage("session_commits").values()))
    assert "/code/repository" not in text
    key = machine.memory.components.install_key.hex()  # its bytes are 0 to 31 here, as elsewhere
    objects = (path for path in (machine.root / "objects").rglob("*") if path.is_file())
    assert not any(key.encode() in path.read_bytes() for path in objects)


def test_a_push_that_is_killed_at_any_request_leaves_the_shard_whole(machine: Machine) -> None:
    """Before, between and after the blobs, and at each request of the swap and the sweep: a new
    machine pulls all of one generation; the next push takes effect, and leaves no object that its
    head does not need."""
    machine.push()
    before = lake_of(machine.memory.components)
    machine.go_on()
    after = lake_of(machine.memory.components)
    state, objects = machine.memory.data_dir / "shard.json", machine.root / "objects"
    shutil.copy(state, machine.root / "state")
    shutil.copytree(objects, machine.root / "saved")
    begun = machine.objects.number
    machine.push()
    requests = machine.objects.number - begun
    outcomes = []
    for number in (0, 2, *range(4, requests - 6, 36), *range(requests - 6, requests)):
        shutil.rmtree(objects)
        shutil.copytree(machine.root / "saved", objects)
        shutil.copy(machine.root / "state", state)
        machine.memory.close()
        code = killed_at(Requests, "request", number, lambda: finished(machine))
        assert code == -signal.SIGKILL
        machine.memory.reopen(vector_backend="none")
        if number in (0, 4) or number >= requests - 6:
            name = f"after-{number}"
            if not (machine.root / name).exists():
                machine.pull(name)
                outcomes.append(lake_of(machine.replica(name)))
                assert outcomes[-1] in (before, after)
        assert machine.push().generation == 2
        assert_swept(machine)
    assert outcomes[0] == before and outcomes[-1] == after


def finished(machine: Machine) -> None:
    """Push in a fork, and end it."""
    machine.memory.reopen(vector_backend="none")
    machine.push()
    os._exit(0)


def assert_swept(machine: Machine) -> None:
    """There are the head, and what it names, and nothing else."""
    head = machine.shard.head()
    assert head is not None
    manifests = list(head.projects.values())
    files = {
        key
        for manifest in manifests
        for key, _ in Manifest.of(machine.shard.get(manifest)).files.values()
    }
    there = {key.removeprefix("laptop/") for key in machine.objects.keys("")}
    assert there == {f"heads/{head.generation:012d}", *manifests, *files}


def test_a_pull_that_is_killed_is_completed_by_the_next(machine: Machine) -> None:
    """At some of its requests; what a search finds meanwhile is what has come."""
    machine.push()
    machine.pull()
    machine.go_on()
    machine.push()
    saved = machine.root / "saved"
    shutil.copytree(machine.root / "other", saved)
    for number in range(2, 200, 18):
        shutil.rmtree(machine.root / "other")
        shutil.copytree(saved, machine.root / "other")
        code = killed_at(Requests, "request", number, lambda: os._exit(machine.pull().gone))
        machine.pull()
        machine.assert_equal()
        if code == 0:
            break
    assert number >= 20 and code == 0


def test_what_a_killed_pull_brought_goes_when_it_is_forgotten(machine: Machine) -> None:
    """The process ends when rows are in the lake and the catalogue, and nothing else is done. Then
    a session is forgotten, and the next pull deletes it; another one deletes a whole project."""
    memory = machine.memory
    machine.push()
    last = len(memory.components.catalog.projects()) - 1
    code = killed_at(pull_module, "index_keywords", last, machine.pull)
    assert code == -signal.SIGKILL
    assert holding(machine.root / "other", memory.fork)
    shutil.copytree(machine.root / "other", machine.root / "another")
    machine.forget(memory.fork)
    machine.push()
    machine.pull()
    machine.assert_equal()
    assert holding(machine.root / "other", memory.fork) == []
    machine.shard.swap_head(Head(3, "now"))
    machine.pull("another")
    replica = machine.replica("another")
    assert lake_of(replica) == {}
    assert replica.catalog.projects() == set()
    assert holding(machine.root / "another", memory.harbor) == []


def test_what_a_killed_pull_deleted_leaves_no_byte(machine: Machine) -> None:
    """The process ends before the databases are rewritten; the next pull rewrites them."""
    memory = machine.memory
    machine.push()
    machine.pull()
    machine.forget(memory.fork)
    machine.push()
    assert killed_at(pull_module, "compact", 0, machine.pull) == -signal.SIGKILL
    machine.pull()
    assert holding(machine.root / "other", memory.fork) == []


def test_of_two_writers_of_one_shard_one_commits_and_nothing_is_lost(machine: Machine) -> None:
    """The other one is told, at the swap or before; with a name of its own both are there."""

    class Slow(Requests):
        def create(self, key: str, content: bytes) -> bool:
            if "/heads/" in key:  # somebody else is faster
                Shard(machine.objects, "laptop").swap_head(Head(1, "now"))
            return super().create(key, content)

    with pytest.raises(StoreBusy, match="MEMORY_SHARD_NAME"):
        machine.push(Shard(Slow(machine.root / "objects"), "laptop"))
    with pytest.raises(StoreMismatch, match="MEMORY_SHARD_NAME"):
        machine.push()
    theirs = machine.shard.head()
    assert theirs is not None and not theirs.projects
    assert machine.push(Shard(machine.objects, "desk")).projects
    assert machine.shard.head() == theirs
    assert machine.push(replace_other=True).generation == 2


def test_a_forgotten_session_leaves_the_shard_and_its_replicas(machine: Machine) -> None:
    """No byte of it is in the objects after the next push, nor on the other machine after its next
    pull; others stay as they were."""
    memory = machine.memory
    machine.push()
    machine.pull()
    machine.forget(memory.fork)
    assert machine.push().swept > 0
    assert_swept(machine)
    machine.pull()
    machine.assert_equal()
    for root in (machine.root / "objects", machine.root / "other"):
        assert holding(root, memory.fork) == []


def test_a_session_that_a_check_holds_back_does_not_leave_the_machine(machine: Machine) -> None:
    """No byte of it is in the objects, neither at first nor if it was there before; the sessions
    that shared its files are. It follows when it is released."""
    memory = machine.memory
    machine.push()
    held = Quarantined(memory.harbor, memory.fork, HELD_BY_CHECK, "", "an alarm")
    memory.components.catalog.quarantine.hold(held)
    assert machine.push().withheld == 1
    machine.pull()
    for root in (machine.root / "objects", machine.root / "other"):
        assert holding(root, memory.fork) == []
    replica = machine.replica()
    known = set(memory.components.lake.sessions(REDACTED_RECORDS, memory.harbor))
    assert set(replica.lake.sessions(REDACTED_RECORDS, memory.harbor)) == known - {memory.fork}
    memory.components.catalog.quarantine.release(held.project, held.session_id, held.stage)
    assert machine.push().withheld == 0
    machine.pull()
    machine.assert_equal()


def test_what_was_not_checked_yet_does_not_leave_the_machine(machine: Machine) -> None:
    """Sessions are cut into turns when the checks of their records have passed."""
    memory = machine.memory
    memory.components.catalog.products.drop("turn_chunks", memory.harbor, memory.fork)
    assert machine.push().withheld == 1
    machine.pull()
    assert holding(machine.root / "other", memory.fork) == []


def test_what_was_forgotten_does_not_come_back_from_elsewhere(
    machine: Machine, tmp_path: Path
) -> None:
    """A copy of the memory from before, under a name of its own or over the shard itself, forgets
    the session with its first push; so does another machine with the same transcript."""
    memory = machine.memory
    memory.close()
    shutil.copytree(memory.data_dir, tmp_path / "backup")
    memory.reopen(vector_backend="none")
    machine.push()
    machine.forget(memory.fork)
    machine.push()
    head = machine.shard.head()
    assert head is not None and len(head.forgotten) == 1
    shutil.rmtree(memory.data_dir)
    shutil.copytree(tmp_path / "backup", memory.data_dir)
    memory.reopen(vector_backend="none")
    desk = Shard(machine.objects, "desk")
    assert machine.push(desk, forgotten=head.forgotten).forgotten == 1
    assert memory.fork not in {session for *_, session in lake_of(memory.components)}
    assert machine.push(replace_other=True).forgotten == 0
    for shard in (desk, machine.shard):
        head = shard.head()
        assert head is not None and len(head.forgotten) == 1
        manifest = Manifest.of(shard.get(head.projects[memory.harbor]))
        assert memory.fork not in str(manifest)


def test_a_shard_that_was_deleted_is_deleted_where_it_was_pulled(machine: Machine) -> None:
    """A person leaves: their shard goes, then each replica, to the last byte, also if the pull was
    killed when it had deleted a part; a shard that is there again comes whole."""
    machine.push()
    machine.pull()
    machine.shard.delete()
    for number in range(0, 40, 4):
        into = f"killed {number}"
        shutil.copytree(machine.root / "other", machine.root / into)
        assert killed_at(os, "unlink", number, partial(machine.pull, into)) == -signal.SIGKILL
        left = replicas_of(machine.root / into)
        assert left or not holding(machine.root / into, ".parquet"), number
    machine.push(replace_other=True)
    machine.pull(into)
    machine.assert_equal(into)
    machine.shard.delete()
    for each in ("other", into):
        assert machine.pull(each).gone
        assert replicas_of(machine.root / each) == []
        assert not [*(machine.root / each / FOLDER).iterdir()]


@pytest.mark.parametrize("left", ["nothing", "an empty directory", "another shard"])
def test_a_share_that_is_not_mounted_deletes_nothing(machine: Machine, left: str) -> None:
    """Replicas stay, and so does what is known of the own shard, for when it is mounted again: also
    where something else is in the place of the share."""
    desk = Shard(machine.objects, "desk")
    machine.push()
    machine.push(desk)
    settings = load_settings(data_dir=machine.memory.data_dir)
    shutil.copy(settings.data_dir / "shard.json", machine.root / "state")

    def pulled() -> PullReport:
        shards = pull(settings, machine.objects, desk.url)
        return next(each for each in shards if each.url == machine.shard.url)

    assert pulled().files
    root = machine.root / "objects"
    root.rename(machine.root / "share")
    if left != "nothing":
        root.mkdir()
    if left == "another shard":
        machine.push(Shard(machine.objects, "third"), replace_other=True)
        shutil.copy(machine.root / "state", settings.data_dir / "shard.json")
    assert "mounted" in str(pulled().failed)
    with pytest.raises(StoreMismatch, match="mounted"):
        machine.push(desk)
    shutil.rmtree(root, ignore_errors=True)
    (machine.root / "share").rename(root)
    assert (pulled().files, pulled().gone, pulled().failed) == (0, False, "")
    assert machine.push(desk).files == 0


def test_a_shard_that_begins_anew_is_another_one(machine: Machine) -> None:
    """Its generation is the one that was pulled, and what is in it is not."""
    memory = machine.memory
    machine.push()
    machine.pull()
    machine.shard.delete()
    machine.forget(memory.fork)
    with pytest.raises(StoreMismatch, match="--replace"):
        machine.push()
    assert machine.push(replace_other=True).generation == 1
    machine.pull()
    machine.assert_equal()
    assert holding(machine.root / "other", memory.fork) == []


@pytest.mark.parametrize(
    "name", ["turn_chunks/../../catalog.db", "../x.parquet", "unknown/a.parquet", "turn_chunks/a"]
)
def test_a_manifest_cannot_name_a_file_outside_of_the_lake(machine: Machine, name: str) -> None:
    """Another machine wrote it."""
    blob = machine.shard.put_blob(1, b"x")
    manifest = machine.shard.put_blob(1, Manifest("p", {name: (blob, 1)}, [], []).to_bytes())
    machine.shard.swap_head(Head(1, "now", {"p": manifest}))
    assert "no file of the lake" in machine.pull().failed


@pytest.mark.parametrize(
    "manifest",
    [
        Manifest("p", {}, [["too", "short"]], []),
        Manifest("p", {}, [["turns", "p", "s", "i", "o", 0, 0, {}, {"a": 1}, ""]], []),
        Manifest("p", {}, [["turns", "p", "s", "i", "o", 2**70, 0, {}, "now", ""]], []),
        Manifest("p", {}, [], [["too", "short"]]),
        Manifest("another", {}, [], []),
    ],
)
def test_a_damaged_shard_keeps_no_other_one_from_coming(
    machine: Machine, manifest: Manifest
) -> None:
    """It is said of the one; the other one comes, before and after."""
    machine.push()
    broken = Shard(machine.objects, "broken")
    key = broken.put_blob(1, manifest.to_bytes())
    broken.swap_head(Head(1, "now", {"p": key}))
    pulled = pull(load_settings(data_dir=machine.root / "other"), machine.objects)
    assert [(each.url == broken.url, bool(each.failed)) for each in pulled] == [
        (True, True),
        (False, False),
    ]
    assert pulled[1].projects


def test_a_damaged_file_of_a_replica_comes_anew(machine: Machine) -> None:
    """Its error says how, for no ingest can make it there."""
    machine.push()
    machine.pull()
    (replica,) = replicas_of(machine.root / "other")
    for path in replica.directory.rglob("turn_chunks/*/*.parquet"):
        path.write_bytes(b"PAR1")
    with pytest.raises(DamagedFile, match="memory pull") as raised:
        lake_of(machine.replica())
    assert str(replica.directory) in str(raised.value) and "ingest" not in str(raised.value)
    shutil.rmtree(replica.directory)
    machine.pull()
    machine.assert_equal()


def test_a_shard_that_was_damaged_leaves_its_replica(machine: Machine) -> None:
    """What had come of it stays, and can be searched; it is no shard that was deleted."""
    machine.push()
    machine.pull()
    machine.objects.create("laptop/heads/000000000002", b"[]")
    pulled = machine.pull()
    assert "damaged" in pulled.failed and not pulled.gone
    machine.assert_equal()
