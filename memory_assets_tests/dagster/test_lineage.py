"""What a run was that made something on record is known as long as that is on record, and what the
command line noted comes to Dagster's catalogue."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from memory_assets.cli.dagster.home import open_instance
from memory_assets.cli.dagster.traces import erase_traces
from memory_assets.cli.ingesting.ingest import run_plans
from memory_assets.dagster.instance_runs import delete_run, runs_by_id
from memory_assets.dagster.partitions import add_keys
from memory_assets.pipeline.checks.checks import checks_of
from memory_assets.pipeline.ingest.noted_run import note_run_ends
from memory_assets.pipeline.plan.plan import plan
from memory_assets.pipeline.removal.forget import Names, forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.pipeline.stage.components import Components
from memory_assets.recall import open_memory
from memory_assets.requests.questions import AuditRequest
from memory_assets.serving.answer_lines import run_lines
from memory_assets.settings import Settings
from memory_assets.stores.files import sqlite as shared_sqlite
from memory_assets.stores.runs import ledger as ledger_file
from memory_assets.stores.runs.events import Materialization
from memory_assets.stores.runs.ledger import (
    FILE_NAME,
    STARTED,
    UNKNOWN,
    EndedRun,
    Unreported,
    iso_time,
    ledger_of,
)
from memory_assets.stores.runs.names import INGEST_BATCH, INGEST_JOB, RECORD_JOB, projects_of
from memory_assets_tests.conftest import (
    copy_memory,
    copy_sample,
    forget_own_settings,
    settings_of_copy,
)
from memory_assets_tests.dagster.recorded import record_ingests, run_job, tick

FLAKY = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"
HARBOR, LANTERN = "-home-mara-code-harbor-api", "-home-mara-code-lantern"


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory of the sample, without vectors, that one run made, beside its home."""
    root = tmp_path_factory.mktemp("ingested")
    copy_sample(root / "transcripts")
    with pytest.MonkeyPatch.context() as patch:
        forget_own_settings(patch, root / "home")
        _ingest(settings_of_copy(root, embedder="none"))
    return root


@pytest.fixture
def settings(ingested: Path, tmp_path: Path) -> Settings:
    """A copy of that memory."""
    copy_memory(ingested, tmp_path)
    shutil.copytree(ingested / "home", Path.home(), dirs_exist_ok=True)
    return settings_of_copy(tmp_path, embedder="none")


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


def _forget_catalogue(settings: Settings) -> None:
    for path in settings.data_dir.glob("catalog.db*"):
        path.unlink()


def _materialize(instance: dg.DagsterInstance, settings: Settings) -> str:
    """Make what is on record again, in a run of Dagster; returns the run."""
    components = Components(settings)
    components.catalog.products.forget_project(HARBOR)
    components.catalog.close()
    add_keys(instance, [HARBOR])
    run = run_job(settings, INGEST_JOB, instance, partition_key=HARBOR)
    assert run.success
    return run.run_id


def test_each_stage_says_what_run_made_it(settings: Settings) -> None:
    """Job, partition, times, status, versions, and how every check of the asset ended; a run of the
    command line has no page. The sizes of the stores are noted after the first run of a day."""
    runs = _runs(settings)
    assert {"redacted_records", "turn_chunks", "session_summaries", "sessions_keywords"} <= {*runs}
    assert len({run["run_id"] for run in runs.values()}) == 1
    for stage, run in runs.items():
        assert (run["job"], run["partition"], run["status"]) == (INGEST_BATCH, HARBOR, "SUCCESS")
        assert run["started_at"] <= run["ended_at"] != ""
        assert (run["history"], run["page"]) == ("", "")
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


def test_a_run_of_dagster_is_known_after_it_was_pruned(settings: Settings) -> None:
    """While Dagster has it, with its page. After it is deleted, that is said, and nothing else is
    gone. The catalogue may go, too: its records are adopted from the lake."""
    with open_instance(settings) as instance:
        run_id = _materialize(instance, settings)
        assert _runs(settings)["turn_chunks"]["status"] == STARTED  # until Dagster is asked
        note_run_ends(Components(settings), partial(runs_by_id, instance))
        before = _runs(settings)
        assert {run["history"] for run in before.values()} == {"kept"}
        chunks = before["turn_chunks"]
        assert (chunks["run_id"], chunks["job"]) == (run_id, INGEST_JOB)
        assert chunks["status"] == "SUCCESS" and set(chunks["checks"].values()) == {"passed"}
        assert chunks["page"].endswith(f"/runs/{run_id}")
        delete_run(instance, Components(settings).runs, run_id)
    after = _runs(settings)
    assert {run["history"] for run in after.values()} == {"pruned"}
    assert {run["page"] for run in after.values()} == {""}
    assert _without_place(after) == _without_place(before)
    lines = list(run_lines(_audit(settings)["runs"]))
    assert any(line.startswith("run ") and line.endswith("run pruned") for line in lines)
    _forget_catalogue(settings)
    _ingest(settings)
    records = _runs(settings)["redacted_records"]
    assert records["checks"] == before["redacted_records"]["checks"]
    assert records["run_id"] == before["redacted_records"]["run_id"]


def test_forgetting_deletes_a_run_but_not_what_it_was_for_others(settings: Settings) -> None:
    """Another session that the same run made keeps its lineage; the name of a project that is
    gone is in no byte of the ledger."""
    before = _runs(settings)
    components = Components(settings)
    ledger = settings.data_dir.glob(f"{FILE_NAME}*")
    assert LANTERN.encode() in b"".join(path.read_bytes() for path in ledger)

    def erase(names: Names) -> int:
        return erase_traces(settings, names)

    forget(components, select(components, Selection(project=LANTERN)), erase_traces=erase)
    assert _without_place(_runs(settings)) == _without_place(before)
    for path in settings.data_dir.glob(f"{FILE_NAME}*"):
        assert LANTERN.encode() not in path.read_bytes()


def test_runs_that_made_nothing_on_record_are_not_kept(settings: Settings) -> None:
    """The ledger does not grow with every run; what is under way is left alone, and so are the last
    five runs and those that failed in a week."""
    components = Components(settings)
    (live,) = {run for _, run in components.catalog.products.runs()}
    with open_instance(settings) as instance:
        started = instance.add_run(
            dg.DagsterRun(INGEST_JOB, status=dg.DagsterRunStatus.STARTED)
        ).run_id
        for run_id in (started, "lost"):
            components.runs.note_made(run_id, HARBOR, "turn_chunks", {}, {})
        for minute in range(9):
            at = f"2026-01-01T00:0{minute}:00.000+00:00"
            components.runs.note_ended(EndedRun(f"{minute}", INGEST_JOB, "SUCCESS", at, at))
        at = iso_time(time.time() - 3_600)
        components.runs.note_ended(EndedRun("failed", INGEST_JOB, "FAILURE", at, at))
        note_run_ends(components, partial(runs_by_id, instance))
    with closing(ledger_of(settings.data_dir)) as ledger:
        assert {str(row[0]) for row in ledger.select("made", "run_id")} == {live, started}
        last = {"6", "7", "8"}
        assert {str(row[0]) for row in ledger.select("runs", "run_id")} == {live, "failed", *last}


def test_a_run_that_dagster_had_lost_before_is_unknown_and_asked_once(settings: Settings) -> None:
    """Products of earlier versions name runs that were pruned without a note."""
    (settings.data_dir / FILE_NAME).unlink()
    components = Components(settings)
    with open_instance(settings) as instance:
        note_run_ends(components, partial(runs_by_id, instance))
    assert (
        components.runs.not_ended({run for _, run in components.catalog.products.runs()}) == set()
    )
    runs = _runs(settings)
    assert {(run["status"], run["history"]) for run in runs.values()} == {(UNKNOWN, "pruned")}
    assert {str(run["checks"]) for run in runs.values()} == {"{}"}


def test_a_ledger_of_an_earlier_version_is_taken_over(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its runs have no partition, and nobody knows whether Dagster has them; where it cannot be
    written, or another process writes, audits are without it."""
    before = _runs(settings)
    path = settings.data_dir / FILE_NAME
    with closing(sqlite3.connect(path)) as ledger:
        for column in ("partition", "history"):
            ledger.execute(f"ALTER TABLE runs DROP COLUMN {column}")
        ledger.execute("DROP TABLE begun")
        ledger.execute("DROP TABLE unreported")
    with monkeypatch.context() as patch:
        patch.setattr(shared_sqlite, "is_writable", lambda directory: False)
        assert _runs(settings)["turn_chunks"]["status"] == ""
    with monkeypatch.context() as patch, closing(sqlite3.connect(path)) as other:
        patch.setattr(ledger_file, "_READER_SECONDS", 0.01)
        other.execute("BEGIN IMMEDIATE")
        assert _runs(settings)["turn_chunks"]["status"] == ""
    after = _runs(settings)
    assert {run["history"] for run in after.values()} == {"unknown"}
    assert _without_place(after) == _without_place(before)


WEEKS_AGO = 1_700_000_000.0


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """An instance of the test's own, in memory."""
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


def _made(number: int, *, run: str = "noted", at: float = WEEKS_AGO) -> Unreported:
    name = f"-p{number:05d}"
    return Unreported(run, at + number, Materialization(name, "raw_sessions", {}, "1", "2"))


def _materializations(instance: dg.DagsterInstance) -> list[tuple[str | None, str | None]]:
    """Partition and run of the command line of each, the oldest first."""
    records = instance.fetch_materializations(dg.AssetKey("raw_sessions"), limit=99, ascending=True)
    return [
        (record.partition_key, (record.asset_materialization.tags or {}).get("memory/run"))
        for record in records.records
        if record.asset_materialization is not None
    ]


@pytest.mark.timeout(60)  # as a tick in Dagster
def test_a_tick_over_ten_thousand_projects_asks_for_those_that_wait_longest(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """After weeks without Dagster: one run of a bounded number, well within a tick's minute."""
    Components(sample_settings).runs.note_unreported(map(_made, reversed(range(10_000))))
    (request,) = tick("ingests_sensor", sample_settings, instance).run_requests or ()
    names = request.run_config["ops"]["record_outcomes"]["config"]["projects"]
    most = sample_settings.sensor_projects_per_tick
    assert names == [f"-p{number:05d}" for number in range(most)]


def test_a_run_that_is_repeated_logs_nothing_twice(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """As when its process was killed after it had logged, before the ledger knew: the same events
    wait again. The time is that at which they happened."""
    ledger = Components(sample_settings).runs
    for _ in range(2):
        ledger.note_unreported([_made(1), _made(2)])
        (run_id,) = record_ingests(instance, sample_settings)
        run = instance.get_run_by_id(run_id)
        assert run is not None and projects_of(run) == ["-p00001", "-p00002"]
        assert ledger.unreported_partitions() == {}
    assert _materializations(instance) == [("-p00001", "noted"), ("-p00002", "noted")]
    (record, *_) = instance.fetch_materializations(dg.AssetKey("raw_sessions"), limit=1).records
    assert record.asset_materialization is not None
    assert record.asset_materialization.metadata["made_at"].value == WEEKS_AGO + 2


def test_what_dagster_has_made_since_stays_the_newest(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """An older event of the command line that comes later is not logged."""
    instance.report_runless_asset_event(
        dg.AssetMaterialization("raw_sessions", partition="-p00001")
    )
    Components(sample_settings).runs.note_unreported([_made(1)])
    record_ingests(instance, sample_settings)
    assert _materializations(instance) == [("-p00001", None)]


def test_nothing_is_asked_for_while_the_last_run_is_under_way(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """It would log the same."""
    Components(sample_settings).runs.note_unreported([_made(1)])
    instance.add_run(dg.DagsterRun(RECORD_JOB, status=dg.DagsterRunStatus.STARTED))
    assert tick("ingests_sensor", sample_settings, instance).skip_reason
