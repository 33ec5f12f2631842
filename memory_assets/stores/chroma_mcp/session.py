"""A session with an MCP server, for code that is not asynchronous: over the pipes of a process
that is started, or over HTTP. It knows no tool.

The session lives in a thread of its own. That thread does not keep the process from ending; the
server's process ends when its standard input is closed, which happens however ours ends.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock, Thread
from typing import TYPE_CHECKING, Any, TextIO

from memory_assets.errors import StoreError

if TYPE_CHECKING:
    from mcp import Client

_CLOSE_SECONDS = 10.0


@dataclass(frozen=True)
class ServerProcess:
    """The command that starts a server which speaks on its standard input and output, and the
    environment variables that it gets beside PATH, HOME and the like."""

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ToolAnswer:
    """What a tool answered: its texts, and whether it failed."""

    texts: tuple[str, ...]
    failed: bool


class ServerSilent(StoreError):
    """The server gave no answer, twice: it cannot be reached or started, or was killed."""


class McpSession:
    """Calls the tools of the server at a URL, or of a process that is started when it is first
    needed. For any number of threads."""

    def __init__(self, server: str | ServerProcess, *, seconds: float = 60.0) -> None:
        """Take a server; an answer is awaited for `seconds`."""
        self._server = server
        self._seconds = seconds
        self._live: _LiveSession | None = None
        self._lock = RLock()

    def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Return the answer of a tool. If there is none, the session is begun again and the tool
        called once more; so a call must be one that may be repeated.

        Raises:
            ServerSilent: there is no answer the second time either; it quotes nothing.
        """
        for _ in range(2):
            live = None
            with suppress(*_no_answer_errors()):
                live = self._opened()
                return live.call(tool, arguments)
            self._drop(live)
        where = self._server if isinstance(self._server, str) else self._server.command[0]
        raise ServerSilent(
            f"the MCP server {where} does not answer; nothing is known of the last request. "
            "See that it runs, then try again"
        )

    def close(self) -> None:
        """End the session, and the server's process if it was started here."""
        self._drop(self._live)

    def _opened(self) -> _LiveSession:
        with self._lock:
            if self._live is None:
                self._live = _LiveSession(self._server, self._seconds)
            return self._live

    def _drop(self, live: _LiveSession | None) -> None:
        """End a session, unless another thread did so already."""
        with self._lock:
            if live is None or live is not self._live:
                return
            self._live = None
        live.close()


class _LiveSession:
    """One session on an event loop of its own; it is made when the server has answered."""

    def __init__(self, server: str | ServerProcess, seconds: float) -> None:
        from anyio.from_thread import start_blocking_portal

        self._seconds = seconds
        try:
            with ExitStack() as opened:
                log = opened.enter_context(Path(os.devnull).open("w"))
                self._loop = opened.enter_context(start_blocking_portal())
                client = self._loop.wrap_async_context_manager(_client(server, seconds, log))
                self._client = opened.enter_context(client)
                self._opened = opened.pop_all()
        except Exception:  # noqa: BLE001 - whatever the transport raises, nobody answered
            raise ConnectionError from None

    def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Return the answer of a tool; raises what `_no_answer_errors` lists."""
        called = self._loop.start_task_soon(self._client.call_tool, tool, dict(arguments))
        try:
            result = called.result(self._seconds + _CLOSE_SECONDS)
        finally:
            called.cancel()
        texts = tuple(str(getattr(part, "text", "")) for part in result.content)
        return ToolAnswer(texts, bool(result.is_error))

    def close(self) -> None:
        """End the session, and wait until its server's process is gone, but not for ever."""

        def end() -> None:
            with suppress(Exception):  # of a server that died
                self._opened.close()

        ending = Thread(target=end, daemon=True)
        ending.start()
        ending.join(_CLOSE_SECONDS)


def _client(server: str | ServerProcess, seconds: float, log: TextIO) -> Client:
    """Return a client that is not connected yet. Servers of before 2026 know the handshake
    `initialize` only, and some end at anything else; so it is the one that is used."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    if isinstance(server, str):
        return Client(server, mode="legacy", read_timeout_seconds=seconds)
    command, *arguments = server.command
    environment = dict(server.environment)
    started = StdioServerParameters(command=command, args=arguments, env=environment)
    transport = stdio_client(started, errlog=log)
    return Client(transport, mode="legacy", read_timeout_seconds=seconds)


def _no_answer_errors() -> tuple[type[BaseException], ...]:
    """Return the errors that say that a server gave no answer."""
    import anyio
    import httpx2
    import pydantic
    from mcp.shared.exceptions import MCPError

    closed = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream)
    http = (httpx2.HTTPError, httpx2.StreamError)
    other = (OSError, TimeoutError, RuntimeError, CancelledError)
    return (MCPError, pydantic.ValidationError, *other, *closed, *http)
