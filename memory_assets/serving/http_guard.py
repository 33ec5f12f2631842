"""Who may ask over HTTP: the host that was meant, a page of the same origin, a known token.

A web page can make a browser send requests here under a name of its own that resolves to
this machine (DNS rebinding): so the Host must be one of ours, and so must the Origin where
there is one. There is no CORS: no page of another origin may read an answer.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from urllib.parse import urlsplit

import orjson
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_assets.errors import ConfigurationError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_TARGET = 8_192
"""Bytes of a request's path and query."""
OPEN_PATHS = ("/healthz",)
"""What needs no token: it tells nothing."""
_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
)


def is_loopback(host: str) -> bool:
    """Whether an address that is listened on can be reached from this machine alone."""
    return host in LOOPBACK


def require_token(host: str, token: str | None) -> None:
    """Refuse to listen where others can reach without a token.

    Raises:
        ConfigurationError: there is none, or it is too short to be one.
    """
    if not is_loopback(host) and not token:
        raise ConfigurationError(
            f"{host} can be reached by others: set MEMORY_HTTP_TOKEN, or listen on 127.0.0.1"
        )
    if token is not None and (len(token) < 16 or not token.isascii()):
        raise ConfigurationError("MEMORY_HTTP_TOKEN must be at least 16 ASCII characters long")


class Guard:
    """ASGI middleware that refuses what must not be answered, and marks what is. `hosts` are
    names that clients may use besides those of loopback."""

    def __init__(
        self, app: ASGIApp, *, hosts: Iterable[str] = (), token: str | None = None
    ) -> None:
        self._app = app
        self._hosts = frozenset(name.lower() for name in (*LOOPBACK, *hosts))
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse with a reason in JSON."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        refusal = self._refusal(scope, Headers(scope=scope))
        if refusal is None:
            await self._app(scope, receive, marked)
            return
        status, code, reason = refusal
        body = orjson.dumps({"error": {"code": code, "message": reason}})
        headers = [(b"content-type", b"application/json")]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await marked({"type": "http.response.start", "status": status, "headers": headers})
        await marked({"type": "http.response.body", "body": body})

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str, str] | None:
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_TARGET:
            return 414, "too_long", f"the address is longer than {MAX_TARGET} bytes"
        asked = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or _host_of(f"//{asked}") not in self._hosts:
            return 421, "wrong_host", "this server does not answer under that name"
        origin = headers.get("origin")
        if origin is not None and not self._same_origin(origin, asked):
            return 403, "wrong_origin", "pages of other origins may not ask"
        if self._token is not None and scope["path"] not in OPEN_PATHS:
            given = headers.get("authorization", "")
            scheme, _, value = given.partition(" ")
            known = hmac.compare_digest(value.strip().encode(), self._token.encode())
            if scheme.lower() != "bearer" or not known:
                return 401, "no_token", "send the token: Authorization: Bearer TOKEN"
        return None

    def _same_origin(self, origin: str, asked: str) -> bool:
        scheme, _, rest = origin.partition("://")
        return scheme in ("http", "https") and rest.lower() == asked.lower()


def _host_of(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
