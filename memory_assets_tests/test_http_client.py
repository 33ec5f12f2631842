"""Requests to a server: over connections that stay open, through a proxy where one is named."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from memory_assets.errors import StoreError
from memory_assets.http.client import HttpServer, NoAnswer
from memory_assets.stores.chroma_mcp.session import McpSession
from memory_assets.stores.qdrant.collections import QdrantStore


class _Listener(ThreadingHTTPServer):
    """Answers each request with its first line, and keeps connections and headers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.connections: list[object] = []
        self.headers: list[dict[str, str]] = []
        self.elsewhere = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener

    def setup(self) -> None:
        super().setup()
        self.server.connections.append(self.connection)

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.headers.append(dict(self.headers))
        answer = self.path.encode()
        self.send_response(307 if self.server.elsewhere else 200)
        if self.server.elsewhere:
            self.send_header("Location", self.server.elsewhere + self.path)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextmanager
def _listening() -> Iterator[_Listener]:
    server = _Listener()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def listener() -> Iterator[_Listener]:
    """A real HTTP server."""
    with _listening() as server:
        yield server


def test_a_connection_is_used_again_and_opened_again_when_it_broke(listener: _Listener) -> None:
    """What breaks it is told as `NoAnswer`, which quotes nothing; the next request goes well."""
    server = HttpServer(f"{listener.url}/base", "token")
    for _ in range(3):
        assert server.send("POST", "/rows", b"{}") == (200, b"/base/rows")
    assert len(listener.connections) == 1
    assert listener.headers[0]["Authorization"] == "Bearer token"
    (broken,) = listener.connections
    broken.shutdown(2)  # type: ignore[attr-defined]
    with pytest.raises(NoAnswer, match=r"^\w+$"):
        server.send("POST", "/rows", b"a body")
    assert server.send("POST", "/rows") == (200, b"/base/rows")
    assert len(listener.connections) == 2


def test_another_machine_is_reached_through_the_proxy_of_the_environment(
    listener: _Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets the whole address, and the name and password that it is given with."""
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, listener.url.replace("//", "//mara:p%40ss@"))
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "other.example")
    server = HttpServer("http://chroma.example:8000/base", None)
    assert server.send("POST", "/rows") == (200, b"http://chroma.example:8000/base/rows")
    assert listener.headers[0]["Proxy-Authorization"] == "Basic bWFyYTpwQHNz"
    with pytest.raises(NoAnswer):
        HttpServer("http://other.example:8000", None, timeout=5).send("POST", "/rows")


def _ask_mcp(url: str) -> None:
    session = McpSession(f"{url}/mcp", seconds=2)
    try:
        session.call("list", {})
    finally:
        session.close()


ASKING: dict[str, Callable[[str], object]] = {
    "Chroma and models": lambda url: HttpServer(url, "token").send("POST", "/rows"),
    "qdrant": lambda url: QdrantStore(url, "token"),
    "MCP": _ask_mcp,
}


@pytest.mark.parametrize("ask", ASKING.values(), ids=ASKING.keys())
def test_a_redirection_leads_to_no_other_server(
    listener: _Listener, ask: Callable[[str], object]
) -> None:
    """Only what a setting names is asked, whatever answers there; so no token goes elsewhere."""
    with _listening() as other:
        listener.elsewhere = other.url
        with suppress(StoreError):
            ask(listener.url)
        assert listener.headers and not other.connections
