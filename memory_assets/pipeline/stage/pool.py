"""Work on sessions in other processes, before this one comes to it.

A `Job` is a pure function of one session: it reads, and returns results by what they are made of.
The stages ask for a result as they come to a session (`take`); what no job has made, or was made
of something else meanwhile, they make themselves. So nothing depends on the jobs but time, and
one process alone writes.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from multiprocessing import Pipe, get_context, parent_process
from multiprocessing.connection import Connection, wait
from threading import Lock, Thread, current_thread, main_thread
from typing import Any, ParamSpec, TypeVar

from memory_assets.errors import ProcessEnded
from memory_assets.settings import Settings

Session = tuple[str, str]
"""Project and session id."""
Results = dict[Hashable, Any]
"""What a job made, by stage or file and by the hash of what it was made of."""

Make = Callable[[Any], Results]
"""Makes results with the stores and engines (`Components`) of the process that it is in."""

BYTES_A_SECOND = 4e6
"""Transcripts read, redacted and cut into turns in a CPU second."""
_MOST_WORKERS = 4
_WORTH_IT_SECONDS = 4.0
"""CPU seconds of work below which starting processes costs more than it saves."""
_MOST_BYTES = 64 << 20
"""Bytes of transcripts or tables whose results may wait for this process."""
_MOST_BROKEN = 5
"""After so many pools have broken, this process does what is left itself."""

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Job:
    """Work on a session. `make` can be pickled; `seconds` of CPU it takes, about, for a session of
    `bytes`."""

    session: Session
    make: Make
    seconds: float
    bytes: int = 0


@dataclass
class _Begun:
    """A job that was given to the pool; `results` once they were waited for."""

    job: Job
    future: Future[tuple[Results, Any]]
    results: Results | None = None
    suspected: bool = False
    """Whether it may have been what ended a process."""


class Processes(ProcessPoolExecutor):
    """Processes that end at once when they are shut down, or when this process ends: they write
    nothing, so nothing is lost. An interrupt of the terminal is left to this process. On Linux they
    are forked from one that has imported `module`, so that it is imported once for all."""

    def __init__(self, count: int, module: str) -> None:
        theirs, self.until_closed = Pipe(duplex=False)
        context = get_context("forkserver" if sys.platform == "linux" else "spawn")
        context.set_forkserver_preload([module])
        given = (theirs, dict(os.environ))  # a fork has that of the time of the first one
        super().__init__(count, mp_context=context, initializer=_begin, initargs=given)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in one of the processes, which are started as they are needed."""
        with interrupt_waits():
            return super().submit(_at_work, fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes."""
        self.until_closed.close()
        super().shutdown(wait, cancel_futures=cancel_futures)


@contextmanager
def interrupt_waits() -> Iterator[None]:
    """Hold an interrupt back until the end. Processes that are started within inherit that it is
    blocked. The handler waits, too: another thread may receive the interrupt, and it runs in the
    main one, where it would leave a process half started, which then prints a traceback."""
    interrupts = list[int]()
    is_main = current_thread() is main_thread()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    handler = signal.getsignal(signal.SIGINT)
    if is_main:
        signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number in interrupts[:1]:
            signal.raise_signal(number)


@dataclass
class _Worker:
    """What one of the processes is at; `lock` is held to change it."""

    lock: Lock
    is_at_work: bool = False
    is_closed: bool = False


_WORKER = _Worker(Lock())


def _begin(until_closed: Connection[Any, Any], environment: Mapping[str, str]) -> None:
    """Have this process end when its parent closes the other end of a pipe, or has ended. While
    it sends a result it goes on: the parent would wait for the rest of the result for ever."""
    gc.freeze()  # no collection writes to what this process has in common with the others
    gc.set_threshold(*_RARELY)
    os.environ.clear()
    os.environ.update(environment)
    parent = parent_process()
    assert parent is not None

    def end() -> None:
        ended = wait([until_closed, parent.sentinel])
        with _WORKER.lock:
            if _WORKER.is_at_work or parent.sentinel in ended:
                os._exit(1)
            _WORKER.is_closed = True
        wait([parent.sentinel])
        os._exit(1)

    Thread(target=end, daemon=True).start()


def _at_work(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in one of the processes, which may end at any time until it returns."""
    with _WORKER.lock:
        if _WORKER.is_closed:
            os._exit(1)
        _WORKER.is_at_work = True
    try:
        return fn(*args, **kwargs)
    finally:
        with _WORKER.lock:
            _WORKER.is_at_work = False


def worker_count(settings: Settings) -> int:
    """Return how many processes to use where there is enough work."""
    if os.name != "posix":
        return 1
    if settings.ingest_workers is not None:
        return max(settings.ingest_workers, 1)
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(usable or 1, _MOST_WORKERS)


class Pool:
    """Runs jobs in the order in which they were given, on an executor that `executor` makes for a
    number of workers. With one worker, or too little work, it runs none. `run` is called there
    with a job's `make`, and returns its results; what it returns beside them, `note` is called
    with here."""

    def __init__(
        self,
        settings: Settings,
        run: Callable[[Make], tuple[Results, Any]],
        note: Callable[[Any], None],
        executor: Callable[[int], Executor],
    ) -> None:
        self._run, self._note, self._new_executor = run, note, executor
        self._workers = worker_count(settings)
        self._least_seconds = _WORTH_IT_SECONDS if settings.ingest_workers is None else 0.0
        self._executor: Executor | None = None
        self._jobs: Iterator[Job] = iter(())
        self._begun: defaultdict[Session, list[_Begun]] = defaultdict(list)
        self._bytes = self._broken = 0

    @property
    def is_running(self) -> bool:
        """Whether there are other processes."""
        return self._executor is not None

    def start(self, jobs: Iterator[Job]) -> None:
        """Have jobs done; not if they are not worth the processes, where there are none yet. They
        are looked at as far as they are begun."""
        if self._workers == 1 or self._broken >= _MOST_BROKEN:
            return
        ahead, seconds = list[Job](), 0.0
        while not self.is_running:
            job = next(jobs, None)
            if job is None:
                return
            ahead.append(job)
            seconds += job.seconds
            if len(ahead) > 1 and seconds >= self._least_seconds:
                self._executor = self._new_executor(self._workers)
        self._jobs = chain(ahead, jobs)
        self._begin()

    def take(self, session: Session, key: Hashable) -> Any | None:
        """Return a result, and keep it no longer; None if no job has it.

        Raises:
            ProcessEnded: what makes it has ended two processes.
        """
        self._begin()
        for begun in self._begun.get(session, ()):
            if begun.results is None:
                begun.results = self._result(begun)
                self._bytes -= begun.job.bytes
                self._begin()
            if isinstance(error := begun.results.get(ProcessEnded), ProcessEnded):
                raise error
            if key in begun.results:
                return begun.results.pop(key)
        return None

    def forget(self, project: str) -> None:
        """Drop the results of a project."""
        for session in [key for key in self._begun if key[0] == project]:
            for begun in self._begun.pop(session):
                if begun.results is None:
                    begun.future.cancel()
                    self._bytes -= begun.job.bytes

    def end_pass(self) -> None:
        """Drop all results, and what is not begun."""
        self._jobs = iter(())
        for begun in chain.from_iterable(self._begun.values()):
            begun.future.cancel()
        self._begun.clear()
        self._bytes = 0

    def close(self) -> None:
        """End the processes, whatever they are at."""
        self.end_pass()
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(cancel_futures=True)

    def _begin(self) -> None:
        """Give jobs to the pool, as long as not too many results wait."""
        while self._executor is not None and self._bytes < _MOST_BYTES:
            job = next(self._jobs, None)
            if job is None:
                return
            self._bytes += job.bytes
            self._begun[job.session].append(_Begun(job, self._submitted(job)))

    def _submitted(self, job: Job) -> Future[tuple[Results, Any]]:
        failed: Future[tuple[Results, Any]] = Future()
        failed.set_exception(BrokenExecutor())
        if self._executor is None:
            return failed
        try:
            return self._executor.submit(self._run, job.make)
        except (BrokenExecutor, OSError):
            return failed  # as `_result` will see

    def _result(self, begun: _Begun) -> Results:
        """Wait for a job; when a process has ended, begin the others again in new ones."""
        while True:
            if begun.suspected:
                return self._alone(begun.job)
            try:
                return self._received(*begun.future.result())
            except BrokenExecutor:
                self._begin_again()

    def _begin_again(self) -> None:
        """Replace a broken pool, and begin again what it has not done. Jobs are begun in order, so
        one of the first of these has ended it; they are suspected."""
        assert self._executor is not None
        self._executor.shutdown(cancel_futures=True)
        self._broken += 1
        left = [
            begun
            for begun in chain.from_iterable(self._begun.values())
            if begun.results is None
            and not begun.suspected
            and (begun.future.cancelled() or isinstance(begun.future.exception(), BrokenExecutor))
        ]
        for begun in left[: self._workers]:
            begun.suspected = True
        enough = self._broken >= _MOST_BROKEN
        self._executor = None if enough else self._new_executor(self._workers)
        for begun in left[self._workers :]:
            begun.results, begun.future = ({} if enough else None), self._submitted(begun.job)

    def _alone(self, job: Job) -> Results:
        """Run a job that may have ended a process in one of its own."""
        executor, error = self._new_executor(1), Results()
        try:
            executor.submit(os.getpid).result()  # else there can be no process
            error = {ProcessEnded: ProcessEnded("it ended two processes that worked on it")}
            return self._received(*executor.submit(self._run, job.make).result())
        except (BrokenExecutor, OSError):
            return error
        finally:
            executor.shutdown(cancel_futures=True)

    def _received(self, results: Results, beside: Any) -> Results:
        self._note(beside)
        return results


_RARELY = (20_000, 20, 50)
"""Thresholds of garbage collection for rows, which are many, live long and hold no cycles."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for unreachable objects after 20,000 new ones instead of 700, and rarely through old
    ones. At the end Python looks through all of them, so that a block is not a short one."""
    before = gc.get_threshold()
    gc.set_threshold(*_RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*before)
