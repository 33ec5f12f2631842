"""What a run was that made something on record is known for as long as that is on record."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import dagster as dg
import pytest

from memory_assets.cli.dagster.home import open_instance
from memory_assets.cli.dagster.traces import erase_traces
from memory_assets.cli.ingesting.ingest import run_plans
from memory_assets.dagster.definitions import build_defs
from memory_assets.pipeline.checks.checks import checks_of
from memory_assets.pipeline.ingest.run_ends import note_run_ends
from memory_assets.pipeline.plan.plan import plan
from memory_assets.pipeline.removal.forget import Names, forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.pipeline.stage.components import Components
from memory_assets.recall import open_memory
from memory_assets.requests.questions import AuditRequest
from memory_assets.serving.answer_lines import audit_lines
from memory_assets.settings import Settings
from memory_assets.stores.run_history.names import INGEST_BATCH, INGEST_JOB
from memory_assets.stores.run_ledger import FILE_NAME, UNKNOWN, ledger_of
from memory_assets_tests.dagster.test_ingest_batch import QUIET

FLAKY = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"
HARBOR, LANTERN = "-home-mara-code-harbor-api", "-home-mara-code-lantern"


@pytest.fixture
def settings(sample_settings: Settings) -> Iterator[Settings]:
    """A memory of the sample, without vectors, that one run made."""
    settings = replace(sample_settings, embedder="none")
    _ingest(settings)
    yield settings


def _ingest(settings: Settings) -> None:
    components = Components(settings)
    assert run_plans(settings, plan(components, find_sources(components))).failed == {}
    components.catalog.close()


def _audit(settings: Settings) -> dict[str, Any]:
    return open_memory(settings).ask(AuditRequest(FLAKY))


def _runs(settings: Settings) -> dict[str, dict[str, Any]]:
    return {run["stage"]: run for run in _audit(settings)["runs"]}


def _without_place(runs: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        stage: {name: value for name, value in run.items() if name not in ("history", "page")}
        for stage, run in runs.items()
    }


def _delete_history(settings: Settings) -> None:
    with open_instance(settings) as instance:
        for run in instance.get_runs():
            instance.delete_run(run.run_id)


def test_each_stage_says_what_run_made_it(settings: Settings) -> None:
    """Job, partition, times, status, versions, and how every check of the asset ended; with the
    page of a run that is still there. The sizes of the stores are noted after the first run of a
    day."""
    with open_instance(settings) as instance:
        (record,) = instance.get_run_records(dg.RunsFilter(job_name=INGEST_BATCH))
    runs = _runs(settings)
    assert {"redacted_records", "turn_chunks", "session_summaries", "sessions_keywords"} <= {*runs}
    for stage, run in runs.items():
        assert (run["run_id"], run["job"]) == (record.dagster_run.run_id, INGEST_BATCH)
        assert (run["partition"], run["status"], run["history"]) == (HARBOR, "SUCCESS", "kept")
        assert run["started_at"] <= run["ended_at"] != ""
        assert run["page"].endswith(f"/runs/{run['run_id']}")
        asset = "keyword_index" if stage.endswith("_keywords") else stage
        assert set(run["checks"]) == {check.name for check in checks_of(asset)}
        assert set(run["checks"].values()) <= {"passed"}
        assert set(run["versions"]) == {"memory_assets", "code"} and all(run["versions"].values())
    later = Components(settings, clock=lambda: time.time() + 86_400)
    (day,) = later.runs.sizes()
    note_run_ends(later)
    note_run_ends(later)
    first, second = later.runs.sizes()
    assert first == day < second and later.runs.sizes()[day]["lake"] > 0


def test_a_run_that_was_pruned_is_known_as_before(settings: Settings) -> None:
    """Its page is gone, which is said; nothing else is. Dagster's whole history may go, and the
    catalogue too, whose records are adopted from the lake."""
    before = _runs(settings)
    _delete_history(settings)
    after = _runs(settings)
    assert {run["history"] for run in after.values()} == {"pruned"}
    assert {run["page"] for run in after.values()} == {""}
    assert _without_place(after) == _without_place(before)
    lines = list(audit_lines(_audit(settings)))
    assert any(line.startswith("run ") and line.endswith("run pruned") for line in lines)
    for path in settings.data_dir.glob("catalog.db*"):
        path.unlink()
    _ingest(settings)
    records = _runs(settings)["redacted_records"]
    assert records["checks"] == before["redacted_records"]["checks"]
    assert records["run_id"] == before["redacted_records"]["run_id"]


def test_a_run_of_one_partition_is_noted_as_well(settings: Settings) -> None:
    """The job of the UI and of backfills; its end is noted before the prune job deletes it."""
    _delete_history(settings)
    components = Components(settings)
    components.catalog.products.forget_project(HARBOR)
    with open_instance(settings) as instance:
        job = build_defs(settings).resolve_job_def(INGEST_JOB)
        run = job.execute_in_process(instance=instance, partition_key=HARBOR, run_config=QUIET)
        assert run.success
        note_run_ends(components)
        instance.delete_run(run.run_id)
    chunks = _runs(settings)["turn_chunks"]
    assert (chunks["run_id"], chunks["job"], chunks["history"]) == (
        *(run.run_id, INGEST_JOB),
        "pruned",
    )
    assert chunks["status"] == "SUCCESS" and set(chunks["checks"].values()) == {"passed"}


def test_forgetting_deletes_a_run_but_not_what_it_was_for_others(settings: Settings) -> None:
    """Another session that the same run made keeps its lineage; the name of a project that is
    gone is in no byte of the ledger."""
    before = _runs(settings)
    components = Components(settings)
    assert (
        LANTERN.encode()
        in (settings.data_dir / FILE_NAME).read_bytes()
        + (settings.data_dir / f"{FILE_NAME}-wal").read_bytes()
    )

    def erase(names: Names) -> int:
        return erase_traces(settings, names)

    forget(components, select(components, Selection(project=LANTERN)), erase_traces=erase)
    assert _without_place(_runs(settings)) == _without_place(before)
    for path in settings.data_dir.glob(f"{FILE_NAME}*"):
        assert LANTERN.encode() not in path.read_bytes()


def test_runs_that_made_nothing_on_record_are_not_kept(settings: Settings) -> None:
    """The ledger does not grow with every run; what is under way is left alone."""
    components = Components(settings)
    (live,) = {run for _, run in components.catalog.products.runs()}
    with open_instance(settings) as instance:
        started, ended = (
            instance.add_run(dg.DagsterRun(INGEST_JOB, status=status)).run_id
            for status in (dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.FAILURE)
        )
        for run_id in (started, ended, "lost"):
            components.runs.note_made(run_id, HARBOR, "turn_chunks", {}, {})
        note_run_ends(components)
    with closing(ledger_of(settings.data_dir)) as ledger:
        assert {str(row[0]) for row in ledger.select("made", "run_id")} == {live, started}
        assert {str(row[0]) for row in ledger.select("runs", "run_id")} == {live}


def test_a_run_that_dagster_had_lost_before_is_unknown_and_asked_once(settings: Settings) -> None:
    """Products of earlier versions name runs that were pruned without a note."""
    (settings.data_dir / FILE_NAME).unlink()
    _delete_history(settings)
    components = Components(settings)
    note_run_ends(components)
    assert (
        components.runs.not_ended({run for _, run in components.catalog.products.runs()}) == set()
    )
    runs = _runs(settings)
    assert {(run["status"], run["history"]) for run in runs.values()} == {(UNKNOWN, "pruned")}
    assert {str(run["checks"]) for run in runs.values()} == {"{}"}
