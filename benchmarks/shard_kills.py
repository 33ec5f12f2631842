"""Kills of who writes a shard, at random moments: is anything lost, or there twice?

    python -m benchmarks.shard_kills [--kills 40] [--s3] [--seed 1]

A machine takes in a turn more and pushes it; a worker derives from its shard. One of both is a
process that is killed (-9) after a random part of the time that it took when nobody killed it. Then
both run unharmed, somebody pulls both shards into an empty directory, and what came is compared
with what was said: every turn is in each, once. At the end there is no object that no head names.

`--s3`: objects are in moto's S3 server on loopback (`pip install 'moto[server]'`), which lets two
conditional writes of one key through at once; there is one writer of a key at a time here.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from memory_assets.pipeline.ingest.passes import PASSES, Task, run_task
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings, load_settings
from memory_assets.shards import derive as deriving
from memory_assets.shards.pull import pull
from memory_assets.shards.push import push
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import USER_PROMPTS
from memory_assets.stores.shard.objects import open_objects
from memory_assets.stores.shard.replicas import replicas_of
from memory_assets.stores.shard.shard import Manifest, Shard

SESSION = "3f2a9c51-7d4e-4b8a-9c06-15e8d2f7a0b3"
PROJECT, NAME = "-work-app", "laptop"
PLACES = ("in", "out")
_PORT = 18_471


class Company:
    """A machine, a worker, and their shards below an address."""

    def __init__(self, root: Path, store: str) -> None:
        self.root, self.store, self.said = root, store, 0
        self._engines: dict[str, Any] = {}
        self._engines["redactor"] = self._opened(self._settings("data")).redactor

    def _settings(self, place: str) -> Settings:
        return load_settings(
            data_dir=self.root / place,
            projects_dir=self.root / "projects",
            agents="claude-code",
            embedder="none",
            vector_backend="none",
        )

    def _opened(self, settings: Settings) -> Components:
        components = Components(settings)
        components.opened.update(self._engines)
        return components

    def say(self) -> None:
        """Let the user say something more."""
        self.said += 1
        path = self.root / "projects" / PROJECT / f"{SESSION}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f"question number {self.said} about the lighthouse"
        line = {
            "type": "user",
            "uuid": f"{self.said:08d}{SESSION[8:]}",
            "sessionId": SESSION,
            "timestamp": f"2026-11-01T10:{self.said // 60:02d}:{self.said % 60:02d}Z",
            "cwd": "/work/app",
            "message": {"role": "user", "content": text},
        }
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def machine(self) -> None:
        """Take in what was said, and push."""
        components = self._opened(self._settings("data"))
        for part in PASSES:
            for _ in run_task(components, Task(PROJECT, part.assets)):
                pass
        shard = Shard(open_objects(f"{self.store}/in"), NAME)
        push(components, shard, erase_traces=lambda names: 0)

    def worker(self) -> None:
        """Derive from the machine's shard."""
        setattr(deriving, "Components", self._opened)  # noqa: B010
        source, target = (f"{self.store}/{place}" for place in PLACES)
        work = deriving.Work(self._settings("worker"), source, target, NAME)
        assert not deriving.derive(work).failed

    def check(self) -> None:
        """Pull both shards, and write down what is in them, and what no head names."""
        found = Counter[str]()
        with TemporaryDirectory(dir=self.root) as empty:
            for place in PLACES:
                settings = self._settings(f"{Path(empty).name}/{place}")
                objects = open_objects(f"{self.store}/{place}")
                (pulled,) = pull(settings, objects)
                assert not pulled.failed, pulled.failed
                (replica,) = replicas_of(settings.data_dir)
                rows = Lake(replica.directory / "lake").read(USER_PROMPTS, PROJECT, SESSION)
                texts = Counter(rows.column("text").to_pylist())
                found["lost"] += self.said - len(texts)
                found["twice"] += texts.total() - len(texts)
                shard = Shard(objects, NAME)
                head = shard.head()
                assert head is not None
                named = {f"heads/{head.generation:012d}", *head.projects.values()}
                for key in head.projects.values():
                    named |= {each for each, _ in Manifest.of(shard.get(key)).files.values()}
                there = {key.removeprefix(f"{NAME}/") for key in objects.keys(NAME)}
                found["unnamed objects"] += len(there - named)
        (self.root / "found").write_text(json.dumps(found))


def in_fork(what: Callable[[], None], kill_after: float | None = None) -> float:
    """Do something in a fork, killed after so many seconds; return how long it took, negative if it
    was killed."""
    begun = time.monotonic()
    process = os.fork()
    if not process:
        code = 1
        try:
            what()
            code = 0
        finally:
            os._exit(code)
    ended = 0
    while not ended and (kill_after is None or time.monotonic() - begun < kill_after):
        ended, status = os.waitpid(process, os.WNOHANG)
        time.sleep(0.001)
    if not ended:
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), f"{what} failed"
    return (time.monotonic() - begun) * (1 if code == 0 else -1)


def measure(company: Company, kills: int, seed: int) -> dict[str, int]:
    """Kill so many times; return how many of them came before the end, and what was wrong after
    any of them."""
    rng, result = random.Random(seed), Counter[str]()
    roles = (company.machine, company.worker)
    usual = {}
    for _ in range(2):  # the second time as often later
        company.say()
        usual = {role: in_fork(role) for role in roles}
    while result["killed"] < kills:
        company.say()
        role = roles[result["killed"] % 2]
        if role == company.worker:
            in_fork(company.machine)
        killed = in_fork(role, usual[role] * rng.random()) < 0
        result["killed" if killed else "ended before"] += 1
        for again in roles:
            in_fork(again)
        in_fork(company.check)
        result.update(json.loads((company.root / "found").read_text()))
    return dict(result)


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--s3", action="store_true")
    given = parser.parse_args()
    with TemporaryDirectory() as directory:
        root = Path(directory)
        if not given.s3:
            print(measure(Company(root, str(root / "store")), given.kills, given.seed))
            return
        program = Path(sys.executable).with_name("moto_server")
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        server = subprocess.Popen([program, "-H", "127.0.0.1", "-p", str(_PORT)], **quiet)
        address = f"http://127.0.0.1:{_PORT}"
        os.environ |= {"AWS_ENDPOINT_URL": address, "AWS_REGION": "us-east-1"}
        os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        try:
            for _ in range(100):
                try:
                    urlopen(Request(f"{address}/memories", method="PUT"), timeout=10).close()
                    break
                except URLError:
                    time.sleep(0.3)
            print(measure(Company(root, "s3://memories"), given.kills, given.seed))
        finally:
            server.kill()


if __name__ == "__main__":
    main()
