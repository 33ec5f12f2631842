"""Runs that derive the shards of many people."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import dagster as dg
import pytest

from memory_assets.dagster import tenants
from memory_assets.dagster.instance_runs import ended_runs
from memory_assets.settings import Settings, load_settings
from memory_assets.shards import workers
from memory_assets.shards.derive import DeriveReport, Work
from memory_assets.stores.files.shared import locked
from memory_assets.stores.shard.objects import DirectoryObjects
from memory_assets.stores.shard.shard import Head, Shard, shards_below
from memory_assets_tests.dagster.recorded import QUIET


class Company:
    """People with shards, in which nothing is yet, and Dagster, which derives others."""

    def __init__(self, root: Path, instance: dg.DagsterInstance) -> None:
        self.source, self.target = (DirectoryObjects(root / name) for name in ("in", "out"))
        self.settings = load_settings(
            data_dir=root / "worker", derive_from=root / "in", derive_to=root / "out"
        )
        self.instance, self.cursor = instance, ""
        self.defs = tenants.build_defs(self.settings)

    def push(self, name: str) -> None:
        """Let a machine write the next generation of its shard."""
        shard = Shard(self.source, name)
        assert shard.swap_head(Head(shard.generation() + 1, "now"))

    def tick(self) -> list[dg.RunRequest]:
        """Evaluate the sensor once, and do as it says to partitions."""
        context = dg.build_sensor_context(
            self.instance, cursor=self.cursor, resources={"settings": self.settings}
        )
        result = self.defs.resolve_sensor_def("shard_heads_sensor")(context)
        assert isinstance(result, dg.SensorResult)
        self.cursor = str(result.cursor)
        for asked in result.dynamic_partitions_requests or ():
            if isinstance(asked, dg.AddDynamicPartitionsRequest):
                self.instance.add_dynamic_partitions(tenants.TENANTS, list(asked.partition_keys))
            else:
                for key in asked.partition_keys:
                    self.instance.delete_dynamic_partition(tenants.TENANTS, key)
        return list(result.run_requests or ())

    def asked(self) -> list[str]:
        """The tenants that the next tick asks for."""
        return [name for request in self.tick() for name in names_of(request)]

    def run(self, names: list[str]) -> bool:
        """Run the job for tenants, and return whether it went well."""
        job = self.defs.resolve_job_def(tenants.JOB)
        config = {"ops": {tenants.OP: {"config": {"tenants": names}}}, **QUIET}
        ran = job.execute_in_process(config, instance=self.instance, raise_on_error=False)
        return ran.success

    def made(self) -> set[str]:
        """The partitions that are materialized."""
        return set(self.instance.get_materialized_partitions(dg.AssetKey(tenants.ASSET)))

    def partitions(self) -> set[str]:
        """The partitions that there are."""
        return set(self.instance.get_dynamic_partitions(tenants.TENANTS))


def names_of(request: dg.RunRequest) -> list[str]:
    """The tenants of a run."""
    names: list[str] = request.run_config["ops"][tenants.OP]["config"]["tenants"]
    return names


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Company]:
    """Alice with two machines, and Bob, whose shards this process derives itself."""
    monkeypatch.setattr(workers, "Processes", ThreadPoolExecutor)
    with dg.DagsterInstance.ephemeral() as instance:
        company = Company(tmp_path, instance)
        for name in ("alice/laptop", "alice/desk", "team/bob/laptop"):
            company.push(name)
        yield company


def test_one_run_is_for_the_tenants_whose_heads_moved(company: Company) -> None:
    """At first all of them, then whoever pushes. A partition each, with what was done for it; what
    is made is below the other address."""
    assert company.asked() == ["alice", "team|bob"]
    assert company.partitions() == {"alice", "team|bob"}
    assert company.run(["alice", "team|bob"])
    assert company.made() == {"alice", "team|bob"}
    there = {shard.name for shard in shards_below(company.target)}
    assert there == {"alice/laptop", "alice/desk", "team/bob/laptop"}
    assert company.asked() == []
    company.push("alice/desk")
    company.push("carol/laptop")
    assert company.asked() == ["alice", "carol"]
    company.run(["alice", "carol"])
    (made,) = company.instance.fetch_materializations(
        dg.AssetRecordsFilter(dg.AssetKey(tenants.ASSET), asset_partitions=["alice"]), limit=1
    ).records
    assert made.asset_materialization is not None
    metadata = {name: each.value for name, each in made.asset_materialization.metadata.items()}
    assert (metadata["shards"], metadata["unchanged"]) == (2, 1)


def test_tenants_are_asked_for_again_until_they_are_made(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever became of the run; after some minutes, and again when a head moves or the code has
    another version."""
    assert company.asked() and company.asked() == []
    cursor = json.loads(company.cursor)
    company.cursor = json.dumps({name: [mark, 1, 0.0] for name, (mark, *_) in cursor.items()})
    company.run(["alice"])
    assert company.asked() == ["team|bob"]
    assert json.loads(company.cursor)["alice"][1] == 0
    monkeypatch.setattr(tenants, "code_versions", lambda components: ("next",))
    assert company.asked() == ["alice", "team|bob"]


def test_a_run_whose_process_was_killed_keeps_no_tenant(company: Company) -> None:
    """The kernel let go of its lock. It is ended, and its tenants are asked for; one that works,
    and one on another machine, which has no lock here, are left alone."""
    job = company.defs.resolve_job_def(tenants.JOB)
    runs = [
        company.instance.create_run_for_job(
            job,
            run_config={"ops": {tenants.OP: {"config": {"tenants": [tenant]}}}},
            status=dg.DagsterRunStatus.STARTED,
        )
        for tenant in ("alice", "team|bob", "carol")
    ]
    company.push("carol/laptop")
    killed, works, _ = (tenants._lock_of(company.settings, run.run_id) for run in runs)
    killed.parent.mkdir(parents=True)
    killed.touch()
    with locked(works, 1, "held"):
        assert company.asked() == ["alice"]
    ended = [record.dagster_run.run_id for record in ended_runs(company.instance)]
    assert ended == [runs[0].run_id] and not killed.exists()


def test_a_tenant_that_fails_stops_no_other(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run fails at its end, and has no materialization of the one."""
    Shard(company.source, "alice/desk").swap_head(Head(2, "now", {"p": "blobs/1/0"}))
    assert not company.run(["alice", "team|bob"])
    assert company.made() == {"team|bob"}
    assert not company.run(["../alice"])


def test_a_head_that_is_damaged_keeps_nobody_waiting(company: Company) -> None:
    """It may be in somebody's own folder on purpose. Its tenant fails, and is asked for again once
    it is another one."""
    company.source.create("mallory/laptop/heads/000000000001", b"{")
    assert company.asked() == ["alice", "mallory", "team|bob"]
    assert not company.run(["alice", "mallory", "team|bob"])
    assert company.made() == {"alice", "team|bob"}
    assert company.asked() == []
    company.source.delete(["mallory/laptop/heads/000000000001"])
    company.push("mallory/laptop")
    assert company.asked() == ["mallory"]
    assert company.run(["mallory"])


def test_what_is_derived_goes_with_the_tenant(company: Company) -> None:
    """Then its partition goes. A share that is not mounted is no tenant that left."""
    company.run(company.asked())
    for name in ("laptop", "desk"):
        Shard(company.source, f"alice/{name}").delete()
    assert company.asked() == ["alice"]
    assert company.run(["alice"])
    assert [shard.name for shard in shards_below(company.target)] == ["team/bob/laptop"]
    assert company.asked() == []
    assert company.partitions() == {"team|bob"}
    root = Path(company.source.url)
    root.rename(root.with_name("away"))
    with pytest.raises(Exception, match="not mounted"):
        company.tick()
    assert not company.run(["team|bob"])
    assert len(shards_below(company.target)) == 1


def test_any_partitions_are_made_by_hand(company: Company) -> None:
    """The asset's own run takes tenants from its partitions."""
    company.tick()
    result = dg.materialize(
        [tenants.derived_shards],
        instance=company.instance,
        partition_key="team|bob",
        resources={"settings": company.settings},
        run_config=QUIET,
    )
    assert result.success and company.made() == {"team|bob"}
    assert [shard.name for shard in shards_below(company.target)] == ["team/bob/laptop"]


def test_places_must_be_apart(company: Company) -> None:
    """Else what is derived would be derived from."""
    settings = load_settings(derive_from="s3://one/memories", derive_to="s3://one/memories/made")
    with pytest.raises(Exception, match="apart"):
        tenants._shard_stores(settings)


@pytest.mark.long  # two processes that import all: four seconds
@pytest.mark.parametrize("executor", ["processes", "ray"])
def test_workers_are_processes_or_ray(
    tmp_path: Path, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each shard is derived once."""
    if executor == "ray":
        if find_spec("ray") is None:  # not imported here: it reads the variable then
            pytest.skip("Ray is not installed: pip install memory-assets[ray]")
        monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    names = ("one", "two")
    for name in names:
        Shard(DirectoryObjects(tmp_path / "in"), name).swap_head(Head(1, "now"))
    settings = load_settings(data_dir=tmp_path / "data", derive_on=executor, ingest_workers=2)
    works = [Work(settings, str(tmp_path / "in"), str(tmp_path / "out"), name) for name in names]
    if executor == "ray":
        with pytest.raises(Exception, match="RAY_AUTH_MODE"):
            list(workers.derive_all(settings, works))
        monkeypatch.setenv("RAY_AUTH_MODE", "token")
    derived = sorted(workers.derive_all(settings, works), key=lambda each: each.name)
    assert derived == [DeriveReport(name, generation=1) for name in names]


def test_no_credential_is_sent_to_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker there has those of its own environment."""
    here = replace(load_settings(data_dir=tmp_path), embedder_key="k-here", http_token="t-here")
    sent = workers.without_credentials(Work(here, str(tmp_path / "in"), str(tmp_path), "one"))
    assert not re.search(rb"[kt]-here", pickle.dumps(sent))
    monkeypatch.setenv("MEMORY_EMBEDDER_KEY", "k-there")
    used: list[Settings] = []

    def noted(work: Work) -> DeriveReport:
        used.append(work.settings)
        return DeriveReport(work.name)

    monkeypatch.setattr(workers, "derive", noted)
    assert workers.derive_elsewhere(sent) == DeriveReport("one")
    assert used == [replace(here, embedder_key="k-there", http_token=None)]
