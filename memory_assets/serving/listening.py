"""Listening on a port until told to stop: what the HTTP API and MCP over HTTP share."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from memory_assets.errors import ConfigurationError

_CONCURRENT = 64
_GRACE_SECONDS = 5


def listen(
    app: ASGIApp, host: str, port: int, *, lifespan: bool, started: Callable[[str], None]
) -> None:
    """Serve `app` until SIGTERM or Ctrl-C; requests under way are answered first.

    `started` gets the address, once it accepts connections. Requests are not logged: they
    say what was asked.

    Raises:
        ConfigurationError: the address cannot be listened on.
    """
    bound = _bound(host, port)
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="on" if lifespan else "off",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=_CONCURRENT,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        h11_max_incomplete_event_size=16_384,
    )
    # uvicorn raises the signal again once it has stopped; by then it is done with.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    name = f"[{host}]" if ":" in host else host
    started(f"http://{name}:{bound.getsockname()[1]}")
    uvicorn.Server(config).run(sockets=[bound])


def _bound(host: str, port: int) -> socket.socket:
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
