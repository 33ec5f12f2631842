"""`memory mcp`, `serve`, `dev` and `chroma`, which import a server when it starts, not before; and
`memory rebuild`."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import click

from memory_assets.cli import INTERRUPTED
from memory_assets.cli.commands import JSON, command, flag
from memory_assets.cli.printing import rendering
from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.settings import load_settings
from memory_assets.status.words import counted
from memory_assets.stores.stores import require_memory

_F = TypeVar("_F", bound=Callable[..., object])
_LOOPBACK = "127.0.0.1"
_STOPPED = "memory: stopped"
"""Printed when a signal ends a server. That is its normal end, so the exit code is 0."""
_HOST = click.option(
    "--host",
    default=_LOOPBACK,
    show_default=True,
    help="Address to listen on; any but 127.0.0.1 needs MEMORY_HTTP_TOKEN.",
)
_ALLOW_HOST = click.option(
    "--allow-host", multiple=True, help="Another host name to accept; repeatable."
)


def _port(default: int) -> Callable[[_F], _F]:
    return click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=default,
        show_default=True,
        help="Port; 0 for any that is free.",
    )


@command("memory mcp --write")
@flag("--http", help="Serve streamable HTTP on 127.0.0.1 instead of stdio.")
@_port(8766)
@flag("--write", help="Let agents write memory: remember, append_history.")
def mcp(http: bool, port: int, write: bool) -> None:
    """Start the MCP server for agents.

    Speaks on standard input and output unless --http is given. See docs/mcp.md.
    """
    settings = load_settings()
    if not http:
        with _models_built_when_used():
            from memory_assets.serving import mcp_server
        signal.signal(signal.SIGINT, _end_at_once)
        mcp_server.run_stdio(settings, write=write)
        return
    from memory_assets.serving import mcp_server
    from memory_assets.serving.http_server import listen

    token = settings.http_token
    app = mcp_server.build_http_app(settings, token, write=write)
    say = partial(_say, "MCP at {}/mcp")
    listen(app, _LOOPBACK, port, token, lifespan=True, started=say)
    _say_stopped()


def _end_at_once(number: int, frame: FrameType | None) -> None:
    """End the process: an exception would wait for the thread that reads standard input, which
    nothing interrupts. What was being stored is as a crash leaves it: there, or not there."""
    os.write(2, b"\nStopped.\n")  # behind the terminal's ^C
    os._exit(INTERRUPTED)


@contextmanager
def _models_built_when_used() -> Iterator[None]:
    """Import the SDK's several hundred pydantic models without building validators until they are
    used, and without collecting garbage meanwhile: saves .4 s of CPU."""
    from pydantic import BaseModel, ConfigDict

    before = BaseModel.model_config
    BaseModel.model_config = ConfigDict(defer_build=True)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        BaseModel.model_config = before


@command()
@_HOST
@_port(8765)
@_ALLOW_HOST
def serve(host: str, port: int, allow_host: Sequence[str]) -> None:
    """Start the page for people and the HTTP API for programs.

    The page shows searches, sessions, projects and health (docs/page.md); the API answers as JSON
    (docs/http.md).
    """
    from memory_assets.serving.http_server import listen
    from memory_assets.serving.pages.site import build_site

    settings = load_settings()
    token = settings.http_token
    app = build_site(settings, hosts=(host, *allow_host), token=token)
    say = partial(_say, "page at {0}, API at {0}/openapi.json")
    listen(app, host, port, token, lifespan=False, started=say)
    _say_stopped()


@command()
@_port(8765)
def open(port: int) -> None:
    """Open the page in the browser.

    Starts `memory serve` on 127.0.0.1 if it does not run there for this memory, on another port
    if something else uses this one. A server that it started runs until Ctrl-C.
    """
    import webbrowser

    from memory_assets.serving.http_server import bind, require_token, serve
    from memory_assets.serving.pages.site import answers_for, build_site

    settings = load_settings()
    require_memory(settings.data_dir)
    url = f"http://{_LOOPBACK}:{port}"
    running = answers_for(url, settings) if port else None
    if running:
        click.echo(f"memory: the page is at {url}", err=True)
        webbrowser.open(url)
        return
    require_token(_LOOPBACK, settings.http_token)
    bound = bind(_LOOPBACK, port if running is None else 0)
    site = build_site(settings, hosts=(_LOOPBACK,), token=settings.http_token)

    def started(address: str) -> None:
        _say("page at {0}, API at {0}/openapi.json", address)
        webbrowser.open(address)

    serve(site, bound, lifespan=False, started=started)
    _say_stopped()


def _say_stopped() -> None:
    with suppress(OSError):  # the terminal was closed
        click.echo(_STOPPED, err=True)


def _say(template: str, url: str) -> None:
    rendering.print_lines([f"memory: listening, {template.format(url)}"], stderr=True)


@command()
@_HOST
@_port(3000)
@_ALLOW_HOST
def dev(host: str, port: int, allow_host: Sequence[str]) -> None:
    """Start Dagster's web UI and daemon.

    The daemon runs the sensor, which ingests changes, and the nightly schedules.
    """
    from memory_assets.serving.http_server import require_token

    settings = load_settings()
    require_token(host, settings.http_token)
    from memory_assets.cli.dagster.dev_command import run_dev  # Dagster takes seconds to import

    say = partial(click.echo, err=True)
    run_dev(settings, host, port, say, allowed_hosts=allow_host)


@command()
@click.option("--collection", multiple=True, help="Only this collection; repeatable.")
@JSON
def rebuild(collection: Sequence[str], json: bool) -> None:
    """Rebuild the collections.

    Copies rows and stored vectors from the lake into new collections, then swaps them with the
    old ones. Nothing is embedded, and searches keep working meanwhile.
    """
    from memory_assets.pipeline.indexes.collections import rebuild as rebuild_collections
    from memory_assets.pipeline.stage.components import Components

    components = Components(load_settings())
    require_memory(components.data_dir)
    if reason := components.settings.no_collections:
        raise ConfigurationError(f"{reason}, so that there is nothing to rebuild")
    console = rendering.open_console(stderr=json)
    stages = components.catalog.products.totals()
    rows = sum(stages.get(kind.table, {}).get("rows") or 0 for kind in SEARCH_KINDS.values())
    with rendering.progress_bar(console) as bar:
        task = bar.add_task("rebuilding", total=None if collection else rows)

        def show(step: str, written: int = 0, /) -> None:
            bar.update(task, advance=written, description=rendering.escaped(step))

        rebuilds = rebuild_collections(components, collection, show)
    answer = {"collections": [asdict(outcome) for outcome in rebuilds]}
    rendering.print_answer(answer, json, _rebuilt(answer["collections"]))


def _rebuilt(collections: list[dict[str, Any]]) -> Iterator[str]:
    for collection in collections:
        sessions = (
            f"{counted(collection['rows'], 'row')} of {counted(collection['sessions'], 'session')}"
        )
        yield f"{collection['collection']}: {sessions} in {collection['seconds']} s"
        if collection["left_out"]:
            yield (
                f"  {counted(collection['left_out'], 'session')} without vectors of the present "
                "model; `memory ingest` makes them"
            )


@command()
@JSON
@flag(
    "--stage-model",
    help="Put the packaged model where Chroma's own clients (chroma-mcp, for example) look for "
    "one, so that they embed offline and find sessions by meaning. Nothing is started.",
)
def chroma(json: bool, stage_model: bool) -> None:
    """Print the URL of the Chroma server.

    Starts the server if it is not running. Other programs can connect with the header
    `Authorization: Bearer TOKEN`; the file that contains the token is printed, too. The server
    stops after MEMORY_CHROMA_IDLE_SECONDS without a request and keeps its port.
    """
    if stage_model:
        from memory_assets.embedding.chroma_model import stage_model as stage

        directory = str(stage(Path.home()))
        rendering.print_answer({"model": directory}, json, [directory])
        return
    from memory_assets.recall import Memory
    from memory_assets.stores.chroma import server as chroma_server
    from memory_assets.stores.files.shared import require_writable

    settings = load_settings()
    if settings.vector_backend == "none":
        raise ConfigurationError(settings.no_collections)
    if settings.vector_backend != "chromadb":
        raise ConfigurationError(
            f"the collections are in {settings.vector_backend} at {settings.vectors_url} "
            "(VECTOR_BACKEND), not in Chroma"
        )
    stores = Memory(settings)
    url = settings.chroma_url
    if url is None:
        if not stores.has_chroma_files:
            raise NotFound(f"there is no Chroma in {stores.chroma_dir} yet; run `memory ingest`")
        require_writable(stores.data_dir, "Chroma's server writes in its files.")
        url = chroma_server.ensure_running(stores.data_dir, settings.chroma_idle_seconds).url
    answer: dict[str, Any] = {"url": url, "collections": stores.vectors.names()}
    notes: list[str] = []
    if settings.chroma_url is None:
        answer["token_file"] = str(stores.data_dir / chroma_server.TOKEN_FILE)
        notes = [f"Authorization: Bearer, then the token in {answer['token_file']}"]
    rendering.print_answer(answer, json, [url], notes)
