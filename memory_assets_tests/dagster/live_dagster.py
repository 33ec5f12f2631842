"""A running `memory dev` for tests: the real daemon, webserver and code server."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.runs.names import BATCH_OP

REPOSITORY = Path(__file__).resolve().parent.parent.parent
BIN = Path(sys.executable).parent
PATIENCE_SECONDS = 240.0
TIDEPOOL = "-Users-jonas-work-tidepool-web"
SENSOR = "dagster/sensor_name"
"""The tag of a run that a sensor asked for."""
SELECTOR = {"repositoryLocationName": "memory_assets", "repositoryName": "__repository__"}
RUNS = """query { runsOrError(limit: 200) { ... on Runs { results {
  runId status runConfigYaml tags { key value } } } } }"""


@dataclass
class Dagster:
    """A running `memory dev`, and the transcripts it watches."""

    url: str
    environment: dict[str, str]
    transcripts: Path
    process: subprocess.Popen[bytes]
    log: Path
    """What it prints, unless that goes to a terminal."""

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
        """Status, project and tags of every run, once for each of its projects."""
        found = []
        for run in self.ask(RUNS)["runsOrError"]["results"]:
            tags = {tag["key"]: tag["value"] for tag in run["tags"]}
            config = yaml.safe_load(run["runConfigYaml"]) or {}
            batch = config.get("ops", {}).get(BATCH_OP, {}).get("config", {}).get("projects")
            for project in batch or [tags.get("dagster/partition", "")]:
                found.append((run["status"], project, tags))
        return found

    def by_sensor(self) -> Counter[str]:
        """How many runs of each project the sensor of transcripts has asked for."""
        return Counter(
            project
            for _, project, tags in self.runs()
            if project and tags.get(SENSOR) == "projects_directory_sensor"
        )

    def succeeded(self, *, backfill: str | None = None) -> set[str]:
        """Projects with a successful run (of one backfill, or of the sensor)."""
        key, value = ("dagster/backfill", backfill) if backfill else (SENSOR, None)
        return {
            project
            for status, project, tags in self.runs()
            if status == "SUCCESS" and key in tags and value in (None, tags[key])
        }


def wait_for(what: str, condition: Callable[[], bool], *, pause_seconds: float = 1.0) -> None:
    """Poll until the condition holds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except OSError:
            pass
        time.sleep(pause_seconds)  # to ask costs the webserver CPU
    pytest.fail(f"no {what} within {PATIENCE_SECONDS:.0f} s")


@contextmanager
def memory_dev(directory: Path, *, first: Sequence[str] = (), **more: str) -> Iterator[Dagster]:
    """Start `memory dev` on a copy of most of the sample, in a home of its own, with `more`
    in its environment; end it afterwards. `memory ingest` has taken in the projects `first`, each a
    copy of one of TIDEPOOL's sessions."""
    transcripts = directory / "transcripts"
    left_out = shutil.ignore_patterns("-home-mara-code-harbor-api", "*019dd3a0*")
    shutil.copytree(REPOSITORY / "data" / "sample", transcripts, ignore=left_out)
    (directory / "home").mkdir(parents=True)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("DAGSTER_")},
        "HOME": str(directory / "home"),
        "MEMORY_DATA_DIR": str(directory / "memory"),
        "MEMORY_PROJECTS_DIR": str(transcripts / "claude" / "projects"),
        "MEMORY_CODEX_DIR": str(transcripts / "codex"),
        "MEMORY_PI_DIR": str(transcripts / "pi"),
        **more,
    }
    log = directory / "dev.log"
    for name in first:
        copy_of_a_session(transcripts, name)
        ingest = [str(BIN / "memory"), "ingest", "--project", name]
        subprocess.run(ingest, env=environment, check=True, capture_output=True)

    def address() -> str:
        said = re.search(r"Dagster is at (\S+)", log.read_text())
        return said[1] if said else ""

    with log.open("wb") as output:
        process = subprocess.Popen(
            [BIN / "memory", "dev", "--port", "0"],
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            wait_for("address", lambda: bool(address()))
            running = Dagster(address(), environment, transcripts, process, log)
            wait_for("webserver", lambda: bool(running.ask("query { version }")))
            yield running
        finally:
            process.send_signal(signal.SIGINT)  # which does nothing to one that has ended
            process.wait(60)
            chroma_server.stop(directory / "memory")


def copy_of_a_session(transcripts: Path, project: str, digit: str = "2") -> None:
    """Make a project of a copy of a session, with ids and a directory of its own."""
    projects = transcripts / "claude" / "projects"
    (source,) = (projects / TIDEPOOL).glob("5c8e7a13*.jsonl")
    (projects / project).mkdir()
    text = source.read_text().replace("5c8e7a13", digit * 8)
    text = text.replace('"uuid":"', f'"uuid":"{digit}f')
    text = re.sub(r'"cwd":"[^"]*"', f'"cwd":"{project.replace("-", "/")}"', text)
    (projects / project / source.name.replace("5c8e7a13", digit * 8)).write_text(text)


def processes_in(data_dir: Path) -> dict[int, str]:
    """Command lines of the processes that have a data directory in their environment."""
    marked = f"MEMORY_DATA_DIR={data_dir}\0".encode()
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if marked in (directory / "environ").read_bytes() + b"\0":
                command = (directory / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(directory.name)] = command.decode()
        except OSError:
            continue
    return {pid: command for pid, command in found.items() if command}
