"""HTTP/1.1 whose requests must arrive in time, so that half-open connections deny nothing.

uvicorn waits for the rest of a request for ever and counts each connection as one under way: 64
clients that send a byte a minute made it answer 503 to everybody else.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0
"""Time for a request, its body included, from its first byte or the connection's beginning."""
MOST_ARRIVING = 32
"""Connections whose request has not arrived; the oldest gives way to a new one."""


class TimedRequests(H11Protocol):
    """uvicorn's protocol, with a limit for the time that a request takes to arrive."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the request, and for no more than `MOST_ARRIVING` in all."""
        super().connection_made(transport)
        self._wait()
        arriving = [
            (each._deadline.when(), number, each)
            for number, each in enumerate(self.connections)
            if isinstance(each, TimedRequests) and each._deadline is not None
        ]
        if len(arriving) > MOST_ARRIVING:
            min(arriving)[-1]._give_up()

    def data_received(self, data: bytes) -> None:
        """Handle the data; wait on for what is still missing of the request."""
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._wait()
        else:
            self._stop_waiting()

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
