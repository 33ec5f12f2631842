"""The tasks of an ingest in several processes: each takes one project at a time, or a share of
a large one.

A worker that ends takes down only the task it was at; another one takes its place. A worker
whose parent is gone finishes its task and ends; at a share it stops when another process takes the
project. `concurrent.futures.ProcessPoolExecutor` promises
neither: when one of its processes ends, it ends all others and fails every task that it was given.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from types import FrameType
from typing import TYPE_CHECKING, Any

from memory_assets.errors import MemoryAssetsError, no_text_in_errors
from memory_assets.pipeline.ingest.passes import Outcome, Task, run_task
from memory_assets.pipeline.ingest.shares import SharedTask, run_share, with_shares
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings
from memory_assets.transcripts import Source

if TYPE_CHECKING:
    Channel = Connection[Any, Any]

_MOST_WORKERS = 4
_WORTH_IT_BYTES = 16_000_000
"""Below this size, starting a second process costs more than it saves."""
_MOST_ENDED = 5
"""After this many processes have ended by themselves, no further one is started."""
_GRACE_SECONDS = 30.0
"""Time for interrupted workers to end their task."""


def worker_count(settings: Settings, projects: int, source_bytes: int) -> int:
    """Return how many processes to use for so many projects, whose transcripts have
    `source_bytes`."""
    if settings.ingest_workers is None and source_bytes < _WORTH_IT_BYTES:
        return 1
    return max(1, min(_most_workers(settings), projects))


def _most_workers(settings: Settings) -> int:
    wanted = settings.ingest_workers
    return min(_usable_cpus(), _MOST_WORKERS) if wanted is None else wanted


class Workers:
    """The processes that run the tasks of one ingest; they stay for its next pass."""

    count = 1
    """How many there are; with 1, tasks are run in this process."""

    def __init__(self, components: Components) -> None:
        self._components = components
        self._idle: list[_Worker] = []
        self._busy: dict[Channel, _Worker] = {}
        self._ended = 0
        self._shared: SharedTask | None = None

    def close(self) -> None:
        """End the processes; those that are at work are interrupted."""
        busy = [worker.process for worker in self._busy.values()]
        processes = [*busy, *(worker.process for worker in self._idle)]
        for worker in (*self._idle, *self._busy.values()):
            worker.pipe.close()
        _interrupt(busy)
        for process in processes:
            process.wait()
        if self._shared is not None:
            self._shared.end()

    def with_shares(
        self, tasks: Sequence[Task], sources: Mapping[str, Sequence[Source]]
    ) -> list[Task]:
        """Return tasks with those marked of which several processes should make shares, for which
        there are enough processes then. `sources`: the transcripts of each project."""
        count = _most_workers(self._components.settings)
        sizes = {
            task.project: sum(each.size for each in sources.get(task.project, ())) for task in tasks
        }
        marked = with_shares(self._components, tasks, sizes if sources else {}, count)
        if any(task.shared for task in marked):
            self.count = max(self.count, count)
        return marked

    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Run tasks; yield what comes of them as it comes. They are begun in this order, but for
        projects that a worker is at. Those with a limit, for a first answer, are run in this
        process, which is ready; the others start after its first step, because before it a new
        machine compiles the scanners' patterns on two cores."""
        if self.count == 1:
            for task in tasks:
                yield from run_task(self._components, task)
            return
        left = [task for task in tasks if task.limit is None]
        if left and not self._idle:
            first = (task for task in tasks if task.limit is not None)
            for outcome in chain.from_iterable(run_task(self._components, task) for task in first):
                if not self._idle:
                    self._idle += [self._start() for _ in range(self.count)]
                yield outcome
        else:
            left = list(tasks)
        while left or self._busy or self._shared is not None:
            yield from self._share(left)
            self._give(left)
            if not self._busy:
                break
            for pipe in wait(list(self._busy)):
                yield from self._receive(self._busy[pipe], left)  # type: ignore[index]
        if self._shared is not None:
            self._shared.end()
            self._shared = None
        for task in left:
            yield from task.all_failed("not begun: processes kept ending")

    def _share(self, left: list[Task]) -> Iterator[Outcome]:
        """Begin a shared task when it is the next one, and go on with the one under way, until
        there are shares to give, at the head of what is left, or none is under way."""
        while self._shared is not None or (left and left[0].to_share):
            shared = self._shared = self._shared or SharedTask(
                self._components, left.pop(0), self.count
            )
            for each in shared.advance():
                if isinstance(each, list):
                    left[:0] = each
                else:
                    yield each
            if not shared.is_done:
                return
            self._shared = None

    def _give(self, left: list[Task]) -> None:
        """Give every idle worker, and new ones up to the count, a task of its own project."""
        while left and self._ended < _MOST_ENDED:
            taken = {worker.task.project for worker in self._busy.values() if worker.task}
            free = (task for task in left if task.share or task.project not in taken)
            task = next((task for task in free if not task.to_share), None)
            if task is None or len(self._busy) == self.count:
                return
            worker = self._idle_for(task) or self._start()
            left.remove(task)
            worker.task = task
            self._busy[worker.pipe] = worker
            with suppress(OSError):  # it has ended, as we shall hear
                worker.pipe.send(task)

    def _idle_for(self, task: Task) -> _Worker | None:
        """Return an idle worker: the one that made the same share of the round before, which
        has its records in memory, if that is idle."""
        number = task.share.number if task.share else -1
        self._idle.sort(key=lambda worker: worker.share == number)
        return self._idle.pop() if self._idle else None

    def _start(self) -> _Worker:
        ours, theirs = Pipe()
        # What the new process inherits, until it can take an interrupt without a traceback.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", __spec__.name, str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        components = self._components
        ours.send((components.settings, components.run_id))
        return _Worker(process, ours)

    def _receive(self, worker: _Worker, left: list[Task]) -> Iterator[Outcome]:
        """Receive one message of a busy worker: an outcome, the end of its task, or why it
        cannot run any. Of a share that is lost, the other shares are not begun any more."""
        assert worker.task is not None
        task = worker.task
        try:
            message = worker.pipe.recv()
        except (EOFError, OSError):
            code = worker.process.wait()
            message = f"its process ended with code {code}; run `memory ingest` again"
        if isinstance(message, str):
            del self._busy[worker.pipe]
            worker.pipe.close()
            self._ended += 1
            if task.share and self._shared is not None:
                left[:] = [each for each in left if not each.share]
                at_it = [each for each in self._busy.values() if each.task and each.task.share]
                self._shared.give_up(len(at_it))
            yield from task.all_failed(message)
        elif message is None:
            del self._busy[worker.pipe]
            worker.task, worker.share = None, task.share.number if task.share else -1
            self._idle.append(worker)
            if task.share and self._shared is not None:
                self._shared.working -= 1
        elif task.share and self._shared is not None:
            self._shared.note(task.share, message)
        else:
            yield message


@dataclass
class _Worker:
    """A process, our end of its pipe, and the task that it is running."""

    process: subprocess.Popen[bytes]
    pipe: Channel
    task: Task | None = None
    share: int = -1
    """The number of the share that it made last; -1 after a task that was not shared."""


def _interrupt(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End the workers by SIGINT, so that they release what they hold, then by SIGTERM."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        for process in processes:
            if process.poll() is None:
                process.send_signal(stop)
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_SECONDS)


def _run_tasks(pipe: Channel) -> None:
    """Run the tasks received through the pipe, after the start, until it is closed."""

    def send(message: object) -> None:
        with suppress(OSError):  # the parent is gone; the task is finished all the same
            pipe.send(message)

    signal.signal(signal.SIGINT, _interrupt_once)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        settings, run_id = pipe.recv()
        with no_text_in_errors():
            components = Components(settings).for_run(run_id)
            while True:
                try:
                    task = pipe.recv()
                except (EOFError, OSError):
                    return
                shared = partial(run_share, tell=send)
                for outcome in (shared if task.share else run_task)(components, task):
                    send(outcome)
                send(None)
    except MemoryAssetsError as error:
        send(str(error))
    except KeyboardInterrupt:
        return


def _interrupt_once(number: int, frame: FrameType | None) -> None:
    """Unwind at the first interrupt. A terminal sends one and our parent another, which would come
    while this process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    _run_tasks(Connection(int(sys.argv[1])))
