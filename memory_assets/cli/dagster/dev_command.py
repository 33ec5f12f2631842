"""`memory dev`: Dagster's web UI, daemon and code server in one command.

This process serves the UI; the daemon and the code server are its children and end with
it: on Ctrl-C, SIGTERM, a closed terminal and, on Linux, SIGKILL. A Chroma server that a run
started ends with it, too, but for SIGKILL, after which it ends when it is idle.

Dagster's webserver has no access control (`dagster/undocumented.py`): its application is wrapped.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

import dagster as dg
import yaml
from starlette.types import ASGIApp

from memory_assets.cli.dagster.child_processes import ChildProcesses
from memory_assets.cli.dagster.home import open_instance
from memory_assets.dagster.undocumented import DAEMON, webserver_app
from memory_assets.errors import UnexpectedFailure
from memory_assets.paths import IMPORT_ROOT
from memory_assets.serving.http_server import PAGE_HEADERS, Guard, JsonPostOnly, bind, serve, url_of
from memory_assets.serving.pages.site import WithManual
from memory_assets.settings import Settings
from memory_assets.stores.chroma import server as chroma_server

LOCATION = "memory_assets"
"""Name of the code location, as in workspace.yaml."""
_POLL_MILLISECONDS = 2_000
"""How often an open page asks for what is new; `dagster dev` has the same."""
_START_SECONDS = 120.0
_GRACE_SECONDS = 15.0
"""Time for the daemon to stop, and for a run under way to be marked as cancelled."""
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
            WithManual(JsonPostOnly(page)),
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
        StoreError: the Dagster instance cannot be opened.
        UnexpectedFailure: the daemon or the code server ended by itself.
    """
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _exit)
    with ExitStack() as stack:
        bound = stack.enter_context(bind(host, port))
        say(f"Dagster is starting at {url_of(bound)} (Ctrl-C ends it)")
        instance = stack.enter_context(open_instance(settings))
        stack.enter_context(_chroma_ended(settings))
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memory-dev-")))
        children = stack.enter_context(ChildProcesses(_GRACE_SECONDS))
        code_server = _start(children, directory)
        page = stack.enter_context(
            dagster_page(
                instance, code_server, hosts=(host, *allowed_hosts), token=settings.http_token
            )
        )
        children.watch(_stop_serving)
        serve(
            page,
            bound,
            lifespan=True,
            started=lambda url: say(f"Dagster is at {url}"),
            websockets=True,
        )
    if children.ended:
        raise _ended(children.ended)


def _start(children: ChildProcesses, directory: Path) -> Path:
    """Start code server and daemon; return the code server's socket, in a directory that only
    this user can enter."""
    socket, workspace = directory / "code-server", directory / "workspace.yaml"
    location = {"grpc_server": {"socket": str(socket), "location_name": LOCATION}}
    workspace.write_text(yaml.safe_dump({"load_from": [location]}))
    code = ["-m", "memory_assets.dagster.definitions", "--location-name", LOCATION]
    server = ["memory_assets.dagster.code_server", "code-server", "start"]
    command = [*server, "--socket", str(socket), *code, *_QUIET]
    children.start("code server", command, IMPORT_ROOT)
    if not children.wait_until(socket.exists, _START_SECONDS):
        raise _ended("code server")
    daemon = [DAEMON, "run", "--workspace", str(workspace), *_QUIET]
    children.start("daemon", daemon, IMPORT_ROOT)
    return socket


@contextmanager
def _chroma_ended(settings: Settings) -> Iterator[None]:
    """End Chroma's server on exit if a run started it; who else uses it starts it again."""
    theirs = settings.vectors_url is not None or chroma_server.running(settings.data_dir)
    try:
        yield
    finally:
        if not theirs:
            chroma_server.stop(settings.data_dir)


def _exit(number: int, frame: FrameType | None) -> None:
    """Raise `SystemExit`, so that all contexts end their processes."""
    raise SystemExit(128 + number)


def _stop_serving() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def _ended(name: str) -> UnexpectedFailure:
    return UnexpectedFailure(
        f"Dagster's {name} did not start, or ended by itself; its output above has the reason. "
        "Correct it, then run `memory dev` again."
    )
