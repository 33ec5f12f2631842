"""Clients that open connections and never finish a request."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest
from starlette.responses import PlainTextResponse

from memory_assets.serving import timed_requests
from memory_assets.serving.http_server import bind, server_of

SECONDS = 60


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    """The address of a server that answers each request."""
    bound = bind("127.0.0.1", 0)
    server = server_of(PlainTextResponse("ok"), lifespan=False)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    yield bound.getsockname()
    server.should_exit = True
    thread.join(SECONDS)
    assert not thread.is_alive()


def _half_open(address: tuple[str, int], stack: ExitStack, begun: bytes) -> socket.socket:
    connection = stack.enter_context(socket.create_connection(address, SECONDS))
    with suppress(ConnectionError):  # it may be closed by now
        connection.sendall(begun)
    return connection


def test_half_open_connections_deny_nothing(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them than requests may be under way at once; the oldest gives way."""
    monkeypatch.setattr(timed_requests, "REQUEST_SECONDS", SECONDS)
    with ExitStack() as stack:
        first, *_ = [_half_open(address, stack, b"GET / HTTP/1.1\r\nHost: a") for _ in range(80)]
        answer = httpx.get(f"http://{address[0]}:{address[1]}/", timeout=SECONDS)
        assert answer.status_code == 200
        assert _is_closed(first)


@pytest.mark.parametrize(
    "begun",
    [b"", b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx"],
)
def test_a_request_that_does_not_arrive_is_given_up(
    address: tuple[str, int], begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before its first byte, in its headers, in its body."""
    monkeypatch.setattr(timed_requests, "REQUEST_SECONDS", 0.05)
    with ExitStack() as stack:
        assert _is_closed(_half_open(address, stack, begun))


def _is_closed(connection: socket.socket) -> bool:
    """Read until the server closes the connection; fails when it has not after `SECONDS`."""
    with suppress(ConnectionError):
        while connection.recv(4_096):
            pass
    return True
