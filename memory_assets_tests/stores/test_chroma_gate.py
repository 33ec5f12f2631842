"""The gate of the local Chroma server: who may ask, and what comes through."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import socket
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

from memory_assets.errors import StoreError
from memory_assets.recall.memory import Memory
from memory_assets.redacted_text import seal
from memory_assets.settings import load_settings
from memory_assets.stores.chroma import gate
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma.collections import ChromaStore
from memory_assets.stores.vector_store import Collection, CollectionVersions
from memory_assets_tests.stores.conftest import Servers

VERSIONS = CollectionVersions("model-a", 384, "c1", "r1")
COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"
LINUX = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads /proc")


@pytest.fixture(scope="module")
def guarded(module_servers: Servers) -> tuple[chroma_server.Endpoint, str]:
    """A running server and its token."""
    data_dir = module_servers.data_dir("guarded")
    return module_servers.start(data_dir), chroma_server.token(data_dir)


def _ask(
    endpoint: chroma_server.Endpoint, method: str = "GET", path: str = COLLECTIONS, **headers: str
) -> tuple[int, Any]:
    """Send one request with these headers and no others; `_` in a name stands for `-`."""
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=20)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest(method, path, skip_host="Host" in sent, skip_accept_encoding=True)
    for name, value in sent.items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    try:
        return response.status, json.loads(response.read() or b"null")
    finally:
        connection.close()


def _filled(data_dir: Path) -> Collection:
    collection = ChromaStore(data_dir, url=None, idle_seconds=60.0).open("things", VERSIONS)
    vectors = np.eye(384, dtype=np.float32)[:3]
    collection.upsert(list("abc"), vectors, [seal("text")] * 3, [{"k": "v"}] * 3)
    return collection


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"X_Chroma_Token": "wrong"}, 401),
        ({"Authorization": "Bearer TOKEN", "Host": "attacker.example:80"}, 421),
        ({"Authorization": "Bearer TOKEN", "Host": "127.0.0.1.attacker.example"}, 421),
        ({"Authorization": "Bearer TOKEN", "Origin": "https://attacker.example"}, 403),
        ({"Authorization": "Bearer TOKEN", "Origin": "null"}, 403),
        ({"Authorization": "Bearer TOKEN", "Transfer_Encoding": "chunked"}, 411),
        ({"Authorization": "Bearer TOKEN", "Content_Length": "99999999"}, 413),
    ],
)
def test_a_request_without_the_token_or_of_a_web_page_is_refused(
    guarded: tuple[chroma_server.Endpoint, str], method: str, headers: dict[str, str], status: int
) -> None:
    """A foreign Host (DNS rebinding), any Origin, no token or a wrong one: nothing is read,
    written or deleted."""
    endpoint, token = guarded
    given = {name: value.replace("TOKEN", token) for name, value in headers.items()}
    answered, body = _ask(endpoint, method, **given)
    assert answered == status
    assert set(body) == {"error", "message"}


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "X-Chroma-Token", "Basic"])
def test_the_token_is_taken_in_every_form_that_chroma_clients_send(
    guarded: tuple[chroma_server.Endpoint, str], form: str
) -> None:
    """A bearer token, `X-Chroma-Token`, or as the password of Basic authentication."""
    endpoint, token = guarded
    if form == "X-Chroma-Token":
        headers = {"X_Chroma_Token": token}
    elif form == "Basic":
        headers = {"Authorization": f"Basic {base64.b64encode(f'me:{token}'.encode()).decode()}"}
    else:
        headers = {"Authorization": form.format(token)}
    assert _ask(endpoint, **headers)[0] == 200


@pytest.mark.parametrize(
    ("version", "connection"), [("1.1", "close"), ("1.0", "close"), ("1.0", "")]
)
def test_a_client_that_wants_one_answer_gets_it(
    guarded: tuple[chroma_server.Endpoint, str], version: str, connection: str
) -> None:
    """HTTP/1.0, and `Connection: close` as urllib sends it: the whole answer, then the end."""
    endpoint, token = guarded
    lines = [f"GET {COLLECTIONS} HTTP/{version}", "Host: localhost", f"X-Chroma-Token: {token}"]
    lines += [f"Connection: {connection}"] if connection else []
    with socket.create_connection(("127.0.0.1", endpoint.port), timeout=20) as asked:
        asked.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b"".join(iter(lambda: asked.recv(65_536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b" 200 " in head.splitlines()[0] and b"connection: close" in head
    assert isinstance(json.loads(body), list)


def test_a_server_at_a_url_gets_the_token_of_the_settings(
    guarded: tuple[chroma_server.Endpoint, str], tmp_path: Path
) -> None:
    """Without it, the error names the setting."""
    endpoint, token = guarded
    given = {"data_dir": tmp_path, "chroma_url": endpoint.url}
    assert Memory(load_settings(**given, chroma_token=token)).vectors.names() == []
    with pytest.raises(StoreError, match="MEMORY_CHROMA_TOKEN"):
        Memory(load_settings(**given)).vectors.names()


def test_the_token_is_for_the_user_alone_and_stays(servers: Servers) -> None:
    """Its file has mode 0600 whatever the umask, and outlives the server; one that is removed
    is made anew, and the server that knows the old one makes way."""
    data_dir = servers.data_dir()
    before = os.umask(0)
    try:
        first = servers.start(data_dir)
    finally:
        os.umask(before)
    path = data_dir / chroma_server.TOKEN_FILE
    token = path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    chroma_server.stop(data_dir)
    servers.start(data_dir)
    assert path.read_text() == token
    path.unlink()
    left = chroma_server.running(data_dir)
    assert left is not None and servers.ends(left.pid, within=60.0)
    assert _filled(data_dir).count() == 3
    assert path.read_text() != token
    assert first.port == servers.start(data_dir).port


@LINUX
def test_the_server_behind_the_gate_cannot_be_reached(servers: Servers) -> None:
    """The process has no children, and listens on one port, that of the gate, on loopback, though
    Chroma needs one, too. Every established connection to Chroma's own port comes from the process
    itself."""
    endpoint = servers.start(servers.data_dir())
    process = Path(f"/proc/{endpoint.pid}")
    assert "".join(path.read_text() for path in process.glob("task/*/children")).split() == []
    links = []
    for link in (process / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            links.append(link.readlink())
    own = {str(link).removeprefix("socket:[").removesuffix("]") for link in links}
    tables = [Path(f"/proc/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    listening, inner = set(), set()
    for fields in map(str.split, [line for table in tables for line in table]):
        local, remote = (int(fields[at].split(":")[1], 16) for at in (1, 2))
        if fields[9] in own and fields[3] == "0A":
            listening.add(fields[1])
        elif fields[9] in own and fields[3] == "01" and endpoint.port not in (local, remote):
            inner |= {local, remote}
    assert listening == {f"0100007F:{endpoint.port:04X}"}
    assert inner, "Chroma's own connections were not found"
    for port in inner:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5).close()


def test_a_client_of_others_reads_with_the_token(servers: Servers) -> None:
    """chromadb's own client, by header or by its token provider; without it, it is refused."""
    import chromadb

    data_dir = servers.data_dir()
    _filled(data_dir)
    port, token = servers.start(data_dir).port, chroma_server.token(data_dir)
    by_header = chromadb.HttpClient("127.0.0.1", port, headers={"X-Chroma-Token": token})
    provided = chromadb.HttpClient(
        "127.0.0.1",
        port,
        settings=chromadb.config.Settings(
            chroma_client_auth_provider="chromadb.auth.token_authn.TokenAuthClientProvider",
            chroma_client_auth_credentials=token,
        ),
    )
    for client in (by_header, provided):
        assert client.get_collection("things", embedding_function=None).count() == 3
    with pytest.raises(Exception, match="token"):
        chromadb.HttpClient("127.0.0.1", port).list_collections()


def test_more_clients_than_connections_are_all_served(servers: Servers) -> None:
    """60 clients at once, some of whom go away before their answer: nobody is refused, and
    no connection to Chroma is lost."""
    data_dir = servers.data_dir()
    _filled(data_dir)
    endpoint = servers.start(data_dir)
    token = chroma_server.token(data_dir)
    head = f"GET {COLLECTIONS} HTTP/1.1\r\nHost: localhost\r\nX-Chroma-Token: {token}\r\n\r\n"

    def ask(number: int) -> int:
        if number % 3:
            return _ask(endpoint, X_Chroma_Token=token)[0]
        with socket.create_connection(("127.0.0.1", endpoint.port)) as gone:
            gone.sendall(head.encode())
        return 200

    with ThreadPoolExecutor(60) as pool:
        assert set(pool.map(ask, range(300))) == {200}
    assert chroma_server.running(data_dir) == endpoint


def test_no_process_but_the_server_is_ever_signalled(servers: Servers) -> None:
    """An endpoint file that names another process: an error says so, and that process, be it
    another directory's server, lives on."""
    data_dir = servers.data_dir()
    endpoint = servers.start(data_dir)
    other = servers.start(servers.data_dir("other"))
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    path = data_dir / chroma_server.ENDPOINT
    try:
        for pid in (bystander.pid, other.pid):
            path.write_text(json.dumps({**vars(endpoint), "pid": pid}))
            with pytest.raises(StoreError, match=f"process {pid}"):
                chroma_server.stop(data_dir)
        time.sleep(0.5)
        assert bystander.poll() is None
        assert chroma_server.running(data_dir.parent / "other") == other
    finally:
        bystander.kill()
        bystander.communicate()
        path.write_text(json.dumps(vars(endpoint)))


def test_nothing_in_the_data_directory_is_executed(servers: Servers) -> None:
    """The server's working directory is the data directory; a module that lies in it, by the
    name of one that the server imports, is not imported."""
    data_dir = servers.data_dir()
    data_dir.mkdir(exist_ok=True)
    trace = data_dir / "executed"
    for name in ("json", "filelock", "orjson", "chromadb_rust_bindings", "memory_assets"):
        (data_dir / f"{name}.py").write_text(f"open({str(trace)!r}, 'w').close()\n")
    servers.start(data_dir)
    assert not trace.exists()
    with pytest.raises(Exception, match=r"Timeout|could not be acquired"):
        FileLock(data_dir / chroma_server.LOCK).acquire(blocking=False)


def test_a_socket_that_is_closed_while_it_is_looked_at_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Chroma closes its first listener at any moment, and then listens on another one."""
    closed = socket.socket()
    closed.close()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        found = iter([(3, closed), (4, listening)])
        monkeypatch.setattr(gate, "_sockets", lambda: found)
        assert gate._find_listener() == (4, listening.getsockname()[1])
