"""The pool of worker processes, which compute the rows of sessions before the stages need them.

A `Job` is a pure function of one session: it reads, and returns results, each under the hash of its
input. A stage that comes to a session asks for its result (`take`), and computes it itself if there
is none, or if the input has changed meanwhile. So a lost job costs time only, and one process
alone writes.
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
"""The results of a job, by stage or file and by the hash of their input."""

Make = Callable[[Any], Results]
"""Computes results with the stores and engines (`Components`) of its process."""

BYTES_A_SECOND = 4e6
"""Transcripts read, redacted and cut into turns in a CPU second."""
_MOST_WORKERS = 4
_LEAST_SECONDS = 4.0
"""CPU seconds of work below which starting processes costs more than it saves."""
_MOST_WAITING_BYTES = 64 << 20
"""Bytes of transcripts or tables whose results may wait to be taken."""
_MOST_BROKEN_POOLS = 5
"""After so many pools have broken, this process works alone."""

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Job:
    """Work on a session of `bytes`. `make` can be pickled, and takes about `seconds` of CPU."""

    session: Session
    make: Make
    seconds: float
    bytes: int = 0


@dataclass
class _StartedJob:
    """A job that was submitted; `results` is None until they were waited for."""

    job: Job
    future: Future[tuple[Results, Any]]
    results: Results | None = None
    suspected: bool = False
    """Whether it may have crashed a process."""


class Processes(ProcessPoolExecutor):
    """Processes that end at once when they are shut down, or when this process ends: they write
    nothing, so nothing is lost. An interrupt of the terminal is left to this process. On Linux they
    are forked from one that has imported `module`, so that it is imported once for all."""

    def __init__(self, count: int, module: str) -> None:
        worker_end, self.until_closed = Pipe(duplex=False)
        context = get_context("forkserver" if sys.platform == "linux" else "spawn")
        context.set_forkserver_preload([module])
        # The fork server has the environment of the first fork.
        arguments = (worker_end, dict(os.environ))
        super().__init__(count, mp_context=context, initializer=_start_worker, initargs=arguments)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in one of the processes, which are started as they are needed."""
        with interrupt_waits():
            return super().submit(_run_in_worker, fn, *args, **kwargs)

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
    """The state of a worker process; `lock` is held to change it."""

    lock: Lock
    is_at_work: bool = False
    is_closed: bool = False


_WORKER = _Worker(Lock())


def _start_worker(until_closed: Connection[Any, Any], environment: Mapping[str, str]) -> None:
    """Have this process end when its parent closes the other end of a pipe, or has ended. While it
    sends a result it goes on: the parent would wait for the rest of the result for ever."""
    gc.freeze()  # no collection writes to what this process has in common with the others
    gc.set_threshold(*_RARE_THRESHOLDS)
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


def _run_in_worker(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
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
    """Runs jobs in their order on an executor, which `executor` makes for a number of workers;
    with one worker, or too little work, it runs none. A worker calls `run` with a job's `make`,
    which returns the results and a second value; this process calls `note` with that value."""

    def __init__(
        self,
        settings: Settings,
        run: Callable[[Make], tuple[Results, Any]],
        note: Callable[[Any], None],
        executor: Callable[[int], Executor],
    ) -> None:
        self._run, self._note, self._new_executor = run, note, executor
        self._workers = worker_count(settings)
        self._least_seconds = _LEAST_SECONDS if settings.ingest_workers is None else 0.0
        self._executor: Executor | None = None
        self._jobs: Iterator[Job] = iter(())
        self._started: defaultdict[Session, list[_StartedJob]] = defaultdict(list)
        self._waiting_bytes = self._broken_pools = 0

    @property
    def is_running(self) -> bool:
        """Whether there are other processes."""
        return self._executor is not None

    def start(self, jobs: Iterator[Job]) -> None:
        """Start these jobs, unless they are too little work to start processes for. The iterator is
        consumed only as jobs are submitted."""
        if self._workers == 1 or self._broken_pools >= _MOST_BROKEN_POOLS:
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
        self._submit_jobs()

    def take(self, session: Session, key: Hashable) -> Any | None:
        """Remove and return a result; None if no job has it.

        Raises:
            ProcessEnded: the session's job has crashed two processes.
        """
        self._submit_jobs()
        for started in self._started.get(session, ()):
            if started.results is None:
                started.results = self._result(started)
                self._waiting_bytes -= started.job.bytes
                self._submit_jobs()
            if isinstance(error := started.results.get(ProcessEnded), ProcessEnded):
                raise error
            if key in started.results:
                return started.results.pop(key)
        return None

    def forget(self, project: str) -> None:
        """Drop the results of a project."""
        for session in [key for key in self._started if key[0] == project]:
            for started in self._started.pop(session):
                if started.results is None:
                    started.future.cancel()
                    self._waiting_bytes -= started.job.bytes

    def end_pass(self) -> None:
        """Drop all results, and the jobs that have not started."""
        self._jobs = iter(())
        for started in chain.from_iterable(self._started.values()):
            started.future.cancel()
        self._started.clear()
        self._waiting_bytes = 0

    def close(self) -> None:
        """End the processes at once."""
        self.end_pass()
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(cancel_futures=True)

    def _submit_jobs(self) -> None:
        """Submit jobs, as long as not too many results wait."""
        while self._executor is not None and self._waiting_bytes < _MOST_WAITING_BYTES:
            job = next(self._jobs, None)
            if job is None:
                return
            self._waiting_bytes += job.bytes
            self._started[job.session].append(_StartedJob(job, self._submit(job)))

    def _submit(self, job: Job) -> Future[tuple[Results, Any]]:
        failed: Future[tuple[Results, Any]] = Future()
        failed.set_exception(BrokenExecutor())
        if self._executor is None:
            return failed
        try:
            return self._executor.submit(self._run, job.make)
        except (BrokenExecutor, OSError):
            return failed  # as `_result` will see

    def _result(self, started: _StartedJob) -> Results:
        """Wait for a job; if a process crashed, start the unfinished jobs again in a new pool."""
        while True:
            if started.suspected:
                return self._run_alone(started.job)
            try:
                return self._note_and_return(*started.future.result())
            except BrokenExecutor:
                self._replace_pool()

    def _replace_pool(self) -> None:
        """Replace a broken pool, and submit its unfinished jobs again. Jobs start in order, so one
        of the first unfinished ones crashed it; these are suspected."""
        assert self._executor is not None
        self._executor.shutdown(cancel_futures=True)
        self._broken_pools += 1
        left = [
            started
            for started in chain.from_iterable(self._started.values())
            if started.results is None
            and not started.suspected
            and (
                started.future.cancelled() or isinstance(started.future.exception(), BrokenExecutor)
            )
        ]
        for started in left[: self._workers]:
            started.suspected = True
        enough = self._broken_pools >= _MOST_BROKEN_POOLS
        self._executor = None if enough else self._new_executor(self._workers)
        for started in left[self._workers :]:
            started.results, started.future = ({} if enough else None), self._submit(started.job)

    def _run_alone(self, job: Job) -> Results:
        """Run a job that may have crashed a process in a pool of its own."""
        executor, outcome = self._new_executor(1), Results()
        try:
            executor.submit(os.getpid).result()  # else there can be no process
            outcome = {ProcessEnded: ProcessEnded("it ended two processes that worked on it")}
            return self._note_and_return(*executor.submit(self._run, job.make).result())
        except (BrokenExecutor, OSError):
            return outcome
        finally:
            executor.shutdown(cancel_futures=True)

    def _note_and_return(self, results: Results, beside: Any) -> Results:
        self._note(beside)
        return results


_RARE_THRESHOLDS = (20_000, 20, 50)
"""Thresholds of garbage collection for rows, which are many, live long and hold no cycles."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage after 20,000 new objects instead of 700, and old generations rarely. A
    collection follows at the end, so use it for long blocks only."""
    before = gc.get_threshold()
    gc.set_threshold(*_RARE_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
