"""A model at an endpoint of OpenAI's form, which says what a test tells it to say."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ChatModel(ThreadingHTTPServer):
    """Answers `/v1/chat/completions` with `says`, in turn: a text, or the status of a failure;
    `Understood.` when there is none left. `prompts` are what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.says: list[str | int] = []
        self.prompts: list[str] = []

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: ChatModel

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.prompts.append(asked["messages"][-1]["content"])
        said = self.server.says.pop(0) if self.server.says else "Understood."
        failed = isinstance(said, int)
        answer = {"choices": [{"message": {"role": "assistant", "content": said}}]}
        body = json.dumps(answer).encode()
        self.send_response(said if isinstance(said, int) else 200)
        self.send_header("Content-Length", str(0 if failed else len(body)))
        self.end_headers()
        if not failed:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextmanager
def served_model() -> Iterator[ChatModel]:
    """A model, until the block ends."""
    model = ChatModel()
    thread = threading.Thread(target=model.serve_forever)
    thread.start()
    try:
        yield model
    finally:
        model.shutdown()
        model.server_close()
        thread.join()
