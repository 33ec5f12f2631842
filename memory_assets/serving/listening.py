"""Serve an ASGI application on a port until a signal: shared by the HTTP API and MCP over HTTP."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from memory_assets.errors import ConfigurationError

_CONCURRENT = 64
_GRACE_SECONDS = 5


def listen(
    app: ASGIApp, host: str, port: int, *, lifespan: bool, started: Callable[[str], None]
) -> None:
    """Serve `app` at an address until SIGTERM or Ctrl-C; see `serve`.

    Raises:
        ConfigurationError: the address cannot be listened on.
    """
    serve(app, bind(host, port), lifespan=lifespan, started=started)


def serve(
    app: ASGIApp,
    bound: socket.socket,
    *,
    lifespan: bool,
    started: Callable[[str], None],
    websockets: bool = False,
) -> None:
    """Serve `app` on a listening socket until SIGTERM or Ctrl-C; requests under way are answered
    first.

    `started` is called with the address once connections are accepted. Requests are not logged,
    because they contain questions.
    """
    config = uvicorn.Config(
        app,
        http="h11",
        ws="auto" if websockets else "none",
        lifespan="on" if lifespan else "off",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=_CONCURRENT,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        h11_max_incomplete_event_size=16_384,
    )
    server = uvicorn.Server(config)

    def stop(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    # uvicorn has its own handlers while it runs, and raises the signal again once it has
    # stopped; these are for the moments before and after.
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
    host, port = bound.getsockname()[:2]
    started(f"http://{f'[{host}]' if ':' in host else host}:{port}")
    server.run(sockets=[bound])


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; port 0 takes any free port.

    Raises:
        ConfigurationError: the address cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen()
    except OSError as error:
        bound.close()
        raise ConfigurationError(
            f"cannot listen on {host} port {port} ({error.strerror}); choose another with --port"
        ) from None
    return bound
