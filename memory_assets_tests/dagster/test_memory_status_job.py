"""The figures of `memory status` as an asset: every night, with checks that read all sources
again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from memory_assets import status as overview
from memory_assets.cli.dagster.home import open_instance
from memory_assets.cli.ingesting.ingest import run_plans
from memory_assets.dagster.definitions import build_defs
from memory_assets.dagster.jobs import STATUS_JOB
from memory_assets.pipeline.plan import plan
from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings
from memory_assets.stores.lake.schemas import TURN_CHUNKS

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def _reported(settings: Settings) -> tuple[dict[str, Any], dict[str, tuple[bool, Any]]]:
    job = build_defs(settings).resolve_job_def(STATUS_JOB)
    with open_instance(settings) as instance:
        run = job.execute_in_process(instance=instance, run_config=QUIET)
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
    current = overview.status(settings)
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
    assert "| -home-mara-code-harbor-api | 1 |" in figures["report"]
    passed, counts = checks["sources_are_found"]
    assert not passed and "4 sessions.table" in str(counts[lost])
    assert counts["sessions_that_differ"] == 1
