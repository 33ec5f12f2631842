"""What agents write in Dagster: the sensor that requests a run, and the job of one partition."""

from __future__ import annotations

from pathlib import Path

import dagster as dg

from memory_assets.cli.dagster.home import open_instance
from memory_assets.dagster.definitions import AGENT_ASSETS, build_defs
from memory_assets.dagster.jobs import upkeep_schedule
from memory_assets.dagster.partitions import agent_memory
from memory_assets.dagster.resources import MemoryResource
from memory_assets.pipeline.agent_memory.gateway import open_gateway
from memory_assets.pipeline.stage.engines import Engines
from memory_assets.settings import load_settings
from memory_assets.stores.runs.names import AGENT_MEMORY_JOB, UPKEEP_JOB
from memory_assets_tests.dagster.recorded import all_made, run_job, tick

PARTITION = "agent-memory:-srv-harbor"
NOW = "2026-11-23T09:00:00Z"


def test_the_sensor_requests_what_the_job_makes(tmp_path: Path) -> None:
    """Nothing before an agent writes, then a run with its partition; the job makes every asset
    and evaluates every check, after which there is nothing to do."""
    settings = load_settings(data_dir=tmp_path / "memory", embedder="none")
    with open_instance(settings) as instance:
        assert tick("agent_memory_sensor", settings, instance).skip_reason
        gateway = open_gateway(Engines(settings), "-srv-harbor")
        gateway.append_history("c1", "user", "Who lights the lamps?", 0, NOW)
        gateway.write_memory("The keeper lights the lamps.", "fact", 0.9, NOW, "c1")
        requested = tick("agent_memory_sensor", settings, instance)
        (request,) = requested.run_requests or ()
        assert request.partition_key == PARTITION and requested.dynamic_partitions_requests
        instance.add_dynamic_partitions(str(agent_memory.name), [PARTITION])
        done = run_job(settings, AGENT_MEMORY_JOB, instance, partition_key=PARTITION)
        made = all_made(done, AGENT_ASSETS)
        assert made["agent_history"]["dagster/partition_row_count"].value == 1
        assert tick("agent_memory_sensor", settings, instance).skip_reason


def test_the_upkeep_is_an_asset_that_counts(tmp_path: Path) -> None:
    """Its materialization says how many memories there are, have faded and were merged; a job has
    it every night once there is one, or sessions are promoted."""
    settings = load_settings(data_dir=tmp_path / "memory", embedder="none", promote="off")

    def tick() -> object:
        return upkeep_schedule(dg.build_schedule_context(), memory=MemoryResource(settings))

    assert isinstance(tick(), dg.SkipReason)
    promotes = load_settings(data_dir=tmp_path / "memory", embedder="none", promote="on")
    context = dg.build_schedule_context()
    assert isinstance(upkeep_schedule(context, memory=MemoryResource(promotes)), dg.RunRequest)
    open_gateway(Engines(settings)).write_memory("The keeper lights the lamps.", "fact", 0.9, NOW)
    assert isinstance(tick(), dg.RunRequest)
    done = run_job(settings, UPKEEP_JOB)
    (result,) = (event.materialization for event in done.get_asset_materialization_events())
    assert result.asset_key == dg.AssetKey("kept_memories")
    names = ("memories_archived", "faded", "merged", "promoted", "promoted_from_sessions")
    counts = {"memories": 1} | dict.fromkeys(names, 0)
    said = {name: each.value for name, each in result.metadata.items()}
    assert said == {"work": "nothing to do", **counts}
    assert build_defs(settings).resolve_schedule_def("upkeep_schedule").job_name == UPKEEP_JOB
