"""`memory dev`: Dagster's web UI, daemon and code server in one command.

This process serves the UI; the daemon and the code server are its children and end with
it: on Ctrl-C, SIGTERM, a closed terminal and, on Linux, SIGKILL. A Chroma server that a run
started ends with it, too, but for SIGKILL, after which it ends when it is idle. Each child leads a
process group, which is ended as a whole, so that processes started by the child, such as Dagster's
run workers, end too.

Dagster's webserver has no access control (`dagster/undocumented.py`): its application is wrapped.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType

import dagster as dg
import yaml
from starlette.types import ASGIApp

from memory_assets.cli.dagster.home import open_instance
from memory_assets.dagster.instance_runs import runs_under_way
from memory_assets.dagster.undocumented import DAEMON, webserver_app
from memory_assets.errors import UnexpectedFailure
from memory_assets.paths import IMPORT_ROOT
from memory_assets.serving.http_server import (
    PAGE_HEADERS,
    Guard,
    bind,
    json_post_only,
    serve,
    url_of,
)
from memory_assets.serving.pages.site import with_manual
from memory_assets.settings import Settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.files.shared import locked
from memory_assets.stores.runs.ledger import ENDED

LOCATION = "memory_assets"
"""Name of the code location, as in workspace.yaml."""
_LOCK = "dev.lock"
"""The lock file, below DAGSTER_HOME, that `memory dev` holds while it runs."""
_POLL_MILLISECONDS = 2_000
"""How often an open page asks for what is new; `dagster dev` has the same."""
_START_SECONDS = 120.0
_GRACE_SECONDS = 15.0
"""Time for the daemon to stop, and before that for the runs under way to be cancelled."""
# Warnings of Dagster are on features in beta and on cursors that a new daemon does not have yet.
_QUIET = ("--log-level", "error")


@contextmanager
def dagster_page(
    instance: dg.DagsterInstance,
    code_server: Path,
    *,
    hosts: Iterable[str] = (),
    token: str | None = None,
) -> Iterator[ASGIApp]:
    """Yield the page of an instance whose code server listens on the socket `code_server`, with
    docs/, to which the descriptions of assets lead.

    Refused are requests under a Host that is neither loopback nor in `hosts`, from pages of
    another origin, without the token (if there is one), and GraphQL operations by anything
    but JSON POST.
    """
    with webserver_app(
        instance, code_server, LOCATION, poll_milliseconds=_POLL_MILLISECONDS
    ) as page:
        yield Guard(
            with_manual(json_post_only(page)),
            hosts=hosts,
            token=token,
            headers=PAGE_HEADERS,
            asks_browsers=True,
        )


def run_dev(
    settings: Settings,
    host: str,
    port: int,
    say: Callable[[str], None],
    *,
    allowed_hosts: Sequence[str] = (),
) -> None:
    """Serve Dagster's UI until a signal stops it, with the daemon running. `say` is called with a
    line on its address at once and when it answers; `allowed_hosts` are further host names to
    accept.

    Raises:
        ConfigurationError: the address is taken.
        StoreBusy: it runs for this memory already. Of two daemons, each would start every run.
        StoreError: the Dagster instance cannot be opened.
        UnexpectedFailure: the daemon or the code server ended by itself.
    """
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _exit)
    busy = (
        f"`memory dev` runs for {settings.data_dir} already, and a memory takes one; end that first"
    )
    with ExitStack() as stack:
        stack.enter_context(locked(settings.dagster_dir / _LOCK, 0, busy))
        bound = stack.enter_context(bind(host, port))
        say(f"Dagster is starting at {url_of(bound)} (Ctrl-C ends it)")
        instance = stack.enter_context(open_instance(settings))
        stack.enter_context(_chroma_ended(settings))
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memory-dev-")))
        cancel = partial(_cancel_runs, instance)
        children = stack.enter_context(ChildProcesses(_GRACE_SECONDS, before_end=cancel))
        code_server = _start(children, directory)
        page = stack.enter_context(
            dagster_page(
                instance, code_server, hosts=(host, *allowed_hosts), token=settings.http_token
            )
        )
        children.watch(lambda: os.kill(os.getpid(), signal.SIGTERM))  # which ends `serve`
        serve(
            page,
            bound,
            lifespan=True,
            started=lambda url: say(f"Dagster is at {url}"),
            websockets=True,
        )
        if not children.ended:
            with suppress(OSError):  # the terminal was closed
                say("Dagster is being stopped ...")
    if children.ended:
        raise _ended(children.ended)


def _start(children: ChildProcesses, directory: Path) -> Path:
    """Start code server and daemon; return the code server's socket, in a directory that only
    this user can enter."""
    socket = directory / "code-server"
    workspace = directory / "workspace.yaml"
    location = {"grpc_server": {"socket": str(socket), "location_name": LOCATION}}
    workspace.write_text(yaml.safe_dump({"load_from": [location]}))
    code = ["-m", "memory_assets.dagster.definitions", "--location-name", LOCATION]
    server = ["memory_assets.dagster.code_server", "api", "grpc"]
    command = [*server, "--socket", str(socket), *code, *_QUIET]
    children.start("code server", command, IMPORT_ROOT)
    if not children.wait_until(socket.exists, _START_SECONDS):
        raise _ended("code server")
    daemon = [DAEMON, "run", "--workspace", str(workspace), *_QUIET]
    children.start("daemon", daemon, IMPORT_ROOT)
    return socket


@contextmanager
def _chroma_ended(settings: Settings) -> Iterator[None]:
    """End Chroma's server on exit if a run started it; other processes start it again."""
    is_of_others = settings.vectors_url is not None or chroma_server.running(settings.data_dir)
    try:
        yield
    finally:
        if not is_of_others:
            chroma_server.stop(settings.data_dir)


def _cancel_runs(instance: dg.DagsterInstance) -> None:
    """Cancel the runs under way and wait until they have ended, `_GRACE_SECONDS` at most; the next
    `memory dev` asks for what they left."""
    begun = runs_under_way(instance)
    ids = [run.run_id for run in begun if run.status is dg.DagsterRunStatus.STARTED]
    with suppress(dg.DagsterError):  # the code server is gone, and so are its runs
        for run_id in ids:
            instance.run_launcher.terminate(run_id)
    deadline = time.monotonic() + _GRACE_SECONDS
    while ids and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        left = instance.get_runs(dg.RunsFilter(run_ids=ids))
        ids = [run.run_id for run in left if run.status.value not in ENDED]


def _exit(number: int, frame: FrameType | None) -> None:
    """Raise what ends all contexts, and so their processes, before anything is served."""
    if number == signal.SIGINT:
        raise KeyboardInterrupt("Stopped before Dagster answered.")
    raise SystemExit(128 + number)


def _ended(name: str) -> UnexpectedFailure:
    return UnexpectedFailure(
        f"Dagster's {name} did not start, or ended by itself; its output above has the reason. "
        "Correct it, then run `memory dev` again."
    )


_POLL_SECONDS = 0.2
_ENDINGS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that a process gets when the thread that started it ends."""


@dataclass
class ChildProcesses:
    """A context that ends its processes on exit: by SIGTERM, and by SIGKILL after
    `grace_seconds`. Their output is copied to standard error until the exit begins, because errors
    of processes that are being stopped are of no use."""

    grace_seconds: float
    before_end: Callable[[], None] = lambda: None
    """Called on exit while the processes are still running, unless one ended by itself."""
    ended: str = ""
    """Name of a process that ended by itself, once `watch` has seen it."""
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _closing: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> ChildProcesses:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End all processes and whatever they started."""
        self._closing.set()
        if not self._first_ended():
            self.before_end()
        for process in self._running.values():
            _signal_group(process, signal.SIGTERM)
        deadline = time.monotonic() + self.grace_seconds
        for process in self._running.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(deadline - time.monotonic(), 0.0))
        for process in self._running.values():
            _signal_group(process, signal.SIGKILL)
            process.wait()

    def start(self, name: str, module_and_arguments: Sequence[str], directory: Path) -> None:
        """Start `python -m MODULE ARGUMENTS...` in a directory, under a name for messages."""
        # No signal may end this process between the start and the note of it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", *module_and_arguments],
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=partial(_begin, before),
            )
            self._running[name] = process
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        threading.Thread(target=self._show_output, args=(process.stdout,), daemon=True).start()

    def _show_output(self, output: Iterable[bytes]) -> None:
        """Copy the lines of a process to standard error."""
        for line in output:
            if not self._closing.is_set():
                with suppress(OSError):  # the terminal was closed
                    sys.stderr.buffer.write(line)
                    sys.stderr.buffer.flush()

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> bool:
        """Wait until something holds; return False when a process has ended before, or when
        the time is over."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self._first_ended() or time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def watch(self, then: Callable[[], None]) -> None:
        """Call `then`, in another thread, when a process ends by itself."""

        def look() -> None:
            while not self._closing.wait(_POLL_SECONDS):
                self.ended = self._first_ended()
                if self.ended:
                    then()
                    return

        threading.Thread(target=look, daemon=True).start()

    def _first_ended(self) -> str:
        names = (name for name, process in self._running.items() if process.poll() is not None)
        return next(names, "")


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal a process and its group, whose members may outlive it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _begin(mask: Iterable[int]) -> None:
    """In a new process: take signals as the parent did, and on Linux ask for SIGTERM when the
    parent is gone, even by SIGKILL."""
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
