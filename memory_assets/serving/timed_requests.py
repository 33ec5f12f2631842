"""HTTP/1.1 whose requests must arrive in time, so that half-open connections deny nothing, and mean
one thing, so that no proxy in front takes a part of one for another request.

uvicorn waits for the rest of a request for ever and counts each connection as one under way: 64
clients that send a byte a minute made it answer 503 to everybody else.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from uvicorn import Config

REQUEST_SECONDS = 10.0
"""Time for a request, its body included, from its first byte or the connection's beginning."""
MOST_ARRIVING = 32
"""Connections whose request has not arrived; the oldest gives way to a new one."""
_LONGEST_HEAD = 65_536
_HEAD_ENDS = re.compile(rb"\r?\n\r?\n")
_FOLDED = re.compile(rb"\n[ \t]")
_LENGTH = re.compile(rb"(?i)\ncontent-length[ \t]*:")
_CHUNKED = re.compile(rb"(?i)\ntransfer-encoding[ \t]*:")
_HOST = re.compile(rb"(?i)\nhost[ \t]*:")


class Unambiguous(h11.Connection):
    """A connection that reads no head which two readers may read in two ways: h11 would choose one
    reading."""

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the next event.

        Raises:
            h11.RemoteProtocolError: the next head has a folded line, several hosts, or both a
                length and chunks (RFC 9112, sections 3.2, 5.2 and 6.1), or is no HTTP.
        """
        if self.their_state is h11.IDLE:
            arrived = self.trailing_data[0]
            end = _HEAD_ENDS.search(arrived)
            head = arrived[: end.start()] if end else b""
            both = _LENGTH.search(head) and _CHUNKED.search(head)
            if both or _FOLDED.search(head) or len(_HOST.findall(head)) > 1:
                raise h11.RemoteProtocolError("the request can be read in two ways")
        return super().next_event()


class TimedRequests(H11Protocol):
    """uvicorn's protocol, with a limit for the time that a request takes to arrive, over an
    unambiguous connection."""

    _deadline: asyncio.TimerHandle | None = None

    def __init__(self, config: Config, *arguments: Any, **named: Any) -> None:
        super().__init__(config, *arguments, **named)
        self.conn = Unambiguous(h11.SERVER, config.h11_max_incomplete_event_size or _LONGEST_HEAD)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the request, and for no more than `MOST_ARRIVING` in all."""
        super().connection_made(transport)
        self._wait()
        arriving = [
            (connection._deadline.when(), number, connection)
            for number, connection in enumerate(self.connections)
            if isinstance(connection, TimedRequests) and connection._deadline is not None
        ]
        for *_, connection in sorted(arriving)[:-MOST_ARRIVING]:
            connection._give_up()

    def data_received(self, data: bytes) -> None:
        """Handle the data; wait on for what is still missing of the request."""
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._wait()
        else:
            self._stop_waiting()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP. The application, which may have begun to answer, is told that
        nobody listens any more, or uvicorn would print a traceback of what it sends."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def on_response_complete(self) -> None:
        """Wait for the next request: a connection between two counts as one that has not arrived,
        or clients that send nothing more would keep everybody else out."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE:
            self._wait()

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
