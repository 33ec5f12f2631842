"""Jobs of schedules: retention and the figures of `memory status` every night, the costs of models
every week."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg

from memory_assets.cli.dagster.home import open_instance
from memory_assets.cli.ingesting.ingest import apply_retention, run_plans
from memory_assets.dagster.assets.maintenance import gateway_costs
from memory_assets.dagster.definitions import build_defs
from memory_assets.dagster.jobs import STATUS_JOB, costs_schedule, retention_schedule
from memory_assets.dagster.resources import MemoryResource
from memory_assets.http.endpoint_use import EndpointUse
from memory_assets.pipeline.plan import plan
from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings, load_settings
from memory_assets.status.status import status as status_of
from memory_assets.stores.gateway_usage import FILE_NAME, GatewayUsage
from memory_assets.stores.lake.schemas import TURN_CHUNKS
from memory_assets.stores.runs.names import RETENTION_JOB
from memory_assets_tests.dagster.recorded import run_job, tick

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
            asked = tick("projects_directory_sensor", settings, instance)
        return {str(request.run_key) for request in asked.run_requests or []}

    first = keys()
    assert run_plans(settings, works()).failed == {}
    said = apply_retention(settings)
    assert (said["sessions_cut"], said["sessions_retained"], said["sessions_waiting"]) == (7, 7, 0)
    assert {work.project for work in works()} == set(str(said["projects"]).split(", "))
    assert len(keys() - first) == 1 and len(works()) == 3
    assert run_plans(settings, works()).checks_failed == []
    assert works() == []
    run = run_job(settings, RETENTION_JOB)
    (again,) = (event.materialization for event in run.get_asset_materialization_events())
    assert again.asset_key == dg.AssetKey("retained_sessions")
    assert (again.metadata["work"].value, again.metadata["sessions_cut"].value) == (
        "nothing to do",
        0,
    )


def _reported(settings: Settings) -> tuple[dict[str, Any], dict[str, tuple[bool, Any]]]:
    with open_instance(settings) as instance:
        run = run_job(settings, STATUS_JOB, instance)
    (made,) = run.get_asset_materialization_events()
    figures = {name: each.value for name, each in made.materialization.metadata.items()}
    checks = {
        check.check_name: (check.passed, {name: v.value for name, v in check.metadata.items()})
        for check in run.get_asset_check_evaluations()
    }
    return figures, checks


def test_the_figures_are_those_of_status_and_the_checks_tell_what_is_lost(
    sample_settings: Settings, sample_roots: dict[str, Path]
) -> None:
    """All pass over a whole memory; then a chunk file is gone, and a file has changed: the
    session and the place are named, and the lag is shown."""
    settings = replace(sample_settings, embedder="none")
    components = Components(settings)
    works = plan.plan(components, on_disk.find_sources(components))
    assert run_plans(settings, works).failed == {}
    figures, checks = _reported(settings)
    current = status_of(settings)
    for kind in ("workspace", "memory", "history", "history_summaries"):
        assert current["coverage"].pop(kind)["rows"] == 0
    for kind, each in current["coverage"].items():
        assert figures[f"{kind}_rows"] == each["rows"] > 0
        assert figures[f"{kind}_keywords"] == each["keywords"]
    assert figures["bytes_lake"] == current["sizes"]["lake"]
    assert figures["version_ruleset"] == current["versions"]["ruleset"]
    assert (figures["files_not_taken_in"], figures["lag_seconds"]) == (0, 0.0)
    report = figures["report"]
    assert "## Coverage" in report and "| json-web-token |" in report
    assert "checks passed in every partition." in report
    assert "## Held back\n\nNothing." in report
    assert all(passed for passed, _ in checks.values()), checks
    assert checks["sources_are_found"][1]["sessions_at_source"] == 28
    assert checks["great_expectations_agree"][1]["rows_validated"] > 239

    lost = "5c8e7a13-b94f-4d26-a071-e3f2d6890b5c"
    components.lake.delete(TURN_CHUNKS, "-Users-jonas-work-tidepool-web", lost)
    grown = next(sample_roots["claude"].rglob("3d0f6a52*.jsonl"))
    with grown.open("ab") as file:
        file.write(b'{"type":"mode","mode":"plan"}\n')
    figures, checks = _reported(settings)
    assert figures["files_not_taken_in"] == 1 and figures["lag_seconds"] > 0
    assert "| harbor-api | 1 |" in figures["report"]
    passed, counts = checks["sources_are_found"]
    assert not passed and "4 sessions.table" in str(counts[lost])
    assert counts["sessions_that_differ"] == 1


def test_the_report_has_the_week_by_route_and_model(tmp_path: Path) -> None:
    """Sums, and a table in which a cost that nobody said is unknown. The schedule skips until a
    model was asked."""
    settings = load_settings(data_dir=tmp_path)

    def tick() -> object:
        return costs_schedule(dg.build_schedule_context(), memory=MemoryResource(settings))

    assert isinstance(tick(), dg.SkipReason)
    usage, now = GatewayUsage(tmp_path / FILE_NAME), time.time()

    def note(days_ago: float, route: str, model: str, cost: float | None, status: int) -> None:
        use = EndpointUse(
            route, now - days_ago * 86_400, "host", model, 1_000, 50, 20, cost, status
        )
        usage.note(use, consumer="ingest")

    note(8, "embeddings", "small", 9.0, 200)
    note(6, "embeddings", "small", 0.25, 200)
    note(1, "embeddings", "small", None, 429)
    note(1, "chat/completions", "a|b", None, 200)
    usage.close()
    assert isinstance(tick(), dg.RunRequest)
    made = gateway_costs(MemoryResource(settings))
    assert isinstance(made, dg.MaterializeResult)
    figures: dict[str, Any] = dict(made.metadata or {})
    assert (figures["requests"], figures["failed"], figures["tokens"]) == (3, 1, 3_150)
    assert (figures["cost_usd"], figures["cost_unknown_of"]) == (0.25, "a|b")
    assert figures["by_route_and_model"].value.splitlines()[2:] == [
        "| ingest | embeddings | small | host | 2 | 1 | 2,000 | 100 | 20 | 0.2500 |",
        "| ingest | chat/completions | a\\|b | host | 1 | 0 | 1,000 | 50 | 20 | unknown |",
    ]
