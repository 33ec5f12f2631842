"""The HTTP API: what it answers, whom it refuses, that it keeps to its own document, and what it
does with clients that never finish a request, or send one that can be read in two ways."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import hypothesis
import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from memory_assets.recall import Memory
from memory_assets.serving import http_api, timed_requests
from memory_assets.serving.http_api import build_app, openapi_document
from memory_assets.serving.http_server import MAX_TARGET, bind, server_of
from memory_assets.serving.pages.site import build_site
from memory_assets.settings import Settings, load_settings
from memory_assets_tests.command_line import run_here
from memory_assets_tests.recall.conftest import LOCAL, REPORTS, TOKEN, TURN, Asked
from memory_assets_tests.sweep import sweep


def _client(settings: Settings, **given: Any) -> TestClient:
    return TestClient(build_app(settings, **given), base_url=LOCAL)


@pytest.fixture(scope="module")
def client(asked: Asked) -> Iterator[TestClient]:
    """A client of the API over the tests' memory."""
    with _client(asked.settings) as client:
        yield client


@pytest.mark.parametrize("mode", ["positive", pytest.param("negative", marks=pytest.mark.long)])
def test_the_api_keeps_to_its_own_document(asked: Asked, mode: str) -> None:
    """schemathesis: what the document allows is answered, what it forbids is refused, and
    every answer is as described; 422 is for what makes no sense in words. The most telling refusals
    are listed below."""
    import schemathesis
    from schemathesis.core.result import Ok

    accepted = {"positive_data_acceptance": {"expected-statuses": ["2xx", 404, 409, 422]}}
    schema = schemathesis.openapi.from_asgi(
        "/openapi.json",
        build_app(asked.settings),
        config=schemathesis.Config.from_dict({"checks": accepted}),
        headers={"host": "127.0.0.1"},
    )
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    assert {operation.path for operation in operations} == set(openapi_document()["paths"])
    for operation in operations:
        if mode == "negative" and not operation.query:
            continue  # there is nothing to be wrong

        @hypothesis.settings(
            max_examples=3,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(
            case=operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode))
        )
        def holds(case: Any) -> None:
            case.call_and_validate(headers={"host": "127.0.0.1"})

        holds()


@sweep(
    "path, key",
    [
        (f"/turns/{TURN}?around=2", "rows"),
        (f"/sessions/{REPORTS[:8]}", "summary"),
        (f"/timeline?anchor={TURN}&before=2&after=1h&kinds=turns,prompts&detail=full", "sessions"),
        ("/status", "projects"),
        ("/healthz", "status"),
        ("/openapi.json", "paths"),
    ],
)
def test_each_route_answers_in_json(client: TestClient, path: str, key: str) -> None:
    """With what it is asked for, not to be kept by any cache, readable by no other origin."""
    response = client.get(path)
    assert response.status_code == 200 and response.json()[key]
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert not [name for name in response.headers if name.startswith("access-control")]


@sweep(
    "path, status",
    [
        ("/search?q=", 422),
        ("/search?q=x&n=1e2", 400),
        ("/search?q=x&q=y", 400),
        ("/search?q=x&colour=red", 400),
        ("/search?q=x&since=whenever", 422),
        ("/search?q=x&project=nowhere", 404),
        ("/timeline?anchor=nothing-of-the-kind", 404),
        ("/turns/gibberish::id", 422),
        (f"/turns/session::{REPORTS}::turn::999", 404),
        ("/sessions/nobody", 404),
        ("/cross-query?q=x", 422),
        ("/nowhere", 404),
        (f"/search?q=x&file={'a' * MAX_TARGET}", 414),
    ],
)
def test_what_cannot_be_answered_is_refused_with_a_reason(
    client: TestClient, path: str, status: int
) -> None:
    """In JSON, in words that are ours."""
    response = client.get(path)
    assert response.status_code == status
    error = response.json()["error"]
    assert error["message"] and error["code"] and "Traceback" not in response.text


def test_errors_name_the_routes_of_this_interface(client: TestClient) -> None:
    """Not the commands of a terminal, where there is a route."""
    message = client.get("/sessions/nobody").json()["error"]["message"]
    assert message == "no session nobody in memory; `GET /sessions` lists them"


def test_nothing_can_be_changed(client: TestClient) -> None:
    """Every route is for reading."""
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        for path in ("/search", f"/turns/{TURN}", "/status"):
            assert client.request(method, path).status_code == 405


@sweep(
    "headers, status",
    [
        ({"Host": "localhost:1"}, 200),
        ({"Host": "[::1]:8765"}, 200),
        ({"Host": "localhost:"}, 200),
        ({"Host": "[::1%25lo]:"}, 200),
        ({"Host": "[example.org%25::1]"}, 421),
        ({"Host": "memory.example.org"}, 421),
        ({"Host": "127.0.0.1.example.org"}, 421),
        ({"Host": "127.0.0.1:80, memory.example.org"}, 421),
        ({"Host": "memory.example.org@127.0.0.1"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": LOCAL}, 200),
        ({"Origin": "http://127.0.0.1:3000"}, 403),
        ({"Origin": "https://example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}, 403),
    ],
)
def test_only_our_own_names_and_pages_are_served(
    asked: Asked, client: TestClient, headers: dict[str, str], status: int
) -> None:
    """A page elsewhere cannot reach us under a name of its own (DNS rebinding), neither the API nor
    the pages."""
    assert client.get("/status", headers=headers).status_code == status
    with TestClient(build_site(asked.settings), base_url=LOCAL) as pages:
        assert pages.get("/page/health", headers=headers).status_code == status


def test_with_a_token_nothing_is_told_without_it(asked: Asked) -> None:
    """But that the server is there; and the token is the whole one."""
    with _client(asked.settings, token=TOKEN) as client:
        assert client.get("/healthz").status_code == 200
        for given in ("", "Bearer", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", f"Bearer {TOKEN}x"):
            response = client.get("/search?q=x", headers={"Authorization": given})
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
        known = client.get("/search?q=x", headers={"Authorization": f"Bearer {TOKEN}"})
        assert known.status_code == 200


@pytest.mark.parametrize(
    "name, away",
    [
        ("Chroma", {"chroma_url": "http://127.0.0.1:9"}),
        ("qdrant", {"vector_backend": "qdrant", "qdrant_url": "http://127.0.0.1:9"}),
    ],
)
def test_without_vectors_and_without_a_fallback_the_reason_is_told(
    copied: Callable[..., Memory], name: str, away: dict[str, str]
) -> None:
    """503, as long as it lasts; what does not need them is answered, a search by words."""
    memory = copied(**away)
    with _client(memory.settings) as client:
        response = client.get("/search", params={"q": "lighthouse", "fallback": "false"})
        assert response.status_code == 503
        assert f"{name} is away" in response.json()["error"]["message"]
        by_words = client.get("/search", params={"q": "lighthouse"}).json()
        assert by_words["degraded"] == "keyword-only"
        assert f"{name} at http://127.0.0.1:9 cannot be reached" in by_words["reason"]
        assert client.get(f"/turns/{TURN}").status_code == 200
        assert client.get(f"/timeline?anchor={TURN}").status_code == 200


def test_before_the_first_ingest_the_way_is_told(tmp_path: Path) -> None:
    """503 everywhere but for the health of the server."""
    with _client(load_settings(data_dir=tmp_path / "none")) as client:
        assert client.get("/healthz").status_code == 200
        response = client.get("/search?q=x")
        assert response.status_code == 503
        assert "memory ingest" in response.json()["error"]["message"]


def test_an_answer_that_is_too_large_is_refused(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the bound, and what to do."""
    monkeypatch.setattr(http_api, "MAX_BYTES", 1_000)
    with _client(asked.settings) as client:
        response = client.get("/search?q=lighthouse")
        assert response.status_code == 413 and "1000" in response.json()["error"]["message"]


def test_an_unforeseen_error_shows_no_inside(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """500, without the message that may quote a transcript."""

    def fails(*_: Any) -> Any:
        raise RuntimeError("the secret text of a transcript")

    monkeypatch.setattr(Memory, "status", fails)
    with _client(asked.settings) as client:
        response = client.get("/status")
        assert response.status_code == 500
        assert "secret" not in response.text and "RuntimeError" in response.text


def test_the_command_serves_until_it_is_told_to_stop(asked: Asked) -> None:
    """It says where, logs nothing that was asked, and ends well at SIGTERM."""
    code = "from memory_assets.cli.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "serve", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "MEMORY_DATA_DIR": str(asked.settings.data_dir)},
    ) as process:
        assert process.stderr
        url = process.stderr.readline().split()[-1].removesuffix("/openapi.json")
        try:
            assert httpx.get(f"{url}/status").status_code == 200
            assert httpx.get(f"{url}/search", params={"q": ""}).status_code == 422
            assert httpx.get(f"{url}/status", headers={"Host": "evil.example"}).status_code == 421
        finally:
            process.terminate()
        rest = process.stderr.read()
        assert process.wait(timeout=120) == 0
    assert rest == "memory: stopped\n"


@pytest.mark.parametrize("token", ["", "short"])
def test_other_addresses_need_a_token_to_start(asked: Asked, token: str) -> None:
    """A usage error that names the setting, and no server."""
    environment = {"MEMORY_DATA_DIR": str(asked.settings.data_dir), "MEMORY_HTTP_TOKEN": token}
    refused = run_here(environment, "serve", "--host", "0.0.0.0", "--port", "0")
    assert refused.returncode == 2 and "MEMORY_HTTP_TOKEN" in refused.stderr


SECONDS = 60


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    """The address of a server that answers each request."""
    bound = bind("127.0.0.1", 0)
    server = server_of(PlainTextResponse("ok"), lifespan=False)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    yield bound.getsockname()
    server.should_exit = True
    thread.join(SECONDS)
    assert not thread.is_alive()


def _half_open(address: tuple[str, int], stack: ExitStack, begun: bytes) -> socket.socket:
    connection = stack.enter_context(socket.create_connection(address, SECONDS))
    with suppress(ConnectionError):  # it may be closed by now
        connection.sendall(begun)
    return connection


def test_half_open_connections_deny_nothing(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them than requests may be under way at once; the oldest gives way."""
    monkeypatch.setattr(timed_requests, "REQUEST_SECONDS", SECONDS)
    with ExitStack() as stack:
        first, *_ = [_half_open(address, stack, b"GET / HTTP/1.1\r\nHost: a") for _ in range(80)]
        answer = httpx.get(f"http://{address[0]}:{address[1]}/", timeout=SECONDS)
        assert answer.status_code == 200
        assert _is_closed(first)


def test_connections_that_were_answered_deny_nothing(address: tuple[str, int]) -> None:
    """More of them than requests may be under way at once, kept open for a next request."""
    with ExitStack() as stack:
        for _ in range(80):
            connection = _half_open(address, stack, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert connection.recv(4_096).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "begun",
    [b"", b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx"],
)
def test_a_request_that_does_not_arrive_is_given_up(
    address: tuple[str, int], begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before its first byte, in its headers, in its body."""
    monkeypatch.setattr(timed_requests, "REQUEST_SECONDS", 0.05)
    with ExitStack() as stack:
        assert _is_closed(_half_open(address, stack, begun))


def _is_closed(connection: socket.socket) -> bool:
    """Read until the server closes the connection; fails when it has not after `SECONDS`."""
    with suppress(ConnectionError):
        while connection.recv(4_096):
            pass
    return True


HEAD = b"POST / HTTP/1.1\r\nHost: a\r\n"


def _answer(address: tuple[str, int], *parts: bytes) -> bytes:
    """Return all that the server sends until it closes the connection."""
    with socket.create_connection(address, SECONDS) as connection:
        for part in parts:
            connection.sendall(part)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while data := connection.recv(65_536):
            received += data
        return received


@pytest.mark.parametrize(
    "request_bytes",
    [
        HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
        HEAD + b"X-A: b\r\n Content-Length: 4\r\n\r\n",
        HEAD + b"X-A: b\r\n\tc\r\n\r\n",
        HEAD + b"X-A: b\r\n \r\nX-B: c\r\n\r\n",
        HEAD + b"Host: b\r\n\r\n",
        HEAD + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(
    address: tuple[str, int], request_bytes: bytes
) -> None:
    """Length and chunks, folded lines, several hosts, two lengths; also when it comes in pieces."""
    assert _answer(address, request_bytes).startswith(b"HTTP/1.1 400")
    assert _answer(address, request_bytes[:20], request_bytes[20:]).startswith(b"HTTP/1.1 400")


def test_a_second_request_on_the_connection_is_looked_at_too(address: tuple[str, int]) -> None:
    """The body of the first one is no part of its head, whether it has a length or chunks, which
    may come when the first one was answered."""
    second = HEAD + b"X-A: b\r\n c\r\n\r\n"
    first = HEAD + b"Content-Length: 12\r\n\r\na\n b\r\n\r\nc\n d"
    chunks, end = HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n", b"0\r\n\r\n"
    assert _answer(address, first).startswith(b"HTTP/1.1 200")
    for parts in ([first, second], [chunks + end, second], [chunks, end + second]):
        for sent in (parts, [b"".join(parts)]):
            both = _answer(address, *sent)
            assert both.startswith(b"HTTP/1.1 200") and both.count(b"HTTP/1.1 400 ") == 1


def test_a_body_in_chunks_may_hold_anything(address: tuple[str, int]) -> None:
    """Lines that begin with a blank, and empty ones."""
    body = b'e\r\n{\n  "a": 1\n}\r\n\r\n0\r\n\r\n'
    answer = _answer(address, HEAD + b"Transfer-Encoding: chunked\r\n\r\n", body)
    assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("body", [b"zz\r\na", b"1\r\na\r\nzz\r\n"])
def test_a_chunk_that_is_none_is_refused_without_a_traceback(
    address: tuple[str, int], body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Also when the application has begun to answer; to whoever goes away amid a body nothing is
    said, and nothing printed either."""
    log = logging.getLogger("uvicorn.error")
    log.addHandler(caplog.handler)
    head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    assert _answer(address, head + body).startswith(b"HTTP/1.1 400")
    assert _answer(address, head, body).startswith(b"HTTP/1.1 ")
    with socket.create_connection(address, SECONDS) as connection:
        connection.sendall(head + b"5\r\na")
    assert _answer(address, HEAD + b"Content-Length: 0\r\n\r\n").startswith(b"HTTP/1.1 200")
    log.removeHandler(caplog.handler)
    assert not [record for record in caplog.records if record.exc_info]
