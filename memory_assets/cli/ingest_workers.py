"""`memory ingest` with several processes: each runs whole projects, one after the other.

A worker that ends takes down only the project it was at; another one takes its place.
A worker whose parent is gone finishes its project and ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from memory_assets.cli.dagster_home import open_instance
from memory_assets.cli.ingest import IngestResult, Progress, ProjectRuns, begin
from memory_assets.dagster.resources import MemoryResource
from memory_assets.errors import MemoryAssetsError, no_text_in_errors
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.pipeline.scan.on_disk import one_walk
from memory_assets.settings import Settings

if TYPE_CHECKING:
    Channel = Connection[Any, Any]

_MOST_WORKERS = 4
_WORTH_IT_BYTES = 16_000_000
"""Below this size, starting a second process costs more than it saves."""
_MOST_ENDED = 5
"""After this many processes have ended by themselves, no further one is started."""
_GRACE_SECONDS = 30.0
"""Time for interrupted workers to mark their runs as failed."""


def worker_count(settings: Settings, plans: Sequence[ProjectPlan], source_bytes: int) -> int:
    """Return how many processes to use for `plans`, whose transcripts have `source_bytes`."""
    wanted = settings.ingest_workers
    if wanted is None:
        cpus = min(_usable_cpus(), _MOST_WORKERS)
        wanted = cpus if source_bytes >= _WORTH_IT_BYTES else 1
    return max(1, min(wanted, len(plans)))


@dataclass
class _Worker:
    """A process, our end of its pipe, and the project that it is running."""

    process: subprocess.Popen[bytes]
    pipe: Channel
    work: ProjectPlan | None = None


def run_in_workers(
    settings: Settings,
    plans: Sequence[ProjectPlan],
    workers: int,
    *,
    limit: int | None = None,
    progress: Progress = lambda project, step, share: None,
) -> IngestResult:
    """Materialize the projects of `plans`, begun in this order, in `workers` processes.

    `limit` bounds the new or changed files of each project. An interrupt ends the workers,
    whose runs end as failed, and is raised again.
    """
    result, left = IngestResult(), deque(plans)
    with open_instance(settings) as instance:
        begin(instance, plans)
    busy: dict[Channel, _Worker] = {}
    processes: list[subprocess.Popen[bytes]] = []
    ended = 0

    def give(worker: _Worker | None) -> None:
        """Give the next project to a worker, to a new one if there is none."""
        if worker is None:
            worker = _start(settings)
            processes.append(worker.process)
        worker.work = left.popleft()
        busy[worker.pipe] = worker
        with suppress(OSError):  # it has ended, as we shall hear
            worker.pipe.send((worker.work, limit))

    try:
        for _ in range(workers):
            give(None)
        while busy:
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                _receive(worker, result, progress)
                if worker.work is None:
                    del busy[worker.pipe]
                    alive = not worker.pipe.closed
                    ended += not alive
                    if left and ended < _MOST_ENDED:
                        give(worker if alive else None)
                    elif alive:
                        worker.pipe.close()
        result.failed.update((work.project, "not begun: processes kept ending") for work in left)
    except BaseException:
        for worker in busy.values():
            worker.pipe.close()
        _interrupt(processes)
        raise
    for process in processes:
        process.wait()
    return result


def _start(settings: Settings) -> _Worker:
    ours, theirs = Pipe()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", __spec__.name, str(theirs.fileno())],
        pass_fds=(theirs.fileno(),),
        stdin=subprocess.DEVNULL,
    )
    theirs.close()
    ours.send(settings)
    return _Worker(process, ours)


def _receive(worker: _Worker, result: IngestResult, progress: Progress) -> None:
    """Receive one message from a worker; a worker without a project after it has finished the
    project, or has ended."""
    assert worker.work is not None
    project = worker.work.project
    try:
        message = worker.pipe.recv()
    except (EOFError, OSError):
        code = worker.process.wait()
        result.failed[project] = f"its process ended with code {code}; run `memory ingest` again"
    else:
        if isinstance(message, tuple):
            progress(*message)
            return
        if isinstance(message, IngestResult):
            result.add(message)
            worker.work = None
            return
        result.failed[project] = str(message)
    worker.pipe.close()
    worker.work = None


def _interrupt(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End the workers by SIGINT, so that they mark their runs as failed, then by SIGTERM."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        for process in processes:
            if process.poll() is None:
                process.send_signal(stop)
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_SECONDS)


class _ProgressSender:
    """Sends progress and results to the parent process while it is alive."""

    def __init__(self, pipe: Channel) -> None:
        self._pipe = pipe

    def step(self, project: str, step: str, share: float) -> None:
        self.send((project, step, share))

    def send(self, message: object) -> None:
        try:
            self._pipe.send(message)
        except OSError:
            return  # the parent is gone; the project is finished all the same


def _run_projects(pipe: Channel) -> None:
    """Run the projects received through the pipe, after the settings, until it is closed."""
    sender = _ProgressSender(pipe)
    try:
        settings: Settings = pipe.recv()
        components = MemoryResource(settings).components()
        with no_text_in_errors(), open_instance(settings) as instance, one_walk(components):
            runs = ProjectRuns(settings, instance, sender.step)
            while True:
                try:
                    work, limit = pipe.recv()
                except (EOFError, OSError):
                    return
                result = IngestResult()
                runs.run(work, result, limit)
                sender.send(result)
    except MemoryAssetsError as error:
        sender.send(str(error))
    except KeyboardInterrupt:
        return


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    _run_projects(Connection(int(sys.argv[1])))
