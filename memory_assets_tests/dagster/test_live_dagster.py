"""The real daemon, webserver and sensor, as `memory dev` starts them, asked by GraphQL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from memory_assets.dagster import code_server
from memory_assets.dagster.definitions import ASSETS
from memory_assets.pipeline.stage.components import Components
from memory_assets.recall.memory import Memory
from memory_assets.settings import load_settings
from memory_assets.stores.runs.names import (
    INGEST_BATCH,
    INGEST_JOB,
    RANGE_TAGS,
    WORKSPACE_JOB,
    batch_config,
)
from memory_assets.stores.workspaces import Workspaces
from memory_assets_tests.dagster.live_dagster import (
    RUNS,
    SELECTOR,
    TIDEPOOL,
    Dagster,
    copy_of_a_session,
    memory_dev,
    processes_in,
    wait_for,
)

PROJECTS = {TIDEPOOL, "-home-mara-code-lantern"}
"""Of the sample; a process is started for each run, so there are no more."""
SOLO = "-home-mara-code-solo"
"""What `memory ingest` took in before there was any Dagster."""
ENDED = {"SUCCESS", "FAILURE", "CANCELED"}

BACKFILLS = """query { partitionBackfillsOrError { ... on PartitionBackfills { results {
  id status numPartitions } } } }"""
LAUNCH = """mutation($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
MATERIALIZE = """mutation($params: ExecutionParams!) { launchRun(executionParams: $params) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
MATERIALIZED = """query($partition: String!) { assetNodes { assetKey { path }
  assetMaterializations(partitions: [$partition], limit: 1) {
  tags { key value } metadataEntries { label } } } }"""
SHOWN = """query { runsOrError(limit: 20) { ... on Runs { results {
  jobName assetSelection { path } assets { key { path } } } } } }"""
EVENTS = """query($run: ID!) { runOrError(runId: $run) { ... on Run {
  eventConnection { events { __typename } } } } }"""
FRESHNESS = """query { assetNodes { assetKey { path }
  freshnessStatusInfo { freshnessStatus } } }"""
CHECKS = """query { assetNodes { assetKey { path } isExecutable
  assetChecksOrError { ... on AssetChecks { checks {
  name executionForLatestMaterialization { status } } } } } }"""


@pytest.fixture(scope="module")
def dagster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dagster]:
    """`memory dev` on a copy of most of the sample."""
    with memory_dev(tmp_path_factory.mktemp("live"), first=[SOLO]) as running:
        yield running


@pytest.fixture(scope="module")
def watched(dagster: Dagster) -> Dagster:
    """The same, once the sensor has taken in every project by itself."""
    wait_for("run of every project", lambda: dagster.succeeded() >= PROJECTS)
    return dagster


@pytest.mark.timeout(600)
def test_the_sensor_takes_in_every_project_and_then_a_new_one(watched: Dagster) -> None:
    """Nobody started a run: the sensor made partitions and runs; a directory that appears
    becomes a partition with a run of its own, and the others are left alone. What changes in it
    then is a run that shows the assets that it made."""
    before = watched.by_sensor()
    fresh = "-home-mara-code-fresh"
    copy_of_a_session(watched.transcripts, fresh, "1")
    wait_for("run of the new project", lambda: fresh in watched.succeeded())
    assert watched.by_sensor() == before + Counter([fresh])
    (session,) = (watched.transcripts / "claude" / "projects" / fresh).glob("*.jsonl")
    with session.open("ab") as file:
        file.write(b'{"type":"mode","mode":"plan"}\n')
    wait_for("run of its assets", lambda: watched.by_sensor()[fresh] == before[fresh] + 2)

    def shown() -> list[tuple[str, int]]:
        runs = watched.ask(SHOWN)["runsOrError"]["results"]
        return [(run["jobName"], len(run["assetSelection"] or run["assets"])) for run in runs]

    made = sum(len(list(asset.keys)) for asset in ASSETS)
    wait_for("assets", lambda: (INGEST_JOB, made) in shown())


@pytest.mark.timeout(600)
def test_what_the_command_line_made_is_in_the_catalogue(watched: Dagster) -> None:
    """By a run that the daemon started, with the time at which it was made: every asset of the
    project's partition. The sensor of transcripts asked for no run of it."""

    def made() -> list[dict[str, Any]]:
        nodes = watched.ask(MATERIALIZED, {"partition": SOLO})["assetNodes"]
        of_projects = {spec.key.to_user_string() for asset in ASSETS for spec in asset.specs}
        return [node for node in nodes if node["assetKey"]["path"][0] in of_projects]

    wait_for("record of it", lambda: all(node["assetMaterializations"] for node in made()))
    for node in made():
        ((event,), name) = node["assetMaterializations"], node["assetKey"]["path"][0]
        labels = {entry["label"] for entry in event["metadataEntries"]}
        assert {"made_at", "dagster/partition_row_count"} <= labels, name
        assert "memory/run" in {tag["key"] for tag in event["tags"]}, name
    assert SOLO not in watched.by_sensor()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="runs are found by their process")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("job", [INGEST_BATCH, pytest.param(INGEST_JOB, marks=pytest.mark.long)])
def test_a_killed_run_is_repeated_once_and_succeeds(watched: Dagster, job: str) -> None:
    """By the daemon, without anybody's doing."""
    alone = job == INGEST_JOB
    partition = {"key": "dagster/partition", "value": TIDEPOOL}
    settings = load_settings(data_dir=Path(watched.environment["MEMORY_DATA_DIR"]))
    components = Components(settings)
    with components.project_lock(TIDEPOOL):
        launched = watched.ask(
            MATERIALIZE,
            {
                "params": {
                    "selector": {**SELECTOR, "pipelineName": job},
                    "mode": "default",
                    "runConfigData": {} if alone else batch_config([TIDEPOOL]),
                    "executionMetadata": {"tags": [partition] if alone else []},
                }
            },
        )["launchRun"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        killed = launched["run"]["runId"]
        wait_for("process of the run", lambda: bool(components.runs.begun(killed)))
        (begun,) = components.runs.begun(killed)
        os.kill(int(begun.process.split(":")[1]), signal.SIGKILL)
        wait_for("failure", lambda: status_of(watched, killed) == "FAILURE")

    def retries() -> list[str]:
        parent = "dagster/parent_run_id"
        return [status for status, _, tags in watched.runs() if tags.get(parent) == killed]

    wait_for("retry", lambda: retries() == ["SUCCESS"])


@pytest.mark.timeout(600)
def test_a_check_is_executed_alone_by_the_request_of_the_page(watched: Dagster) -> None:
    """For a partition: the check is evaluated, and nothing is materialized."""
    check = {"assetKey": {"path": ["turn_chunks"]}, "name": "matches_schema"}
    selector = {**SELECTOR, "pipelineName": "__ASSET_JOB", "assetSelection": []}
    launched = watched.ask(
        MATERIALIZE,
        {
            "params": {
                "selector": {**selector, "assetCheckSelection": [check]},
                "mode": "default",
                "runConfigData": {},
                "executionMetadata": {"tags": [{"key": "dagster/partition", "value": TIDEPOOL}]},
            }
        },
    )["launchRun"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    run_id = launched["run"]["runId"]
    wait_for("check", lambda: status_of(watched, run_id) in ENDED)
    assert status_of(watched, run_id) == "SUCCESS"
    events = watched.ask(EVENTS, {"run": run_id})["runOrError"]["eventConnection"]["events"]
    kinds = [event["__typename"] for event in events]
    assert kinds.count("AssetCheckEvaluationEvent") == 1 and "MaterializationEvent" not in kinds


@pytest.mark.timeout(600)
def test_what_was_made_shows_as_fresh(watched: Dagster) -> None:
    """By Dagster's freshness daemon; after a time without it would not."""

    def status() -> str | None:
        nodes = watched.ask(FRESHNESS)["assetNodes"]
        (told,) = (each for each in nodes if each["assetKey"]["path"] == ["session_collection"])
        return (told["freshnessStatusInfo"] or {}).get("freshnessStatus")

    wait_for("freshness", lambda: status() == "HEALTHY")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a fork may be unsafe")
def test_runs_are_forked_from_a_process_that_has_what_they_need(watched: Dagster) -> None:
    """Not started one by one, which is most of what a run costs. The assets import pyarrow."""

    def origins() -> list[int]:
        commands = processes_in(Path(watched.environment["MEMORY_DATA_DIR"])).items()
        return [pid for pid, command in commands if "multiprocessing.forkserver" in command]

    wait_for("run", lambda: bool(origins()))
    maps = Path(f"/proc/{origins()[0]}/maps")
    wait_for("assets in the process", lambda: "libarrow" in maps.read_text())


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_backfill_from_the_page_is_one_run_of_the_chosen_projects(watched: Dagster) -> None:
    """What the page's backfill button sends: all assets of two partitions, and no other."""
    nodes = watched.ask(CHECKS)["assetNodes"]
    # As the page does, which leaves out what has no step: a backfill of that fails.
    paths = [node["assetKey"]["path"] for node in nodes if node["isExecutable"]]
    others = ("workspace_", "agent_", "memory_trail", "history_summar")
    assets = [{"path": path} for path in paths if not path[0].startswith(others)]
    chosen = sorted(PROJECTS)
    launched = watched.ask(
        LAUNCH, {"params": {"assetSelection": assets, "partitionNames": chosen}}
    )["launchPartitionBackfill"]
    assert launched["__typename"] == "LaunchBackfillSuccess", launched
    backfill = launched["backfillId"]

    def ended() -> list[tuple[str, str | None, str | None]]:
        """Status, first and last partition of its runs; assets without partitions have others."""
        return [
            (status, tags.get(RANGE_TAGS[0]), tags.get(RANGE_TAGS[1]))
            for status, _, tags in watched.runs()
            if tags.get("dagster/backfill") == backfill and status in ENDED
            if "dagster/partition" in tags or RANGE_TAGS[0] in tags
        ]

    wait_for("backfill", lambda: bool(ended()))
    assert ended() == [("SUCCESS", *chosen)]
    rows = watched.ask(BACKFILLS)["partitionBackfillsOrError"]["results"]
    assert [row["numPartitions"] for row in rows if row["id"] == backfill] == [2]

    def status() -> str:
        rows = watched.ask(BACKFILLS)["partitionBackfillsOrError"]["results"]
        return str(next(row["status"] for row in rows if row["id"] == backfill))

    wait_for("end of the backfill", lambda: status() not in ("REQUESTED", "COMPLETED"))
    assert status() == "COMPLETED_SUCCESS"


@pytest.mark.timeout(600)
def test_every_check_shows_as_passed(watched: Dagster) -> None:
    """The page shows each check of each asset of a project green."""
    of_projects = {spec.key.to_user_string() for asset in ASSETS for spec in asset.specs}

    def statuses() -> list[str | None]:
        return [
            (check["executionForLatestMaterialization"] or {}).get("status")
            for node in watched.ask(CHECKS)["assetNodes"]
            if node["assetKey"]["path"][0] in of_projects
            for check in node["assetChecksOrError"].get("checks", [])
        ]

    wait_for("end of the runs", lambda: {status for status, *_ in watched.runs()} <= ENDED)
    wanted = sum(len(list(asset.check_specs)) for asset in ASSETS)
    assert statuses() == ["SUCCEEDED"] * wanted


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_workspace_is_taken_in_materialized_and_backfilled(
    watched: Dagster, tmp_path: Path
) -> None:
    """By the sensor, by a run that the page starts for a partition, and by a backfill of all its
    assets; each time the changed document is found."""
    root, data_dir = tmp_path / "quay", Path(watched.environment["MEMORY_DATA_DIR"])
    root.mkdir()
    partition = Workspaces(data_dir).add(root).partition
    memory = Memory(load_settings(data_dir=data_dir))

    def found(word: str) -> bool:
        hits = memory.search(word, kinds=("workspace",), mode="keyword", n=1).hits
        return bool(hits) and word in hits[0].text

    (root / "cranes.md").write_text("# Cranes\n\nA crane lifts containers by firstday.\n")
    wait_for("run of the sensor", lambda: partition in watched.succeeded())
    assert found("firstday")
    # Not by the sensor, which looks every 30 s: the runs below may find nothing left to do.
    launched = watched.ask(
        MATERIALIZE,
        {
            "params": {
                "selector": {**SELECTOR, "pipelineName": WORKSPACE_JOB},
                "mode": "default",
                "runConfigData": {},
                "executionMetadata": {"tags": [{"key": "dagster/partition", "value": partition}]},
            }
        },
    )["launchRun"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    run_id = launched["run"]["runId"]
    wait_for("run of the page", lambda: status_of(watched, run_id) in ENDED)
    assert status_of(watched, run_id) == "SUCCESS"
    (root / "cranes.md").write_text("# Cranes\n\nA crane lifts containers by secondday.\n")
    paths = [node["assetKey"]["path"] for node in watched.ask(CHECKS)["assetNodes"]]
    assets = [{"path": path} for path in paths if path[0].startswith("workspace_")]
    backfilled = watched.ask(
        LAUNCH, {"params": {"assetSelection": assets, "partitionNames": [partition]}}
    )["launchPartitionBackfill"]
    assert backfilled["__typename"] == "LaunchBackfillSuccess", backfilled
    backfill = backfilled["backfillId"]
    wait_for("backfill", lambda: watched.succeeded(backfill=backfill) == {partition})
    wait_for("second day", lambda: found("secondday"))


def status_of(dagster: Dagster, run_id: str) -> str:
    """The status of a run."""
    runs = dagster.ask(RUNS)["runsOrError"]["results"]
    return str(next(run["status"] for run in runs if run["runId"] == run_id))


_SIGNALLED = """
import multiprocessing, os, signal, sys, time
from multiprocessing import forkserver

signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the tests' own process may ignore it
forking = multiprocessing.get_context("forkserver")
forking.set_forkserver_preload([sys.argv[1]])
run = forking.Process(target=time.sleep, args=(1.0,))
run.start()
os.kill(forkserver._forkserver._forkserver_pid, signal.SIGTERM)
run.join()
sys.exit(run.exitcode)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a fork may be unsafe")
@pytest.mark.parametrize(("origin", "code"), [(code_server.ORIGIN, 0), ("json", 255)])
def test_it_tells_how_a_run_ended_although_memory_dev_was_told_to_end(
    origin: str, code: int
) -> None:
    """SIGTERM goes to all children; a fork server that it ends (one that has imported something
    else) would have each run under way called failed while it goes on writing."""
    done = subprocess.run([sys.executable, "-c", _SIGNALLED, origin], check=False, timeout=120)
    assert done.returncode == code


def test_ctrl_c_cancels_the_run_under_way_and_prints_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dagster itself calls a run failed whose process got a signal, with the place it stopped."""
    with memory_dev(tmp_path / "dev") as running:
        started = "query { runsOrError(filter: {statuses: [STARTED]}) { ... on Runs { count } } }"
        wait_for("run", lambda: running.ask(started)["runsOrError"]["count"] > 0, pause_seconds=0.1)
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(60) == 0
    home = tmp_path / "dev" / "memory" / "dagster"
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    with dg.DagsterInstance.from_config(str(home)) as instance:
        statuses = [run.status for run in instance.get_runs()]
    assert dg.DagsterRunStatus.CANCELED in statuses
    assert dg.DagsterRunStatus.FAILURE not in statuses
    assert "Dagster is being stopped ..." in (said := (tmp_path / "dev" / "dev.log").read_text())
    assert "Stack Trace" not in said
