"""HTTP/1.1 whose requests must arrive in time, so that half-open connections deny nothing, and mean
one thing, so that no proxy in front takes a part of one for another request.

uvicorn waits for the rest of a request for ever and counts each connection as one under way: 64
clients that send a byte a minute made it answer 503 to everybody else.
"""

from __future__ import annotations

import asyncio
import re

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0
"""Time for a request, its body included, from its first byte or the connection's beginning."""
MOST_ARRIVING = 32
"""Connections whose request has not arrived; the oldest gives way to a new one."""
_HEAD_ENDS = re.compile(rb"\r?\n\r?\n")
_FOLDED = re.compile(rb"\n[ \t]+\S")
_LENGTH = re.compile(rb"(?i)\ncontent-length[ \t]*:[ \t]*(\d{1,12})")
_CHUNKED = re.compile(rb"(?i)\ntransfer-encoding[ \t]*:")
_HOST = re.compile(rb"(?i)\nhost[ \t]*:")
_LONGEST_HEAD = 65_536


class TimedRequests(H11Protocol):
    """uvicorn's protocol, with a limit for the time that a request takes to arrive."""

    _deadline: asyncio.TimerHandle | None = None
    _head = b""
    """What has arrived of the next request's head."""
    _body = 0
    """How many bytes of the request's body are still to come."""
    _chunked = False
    """Whether the body comes in chunks, of which h11 tells the end."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the request, and for no more than `MOST_ARRIVING` in all."""
        super().connection_made(transport)
        self._wait()
        arriving = [
            (connection._deadline.when(), number, connection)
            for number, connection in enumerate(self.connections)
            if isinstance(connection, TimedRequests) and connection._deadline is not None
        ]
        if len(arriving) > MOST_ARRIVING:
            min(arriving)[-1]._give_up()

    def data_received(self, data: bytes) -> None:
        """Handle the data; wait on for what is still missing of the request. One that two readers
        may read in two ways is refused with its connection: h11 would choose one reading."""
        if self._is_ambiguous(data):
            self._stop_waiting()
            if self.conn.our_state is h11.IDLE:
                self.send_400_response("The request can be read in two ways.")
            else:
                self._give_up()
            return
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._wait()
        else:
            self._stop_waiting()

    def _is_ambiguous(self, data: bytes) -> bool:
        """Return True if a head that `data` completes has a folded line, several hosts, or both a
        length and chunks (RFC 9112, sections 3.2, 5.2 and 6.1)."""
        if self._chunked and self.conn.their_state is not h11.IDLE:
            return False
        self._chunked = False
        while data:
            skipped = min(self._body, len(data))
            self._body -= skipped
            self._head += data[skipped:]
            end = _HEAD_ENDS.search(self._head)
            if end is None:
                self._head = self._head[-_LONGEST_HEAD:]
                return False
            head, data, self._head = self._head[: end.start()], self._head[end.end() :], b""
            length, chunked = _LENGTH.search(head), _CHUNKED.search(head)
            if _FOLDED.search(head) or (length and chunked) or len(_HOST.findall(head)) > 1:
                return True
            self._chunked = bool(chunked)
            if chunked:
                return False
            self._body = int(length[1]) if length else 0
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._stop_waiting()
        self.connections.discard(self)  # at once: uvloop tells the loss after further requests
        self.transport.abort()
