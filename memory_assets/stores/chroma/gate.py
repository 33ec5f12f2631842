"""The gate in front of Chroma's Rust server: a token, our Host, and no web page.

Chroma 1.5.9's own server has neither a password nor a check of the Host header, and listens on
TCP only. So it runs in this process on a port of its own; the gate opens a fixed number of
connections to it and then closes that port, so that nobody else can connect. Every request
passes the gate, which forwards it over one of those connections.

The embedded bindings behind an HTTP server of ours would need no second port, but they hold
the interpreter's lock: an upsert of 1,000 rows stops every other request for 2 s.
"""

from __future__ import annotations

import contextlib
import hmac
import http.client
import os
import queue
import re
import signal
import socket
import time
from collections.abc import Iterator, Set
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import orjson

from memory_assets.http.access import host_of, token_of

LOOPBACK = "127.0.0.1"
_HOSTS = (LOOPBACK, "localhost")
_OPEN_PATH = "/api/v2/heartbeat"
"""The path that needs no token: it returns the time."""
_CONNECTIONS = 24
_MAX_BODY = 40 * 1024 * 1024
"""Bytes of a request. Chroma refuses longer ones, and closes the connection they came over."""
_MAX_DESCRIPTOR = 1_024
_PIECE = 1 << 18
_ACCEPT_SECONDS = 0.01
"""Time for a connection that was being accepted when the port was closed."""
_IDLE_SECONDS = 120.0
"""A client's connection without a request is closed after this long."""
_PATH = re.compile(r"/[!-~]*")


class ServerGone(Exception):
    """The Rust server does not answer any more, or never listened."""


class RustServer:
    """The connections to the Rust server of this process; there are no others."""

    def __init__(self) -> None:
        self._free: queue.SimpleQueue[http.client.HTTPConnection] = queue.SimpleQueue()
        self._alive = 0
        self.last_use = time.time()
        """When the last request, other than the heartbeat, was answered, in seconds since 1970."""

    def connect(self, seconds: float) -> None:
        """Wait until the Rust server listens, connect to it, and close its port.

        Raises:
            ServerGone: it does not listen within `seconds`.
        """
        deadline = time.monotonic() + seconds
        while True:
            listener = _find_listener()
            # Chroma listens once to see whether the port is free and stops, then listens again:
            # the first listener found may be gone, so that connecting is tried again.
            with contextlib.suppress(OSError, http.client.HTTPException):
                if listener is not None:
                    opened = [_open_connection(listener[1]) for _ in range(_CONNECTIONS)]
                    break
            if time.monotonic() > deadline:
                raise ServerGone("Chroma does not listen")
            time.sleep(0.005)
        _close_port(listener[1], {connection.sock.getsockname()[1] for connection in opened})
        self._alive = len(opened)
        for connection in opened:
            self._free.put(connection)

    def take(self) -> http.client.HTTPConnection:
        """Return a connection that nobody uses; waits for one.

        Raises:
            ServerGone: none is left.
        """
        while self._alive:
            with contextlib.suppress(queue.Empty):
                return self._free.get(timeout=1.0)
        raise ServerGone("no connection to Chroma is left")

    def give_back(self, connection: http.client.HTTPConnection) -> None:
        """Let others use a connection again, if Chroma has not closed it."""
        if connection.sock is None:
            self._alive -= 1
        else:
            self._free.put(connection)

    def finish(self, seconds: float) -> None:
        """Wait, at most so long, until every answer under way was sent."""
        deadline = time.monotonic() + seconds
        while self._free.qsize() < self._alive and time.monotonic() < deadline:
            time.sleep(0.01)


def _open_connection(port: int) -> http.client.HTTPConnection:
    """Return a connection over which the server has answered."""
    connection = http.client.HTTPConnection(LOOPBACK, port)
    connection.connect()
    connection.auto_open = 0  # soon there is no port to connect to again
    connection.request("GET", _OPEN_PATH)
    connection.getresponse().read()
    return connection


def _sockets() -> Iterator[tuple[int, socket.socket]]:
    """Yield descriptor and socket of each IPv4 TCP socket of this process; they stay open."""
    for descriptor in range(_MAX_DESCRIPTOR):
        try:
            candidate = socket.socket(fileno=descriptor)
        except OSError:
            continue
        try:
            if (candidate.family, candidate.type) == (socket.AF_INET, socket.SOCK_STREAM):
                yield descriptor, candidate
        finally:
            candidate.detach()


def _find_listener() -> tuple[int, int] | None:
    """Return descriptor and port of the TCP socket on which this process listens, or None."""
    for descriptor, candidate in _sockets():
        with contextlib.suppress(OSError):  # Chroma may have closed it in this moment
            if candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                return descriptor, int(candidate.getsockname()[1])
    return None


def _close_port(port: int, ours: Set[int]) -> None:
    """Stop listening on the Rust server's port, and end earlier connections to it that come
    from other ports than `ours`.

    The server keeps its descriptor, which no longer leads to a socket: it waits on it for
    ever, and costs nothing.
    """
    listener = _find_listener()
    if listener is None or listener[1] != port:
        raise ServerGone("Chroma stopped listening")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, listener[0], inheritable=False)
    os.close(nothing)
    time.sleep(_ACCEPT_SECONDS)
    for _, connection in _sockets():
        with contextlib.suppress(OSError):
            if connection.getsockname()[1] == port and connection.getpeername()[1] not in ours:
                connection.shutdown(socket.SHUT_RDWR)


class Gate(ThreadingHTTPServer):
    """The HTTP server on loopback that forwards permitted requests to `server`."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, bound: socket.socket, token: str, server: RustServer) -> None:
        self.token, self.rust = token, server
        super().__init__(bound.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = bound
        self.server_activate()

    def handle_error(self, request: object, client_address: object) -> None:
        """Do nothing: a client that disconnects is no error."""


class _Handler(BaseHTTPRequestHandler):
    """One client's connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = _IDLE_SECONDS
    server: Gate

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: a request contains the question."""

    def do_GET(self) -> None:
        """Forward a permitted request, or refuse it with a reason in JSON."""
        length = self._length()
        refusal = self._refusal(length)
        if refusal is not None:
            self.close_connection = True  # its body was not read
            self._answer_error(*refusal)
            return
        assert length is not None
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return
        try:
            connection = self.server.rust.take()
        except ServerGone:
            self.close_connection = True  # as a server that ends does: the client tries again
            os.kill(os.getpid(), signal.SIGTERM)
            return
        try:
            self._forward(connection, body)
        except (OSError, ValueError, http.client.HTTPException):
            self.close_connection = True
            connection.close()
        finally:
            self.server.rust.give_back(connection)
            if self.path != _OPEN_PATH:
                self.server.rust.last_use = time.time()

    do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = do_GET  # noqa: N815

    def _length(self) -> int | None:
        """Return the length of the body, or None where it cannot be known for certain."""
        lengths = self.headers.get_all("content-length") or ["0"]
        plain = len(lengths) == 1 and lengths[0].isascii() and lengths[0].isdigit()
        if not plain or len(lengths[0]) > 12 or "transfer-encoding" in self.headers:
            return None
        return int(lengths[0])

    def _refusal(self, length: int | None) -> tuple[int, str, str] | None:
        """Return status, Chroma's name of the error and a sentence; None if it is permitted."""
        hosts = self.headers.get_all("host") or []
        if len(hosts) != 1 or host_of(hosts[0]) not in _HOSTS:
            return 421, "InvalidArgumentError", "this server does not answer under that name"
        if "origin" in self.headers:
            return 403, "AuthorizationError", "web pages are refused"
        if not _PATH.fullmatch(self.path):
            return 400, "InvalidArgumentError", "the address is not a path"
        if self.path != _OPEN_PATH and not self._has_token():
            return 401, "AuthError", "send the token: Authorization: Bearer TOKEN"
        if length is None:
            return 411, "InvalidArgumentError", "send the body with one Content-Length"
        if length > _MAX_BODY:
            return 413, "InvalidArgumentError", f"a request may have {_MAX_BODY} bytes"
        return None

    def _has_token(self) -> bool:
        """Whether the request has the token, in a form that Chroma's clients send: a bearer
        token, `X-Chroma-Token`, or the password of Basic authentication."""
        token = self.headers.get("x-chroma-token")
        if token is None:
            token = token_of(self.headers.get("authorization", ""))
        return hmac.compare_digest(token.strip().encode(), self.server.token.encode())

    def _forward(self, connection: http.client.HTTPConnection, body: bytes) -> None:
        """Send a request to Chroma, and its answer to the client piece by piece.

        If the client disconnects, the rest of the answer is read all the same: only then can
        the connection to Chroma be used again.
        """
        sent = {"content-type": "application/json"} if body else {}
        connection.request(self.command, self.path, body or None, sent)
        response = connection.getresponse()
        length = response.getheader("content-length")
        piece = response.read(_PIECE if length is not None else None)
        closes = self.close_connection  # as the client wants it, and HTTP/1.0 has it
        answer = _head(response, length or str(len(piece)), closes=closes) + piece
        client_gone = False
        while answer:
            if not client_gone:
                try:
                    self.wfile.write(answer)
                except OSError:
                    client_gone = self.close_connection = True
            answer = response.read(_PIECE)

    def _answer_error(self, status: int, name: str, message: str) -> None:
        body = orjson.dumps({"error": name, "message": message})
        self.send_response_only(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        if status == 401:
            self.send_header("www-authenticate", "Bearer")
        self.end_headers()
        self.wfile.write(body)


def _head(response: http.client.HTTPResponse, length: str, *, closes: bool) -> bytes:
    """Return the first lines of the answer that a client gets for Chroma's."""
    lines = [f"HTTP/1.1 {response.status} {response.reason}", f"content-length: {length}"]
    if closes:
        lines.append("connection: close")
    for name in ("content-type", "chroma-trace-id"):
        if value := response.getheader(name):
            lines.append(f"{name}: {value}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
