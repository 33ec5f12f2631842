"""Requests that a proxy and a server may read in two ways are refused."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from starlette.responses import PlainTextResponse

from memory_assets.serving.http_server import bind, server_of

SECONDS = 60
HEAD = b"POST / HTTP/1.1\r\nHost: a\r\n"


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


def _answer(address: tuple[str, int], *parts: bytes) -> bytes:
    """Return all that the server sends until it closes the connection."""
    with socket.create_connection(address, SECONDS) as connection:
        for part in parts:
            connection.sendall(part)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while data := connection.recv(65_536):
            received += data
        return received


@pytest.mark.parametrize(
    "request_bytes",
    [
        HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
        HEAD + b"X-A: b\r\n Content-Length: 4\r\n\r\n",
        HEAD + b"X-A: b\r\n\tc\r\n\r\n",
        HEAD + b"Host: b\r\n\r\n",
        HEAD + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(
    address: tuple[str, int], request_bytes: bytes
) -> None:
    """Length and chunks, folded lines, several hosts, two lengths; also when it comes in pieces."""
    assert _answer(address, request_bytes).startswith(b"HTTP/1.1 400")
    assert _answer(address, request_bytes[:20], request_bytes[20:]).startswith(b"HTTP/1.1 400")


def test_a_second_request_on_the_connection_is_looked_at_too(address: tuple[str, int]) -> None:
    """The body of the first one is no part of its head."""
    first = HEAD + b"Content-Length: 12\r\n\r\na\n b\r\n\r\nc\n d"
    assert _answer(address, first).startswith(b"HTTP/1.1 200")
    both = _answer(address, first + HEAD + b"X-A: b\r\n c\r\n\r\n")
    assert b" 200 OK" not in both.partition(b" 400 ")[2]


def test_a_body_in_chunks_may_hold_anything(address: tuple[str, int]) -> None:
    """Lines that begin with a blank, and empty ones."""
    body = b'e\r\n{\n  "a": 1\n}\r\n\r\n0\r\n\r\n'
    answer = _answer(address, HEAD + b"Transfer-Encoding: chunked\r\n\r\n", body)
    assert answer.startswith(b"HTTP/1.1 200")
