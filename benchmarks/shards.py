"""What many shards cost: a question over them, a tick of the coordinator, two workers against one.

    . benchmarks' environment: MEMORY_DATA_DIR with a memory that was ingested
    python -m benchmarks.shards questions [--shards 100]
    python -m benchmarks.shards coordinator [--shards 3000]
    python -m benchmarks.shards workers [--shards 8]

`questions` pushes the memory once and copies what is pulled; asks nine questions over all copies,
the first of which opens them. `coordinator` writes heads alone, and evaluates the sensor until all
tenants are asked for. `workers` derives the shards, by one process and by two.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from memory_assets.pipeline.stage.components import Components
from memory_assets.recall.memory import Memory
from memory_assets.settings import Settings, load_settings
from memory_assets.shards.derive import Work
from memory_assets.shards.pull import pull
from memory_assets.shards.push import push
from memory_assets.shards.workers import derive_all
from memory_assets.stores.files.shared import REPLICA_FILE
from memory_assets.stores.shard.objects import open_objects
from memory_assets.stores.shard.replicas import replicas_of
from memory_assets.stores.shard.shard import Head, Shard

QUESTIONS = (
    "why does the test fail on a slow machine",
    "where is the configuration of the server read",
    "how do I run the migrations",
    "TypeError: cannot read properties of undefined",
    "what did we decide about retries",
    "rename the module and fix the imports",
    "the build is slow in CI",
    "which port does the proxy listen on",
    "add a dark theme",
)


def cpu() -> float:
    """CPU seconds of this process and of the children that ended."""
    own, children = (
        resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def pushed(settings: Settings, root: Path) -> str:
    """Push the memory into a directory of objects; return its address."""
    url = str(root / "in")
    push(
        Components(settings), Shard(open_objects(url), "0000/laptop"), erase_traces=lambda names: 0
    )
    return url


def questions(settings: Settings, root: Path, shards: int) -> None:
    """Ask nine questions over copies of one shard."""
    here = replace(settings, data_dir=root / "machine", vector_backend="none", shard=None)
    pull(here, open_objects(pushed(settings, root)))
    (first,) = replicas_of(here.data_dir)
    for number in range(1, shards):
        copy = first.directory.with_name(f"copy-{number}")
        shutil.copytree(first.directory, copy, copy_function=linked)
        note = json.loads((copy / REPLICA_FILE).read_text())
        (copy / REPLICA_FILE).unlink()
        (copy / REPLICA_FILE).write_text(
            json.dumps({**note, "url": f"{root}/in/{number:04}/laptop"})
        )
    memory, times, walls = Memory(here), list[float](), list[float]()
    for text in (QUESTIONS[-1], *QUESTIONS):
        began, wall = time.process_time(), time.perf_counter()
        memory.search(text, over=("all",), n=10)
        times.append(time.process_time() - began)
        walls.append(time.perf_counter() - wall)
    print(f"first {times[0]:.2f} CPU s; then", " ".join(f"{each:.2f}" for each in times[1:]))
    usual, worst = statistics.median(times[1:]), max(times[1:])
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"median {usual:.2f}, worst {worst:.2f} CPU s; {max(walls[1:]):.2f} s; {size:.2f} GB")


def linked(source: str, target: str) -> str:
    """Link a file, or copy a database, which is opened for writing."""
    if ".db" in source or source.endswith(".json"):
        shutil.copy2(source, target)
    else:
        Path(target).hardlink_to(source)
    return target


def coordinator(settings: Settings, root: Path, shards: int) -> None:
    """Evaluate the sensor over heads, at first and when nothing changed."""
    import dagster as dg

    from memory_assets.dagster import tenants

    objects = open_objects(str(root / "in"))
    for number in range(shards):
        Shard(objects, f"{number:05}/laptop").swap_head(Head(1, "now"))
    given = load_settings(data_dir=root / "worker", derive_from=root / "in", derive_to=root / "out")
    sensor = tenants.build_defs(given).resolve_sensor_def("shard_heads_sensor")
    cursor: str | None = None
    with dg.DagsterInstance.ephemeral() as instance:
        for name in ("all are due", "all were asked for"):
            context = dg.build_sensor_context(
                instance, cursor=cursor, resources={"settings": given}
            )
            began = time.process_time()
            result = sensor(context)
            took = time.process_time() - began
            assert isinstance(result, dg.SensorResult)
            cursor = str(result.cursor)
            runs = len(list(result.run_requests or ()))
            print(f"{name}: {took:.2f} CPU s, {took / shards * 1000:.2f} ms a shard, {runs} runs")


def workers(settings: Settings, root: Path, shards: int) -> None:
    """Derive the shards anew, by one process and by two."""
    source = Path(pushed(settings, root))
    for number in range(1, shards):
        shutil.copytree(source / "0000", source / f"{number:04}", copy_function=linked)
    for count in (1, 2):
        out = root / f"out-{count}"
        given = replace(settings, data_dir=root / "scratch", ingest_workers=count)
        works = [
            Work(given, str(source), str(out), f"{number:04}/laptop") for number in range(shards)
        ]
        began, wall = cpu(), time.perf_counter()
        assert not [each.failed for each in derive_all(given, works) if each.failed]
        took = cpu() - began
        print(
            f"{count} workers: {took:.1f} CPU s, {took / shards:.2f} a shard, "
            f"{time.perf_counter() - wall:.0f} s"
        )
        shutil.rmtree(out)
        shutil.rmtree(root / "scratch")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    asked: dict[str, tuple[Callable[[Settings, Path, int], None], int]] = {
        "questions": (questions, 100),
        "coordinator": (coordinator, 3000),
        "workers": (workers, 8),
    }
    parser.add_argument("what", choices=asked)
    parser.add_argument("--shards", type=int)
    given = parser.parse_args()
    run, usual = asked[given.what]
    with TemporaryDirectory() as root:
        run(load_settings(), Path(root), given.shards or usual)


if __name__ == "__main__":
    main()
