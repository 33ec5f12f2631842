"""The few requests of Chroma's HTTP API that we make.

chromadb's own client takes .8 s of CPU to import, a third of what one more turn costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import orjson

from memory_assets.errors import StoreError

_DATABASE = "/api/v2/tenants/default_tenant/databases/default_database"
_CONFIGURATION = {"hnsw": {"space": "cosine"}, "embedding_function": {"type": "legacy"}}
"""Of the collections that we make: cosine, and vectors that their writers bring along."""
_LOOPBACK = ("127.0.0.1", "localhost")


class ChromaRefused(Exception):
    """Chroma answered with an error; `name` is what it calls it. The message may quote a request,
    so it is left out."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class NotFoundError(ChromaRefused):
    """There is no collection of that name or id."""


@dataclass
class ChromaCollection:
    """A collection as Chroma described it last."""

    client: ChromaClient
    id: str
    name: str
    metadata: Mapping[str, Any] | None
    configuration_json: Mapping[str, Any] | None

    def ask(self, method: str, **arguments: Any) -> Any:
        """Return the answer to `count`, `get`, `query`, `upsert` or `delete`."""
        path = f"/collections/{self.id}/{method}"
        return self.client.request("POST", path, arguments) if arguments else self.client.get(path)

    def modify(self, **new: Any) -> None:
        """Give it another `name` or other `metadata`."""
        body = {f"new_{name}": value for name, value in new.items()}
        self.client.request("PUT", f"/collections/{self.id}", body)
        for name, value in new.items():
            setattr(self, name, value)


class ChromaClient:
    """A client of the server at `url`, for any number of threads. Every method raises
    `ChromaRefused`, or an error of httpx if nothing answers.

    Raises:
        StoreError: `url` is no address.
    """

    def __init__(self, url: str, token: str | None) -> None:
        host, base = _address(url)
        loopback = host in _LOOPBACK
        self._database = base + _DATABASE
        self._http = httpx.Client(
            timeout=None,
            headers={"Authorization": f"Bearer {token}"} if token else None,
            trust_env=not loopback,  # the environment's proxy is for other machines
            verify=not loopback or base.startswith("https"),
        )
        self.get("")

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer to a request, from JSON."""
        content = orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY) if body else None
        response = self._http.request(
            method,
            self._database + path,
            content=content,
            headers={"Content-Type": "application/json"},
        )
        if response.is_success:
            return orjson.loads(response.content)
        try:
            name = str(orjson.loads(response.content)["error"])
        except (ValueError, TypeError, KeyError):
            name = f"HTTP {response.status_code}"
        raise (NotFoundError if name == NotFoundError.__name__ else ChromaRefused)(name)

    def get(self, path: str) -> Any:
        """Return what lies at a path of the database."""
        return self.request("GET", path)

    def list_collections(self) -> list[str]:
        """Return the names of all collections."""
        return [str(each["name"]) for each in self.get("/collections")]

    def get_collection(self, name: str) -> ChromaCollection:
        """Return a collection by name."""
        return self._collection(self.get(_of(name)))

    def create_collection(
        self, name: str, metadata: Mapping[str, Any], *, get_or_create: bool = False
    ) -> ChromaCollection:
        """Return a new collection, cosine space, or the one that has the name."""
        body = {
            "name": name,
            "metadata": metadata,
            "configuration": _CONFIGURATION,
            "get_or_create": get_or_create,
        }
        return self._collection(self.request("POST", "/collections", body))

    def delete_collection(self, name: str) -> None:
        """Delete a collection by name."""
        self.request("DELETE", _of(name))

    def _collection(self, found: Mapping[str, Any]) -> ChromaCollection:
        told = (found.get(name) for name in ("metadata", "configuration_json"))
        return ChromaCollection(self, found["id"], found["name"], *told)


def _of(name: str) -> str:
    return f"/collections/{quote(name, safe='')}"


def _address(url: str) -> tuple[str, str]:
    """Return host and base URL."""
    wrong = StoreError(f"MEMORY_CHROMA_URL is {url!r}; it should look like http://host:8000")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.hostname is None or parts.scheme not in ("http", "https"):
        raise wrong
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    base = f"{parts.scheme}://{host}:{port or (443 if parts.scheme == 'https' else 8000)}"
    return parts.hostname, base
