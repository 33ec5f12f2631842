"""Retention as a scheduled asset job: when it runs, what it says, what follows it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import dagster as dg

from memory_assets.cli.dagster.home import open_instance
from memory_assets.cli.ingesting.ingest import apply_retention, run_plans
from memory_assets.dagster import sensors
from memory_assets.dagster.definitions import build_defs
from memory_assets.dagster.jobs import retention_schedule
from memory_assets.dagster.resources import MemoryResource
from memory_assets.pipeline.plan import plan
from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings
from memory_assets.stores.runs.names import RETENTION_JOB
from memory_assets_tests.dagster.recorded import QUIET

SINCE_MAY = (datetime.now(UTC) - datetime(2026, 5, 1, tzinfo=UTC)).days
"""Days since a day that two of the sample's nine sessions ended after."""


def _evaluated(settings: Settings) -> dg.RunRequest | dg.SkipReason:
    context = dg.build_schedule_context()
    answer = retention_schedule(context, memory=MemoryResource(settings))
    assert isinstance(answer, dg.RunRequest | dg.SkipReason)
    return answer


def test_the_schedule_asks_for_a_run_only_where_there_is_a_policy(
    sample_settings: Settings,
) -> None:
    """Every night, of the job that says that it removes."""
    assert isinstance(_evaluated(sample_settings), dg.SkipReason)
    limited = replace(sample_settings, retention=30)
    assert isinstance(_evaluated(limited), dg.RunRequest)
    assert build_defs().resolve_job_def(RETENTION_JOB).tags["memory/removes"] == "true"


def test_the_job_lets_go_and_the_sensor_asks_for_the_rest(sample_settings: Settings) -> None:
    """Its materialization carries the counts. The sensor then asks for a run of the
    projects that it touched, under a key of its own, though no file has changed; after it
    all is up to date, and the next night finds nothing to do."""
    settings = replace(sample_settings, embedder="none", retention=SINCE_MAY)

    def works() -> list[plan.ProjectPlan]:
        components = Components(settings)
        return plan.plan(components, on_disk.find_sources(components))

    def keys() -> set[str]:
        with open_instance(settings) as instance:
            context = dg.build_sensor_context(instance=instance)
            asked = sensors.projects_directory_sensor(context, memory=MemoryResource(settings))
        assert isinstance(asked, dg.SensorResult)
        return {str(request.run_key) for request in asked.run_requests or []}

    first = keys()
    assert run_plans(settings, works()).failed == {}
    said = apply_retention(settings)
    assert (said["sessions_cut"], said["sessions_retained"], said["sessions_waiting"]) == (7, 7, 0)
    assert {work.project for work in works()} == set(str(said["projects"]).split(", "))
    assert len(keys() - first) == 1 and len(works()) == 3
    assert run_plans(settings, works()).checks_failed == []
    assert works() == []
    run = build_defs(settings).resolve_job_def(RETENTION_JOB).execute_in_process(run_config=QUIET)
    (again,) = (event.materialization for event in run.get_asset_materialization_events())
    assert again.asset_key == dg.AssetKey("retained_sessions")
    assert (again.metadata["work"].value, again.metadata["sessions_cut"].value) == (
        "nothing to do",
        0,
    )
