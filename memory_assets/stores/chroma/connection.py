"""A connection to one Chroma over HTTP that outlives its server.

Belongs here: addresses, the HTTP client, chromadb's errors translated, and one second try
when the server is gone or a collection was swapped. Does not: the queries.

A local server may stop (idle), be killed, or come back on another port at any time. A call
that finds nobody there starts it again and is made once more; every call of ours may be
repeated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from memory_assets.errors import StoreError
from memory_assets.stores.chroma import server as chroma_server

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

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
        self._client: ClientAPI | None = None
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
            self._client = _new_client(self.url, self._token)

    def call(self, operation: Callable[[ClientAPI], Answer]) -> Answer:
        """Return what `operation` makes of the client; it is called once more when the
        server was gone.

        Raises:
            NotFoundError: of chromadb; `operation` names something that does not exist.
            StoreError: anything else went wrong.
        """
        import httpx
        from chromadb.errors import NotFoundError

        assert self._client is not None
        try:
            with chroma_errors(self.url, (httpx.TransportError, NotFoundError)):
                return operation(self._client)
        except httpx.TransportError:
            self.find_server()
        with chroma_errors(self.url, (NotFoundError,)):
            return operation(self._client)


def _new_client(url: str, token: str | None) -> ClientAPI:
    import chromadb
    from chromadb.config import Settings as ChromaSettings

    host, port, ssl = _address(url)
    with chroma_errors(url), _no_proxy_for_loopback():
        return chromadb.HttpClient(
            host=host,
            port=port,
            ssl=ssl,
            headers={"Authorization": f"Bearer {token}"} if token else None,
            settings=ChromaSettings(anonymized_telemetry=False),
        )


def _address(url: str) -> tuple[str, int, bool]:
    """Return host, port and whether to speak TLS."""
    wrong = StoreError(f"MEMORY_CHROMA_URL is {url!r}; it should look like http://host:8000")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.hostname is None or parts.scheme not in ("http", "https"):
        raise wrong
    ssl = parts.scheme == "https"
    return parts.hostname, port or (443 if ssl else 8000), ssl


@contextmanager
def _no_proxy_for_loopback() -> Iterator[None]:
    """Keep a client that is made meanwhile from asking the environment's proxy for a
    server on this machine; chromadb has no option for it."""
    before = {name: os.environ.get(name) for name in ("no_proxy", "NO_PROXY")}
    listed = before["no_proxy"] or before["NO_PROXY"] or ""
    os.environ.update(dict.fromkeys(before, f"{listed},127.0.0.1,localhost".lstrip(",")))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def chroma_errors(url: str, let_through: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Translate chromadb's and httpx's errors; their messages may quote a request's
    body, so only their type is reported, and a traceback does not show them. Those of
    `let_through` pass."""
    import httpx
    from chromadb.errors import ChromaError

    try:
        yield
    except let_through:
        raise
    except (httpx.HTTPError, ChromaError, ValueError) as error:
        raise StoreError(
            f"Chroma at {url} failed ({type(error).__name__}). Check that it runs "
            "(`memory status`) and that its disk has room, then run the command again."
        ) from None
