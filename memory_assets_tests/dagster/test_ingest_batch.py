"""The job ingest_batch: many projects in one run, each with its partition's events."""

from __future__ import annotations

import errno
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import dagster as dg
import pytest

from memory_assets.cli.dagster.home import open_instance
from memory_assets.cli.ingesting.ingest import run_plans
from memory_assets.dagster.definitions import ASSETS
from memory_assets.pipeline.checks.verify import keywords_match
from memory_assets.pipeline.indexes.keywords import forget_keywords
from memory_assets.pipeline.ingest.noted_run import NotedRun
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.pipeline.plan.plan import ProjectPlan, plan
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, SESSION_SUMMARIES, TURN_CHUNKS
from memory_assets.stores.runs.events import AssetEvent
from memory_assets.stores.runs.names import (
    INGEST_BATCH,
    INGEST_JOB,
    PART_TAG,
    RECORD_JOB,
    batch_tags,
    projects_of,
)
from memory_assets_tests.dagster.recorded import chunks_failing_for, record_ingests, run_job
from memory_assets_tests.dagster.test_superseded_runs import delete_in, end_earlier

PROJECTS = {
    "-Users-jonas-work-tidepool-web",
    "-home-mara-code-harbor-api",
    "-home-mara-code-lantern",
}
TAGS = ("dagster/code_version", "dagster/data_version", "dagster/input_data_version")


@pytest.fixture
def settings(sample_settings: Settings) -> Settings:
    """Without vectors: what counts here are the events."""
    return replace(sample_settings, embedder="none")


_OF_PROJECTS = [name for name, step in STEPS.items() if step.partitions == "projects"]


def _plans(settings: Settings) -> list[ProjectPlan]:
    components = Components(settings)
    return plan(components, find_sources(components))


_WORDS = {"work", "embedder", "dagster/uri", "collections", "last_record_at", "text_unexplained_at"}
"""The metadata that are no numbers."""


def _metadata(instance: dg.DagsterInstance, asset: str, project: str) -> dict[str, Any]:
    wanted = dg.AssetRecordsFilter(dg.AssetKey(asset), asset_partitions=[project])
    (record,) = instance.fetch_materializations(wanted, limit=1).records
    assert record.asset_materialization is not None
    return {name: each.value for name, each in record.asset_materialization.metadata.items()}


def _texts(settings: Settings) -> set[str]:
    """The beginnings of all texts of the sample that are longer than a name."""
    lake = Components(settings).lake
    tables = [lake.read_partition(REDACTED_RECORDS, name) for name in PROJECTS]
    texts = [str(text) for table in tables for text in table["text"].to_pylist()]
    return {text[:40] for text in texts if len(text) > 40}


def _version_tags(instance: dg.DagsterInstance, asset: str, project: str) -> dict[str, str]:
    wanted = dg.AssetRecordsFilter(dg.AssetKey(asset), asset_partitions=[project])
    (record,) = instance.fetch_materializations(wanted, limit=1).records
    made = record.asset_materialization
    assert made is not None
    tags = made.tags or {}
    pointers = [int(tags[name]) for name in tags if name.startswith("dagster/input_event_pointer")]
    assert all(pointer < record.storage_id for pointer in pointers)
    return {name: value for name, value in tags.items() if name.startswith(TAGS)}


def test_each_partition_has_the_events_that_a_run_of_its_own_would_store(
    settings: Settings,
) -> None:
    """An ingest of all projects by the command line, recorded by one run: every asset materialized
    for every partition, every check evaluated, with the versions that the asset job stores, so that
    nothing shows as out of date, and with the same metadata: numbers to plot, and no text of a
    transcript."""
    assert run_plans(settings, _plans(settings)).failed == {}
    project = min(PROJECTS)
    with open_instance(settings) as instance:
        record_ingests(instance, settings)
        (run,) = instance.get_runs()
        assert run.job_name == RECORD_JOB and set(projects_of(run)) == PROJECTS
        for asset in ASSETS:
            for key in asset.keys:
                assert instance.get_materialized_partitions(key) == PROJECTS, key
            for spec in asset.check_specs:
                history = instance.event_log_storage.get_asset_check_execution_history(
                    spec.key, limit=10
                )
                assert {each.partition for each in history} == PROJECTS
                assert {each.status.value for each in history} == {"SUCCEEDED"}
        of_batch = {name: _version_tags(instance, name, project) for name in _OF_PROJECTS}
        numbers = {name: _metadata(instance, name, project) for name in _OF_PROJECTS}
        assert run_job(settings, INGEST_JOB, instance, partition_key=project).success
        of_job = {name: _version_tags(instance, name, project) for name in _OF_PROJECTS}
        alike = {name: _metadata(instance, name, project) for name in _OF_PROJECTS}
        told = "".join(map(repr, instance.all_logs(run.run_id)))
    assert of_batch == of_job
    for name, metadata in numbers.items():
        assert metadata.pop("made_at") < time.time()
        assert metadata.keys() - {"lag_seconds"} == alike[name].keys(), name
        assert {"dagster/partition_row_count", "bytes", "seconds"} < metadata.keys()
        words = {each for each, value in metadata.items() if not isinstance(value, int | float)}
        assert words <= _WORDS, name  # all others are plotted
    assert numbers["raw_sessions"]["lag_seconds"] > 0
    assert numbers["redacted_records"]["redactions"] > 0
    texts = _texts(settings)
    assert len(texts) > 100 and not [text for text in texts if text in told]


def test_a_project_that_fails_does_not_stop_the_others(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its later assets are not made, the run counts as failed, and the others are done. What was
    made is recorded by a run that supersedes no other."""
    broken = min(PROJECTS)

    with monkeypatch.context() as patched:
        patched.setitem(STEPS, "turn_chunks", chunks_failing_for(broken))
        result = run_plans(settings, _plans(settings))
    assert result.failed == {broken: "turn_chunks: the disk of this project is full"}
    with open_instance(settings) as instance:
        (recorded,) = record_ingests(instance, settings)
        run = instance.get_run_by_id(recorded)
        assert run is not None and run.tags[PART_TAG] == "true"
        chunked = instance.get_materialized_partitions(dg.AssetKey("turn_chunks"))
        assert chunked == PROJECTS - {broken}
        assert instance.get_materialized_partitions(dg.AssetKey("turn_embeddings")) == chunked
    assert [work.project for work in _plans(settings)] == [broken]


def test_what_ends_a_run_is_said_beside_what_failed_before(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, here: its reason, without any text, and the project that had failed; the ledger
    has one failed run."""
    broken = min(PROJECTS)

    def store(run: NotedRun, events: Sequence[AssetEvent]) -> None:
        if any(event.asset == "session_summaries" for event in events):
            raise OSError(errno.ENOSPC, "while writing the words of a transcript")

    monkeypatch.setitem(STEPS, "turn_chunks", chunks_failing_for(broken))
    monkeypatch.setattr(NotedRun, "store", store)
    failed = run_plans(settings, _plans(settings)).failed
    assert failed.keys() == {broken, INGEST_BATCH}
    assert "disk" in failed[INGEST_BATCH] and "transcript" not in failed[INGEST_BATCH]
    runs = Components(settings).runs.last_runs()
    assert (runs["last"]["status"], runs["failed_in_7_days"]) == ("FAILURE", 1)


def test_what_a_killed_run_had_begun_is_no_failed_check(settings: Settings) -> None:
    """Its file lies in the lake, unknown to the catalogue and the keyword index: the first pass
    finds the index incomplete, and the second makes and indexes it."""
    assert run_plans(settings, _plans(settings)).checks_failed == []
    components, project = Components(settings), min(PROJECTS)
    summaries = components.catalog.products.of_project(SESSION_SUMMARIES.name, project)
    session = min(summaries)
    components.catalog.products.drop(SESSION_SUMMARIES.name, project, session)
    assert forget_keywords(components, {(project, session)}, ("summaries",)) == 1
    result = run_plans(settings, _plans(settings))
    assert (result.projects, result.failed, result.checks_failed) == (1, {}, [])
    assert keywords_match(components, project).passed


def test_a_batch_started_by_hand_adds_partitions_and_takes_no_path(settings: Settings) -> None:
    """As from the launchpad: a project that is no partition yet becomes one; a name that leads
    out of the lake is refused before anything is read, and so is no name at all."""
    project = min(PROJECTS)

    def run(*names: str) -> dg.ExecuteInProcessResult:
        ops = {"ops": {"index_words": {"config": {"projects": list(names)}}}}
        return run_job(settings, INGEST_BATCH, instance, ops, raise_on_error=False)

    with open_instance(settings) as instance:
        assert run(project).success
        assert instance.get_dynamic_partitions("projects") == [project]
        assert not run("../outside").success and not run().success
    assert [path.name for path in settings.data_dir.parent.glob("outside*")] == []
    assert Components(settings).lake.projects(TURN_CHUNKS) == [project]


def test_a_batch_is_superseded_when_it_is_for_each_of_its_projects(settings: Settings) -> None:
    """Before, the state of a partition would go with it."""
    first, second, *_ = sorted(PROJECTS)
    config = {"ops": {"index_words": {"config": {"projects": [first, second]}}}}

    def ended(instance: dg.DagsterInstance, names: list[str], minutes: float) -> str:
        run = dg.DagsterRun(
            INGEST_BATCH,
            status=dg.DagsterRunStatus.SUCCESS,
            tags=batch_tags(names),
            run_config=config if len(names) > 1 else {},
        )
        instance.add_run(run)
        end_earlier(instance, run.run_id, timedelta(minutes=minutes))
        return run.run_id

    with open_instance(settings) as instance:
        batch = ended(instance, [first, second], 9)
        ended(instance, [first], 5)
        assert delete_in(instance, 1) == 0
        ended(instance, [second], 4)
        assert delete_in(instance, 1) == 1
        assert instance.get_run_by_id(batch) is None
