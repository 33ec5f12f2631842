"""Connections to qdrant, and its errors without what they quote."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import RLock
from typing import Any
from urllib.parse import urlsplit

from memory_assets.errors import ConfigurationError, StoreBusy, StoreError, StoreUnanswering
from memory_assets.stores.vector_store import server_address, what_failed

_PORTS = (6333, 6333)
"""Where a URL names no port: of http, and of https (as the clients of qdrant have it)."""
_SECONDS = 60
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_NO_ACCESS = (401, 403)


def is_directory(url: str) -> bool:
    """Whether a setting names a directory, of local mode, not a server."""
    return "://" not in url


@contextmanager
def qdrant_errors(url: str) -> Iterator[None]:
    """Translate errors of the client; their messages quote requests and answers, so only their
    kind is reported, and a traceback does not show them."""
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except UnexpectedResponse as error:
        name = f"HTTP {error.status_code}"
        if error.status_code in _NO_ACCESS:
            raise StoreError(
                f"qdrant at {url} does not let us in; set QDRANT_API_KEY to its key"
            ) from None
    except ResponseHandlingException as error:  # refused, broken, or not in time
        name = type(error.source).__name__
        raise StoreUnanswering(what_failed("qdrant", url, name)) from None
    except (QdrantException, ValueError, RuntimeError, OSError) as error:
        name = type(error).__name__
    else:
        return
    raise StoreError(what_failed("qdrant", url, name)) from None


def connected(url: str, api_key: str | None) -> tuple[Any, AbstractContextManager[Any]]:
    """Return a client, and what one thread at a time may hold: a server needs no such lock."""
    try:
        import qdrant_client
    except ImportError:
        raise ConfigurationError(
            "VECTOR_BACKEND=qdrant needs the package qdrant-client: "
            "pip install 'memory-assets[qdrant]'"
        ) from None
    if is_directory(url):
        return _local(url)
    address = server_address("QDRANT_URL", url, *_PORTS)
    client = qdrant_client.QdrantClient(
        url=address,
        headers={"api-key": api_key} if api_key else None,
        timeout=_SECONDS,
        check_compatibility=False,
        trust_env=urlsplit(address).hostname not in _LOOPBACK,
    )
    return client, nullcontext()


@cache
def _local(directory: str) -> tuple[Any, AbstractContextManager[Any]]:
    """Return this process's client of a directory; only one can have it open."""
    from qdrant_client import QdrantClient

    try:
        with qdrant_errors(directory):
            client = QdrantClient(path=directory, force_disable_check_same_thread=True)
    except StoreError as error:
        raise StoreBusy(
            f"{error} One process at a time can have a directory of qdrant open; for more, run "
            "its server and set QDRANT_URL to its address."
        ) from None
    atexit.register(client.close)
    return client, RLock()
