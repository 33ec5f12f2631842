"""The few requests of Chroma's HTTP API that we make, to a server that may end at any time.

chromadb's own client takes .8 s of CPU to import, a third of what one more turn costs. A local
server may stop (idle), be killed, or come back on another port: a request that finds nobody there
starts it again and is made once more. Every request of ours may be repeated.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from memory_assets.errors import StoreError, StoreUnanswering
from memory_assets.http.client import HttpServer, NoAnswer
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.vector_store import failure_message, server_address

_LOG = logging.getLogger(__name__)
_API = "/api/v2"
_DATABASE = "/tenants/default_tenant/databases/default_database"
_NO_ANSWER_FROM = 300
"""The lowest status that is an error; redirections are errors, too."""
_NO_ACCESS = (401, 403)
_FAULT = "InternalError"
PORTS = (8000, 443)
"""The default ports of http and https."""
_ANSWER_SECONDS = 30.0
"""How long a request may take. One of 1,000 rows takes half a second."""


_PAUSE_SECONDS = 60.0
"""How long a process does not ask a server again that did not answer in time twice; else an ingest
would wait for each of many requests."""
_timed_out_at: dict[str, float] = {}
"""The time of that by data directory or URL, on the monotonic clock."""


def ask_again(data_dir: Path) -> None:
    """Let the local server be asked again, because its files were replaced."""
    _timed_out_at.pop(str(data_dir), None)


class ChromaRefused(StoreError):
    """Chroma answered with an error; `name` is Chroma's name of it."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__(failure_message("Chroma", url, name))
        self.name = name


class NotFoundError(ChromaRefused):
    """There is no collection of that name or id."""


class ChromaClient:
    """A client of `url`, or (None) of the data directory's own server, for any number of threads.
    `token` is what a server at `url` demands; that of the own server is known. `url` is the
    present address: a local server has another one after a restart. With `whole=False` it is
    started on damaged files as well.

    Raises:
        StoreError: `url` is no address, or nothing answers there.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        url: str | None,
        idle_seconds: float,
        token: str | None = None,
        whole: bool = True,
    ) -> None:
        self._data_dir = data_dir
        self._idle_seconds = idle_seconds
        self._is_local = url is None
        self.url = url or ""
        self._token = token
        self._whole = whole
        self._process = 0
        """Of the local server."""
        self._server: HttpServer | None = None
        self.find_server()

    def find_server(self) -> None:
        """Make sure that the local server runs.

        Raises:
            StoreUnanswering: nothing answers.
            StoreError: it cannot be started.
        """
        self._require_responsive()
        before = (self.url, self._token)
        if self._is_local:
            with self._note_timeouts():
                endpoint = chroma_server.ensure_running(
                    self._data_dir, self._idle_seconds, whole=self._whole
                )
            self.url, self._process = endpoint.url, endpoint.pid
            self._token = chroma_server.token(self._data_dir)
        if self._server is None or (self.url, self._token) != before:
            self._server = HttpServer(
                server_address("MEMORY_CHROMA_URL", self.url, *PORTS) + _API,
                self._token,
                _ANSWER_SECONDS,
            )
            with chroma_errors(self.url), self._note_timeouts():
                self._send_once("GET", _DATABASE, None)

    def request(self, method: str, path: str, body: Any = None, *, once: bool = False) -> Any:
        """Return the answer to a request about the default database, as `send` does. If a local
        server fails, a new one is asked; with `once` the error is raised."""
        try:
            return self.send(method, _DATABASE + path, body)
        except ChromaRefused as error:
            if once or not self._is_local or error.name != _FAULT:
                raise
        self.end_server(f"failed ({_FAULT})")
        return self.send(method, _DATABASE + path, body)

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer to a request, from JSON.

        Raises:
            NotFoundError: it names something that does not exist.
            ChromaRefused: it is refused.
            StoreUnanswering: there is no answer, not even of a restarted local server.
            StoreError: anything else went wrong.
        """
        content = orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY) if body else None
        self._require_responsive()
        with chroma_errors(self.url):
            try:
                return self._send_once(method, path, content)
            except NoAnswer as error:
                if error.late:
                    self.end_server(f"did not answer for {_ANSWER_SECONDS:.0f} s")
                self.find_server()
                with self._note_timeouts():
                    return self._send_once(method, path, content)

    def end_server(self, what: str) -> None:
        """End the local server, which did `what`, unless it has ended: after one failing write in
        its database it may wait for itself for ever (chromadb 1.5.9). The next request starts a new
        one."""
        if self._is_local and chroma_server.stop(self._data_dir, process=self._process):
            _LOG.warning("Chroma %s; its server was ended, and another one is asked", what)

    @property
    def _server_key(self) -> str:
        return str(self._data_dir) if self._is_local else self.url

    @contextmanager
    def _note_timeouts(self) -> Iterator[None]:
        """Note the time if the server does not answer in time during a block."""
        try:
            yield
        except (NoAnswer, StoreUnanswering) as error:
            if not isinstance(error, NoAnswer) or error.late:
                _timed_out_at[self._server_key] = time.monotonic()
            raise

    def _require_responsive(self) -> None:
        """Raise `StoreUnanswering` if this server did not answer in time a moment ago."""
        if time.monotonic() - _timed_out_at.get(self._server_key, -math.inf) < _PAUSE_SECONDS:
            raise StoreUnanswering(failure_message("Chroma", self.url, "no answer in time"))

    def _send_once(self, method: str, path: str, content: bytes | None) -> Any:
        assert self._server is not None
        status, answer = self._server.send(method, path, content)
        if status < _NO_ANSWER_FROM:
            return orjson.loads(answer)
        if status in _NO_ACCESS and not self._is_local:
            raise StoreError(
                f"Chroma at {self.url} does not let us in; set MEMORY_CHROMA_TOKEN to its token"
            )
        try:  # the message may quote the request, so only the name is read
            name = str(orjson.loads(answer)["error"])
        except (ValueError, TypeError, KeyError):
            name = f"HTTP {status}"
        kind = NotFoundError if name == NotFoundError.__name__ else ChromaRefused
        raise kind(self.url, name) from None


@contextmanager
def chroma_errors(url: str) -> Iterator[None]:
    """Translate errors of the HTTP client; their messages may quote a request's body, so only
    their type is reported, and a traceback does not show them."""
    try:
        yield
    except NoAnswer as error:
        raise StoreUnanswering(failure_message("Chroma", url, str(error))) from None
    except ValueError as error:
        raise StoreError(failure_message("Chroma", url, type(error).__name__)) from None
