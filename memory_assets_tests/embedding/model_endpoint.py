"""An OpenAI-compatible endpoint that serves the packaged model and writes given texts, and fails
when it is told to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from memory_assets.embedding import Embedder
from memory_assets.embedding.endpoint import EndpointEmbedder
from memory_assets.embedding.minilm import load_minilm
from memory_assets.errors import EmbedderUnavailable
from memory_assets.http.client import HttpServer
from memory_assets.http.endpoint_use import EndpointUse

KEY = "made-up-key-of-a-test"
Answers = Callable[[dict[str, Any]], dict[str, Any]]


class ModelEndpoint(ThreadingHTTPServer):
    """Answers `/v1/embeddings`, and `/v1/chat/completions` with `replies` in turn (the status of a
    failure is a reply, too), then with `reply`. `asked` has the bodies of all requests; `failures`
    are statuses and headers of the next answers; `alter` changes what is answered; `begun` is when
    each request came, by the monotonic clock, `most_under_way` how many were being answered at
    once."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, Any]] = []
        self.failures: list[tuple[int, dict[str, str]]] = []
        self.alter: Answers = lambda answer: answer
        self.silent_seconds = 0.0
        self.begun = list[float]()
        self.under_way = self.most_under_way = 0
        self.replies: list[str | int] = []
        self.reply = "written by a model"

    @cached_property
    def model(self) -> Embedder:
        """What makes the vectors."""
        return load_minilm()

    @property
    def url(self) -> str:
        """The URL that a setting names."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def texts(self) -> list[str]:
        """All texts that were sent to be embedded."""
        return [text for asked in self.asked for text in asked.get("input", ())]

    @property
    def prompts(self) -> list[str]:
        """The last message of each request to `/v1/chat/completions`."""
        return [asked["messages"][-1]["content"] for asked in self.asked if "messages" in asked]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelEndpoint

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        self.server.begun.append(time.monotonic())
        self.server.under_way += 1
        self.server.most_under_way = max(self.server.most_under_way, self.server.under_way)
        try:
            self._answer_to(asked)
        finally:
            self.server.under_way -= 1

    def _answer_to(self, asked: dict[str, Any]) -> None:
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            self._answer(401, {}, {"error": {"message": str(asked)}})
        elif self.path not in ("/v1/embeddings", "/v1/chat/completions"):
            self._answer(404, {}, {})
        elif self.server.failures:
            status, headers = self.server.failures.pop(0)
            self._answer(status, headers, {"error": {"message": str(asked)}})
        elif self.path == "/v1/chat/completions":
            replies = self.server.replies
            reply = replies.pop(0) if replies else self.server.reply
            if isinstance(reply, int):
                return self._answer(reply, {}, {})
            message = {"role": "assistant", "content": reply}
            usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
            answer = {"choices": [{"index": 0, "message": message}], "usage": usage}
            self._answer(200, {}, self.server.alter(answer))
        else:
            time.sleep(self.server.silent_seconds)
            vectors = self.server.model.embed(asked["input"])
            data = [
                {"object": "embedding", "index": at, "embedding": vector.tolist()}
                for at, vector in enumerate(vectors)
            ]
            usage = {"prompt_tokens": 3 * len(data), "total_tokens": 3 * len(data)}
            answer = {"object": "list", "model": asked["model"], "data": data, "usage": usage}
            headers = {"x-litellm-response-cost": "0.0001"}
            self._answer(200, headers, self.server.alter(answer))

    def _answer(self, status: int, headers: dict[str, str], content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


class Client:
    """An embedder that asks these URLs; its waits are kept instead of waited. `after` is called
    after each request."""

    def __init__(
        self,
        *urls: str,
        key: str = KEY,
        model: str = "all-minilm",
        seconds: float = 30.0,
        after: Callable[[], None] = lambda: None,
    ) -> None:
        self.waited: list[float] = []
        self.uses: list[EndpointUse] = []
        self._key = key

        def note(use: EndpointUse) -> None:
            self.uses.append(use)
            after()

        servers = [HttpServer(url, key, seconds) for url in urls]
        self.embedder = EndpointEmbedder(model, servers, note=note, sleep=self.waited.append)

    def fails(self, reason: str, texts: Sequence[str] = ("the text of a session",)) -> None:
        """Embedding fails for a reason that quotes neither a text nor a key."""
        with pytest.raises(EmbedderUnavailable, match=reason) as raised:
            self.embedder.embed(texts)
        assert not any(quoted in str(raised.value) for quoted in (KEY, self._key, *texts))


@contextmanager
def served() -> Iterator[ModelEndpoint]:
    """An endpoint, until the block ends."""
    endpoint = ModelEndpoint()
    thread = threading.Thread(target=endpoint.serve_forever)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.shutdown()
        endpoint.server_close()
        thread.join()
