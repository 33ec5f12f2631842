"""The real daemon, webserver and sensor, as `memory dev` starts them, asked by GraphQL; and who may
ask: its own page, and programs of this machine, but no other page."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import dagster as dg
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from memory_assets.cli import exit_codes
from memory_assets.dagster import code_server
from memory_assets.dagster.definitions import ASSETS
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import load_settings
from memory_assets.stores.runs.names import (
    INGEST_BATCH,
    INGEST_JOB,
    RANGE_TAGS,
    batch_config,
)
from memory_assets_tests.command_line import run_here
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
from memory_assets_tests.sweep import sweep

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
CHECKS = """query { assetNodes { assetKey { path } isExecutable
  assetChecksOrError { ... on AssetChecks { checks {
  name executionForLatestMaterialization { status } } } } } }"""

EVIL = "http://evil.example"
ADD = """mutation($key: String!, $selector: RepositorySelector!) {
  addDynamicPartition(partitionKey: $key, partitionsDefName: "projects",
    repositorySelector: $selector) { __typename } }"""
PARTITIONS = """query($selector: RepositorySelector!) { repositoryOrError(repositorySelector:
  $selector) { ... on Repository { jobs { name } } }
  assetNodes { assetKey { path } partitionKeys } }"""
LAUNCH_RUN = """mutation($params: ExecutionParams!) { launchRun(executionParams: $params) {
  __typename ... on RunConfigValidationInvalid { errors { message } } } }"""


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


@pytest.mark.parametrize("command", [("dev", "--port", "0"), ("uninstall", "--yes")])
def test_nothing_else_takes_a_memory_that_memory_dev_runs_for(
    dagster: Dagster, command: tuple[str, ...]
) -> None:
    """No second daemon, which would start every run once more, and nobody removes it."""
    refused = run_here(dagster.environment, *command)
    assert refused.returncode == exit_codes.ERROR and "`memory dev`" in refused.stderr
    assert dagster.ask("query { version }")


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


@pytest.mark.timeout(600)
@pytest.mark.parametrize("job", [INGEST_BATCH, pytest.param(INGEST_JOB, marks=pytest.mark.long)])
def test_a_killed_run_is_repeated_once_and_succeeds(watched: Dagster, job: str) -> None:
    """By the daemon, without anybody's doing."""
    settings = load_settings(data_dir=Path(watched.environment["MEMORY_DATA_DIR"]))
    components = Components(settings)
    with components.project_lock(TIDEPOOL):
        killed = launched(watched, job, TIDEPOOL)
        wait_for("process of the run", lambda: bool(components.runs.begun(killed)))
        os.kill(int(components.runs.find("begun", "process", run_id=killed)), signal.SIGKILL)
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


def operation(key: str) -> dict[str, object]:
    """The GraphQL request that makes a partition of the project `key`."""
    return {"query": ADD, "variables": {"key": key, "selector": SELECTOR}}


def in_address(key: str) -> str:
    """The request in the query of an address, as an image's source has it."""
    wanted = operation(key)
    return urlencode({"query": ADD, "variables": json.dumps(wanted["variables"])})


def partitions(dagster: Dagster) -> set[str]:
    """The partitions of `raw_sessions`."""
    nodes = dagster.ask(PARTITIONS, {"selector": SELECTOR})["assetNodes"]
    return {
        key
        for node in nodes
        if node["assetKey"]["path"] == ["raw_sessions"]
        for key in node["partitionKeys"]
    }


def send(
    dagster: Dagster, path: str, body: bytes | None, headers: dict[str, str]
) -> tuple[int, dict[str, str], bytes]:
    """Send a request, by POST when there is a body; return status, headers and answer."""
    request = urllib.request.Request(f"{dagster.url}{path}", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, dict(response.headers), response.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def test_the_page_itself_and_programs_may_change_things(dagster: Dagster) -> None:
    """JSON by POST, from no page or from one of the same origin: the mutation takes place."""
    json_type = {"Content-Type": "application/json"}
    own = {**json_type, "Origin": dagster.url, "Sec-Fetch-Site": "same-origin"}
    for key, headers in (("by-program", json_type), ("by-page", own)):
        status, _, answer = send(dagster, "/graphql", json.dumps(operation(key)).encode(), headers)
        assert status == 200 and b"AddDynamicPartitionSuccess" in answer
        assert key in partitions(dagster)


def test_the_page_is_shown_and_can_be_framed_by_no_other(dagster: Dagster) -> None:
    """Also to somebody who followed a link on another site."""
    followed = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    status, headers, answer = send(dagster, "/assets", None, followed)
    assert status == 200 and b"<html" in answer
    assert headers["x-frame-options"] == "DENY"


FROM_ELSEWHERE: list[tuple[str, dict[str, str], str, int]] = [
    ("get", {}, "address", 405),
    ("get-of-a-page", {"Accept": "text/html"}, "address", 405),
    ("foreign-host", {"Host": "evil.example:3000"}, "json", 421),
    ("foreign-origin", {"Origin": EVIL}, "json", 403),
    ("opaque-origin", {"Origin": "null"}, "json", 403),
    ("other-port", {"Origin": "http://127.0.0.1:1"}, "json", 403),
    ("cross-site", {"Sec-Fetch-Site": "cross-site"}, "json", 403),
    ("same-site", {"Sec-Fetch-Site": "same-site"}, "json", 403),
    ("form", {"Content-Type": "application/x-www-form-urlencoded"}, "form", 415),
    ("text", {"Content-Type": "text/plain"}, "json", 415),
    ("disguised", {"Content-Type": "text/plain; application/json"}, "json", 415),
    ("graphql", {"Content-Type": "application/graphql"}, "json", 415),
    ("multipart", {"Content-Type": "multipart/form-data; boundary=x"}, "json", 415),
    ("post-in-address", {"Content-Type": "text/plain"}, "both", 415),
]
"""Requests of another page: a name, headers, where the operation is, and the answer's status."""


def test_what_another_page_can_send_changes_nothing(dagster: Dagster) -> None:
    """GET, forms and plain text; any content type but JSON's own; a foreign Host or Origin;
    and what the browser says to come from elsewhere."""

    def answered(key: str, headers: dict[str, str], kind: str) -> int:
        path = f"/graphql?{in_address(key)}" if kind in ("address", "both") else "/graphql"
        body = {
            "address": None,
            "json": json.dumps(operation(key)).encode(),
            "form": in_address(key).encode(),
            "both": b"",
        }[kind]
        given = {"Content-Type": "application/json", **headers} if body is not None else headers
        return send(dagster, path, body, given)[0]

    wanted = {case: status for case, _, _, status in FROM_ELSEWHERE}
    assert wanted == {
        case: answered(f"evil-{case}", headers, kind) for case, headers, kind, _ in FROM_ELSEWHERE
    }
    assert not [key for key in partitions(dagster) if key.startswith("evil")]


def test_events_cannot_be_reported_by_another_page(dagster: Dagster) -> None:
    """Dagster takes reports of materializations in the address of a POST without a body."""
    path = "/report_asset_materialization/raw_sessions?partition=evil"
    assert send(dagster, path, b"", {"Content-Type": "text/plain"})[0] == 415


def test_a_web_socket_is_for_the_page_of_the_same_origin(dagster: Dagster) -> None:
    """Web sockets know no CORS: a page elsewhere could read runs and logs."""
    address = f"{dagster.url.replace('http', 'ws')}/graphql"
    for origin in (EVIL, "null", "http://127.0.0.1:1"):
        with pytest.raises(InvalidStatus), connect(address, origin=Origin(origin)):
            pass
    with connect(
        address, origin=Origin(dagster.url), subprotocols=[Subprotocol("graphql-ws")]
    ) as own:
        own.send(json.dumps({"type": "connection_init"}))
        assert json.loads(own.recv(timeout=10)) == {"type": "connection_ack"}


@sweep(
    "config",
    [
        {"chroma_url": "http://evil.example:8000"},
        {"retention": 1},
        {"data_dir": "/tmp/elsewhere"},
        {"settings_json": json.dumps({"retention": 1})},
    ],
)
def test_no_run_can_say_where_the_memory_is_or_what_is_kept(
    dagster: Dagster, config: dict[str, object]
) -> None:
    """Run configuration of the resource `memory` is refused before the run begins."""
    params = {
        "selector": {**SELECTOR, "jobName": INGEST_JOB},
        "runConfigData": json.dumps({"resources": {"memory": {"config": config}}}),
        "mode": "default",
        "executionMetadata": {"tags": [{"key": "dagster/partition", "value": "by-program"}]},
    }
    answer = dagster.ask(LAUNCH_RUN, {"params": params})["launchRun"]
    assert answer["__typename"] == "RunConfigValidationInvalid", answer
    assert any(next(iter(config)) in error["message"] for error in answer["errors"])


def launched(dagster: Dagster, job: str, partition: str) -> str:
    """Start a run of a partition as the page does, and return its id."""
    batch = job == INGEST_BATCH
    tags = [] if batch else [{"key": "dagster/partition", "value": partition}]
    params = {
        "selector": {**SELECTOR, "pipelineName": job},
        "mode": "default",
        "runConfigData": batch_config([partition]) if batch else {},
        "executionMetadata": {"tags": tags},
    }
    answer = dagster.ask(MATERIALIZE, {"params": params})["launchRun"]
    assert answer["__typename"] == "LaunchRunSuccess", answer
    return str(answer["run"]["runId"])


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


@pytest.mark.ends_what_others_use
@pytest.mark.timeout(600)
def test_ctrl_c_cancels_the_run_under_way_and_prints_no_traceback(
    watched: Dagster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dagster itself calls a run failed whose process got a signal, with the place it stopped. No
    process of Dagster is left. `memory dev` has said where it is, which run waits for this test's
    lock, that it ends, and nothing else."""
    data_dir = Path(watched.environment["MEMORY_DATA_DIR"])
    components = Components(load_settings(data_dir=data_dir))
    with components.project_lock(TIDEPOOL):
        run_id = launched(watched, INGEST_BATCH, TIDEPOOL)
        wait_for("process of the run", lambda: bool(components.runs.begun(run_id)))
        wait_for("run", lambda: status_of(watched, run_id) == "STARTED")
        watched.process.send_signal(signal.SIGINT)
        assert watched.process.wait(60) == 0
    wait_for("end of all processes", lambda: not _of_dagster(data_dir))
    monkeypatch.setenv("DAGSTER_HOME", str(data_dir / "dagster"))
    with dg.DagsterInstance.from_config(str(data_dir / "dagster")) as instance:
        run = instance.get_run_by_id(run_id)
    assert run is not None and run.status is dg.DagsterRunStatus.CANCELED
    begun, ready, *of_runs, ended = watched.log.read_text().splitlines()
    assert begun == f"Dagster is starting at {watched.url} (Ctrl-C ends it)"
    assert ready == f"Dagster is at {watched.url}"
    assert all(line.startswith("another process is at work on ") for line in of_runs)
    assert ended == "Dagster is being stopped ..."


def _of_dagster(data_dir: Path) -> list[str]:
    """Its processes; Chroma's server is one that `memory ingest` started before."""
    return [each for each in processes_in(data_dir).values() if "stores.chroma" not in each]
