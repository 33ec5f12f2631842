"""Vectors from an OpenAI-compatible endpoint: Kong AI Gateway, LiteLLM, Ollama, vLLM and others.

The request and its answer are those of https://platform.openai.com/docs/api-reference/embeddings.
No error quotes a text, a key or what an endpoint answered.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime
from http.client import HTTPMessage
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from memory_assets.endpoint_use import EndpointUse
from memory_assets.errors import EmbedderUnavailable
from memory_assets.http_client import HttpServer, NoAnswer

DIMENSION = 384
"""Numbers of a vector; the lake's tables are made for it."""
BATCH = 50
"""Texts of a request."""
_SECONDS = 30.0
_PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0)
"""Seconds before the first and each further round over the endpoints."""
_MOST_PAUSE = 60.0
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""Statuses that may be another one a moment later."""
_SHORTENED = ("text-embedding-3-",)
"""Families whose vectors may be asked for in any length (the parameter `dimensions`)."""
_FAMILIES = {
    "all-minilm": "all-MiniLM-L6-v2",
    "all-minilm:22m": "all-MiniLM-L6-v2",
    "all-minilm-l6-v2": "all-MiniLM-L6-v2",
}
"""Other names of the packaged model; Ollama's has also a tag for a larger one."""
_NAME = re.compile(r"openai:(?P<model>\S+?)@(?P<urls>https?://\S+)")
_FORM = "openai:MODEL@URL, such as openai:all-minilm@http://127.0.0.1:11434/v1"


class _Refused(Exception):
    """A request failed; the text says why. `again` is whether another may succeed, `after` the
    seconds that the endpoint asks to wait."""

    def __init__(self, reason: str, *, again: bool = False, after: float = 0.0) -> None:
        super().__init__(reason)
        self.again = again
        self.after = after


class EndpointEmbedder:
    """A model at one or more endpoints, of which the next is asked where one fails: all serve the
    same model, so vectors of two models are never mixed."""

    dimension = DIMENSION
    in_process = False

    def __init__(
        self,
        model: str,
        servers: Sequence[HttpServer],
        *,
        patient: bool = True,
        note: Callable[[EndpointUse], None] = lambda use: None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.family = _family(model)
        self.embedder_id = f"{self.family}/endpoint/{model.replace('/', '.')}/{DIMENSION}"
        self._model = model
        self._servers = servers
        self._pauses = _PAUSES if patient else _PAUSES[:1]
        self._note = note
        self._sleep = sleep

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array (len(texts), 384) of rows of length 1.

        Raises:
            EmbedderUnavailable: no endpoint gives them; says why, and what to do.
        """
        if isinstance(texts, str):
            raise TypeError("embed takes a sequence of texts, not one text")
        vectors = np.empty((len(texts), DIMENSION), dtype=np.float32)
        for first in range(0, len(texts), BATCH):
            vectors[first : first + BATCH] = self._batch(texts[first : first + BATCH])
        return vectors

    def _batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # An empty input is refused by some endpoints.
        asked: dict[str, Any] = {"model": self._model, "input": [text or " " for text in texts]}
        if self.family.startswith(_SHORTENED):
            asked["dimensions"] = DIMENSION
        content = json.dumps(asked).encode("utf-8", "replace")
        after, reasons = 0.0, dict[str, str]()
        for pause in self._pauses:
            if pause:
                self._sleep(max(pause, after))
            after, again = 0.0, False
            for server in self._servers:
                try:
                    return self._ask(server, content, len(texts))
                except _Refused as refused:
                    reasons[server.url] = str(refused)
                    again = again or refused.again
                    after = max(after, refused.after)
            if not again or after > _MOST_PAUSE:
                break
        said = "; ".join(f"{_host(url)} {reason}" for url, reason in reasons.items())
        raise EmbedderUnavailable(f"the model {self._model} gives no vectors: {said}")

    def _ask(self, server: HttpServer, content: bytes, count: int) -> NDArray[np.float32]:
        ts, began = time.time(), time.monotonic()
        status, headers, answered = 0, HTTPMessage(), b""
        try:
            status, headers, answered = server.ask("POST", "/embeddings", content)
        except NoAnswer as error:
            raise _Refused(f"does not answer ({error})", again=True) from None
        finally:
            milliseconds = round((time.monotonic() - began) * 1000)
            cost = _number(headers.get("x-litellm-response-cost"))
            tokens = _tokens(answered)
            provider = _host(server.url)
            self._note(EndpointUse(ts, provider, self._model, tokens, milliseconds, cost, status))
        if status != 200:
            raise _refusal(status, headers)
        return _vectors(answered, count)


def load_endpoint(
    name: str,
    *,
    key: str | None = None,
    patient: bool = True,
    note: Callable[[EndpointUse], None] = lambda use: None,
) -> EndpointEmbedder:
    """Return the embedder of a name such as `openai:all-minilm@http://127.0.0.1:11434/v1`; further
    URLs, after commas, are asked where those before fail. Nothing is asked yet. Not `patient`: a
    request that fails is not repeated, since a person waits.

    Raises:
        EmbedderUnavailable: the name has another form.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise EmbedderUnavailable(f"MEMORY_EMBEDDER is not {_FORM}")
    urls = [url.rstrip("/") for url in found["urls"].split(",")]
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise EmbedderUnavailable(f"MEMORY_EMBEDDER is not {_FORM}")
        if parts.username or parts.password or parts.query:
            raise EmbedderUnavailable(
                "MEMORY_EMBEDDER: the URL has more than host and path; give the key by "
                "MEMORY_EMBEDDER_KEY"
            )
    servers = [HttpServer(url, key, _SECONDS) for url in urls]
    return EndpointEmbedder(found["model"], servers, patient=patient, note=note)


def _family(model: str) -> str:
    """Return the name of a model's space: without the provider before it, and Ollama's tag."""
    name = model.rsplit("/", 1)[-1].removesuffix(":latest")
    return _FAMILIES.get(name.lower(), name)


def _host(url: str) -> str:
    return urlsplit(url).netloc


def _refusal(status: int, headers: HTTPMessage) -> _Refused:
    if status in (401, 403):
        return _Refused(f"refuses the key (HTTP {status}): set MEMORY_EMBEDDER_KEY")
    if status == 404:
        return _Refused("has no such model or path (HTTP 404); a URL often ends in /v1")
    if status not in _AGAIN:
        return _Refused(
            f"refuses the request (HTTP {status}): check the model's name and MEMORY_EMBEDDER_KEY"
        )
    after = _seconds(headers.get("Retry-After"))
    asks = f" and asks to wait {after:.0f} s" if after else ""
    return _Refused(f"fails (HTTP {status}){asks}", again=True, after=after)


def _seconds(retry_after: str | None) -> float:
    """Return the seconds that a header `Retry-After` asks to wait: a number, or a date."""
    if (seconds := _number(retry_after)) is not None:
        return max(seconds, 0.0)
    try:
        return max(parsedate_to_datetime(str(retry_after)).timestamp() - time.time(), 0.0)
    except ValueError:
        return 0.0


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _tokens(answered: bytes) -> int:
    try:
        return int(json.loads(answered)["usage"]["prompt_tokens"])
    except (ValueError, TypeError, KeyError):
        return 0


def _vectors(answered: bytes, count: int) -> NDArray[np.float32]:
    try:
        data = json.loads(answered)["data"]
        rows = {int(row.get("index", at)): row["embedding"] for at, row in enumerate(data)}
        found = [np.asarray(rows[at], dtype=np.float32) for at in sorted(rows)]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _Refused("answers something else than embeddings") from None
    if sorted(rows) != list(range(count)):
        raise _Refused(f"answers {len(rows)} vectors to {count} texts", again=True)
    for vector in found:
        if vector.shape != (DIMENSION,):
            raise _Refused(
                f"answers vectors of {vector.size} numbers; memory holds {DIMENSION}. Choose a "
                "model of that length"
            )
    vectors = np.stack(found)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(vectors).all() or not lengths.all():
        raise _Refused("answers a vector without a direction (NaN, infinite or zero)")
    unit: NDArray[np.float32] = vectors / lengths
    return unit
