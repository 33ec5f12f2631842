"""projects_directory_sensor: what it asks for, when it asks for nothing, and that alone it makes
the same memory."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from memory_assets.cli.dagster.home import open_instance
from memory_assets.cli.ingesting.ingest_command import ingest_once
from memory_assets.dagster.partitions import add_keys, projects
from memory_assets.pipeline.indexes.indexed_tables import INDEXES, session_rows
from memory_assets.pipeline.redact.known_secrets import mark_affected
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.schemas import TABLES
from memory_assets.stores.runs.names import BATCH_OP, INGEST_BATCH, INGEST_JOB, RECHECK_JOB
from memory_assets_tests.dagster.recorded import run_job, tick
from memory_assets_tests.pipeline.conftest import STAGES

SENSOR = "projects_directory_sensor"
PROJECTS = [
    "-Users-jonas-work-tidepool-web",
    "-home-mara-code-harbor-api",
    "-home-mara-code-lantern",
]
STAGES_WITHOUT_VECTORS = [
    name for name in STAGES if not name.endswith(("_embeddings", "_collection"))
]


@pytest.fixture
def without_vectors(sample_settings: Settings) -> Settings:
    """For what is ingested here, without vectors."""
    return replace(sample_settings, embedder="none")


def _tick(
    settings: Settings, instance: dg.DagsterInstance, cursor: str | None = None
) -> tuple[list[dg.RunRequest], list[str], str | None]:
    """Evaluate the sensor once: run requests, new partitions, next cursor."""
    result = tick(SENSOR, settings, instance, cursor)
    added = [
        key
        for request in result.dynamic_partitions_requests or []
        if isinstance(request, dg.AddDynamicPartitionsRequest)
        for key in request.partition_keys
    ]
    return list(result.run_requests or []), added, result.cursor


def _projects(requests: list[dg.RunRequest]) -> list[str]:
    """The projects that runs are asked for, alone or together."""
    return sorted(_alone(requests) + _together(requests))


def _alone(requests: list[dg.RunRequest]) -> list[str]:
    """The partitions whose assets runs are asked for."""
    return [str(each.partition_key) for each in requests if each.job_name == INGEST_JOB]


def _together(requests: list[dg.RunRequest]) -> list[str]:
    return [
        project
        for request in requests
        if request.job_name == INGEST_BATCH
        for project in request.run_config["ops"][BATCH_OP]["config"]["projects"]
    ]


def _ingest(settings: Settings, instance: dg.DagsterInstance, project: str) -> None:
    """What a run does, as the ledger sees it; the sensor looks at that and at no run."""
    add_keys(instance, [project])
    components = Components(settings)
    for stage in STAGES_WITHOUT_VECTORS:
        STAGES[stage](components, project)


def _search(settings: Settings) -> None:
    mark_affected(Components(settings))


def test_new_projects_become_partitions_and_get_a_run(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """The first tick adds every project and asks for one run of all; while that is under way, the
    next one asks for nothing."""
    requests, added, cursor = _tick(sample_settings, instance)
    assert added == PROJECTS
    assert _projects(requests) == PROJECTS
    assert len(requests) == 1
    assert _tick(sample_settings, instance, cursor)[:2] == ([], [])


def test_a_missing_directory_of_one_agent_stops_no_other(
    sample_settings: Settings, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """As of a disk that is not mounted: it is said, without options of the command line."""
    missing = replace(sample_settings, codex_dir=(tmp_path / "unmounted",), embedder="none")
    requests, _, cursor = _tick(missing, instance)
    assert _projects(requests) == PROJECTS
    reason = str(tick(SENSOR, missing, instance, cursor).skip_reason)
    assert f"{tmp_path / 'unmounted'} does not exist" in reason and "--" not in reason


def test_a_few_changed_files_of_one_project_are_asked_for_as_the_assets_of_its_partition(
    without_vectors: Settings, sample_roots: dict[str, Path], instance: dg.DagsterInstance
) -> None:
    """So that the run shows the assets that it made. A first ingest, several projects and many
    files go in a batch."""
    requests, _, _ = _tick(without_vectors, instance)
    assert (_alone(requests), sorted(_together(requests))) == ([], PROJECTS)
    for project in PROJECTS:
        _ingest(without_vectors, instance, project)
    claude = sample_roots["claude"]
    for project, alone, together in (
        (PROJECTS[0], [PROJECTS[0]], []),
        (PROJECTS[1], [], PROJECTS[:2]),
    ):
        with min((claude / project).glob("*.jsonl")).open("ab") as file:
            file.write(b'{"type":"mode","mode":"plan"}\n')
        requests, _, _ = _tick(without_vectors, instance)
        assert (_alone(requests), sorted(_together(requests))) == (alone, together)
        assert len(requests) == 1
    _ingest(without_vectors, instance, PROJECTS[1])
    for copy in range(11):
        (claude / PROJECTS[0] / f"00000000-0000-4000-8000-{copy:012d}.jsonl").write_text("{}\n")
    requests, _, _ = _tick(without_vectors, instance)
    assert (_alone(requests), _together(requests)) == ([], [PROJECTS[0]])


def test_a_new_instance_gets_the_partitions_of_what_is_up_to_date(
    without_vectors: Settings, instance: dg.DagsterInstance
) -> None:
    """Else nothing could be backfilled there until its transcripts change."""
    for project in PROJECTS:
        _ingest(without_vectors, instance, project)
    instance.delete_dynamic_partition(str(projects.name), PROJECTS[1])
    requests, added, _ = _tick(without_vectors, instance)
    assert (_projects(requests), added) == ([], [PROJECTS[1]])


def test_partitions_of_what_is_gone_are_removed(
    without_vectors: Settings, instance: dg.DagsterInstance
) -> None:
    """One that was added by hand and stands for nothing, unless a run is for it; not those of
    projects on disk or on record."""
    for project in PROJECTS:
        _ingest(without_vectors, instance, project)
    add_keys(instance, ["-mistyped"])

    def removed() -> list[str]:
        asked = tick(SENSOR, replace(without_vectors, codex_dir=None), instance)
        return [
            key
            for request in asked.dynamic_partitions_requests or []
            if isinstance(request, dg.DeleteDynamicPartitionsRequest)
            for key in request.partition_keys
        ]

    assert removed() == ["-mistyped"]
    started = dg.DagsterRunStatus.STARTED
    tags = {"dagster/partition": "-mistyped"}
    instance.add_run(dg.DagsterRun(INGEST_JOB, status=started, tags=tags))
    assert removed() == []


def test_when_all_is_at_rest_the_search_for_new_secrets_is_asked_for_once(
    without_vectors: Settings, instance: dg.DagsterInstance
) -> None:
    """Not while a project has work: one search for all that was found in a batch of runs,
    under a key that names it; none once it is made."""
    for project in PROJECTS[:2]:
        _ingest(without_vectors, instance, project)
    requests, _, cursor = _tick(without_vectors, instance)
    assert _projects(requests) == [PROJECTS[2]]
    _ingest(without_vectors, instance, PROJECTS[2])
    first, _, cursor = _tick(without_vectors, instance, cursor)
    again, _, cursor = _tick(without_vectors, instance, cursor)
    assert [request.job_name for request in first] == [RECHECK_JOB]
    assert [request.run_key for request in again] == [first[0].run_key]
    _search(without_vectors)
    assert _tick(without_vectors, instance, cursor)[0] == []


def test_work_that_stays_undone_is_asked_for_again_under_a_new_key(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """A failed run is not forgotten: a run key counts for ever, so the next has another. The
    sensor never gives up, because what makes a run fail may pass; it waits for a day at most."""
    first, _, cursor = _tick(sample_settings, instance)
    keys = {str(request.run_key) for request in first}
    for _ in range(10):
        state = json.loads(cursor or "")
        for last in state["requested"].values():
            last["at"] = time.time() - 86_401
        requests, _, cursor = _tick(sample_settings, instance, json.dumps(state))
        keys |= {str(request.run_key) for request in requests}
    assert len(keys) == 11
    state = json.loads(cursor or "")
    for last in state["requested"].values():
        last["at"] = time.time() - 3_601
    assert _tick(sample_settings, instance, json.dumps(state))[0] == []


def test_a_clock_that_was_ahead_stops_no_project(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """What was asked for at a time that is still to come is asked for again, once."""
    _, _, cursor = _tick(sample_settings, instance)
    state = json.loads(cursor or "")
    for last in state["requested"].values():
        last["at"] = time.time() + 365 * 86_400
    requests, _, cursor = _tick(sample_settings, instance, json.dumps(state))
    assert _projects(requests) == PROJECTS
    assert _tick(sample_settings, instance, cursor)[0] == []


def test_sessions_held_back_are_tried_again_at_least_every_hour(
    without_vectors: Settings, sample_roots: dict[str, Path], instance: dg.DagsterInstance
) -> None:
    """A file that cannot be read (here: an input/output error) is asked for again however often
    that failed, never faster than the back-off says, and no more once it can be read."""
    file = sample_roots["claude"] / PROJECTS[0] / "00000000-0000-4000-8000-000000000001.jsonl"
    file.symlink_to("/proc/self/mem")  # regular, and reading it from its start is an I/O error
    for project in PROJECTS:
        _ingest(without_vectors, instance, project)
    _search(without_vectors)
    requests, _, cursor = _tick(without_vectors, instance)
    assert _projects(requests) == [PROJECTS[0]]
    for waited, due in [(3_599, False), (3_601, True)]:
        state = json.loads(cursor or "")
        state["requested"][PROJECTS[0]] |= {"attempt": 40, "at": time.time() - waited}
        requests, _, _ = _tick(without_vectors, instance, json.dumps(state))
        assert bool(requests) is due
    file.unlink()
    _ingest(without_vectors, instance, PROJECTS[0])
    assert _tick(without_vectors, instance, cursor)[0] == []


def test_a_tick_asks_for_a_bounded_number_of_projects_and_goes_on_next_time(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """With room for two projects a tick, three take two ticks of one run each."""
    bounded = replace(sample_settings, sensor_projects_per_tick=2)
    first, _, cursor = _tick(bounded, instance)
    second, _, cursor = _tick(bounded, instance, cursor)
    assert (len(_projects(first)), len(_projects(second))) == (2, 1)
    assert _projects([*first, *second]) == PROJECTS


def test_a_name_that_cannot_be_a_partition_is_left_out_not_fatal(
    sample_settings: Settings, sample_roots: dict[str, Path], instance: dg.DagsterInstance
) -> None:
    """A directory with a comma in its name gets no run; the others do."""
    odd = sample_roots["claude"] / "a,b"
    odd.mkdir()
    (odd / "s.jsonl").write_text('{"type":"user","uuid":"1","message":{"content":"hi"}}\n')
    requests, added, _ = _tick(sample_settings, instance)
    assert _projects(requests) == PROJECTS
    assert "a,b" not in added


@pytest.mark.timeout(60)  # as a tick in Dagster
def test_ten_thousand_files_fit_in_a_tick(
    tmp_path: Path, sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """A tick over 10,000 new files in 100 projects stays within its bounds: one run, a
    small cursor, and no file is read."""
    root = tmp_path / "many"
    for project in range(100):
        directory = root / f"-p{project:03d}"
        directory.mkdir(parents=True)
        for session in range(100):
            (directory / f"s{project}-{session}.jsonl").touch()
    patient = replace(sample_settings, sensor_seconds_per_tick=600.0)  # its CPU is what counts
    many = replace(patient, projects_dir=(root,), codex_dir=None, pi_dir=None)
    requests, added, cursor = _tick(many, instance)
    assert len(_projects(requests)) == len(added) == 100
    assert len(cursor or "") < 20_000


HARBOR = "-home-mara-code-harbor-api"
"""Left out, as are Codex and Pi: one project shows it as well as three."""


def _by_sensor(settings: Settings) -> list[str]:
    """Tick until nothing is asked for, doing what is asked; return the jobs in order."""
    jobs: list[str] = []
    cursor = None
    with open_instance(settings) as instance:
        for _ in range(6):
            asked = tick(SENSOR, settings, instance, cursor)
            if asked.skip_reason:
                return jobs
            cursor = asked.cursor
            for added in asked.dynamic_partitions_requests or []:
                instance.add_dynamic_partitions(str(projects.name), list(added.partition_keys))
            for request in asked.run_requests or []:
                job = str(request.job_name)
                assert run_job(settings, job, instance, request.run_config).success
                jobs.append(str(request.job_name))
    pytest.fail("the sensor does not come to rest")


def _memory(settings: Settings) -> dict[str, Any]:
    """Every row of every table and collection, but for when it was written."""
    components = Components(settings)
    lake = components.lake
    state: dict[str, Any] = {}
    for name, table in TABLES.items():
        columns = [column for column in table.schema.names if column not in table.written_columns]
        for project in lake.projects(table):
            rows = lake.read_partition(table, project, columns).to_pylist()
            state[f"{name}/{project}"] = rows
    for index in INDEXES:
        for (project, session_id), made in components.catalog.products.of_stage(
            index.stage
        ).items():
            collection = components.vectors.get(str(made.facts["collection"]))
            for row in session_rows(components, project, index, session_id):
                (found,) = collection.documents([row.id])
                similarity = float(found.vector @ row.vector)
                kept = {key: value for key, value in found.metadata.items() if key not in AGES}
                state[f"{index.stage}/{row.id}"] = (round(similarity, 5), found.text, kept)
    components.catalog.close()
    return state


AGES = ("ingested_at", "row_hash")
"""When a chunk was first written, and a hash that it goes into."""


@pytest.mark.timeout(300)
def test_the_sensor_makes_what_ingest_makes(
    sample_settings: Settings, sample_roots: dict[str, Path]
) -> None:
    """Every row of every table, and every id, text, vector and metadata of every collection."""
    shutil.rmtree(sample_roots["claude"] / HARBOR)
    for agent in ("codex", "pi"):
        shutil.rmtree(sample_roots[agent])
        sample_roots[agent].mkdir()
    directory = sample_settings.data_dir.with_name("by-sensor")
    by_sensor = replace(sample_settings, data_dir=directory)
    try:
        jobs = _by_sensor(by_sensor)
        made = _memory(by_sensor)
    finally:
        chroma_server.stop(directory)
    code = ingest_once(sample_settings, limit=None, projects=[], full=False, as_json=True)
    assert code == 0
    assert sorted(set(jobs)) in (["ingest_batch"], ["ingest_batch", "recheck_known_secrets"])
    assert made == _memory(sample_settings)
    assert len(made) > 30
