"""The processes of `deploy/compose.scale.yml`, started by hand: PostgreSQL, an S3 server, the code
server with two workers, and Dagster's daemon."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen
from uuid import NAMESPACE_DNS, uuid5

import pytest
import yaml

from memory_assets_tests.conftest import REPOSITORY
from memory_assets_tests.dagster.instances import postgres_server

pytestmark = [pytest.mark.long, pytest.mark.timeout(1_200)]

BIN = Path(sys.executable).parent
COMPOSE = yaml.safe_load((REPOSITORY / "deploy/compose.scale.yml").read_text())["services"]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for(what: Callable[[], Any], seconds: float = 90.0) -> Any:
    """Wait until something is so, and return it."""
    deadline = time.monotonic() + seconds
    while not (value := what()):
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.5)
    return value


class Deployment:
    """The processes, and people who push."""

    def __init__(self, root: Path, postgres: int, s3: int, after: ExitStack) -> None:
        self.root, self._after = root, after
        self.port = free_port()
        self.dagster_home = root / "dagster"
        self.dagster_home.mkdir()
        for name in ("dagster.yaml", "workspace.yaml"):
            text = (REPOSITORY / "deploy/scale" / name).read_text()
            (self.dagster_home / name).write_text(text.replace("4266", str(self.port)))
        self.bucket = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{s3}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }
        given = {
            **{name: str(each) for name, each in COMPOSE["workers"]["environment"].items()},
            **self.bucket,
            "DAGSTER_POSTGRES_URL": f"postgresql://dagster:@127.0.0.1:{postgres}/postgres",
            "WORKERS_HOST": "127.0.0.1",
            "MEMORY_EMBEDDER": "all-MiniLM-L6-v2",
            "MEMORY_EMBEDDER_KEY": "",
            "MEMORY_DATA_DIR": str(root / "scratch"),
            "DAGSTER_HOME": str(self.dagster_home),
        }
        self.environment = {name: value for name, value in given.items() if name != "<<"}

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a program of the environment, in a home of the workers'."""
        log = self._after.enter_context((self.root / f"{command[0]}.log").open("ab"))
        process = subprocess.Popen(
            [BIN / command[0], *command[1:]],
            env={**self._home("worker"), **self.environment},
            cwd=self.dagster_home,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._after.callback(end, process)
        return process

    def _home(self, name: str) -> dict[str, str]:
        home = self.root / "homes" / name
        home.mkdir(parents=True, exist_ok=True)
        return {"HOME": str(home), "PATH": os.environ["PATH"], "TMPDIR": str(self.root)}

    def memory(self, who: str, *command: str, **given: str) -> str:
        """Run `memory` as one of the people, on a machine of their own."""
        environment = {
            **self._home(who),
            **self.bucket,
            "MEMORY_SHARD": f"s3://memories/{who}",
            "MEMORY_SHARD_NAME": "laptop",
            "VECTOR_BACKEND": "none",
            "MEMORY_DATA_DIR": str(self.root / "homes" / who / "data"),
            "MEMORY_AGENTS": "claude",
            **given,
        }
        done = subprocess.run(
            [BIN / "memory", *command], env=environment, capture_output=True, text=True, timeout=200
        )
        assert done.returncode in (0, 3), done.stdout + done.stderr  # 3: what was found is weak
        return done.stdout + done.stderr

    def say(self, who: str, number: int, text: str) -> None:
        """Let a person say something to their agent, and take it in."""
        session = str(uuid5(NAMESPACE_DNS, who))
        path = self.root / "homes" / who / ".claude/projects/-work-app" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        uuid = f"{number:08d}{session[8:]}"
        with path.open("a") as file:
            said = {"role": "user", "content": text}
            at = {"timestamp": f"2026-11-01T10:{number:02d}:00Z", "cwd": "/work/app"}
            line = {"type": "user", "uuid": uuid, "sessionId": session, **at, "message": said}
            file.write(json.dumps(line) + "\n")
        self.memory(who, "ingest")


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process, and all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def s3_server(root: Path) -> Iterator[int]:
    """An S3 server with the two buckets, for a block."""
    port = free_port()
    with (root / "moto.log").open("wb") as log:
        server = subprocess.Popen(
            [BIN / "moto_server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log
        )
    try:

        def made() -> bool:
            try:
                for bucket in ("memories", "derived"):
                    urlopen(Request(f"http://127.0.0.1:{port}/{bucket}", method="PUT"), timeout=5)
            except OSError:
                return False
            return True

        wait_for(made)
        yield port
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """All of it, under way."""
    with ExitStack() as after:
        s3 = after.enter_context(s3_server(tmp_path))
        postgres = after.enter_context(postgres_server())
        yield Deployment(tmp_path, postgres, s3, after)


def test_what_people_push_is_derived_and_found(deployment: Deployment) -> None:
    """Two people push; the sensor asks for one run; two workers derive their shards; whoever pulls
    these finds a turn of each, by meaning. A turn more comes; the workers are killed while they are
    at it, start again, and it is there once."""
    grpc = ("--host", "127.0.0.1", "--port", str(deployment.port))
    code_server = ("dagster", "api", "grpc", *grpc, "-m", "memory_assets.dagster.tenants")
    deployment.say("alice", 1, "why does the lighthouse lamp flicker at dusk?")
    deployment.say("bob", 1, "how do I rotate the harbour certificates?")
    workers = deployment.start(*code_server)
    deployment.start(*COMPOSE["daemon"]["command"])

    def found(question: str) -> str:
        deployment.memory("carol", "pull", "s3://derived")
        return deployment.memory("carol", "search", question, "--over", "all")

    wait_for(lambda: len(names(deployment)) == 2)
    assert "alice/laptop" in found("lamp of the beacon blinks in the evening")
    assert "bob/laptop" in found("renewing TLS keys of the port")
    deployment.say("alice", 2, "the kangaroo fence is broken again")
    # The run is under way when the worker's copy is not known to be the shard's any more.
    copy = next((deployment.root / "scratch/shards").glob("alice-laptop-*/replica.json"))
    wait_for(lambda: not json.loads(copy.read_text())["head"], 100)
    os.killpg(workers.pid, signal.SIGKILL)
    workers.wait()
    deployment.start(*code_server)
    fence = "kangaroo fence is broken again"
    wait_for(lambda: fence in found(fence), 240)
    assert found(fence).count(f"the {fence}") == 1


def names(deployment: Deployment) -> set[str]:
    """The shards that were derived."""
    address = deployment.bucket["AWS_ENDPOINT_URL"]
    with urlopen(f"{address}/derived?list-type=2", timeout=10) as answer:
        text = answer.read().decode()
    return {name for name in ("alice", "bob") if f"<Key>{name}/laptop/heads/" in text}
