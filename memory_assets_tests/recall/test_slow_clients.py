"""Clients that never finish a request, or send one that can be read in two ways."""

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


HEAD = b"POST / HTTP/1.1\r\nHost: a\r\n"


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
        HEAD + b"X-A: b\r\n \r\nX-B: c\r\n\r\n",
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
    """The body of the first one is no part of its head, whether it has a length or chunks, which
    may come when the first one was answered."""
    second = HEAD + b"X-A: b\r\n c\r\n\r\n"
    first = HEAD + b"Content-Length: 12\r\n\r\na\n b\r\n\r\nc\n d"
    chunks, end = HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n", b"0\r\n\r\n"
    assert _answer(address, first).startswith(b"HTTP/1.1 200")
    for parts in ([first, second], [chunks + end, second], [chunks, end + second]):
        for sent in (parts, [b"".join(parts)]):
            both = _answer(address, *sent)
            assert both.startswith(b"HTTP/1.1 200") and both.count(b"HTTP/1.1 400 ") == 1


def test_a_body_in_chunks_may_hold_anything(address: tuple[str, int]) -> None:
    """Lines that begin with a blank, and empty ones."""
    body = b'e\r\n{\n  "a": 1\n}\r\n\r\n0\r\n\r\n'
    answer = _answer(address, HEAD + b"Transfer-Encoding: chunked\r\n\r\n", body)
    assert answer.startswith(b"HTTP/1.1 200")
