"""The real daemon, webserver and sensor, as `memory dev` starts them, asked by GraphQL."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memory_assets.definitions import ASSETS
from memory_assets.stores import chroma_server

REPOSITORY = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
TIDEPOOL = "-Users-jonas-work-tidepool-web"
PROJECTS = {TIDEPOOL, "-home-mara-code-lantern"}
"""Of the sample; a process is started for each run, so there are no more."""
SELECTOR = {
    "repositoryLocationName": "memory_assets",
    "repositoryName": "__repository__",
}
PATIENCE_SECONDS = 240.0
SENSOR = "dagster/sensor_name"
"""The tag of a run that a sensor asked for."""
ENDED = {"SUCCESS", "FAILURE", "CANCELED"}

RUNS = """query { runsOrError(limit: 200) { ... on Runs { results {
  runId status tags { key value } } } } }"""
BACKFILLS = """query { partitionBackfillsOrError { ... on PartitionBackfills { results {
  id status numPartitions } } } }"""
LAUNCH = """mutation($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
CHECKS = """query { assetNodes { assetKey { path }
  assetChecksOrError { ... on AssetChecks { checks {
  name executionForLatestMaterialization { status } } } } } }"""


@dataclass
class Dagster:
    """A running `memory dev`, and the transcripts it watches."""

    url: str
    environment: dict[str, str]
    transcripts: Path

    def ask(self, query: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{self.url}/graphql",
            json.dumps({"query": query, "variables": variables or {}}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            answer: dict[str, Any] = json.load(response)
        assert "errors" not in answer, answer["errors"]
        return dict(answer["data"])

    def runs(self) -> list[tuple[str, str, dict[str, str]]]:
        """Status, project and tags of every run."""
        found = self.ask(RUNS)["runsOrError"]["results"]
        tagged = [(run, {tag["key"]: tag["value"] for tag in run["tags"]}) for run in found]
        return [(run["status"], tags.get("dagster/partition", ""), tags) for run, tags in tagged]

    def by_sensor(self) -> Counter[str]:
        """How many runs of each project the sensor has asked for."""
        runs = self.runs()
        return Counter(project for _, project, tags in runs if project and SENSOR in tags)

    def succeeded(self, *, backfill: str | None = None) -> set[str]:
        """Projects with a successful run (of one backfill, or of the sensor)."""
        key, value = ("dagster/backfill", backfill) if backfill else (SENSOR, None)
        return {
            project
            for status, project, tags in self.runs()
            if status == "SUCCESS" and key in tags and value in (None, tags[key])
        }


def wait_for(what: str, condition: Callable[[], bool]) -> None:
    """Poll until the condition holds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except OSError:
            pass
        time.sleep(1.0)
    pytest.fail(f"no {what} within {PATIENCE_SECONDS:.0f} s")


@pytest.fixture(scope="module")
def dagster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dagster]:
    """`memory dev` on a copy of most of the sample, in a home of its own."""
    directory = tmp_path_factory.mktemp("live")
    transcripts = directory / "transcripts"
    left_out = shutil.ignore_patterns("-home-mara-code-harbor-api", "*019dd3a0*")
    shutil.copytree(REPOSITORY / "data" / "sample", transcripts, ignore=left_out)
    (directory / "home").mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("DAGSTER_")},
        "HOME": str(directory / "home"),
        "MEMORY_DATA_DIR": str(directory / "memory"),
        "MEMORY_PROJECTS_DIR": str(transcripts / "claude" / "projects"),
        "MEMORY_CODEX_DIR": str(transcripts / "codex"),
        "MEMORY_PI_DIR": str(transcripts / "pi"),
    }
    with (directory / "dev.log").open("wb") as log:
        process = subprocess.Popen(
            [BIN / "memory", "dev", "--port", str(port)],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        running = Dagster(f"http://127.0.0.1:{port}", environment, transcripts)
        try:
            wait_for("webserver", lambda: bool(running.ask("query { version }")))
            yield running
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            chroma_server.stop(directory / "memory")


@pytest.fixture(scope="module")
def watched(dagster: Dagster) -> Dagster:
    """The same, once the sensor has taken in every project by itself."""
    wait_for("run of every project", lambda: dagster.succeeded() >= PROJECTS)
    return dagster


@pytest.mark.timeout(600)
def test_the_sensor_takes_in_every_project_and_then_a_new_one(watched: Dagster) -> None:
    """Nobody started a run: the sensor made partitions and runs; a directory that appears
    becomes a partition with a run of its own, and the others are left alone."""
    before = watched.by_sensor()
    projects = watched.transcripts / "claude" / "projects"
    (source,) = (projects / TIDEPOOL).glob("5c8e7a13*.jsonl")
    fresh = projects / "-home-mara-code-fresh"
    fresh.mkdir()
    text = source.read_text().replace("5c8e7a13", "11111111").replace('"uuid":"', '"uuid":"f')
    (fresh / source.name.replace("5c8e7a13", "11111111")).write_text(text)
    wait_for("run of the new project", lambda: fresh.name in watched.succeeded())
    assert watched.by_sensor() == before + Counter([fresh.name])


@pytest.mark.timeout(600)
def test_a_backfill_from_the_page_runs_the_chosen_project(watched: Dagster) -> None:
    """What the page's backfill button sends: all assets of one partition, and no other."""
    assets = [{"path": node["assetKey"]["path"]} for node in watched.ask(CHECKS)["assetNodes"]]
    chosen = [TIDEPOOL]
    launched = watched.ask(
        LAUNCH, {"params": {"assetSelection": assets, "partitionNames": chosen}}
    )["launchPartitionBackfill"]
    assert launched["__typename"] == "LaunchBackfillSuccess", launched
    backfill = launched["backfillId"]
    wait_for("backfill", lambda: watched.succeeded(backfill=backfill) >= set(chosen))
    started = [
        project for _, project, tags in watched.runs() if tags.get("dagster/backfill") == backfill
    ]
    assert sorted(filter(None, started)) == chosen


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_backfill_from_the_command_line_runs_every_project(watched: Dagster) -> None:
    """`dagster job backfill` over all partitions of the job."""
    known = {row["id"] for row in watched.ask(BACKFILLS)["partitionBackfillsOrError"]["results"]}
    home = Path(watched.environment["MEMORY_DATA_DIR"]) / "dagster"
    workspace = str(REPOSITORY / "workspace.yaml")
    arguments = ["-j", "ingest_project", "-w", workspace, "--all", "all", "--noprompt"]
    done = subprocess.run(
        [BIN / "dagster", "job", "backfill", *arguments],
        env={**watched.environment, "DAGSTER_HOME": str(home)},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows = watched.ask(BACKFILLS)["partitionBackfillsOrError"]["results"]
    new = [row["id"] for row in rows if row["id"] not in known]
    assert len(new) == 1
    wait_for("backfill", lambda: watched.succeeded(backfill=new[0]) >= PROJECTS)


@pytest.mark.timeout(600)
def test_every_check_shows_as_passed(watched: Dagster) -> None:
    """The page shows each check of each asset of a project green."""
    of_projects = {asset.key.to_user_string() for asset in ASSETS}

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
