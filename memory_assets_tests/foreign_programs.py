"""Programs of others that tests use: clients of Chroma's server, and a server of S3's interface.
They are imported when they are used: each worker imports all tests, and these take 3 s of CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest

from memory_assets.stores.chroma import server as chroma_server

if TYPE_CHECKING:
    from chromadb.api import AdminAPI, ClientAPI


def chroma_client(data_dir: Path, **where: Any) -> ClientAPI:
    """A client of a data directory's server, as others write it, with the token in a header."""
    import chromadb

    endpoint = chroma_server.ensure_running(data_dir, 60)
    headers = {"Authorization": f"Bearer {chroma_server.token(data_dir)}"}
    return chromadb.HttpClient("127.0.0.1", endpoint.port, headers=headers, **where)


def chroma_admin(data_dir: Path) -> AdminAPI:
    """What makes tenants and databases in a data directory's server."""
    import chromadb

    return chromadb.AdminClient(chroma_client(data_dir).get_settings())


@contextmanager
def s3_bucket(name: str) -> Iterator[str]:
    """The address of a server on loopback that has a bucket; variables say so meanwhile."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", address)
        patch.setenv("AWS_REGION", "us-east-1")
        for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(variable, "test")
        urlopen(Request(f"{address}/{name}", method="PUT"), timeout=10).close()
        yield address
    server.stop()
