"""A connection to one Chroma over HTTP that outlives its server.

Belongs here: finding the server, the client's errors translated, and one second try when the
server is gone or a collection was swapped. Does not: requests (`client.py`), the queries.

A local server may stop (idle), be killed, or come back on another port at any time. A call
that finds nobody there starts it again and is made once more; every call of ours may be
repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import httpx

from memory_assets.errors import StoreError
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma.client import ChromaClient, ChromaRefused, NotFoundError

Answer = TypeVar("Answer")


class ChromaConnection:
    """A client of `url`, or (None) of the data directory's own server. `token` is what a
    server at `url` demands; that of the own server is known. `url` is the present address: a
    local server has another one after a restart.

    Raises:
        StoreError: nothing answers there.
    """

    def __init__(
        self, data_dir: Path, *, url: str | None, idle_seconds: float, token: str | None = None
    ) -> None:
        self._data_dir = data_dir
        self._idle_seconds = idle_seconds
        self._is_local = url is None
        self.url = url or ""
        self._token = token
        self._client: ChromaClient | None = None
        self.find_server()

    def find_server(self) -> None:
        """Make sure that the local server runs.

        Raises:
            StoreError: it cannot be started, or nothing answers at the URL.
        """
        before = (self.url, self._token)
        if self._is_local:
            self.url = chroma_server.ensure_running(self._data_dir, self._idle_seconds).url
            self._token = chroma_server.token(self._data_dir)
        if self._client is None or (self.url, self._token) != before:
            with chroma_errors(self.url):
                self._client = ChromaClient(self.url, self._token)

    def call(self, operation: Callable[[ChromaClient], Answer]) -> Answer:
        """Return what `operation` makes of the client; it is called once more when the
        server was gone.

        Raises:
            NotFoundError: `operation` names something that does not exist.
            StoreError: anything else went wrong.
        """
        assert self._client is not None
        try:
            with chroma_errors(self.url, (httpx.TransportError, NotFoundError)):
                return operation(self._client)
        except httpx.TransportError:
            self.find_server()
        with chroma_errors(self.url, (NotFoundError,)):
            return operation(self._client)


@contextmanager
def chroma_errors(url: str, let_through: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Translate errors of the client; their messages may quote a request's body, so only their
    type is reported, and a traceback does not show them. Those of `let_through` pass."""
    try:
        yield
    except let_through:
        raise
    except (httpx.HTTPError, ChromaRefused, ValueError) as error:
        name = error.name if isinstance(error, ChromaRefused) else type(error).__name__
        raise StoreError(
            f"Chroma at {url} failed ({name}). Check that it runs "
            "(`memory status`) and that its disk has room, then run the command again."
        ) from None
