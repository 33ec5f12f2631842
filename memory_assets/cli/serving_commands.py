"""`memory mcp` and `memory serve`. The servers are imported when they start, not before."""

from __future__ import annotations

from typing import Annotated

import typer

_LOOPBACK = "127.0.0.1"
_Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any that is free.")]


def mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Serve streamable HTTP on 127.0.0.1 instead of stdio.")
    ] = False,
    port: _Port = 8766,
) -> None:
    """Start the MCP server for agents.

    Speaks on standard input and output unless --http is given. See docs/mcp.md.
    """
    from memory_assets.settings import load_settings

    settings = load_settings()
    if not http:
        from memory_assets.cli.start import serve_stdio

        serve_stdio(settings)
        return
    from memory_assets.serving import mcp_server
    from memory_assets.serving.http_guard import require_token
    from memory_assets.serving.listening import listen

    token = settings.http_token
    require_token(_LOOPBACK, token)
    app = mcp_server.build_http_app(settings, token)
    listen(app, _LOOPBACK, port, lifespan=True, started=lambda url: _say(f"MCP at {url}/mcp"))


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but 127.0.0.1 needs MEMORY_HTTP_TOKEN.")
    ] = _LOOPBACK,
    port: _Port = 8765,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Another host name to accept; repeatable."),
    ] = None,
) -> None:
    """Start the HTTP API for programs.

    Answers searches, turns, sessions, timelines and status as JSON. See docs/http.md.
    """
    from memory_assets.serving.http_api import build_app
    from memory_assets.serving.http_guard import require_token
    from memory_assets.serving.listening import listen
    from memory_assets.settings import load_settings

    settings = load_settings()
    token = settings.http_token
    require_token(host, token)
    app = build_app(settings, hosts=(host, *(allow_host or ())), token=token)
    listen(app, host, port, lifespan=False, started=lambda url: _say(f"{url}/openapi.json"))


def _say(what: str) -> None:
    typer.echo(f"memory: listening, {what}", err=True)
