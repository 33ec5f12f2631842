"""Requests to a model at an OpenAI-compatible endpoint: Kong AI Gateway, LiteLLM, Ollama, vLLM and
others.

What passes is asked again, and the next endpoint where one fails; each request is noted. No error
quotes a text, a key or what an endpoint answered.
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from http.client import HTTPMessage
from typing import Any, TypeVar
from urllib.parse import urlsplit

from memory_assets.http.client import HttpServer, NoAnswer
from memory_assets.http.endpoint_use import EndpointUse

_SECONDS = 30.0
_PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0)
"""Seconds before the first and each further round over the endpoints."""
_MOST_PAUSE = 60.0
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""Statuses that may be another one a moment later."""
_BYTES_A_TOKEN = 4
_NAME = re.compile(r"openai:(?P<model>\S+?)@(?P<urls>https?://\S+)")
_FORM = "openai:MODEL@URL, such as openai:all-minilm@http://127.0.0.1:11434/v1"
_FAMILIES = {
    "all-minilm": "all-MiniLM-L6-v2",
    "all-minilm:22m": "all-MiniLM-L6-v2",
    "all-minilm-l6-v2": "all-MiniLM-L6-v2",
}
"""Other names of the packaged model; Ollama's has also a tag for a larger one."""
_Read = TypeVar("_Read")


class EndpointFailed(Exception):
    """No endpoint gave an answer that can be used, or the setting is wrong; the text says why."""


class Refused(Exception):
    """A request failed; the text says why. `again` is whether another may succeed, `after` the
    seconds that the endpoint asks to wait."""

    def __init__(self, reason: str, *, again: bool = False, after: float = 0.0) -> None:
        super().__init__(reason)
        self.again = again
        self.after = after


def family_of(name: str) -> str:
    """Return the name of the space of the vectors that a model makes: for one at an endpoint that
    of `family_of_model`, else its own."""
    match = _NAME.fullmatch(name)
    return name if match is None else family_of_model(match["model"])


def family_of_model(model: str) -> str:
    """Return the name of a model's space: without the provider before it, and Ollama's tag."""
    name = model.rsplit("/", 1)[-1].removesuffix(":latest")
    return _FAMILIES.get(name.lower(), name)


def same_space(embedder_id: str, other: str) -> bool:
    """Return True if vectors of two embedders can be compared: their ids name one model, such as
    `all-MiniLM-L6-v2` in `all-MiniLM-L6-v2/dynamic-int8/onnxruntime/8199be6f`."""
    return embedder_id.split("/")[0] == other.split("/")[0]


class RateLimit:
    """At most so many requests begin in a minute, from any number of threads, evenly spread; None:
    as many as there are. What an endpoint asks to wait, all wait."""

    def __init__(self, per_minute: int | None = None) -> None:
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._lock = threading.Lock()
        self._next = 0.0
        """When the next request may begin, by the monotonic clock."""

    def wait(self) -> None:
        """Wait until a request may begin."""
        with self._lock:
            now = time.monotonic()
            begins = max(self._next, now)
            self._next = begins + self._gap
        if begins > now:
            time.sleep(begins - now)

    def hold(self, seconds: float) -> None:
        """Let no further request begin for so long."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)


class ModelEndpoint:
    """A model at one or more endpoints, of which the next is asked where one fails: all serve the
    same model. Not `patient`: a request that fails is not repeated, since a person waits.
    `setting` is the variable that names the model, `limit` when requests may begin."""

    def __init__(
        self,
        setting: str,
        model: str,
        servers: Sequence[HttpServer],
        *,
        patient: bool = True,
        note: Callable[[EndpointUse], None] = lambda use: None,
        sleep: Callable[[float], None] = time.sleep,
        limit: RateLimit | None = None,
    ) -> None:
        self.model = model
        self._limit = limit
        self._setting = setting
        self._servers = servers
        self._pauses = _PAUSES if patient else _PAUSES[:1]
        self._note = note
        self._sleep = sleep

    def ask(self, route: str, body: Mapping[str, Any], read: Callable[[bytes], _Read]) -> _Read:
        """Return what `read` makes of the answer to a request; it raises `Refused` at one that
        cannot be used.

        Raises:
            EndpointFailed: no endpoint gives one; says why, and what to do.
        """
        content = json.dumps({"model": self.model, **body}).encode("utf-8", "replace")
        after, reasons = 0.0, dict[str, str]()
        for pause in self._pauses:
            if pause:
                self._sleep(max(pause, after))
            after, again = 0.0, False
            for server in self._servers:
                try:
                    return read(self._answer(server, route, content))
                except Refused as refused:
                    reasons[server.url] = str(refused)
                    again = again or refused.again
                    after = max(after, refused.after)
                    if self._limit and after <= _MOST_PAUSE:
                        self._limit.hold(after)
            if not again or after > _MOST_PAUSE:
                break
        said = "; ".join(f"{_host(url)} {reason}" for url, reason in reasons.items())
        raise EndpointFailed(said)

    def _answer(self, server: HttpServer, route: str, content: bytes) -> bytes:
        if self._limit:
            self._limit.wait()
        ts, began = time.time(), time.monotonic()
        status, headers, answered = 0, HTTPMessage(), b""
        try:
            status, headers, answered = server.ask("POST", f"/{route}", content)
        except NoAnswer as error:
            raise Refused(f"does not answer ({error})", again=True) from None
        finally:
            milliseconds = round((time.monotonic() - began) * 1000)
            cost = _number(headers.get("x-litellm-response-cost"))
            tokens = _tokens(content, answered) if status == 200 else (0, 0)
            asked = (ts, _host(server.url), self.model, *tokens, milliseconds, cost, status)
            self._note(EndpointUse(route, *asked))
        if status != 200:
            raise self._refusal(status, headers)
        return answered

    def _refusal(self, status: int, headers: HTTPMessage) -> Refused:
        key = f"{self._setting}_KEY"
        if status in (401, 403):
            return Refused(f"refuses the key (HTTP {status}): set {key}")
        if status == 404:
            return Refused("has no such model or path (HTTP 404); a URL often ends in /v1")
        if status not in _AGAIN:
            return Refused(f"refuses the request (HTTP {status}): check the model's name and {key}")
        after = _seconds(headers.get("Retry-After"))
        asks = f" and asks to wait {after:.0f} s" if after else ""
        return Refused(f"fails (HTTP {status}){asks}", again=True, after=after)


def parse_endpoint(
    setting: str, name: str, key: str | None, seconds: float = _SECONDS
) -> tuple[str, list[HttpServer]]:
    """Return the model and the servers of a name such as
    `openai:all-minilm@http://127.0.0.1:11434/v1`; further URLs come after commas. An answer may
    take so many `seconds`.

    Raises:
        EndpointFailed: the name has another form.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise EndpointFailed(f"{setting} is not {_FORM}")
    urls = [url.rstrip("/") for url in match["urls"].split(",")]
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise EndpointFailed(f"{setting} is not {_FORM}")
        if parts.username or parts.password or parts.query:
            raise EndpointFailed(
                f"{setting}: the URL has more than host and path; give the key by {setting}_KEY"
            )
    return match["model"], [HttpServer(url, key, seconds) for url in urls]


def _host(url: str) -> str:
    return urlsplit(url).netloc


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
    return number if math.isfinite(number) else None


def _tokens(asked: bytes, answered: bytes) -> tuple[int, int]:
    """Return the tokens of a request and of its answer, the former guessed from its length where
    the endpoint does not say them."""
    try:
        usage = json.loads(answered)["usage"]
        return int(usage["prompt_tokens"]), int(usage.get("completion_tokens") or 0)
    except (ValueError, TypeError, KeyError, AttributeError):
        return len(asked) // _BYTES_A_TOKEN, 0
