"""Serve an ASGI application on a port until a signal, behind checks of the request's host, origin
and token.

A web page can make a browser send requests here, by an address of this machine or by a name of its
own that resolves to it (DNS rebinding). So the Host must be one of ours, and so must the Origin, if
there is one, also for web sockets; requests that the browser marks as sent by a page of another
site are refused. There is no CORS, so no such page can read an answer.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_assets.errors import ConfigurationError
from memory_assets.http.access import host_of, token_of

if TYPE_CHECKING:
    import uvicorn

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_TARGET = 8_192
"""Bytes of a request's path and query."""
OPEN_PATHS = ("/healthz",)
"""Paths that need no token, because their answers reveal nothing."""
Header = tuple[bytes, bytes]
API_HEADERS: tuple[Header, ...] = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
)
"""Headers of each answer of an API."""
PAGE_HEADERS: tuple[Header, ...] = (
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
"""Headers of each answer with a page. They forbid other pages to frame it, so that a user cannot be
tricked into clicking on it."""
_POLICY_VIOLATION = 1008
"""Close code of a refused web socket (RFC 6455, section 7.4.1)."""
_CONCURRENT = 64
_LOG = logging.getLogger(__name__)
_GRACE_SECONDS = 5


def require_token(host: str, token: str | None) -> None:
    """Raise `ConfigurationError` if the address can be reached from other machines and no token
    protects it, or if the token is too short to be one."""
    if host not in LOOPBACK and not token:
        raise ConfigurationError(
            f"{host} can be reached by others: set MEMORY_HTTP_TOKEN, or listen on 127.0.0.1"
        )
    if token is not None and (len(token) < 16 or not token.isascii()):
        raise ConfigurationError("MEMORY_HTTP_TOKEN must be at least 16 ASCII characters long")


@dataclass(frozen=True)
class Refusal:
    """Why a request is refused: the HTTP status, a code for programs, and a sentence."""

    status: int
    code: str
    reason: str
    challenge: str = ""

    @property
    def response(self) -> JSONResponse:
        """The reason as a response."""
        headers = {"www-authenticate": self.challenge} if self.challenge else {}
        error = {"code": self.code, "message": self.reason}
        return JSONResponse({"error": error}, self.status, headers)


class WrongTokens:
    """Counts the wrong tokens of the last minute and makes who sends them wait. A right token is
    never kept waiting, whoever else guesses."""

    FREE = 10
    """So many wrong tokens a minute are answered at once."""
    WINDOW_SECONDS = 60.0
    PAUSE_SECONDS = 1.0
    MOST_WAITING = 8

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: deque[float] = deque(maxlen=self.FREE)
        self._counted = self._waiting = 0
        self._warned_at = float("-inf")

    async def add(self) -> bool:
        """Count one wrong token, and wait if there were many.

        Returns True, without a wait, if `MOST_WAITING` requests wait already: the caller refuses
        this one, so that waiting requests never use up all connections.
        """
        at = self._clock()
        many = len(self._times) == self.FREE and at - self._times[0] < self.WINDOW_SECONDS
        self._times.append(at)
        self._counted += 1
        if not many:
            return False
        if at - self._warned_at >= self.WINDOW_SECONDS:
            self._warned_at = at
            _LOG.warning("wrong tokens are being sent: %d since the start", self._counted)
        if self._waiting >= self.MOST_WAITING:
            return True
        self._waiting += 1
        try:
            await asyncio.sleep(self.PAUSE_SECONDS)
        finally:
            self._waiting -= 1
        return False


TOO_MANY = Refusal(429, "too_many", "too many wrong tokens; a right one is answered as ever")


class Guard:
    """ASGI middleware that refuses requests by host, origin and token, and adds headers to answers.

    `hosts` are names that clients may use besides those of loopback. With `asks_browsers` the token
    is also accepted as the password of HTTP basic authentication, for which a browser asks its
    user.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Iterable[str] = (),
        token: str | None = None,
        headers: Sequence[Header] = API_HEADERS,
        asks_browsers: bool = False,
    ) -> None:
        self._app = app
        self._hosts = frozenset(name.lower() for name in (*LOOPBACK, *hosts))
        self._token = token
        self._headers = headers
        self._asks_browsers = asks_browsers
        self._wrong = WrongTokens()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse with a reason in JSON."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers]
            await send(message)

        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is None:
            await self._app(scope, receive, with_headers)
            return
        if refusal.status == 401 and headers.get("authorization") and await self._wrong.add():
            refusal = TOO_MANY
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        else:
            await refusal.response(scope, receive, with_headers)

    def _refusal(self, scope: Scope, headers: Headers) -> Refusal | None:
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_TARGET:
            return Refusal(414, "too_long", f"the address is longer than {MAX_TARGET} bytes")
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or host_of(host) not in self._hosts:
            return Refusal(421, "wrong_host", "this server does not answer under that name")
        origin = headers.get("origin")
        if origin is not None and not self._same_origin(origin, host):
            return Refusal(403, "wrong_origin", "pages of other origins may not ask")
        if _is_from_another_site(scope, headers):
            return Refusal(403, "wrong_site", "pages of other sites may not ask")
        if self._token is not None and scope["path"] not in OPEN_PATHS:
            token = token_of(headers.get("authorization", ""), basic=self._asks_browsers)
            if not hmac.compare_digest(token.encode(), self._token.encode()):
                challenge = 'Basic realm="memory"' if self._asks_browsers else "Bearer"
                reason = "send the token: Authorization: Bearer TOKEN"
                return Refusal(401, "no_token", reason, challenge)
        return None

    def _same_origin(self, origin: str, host: str) -> bool:
        scheme, _, rest = origin.partition("://")
        return scheme in ("http", "https") and rest.lower() == host.lower()


def json_post_only(app: ASGIApp) -> ASGIApp:
    """Return an application with GraphQL that takes operations by JSON POST alone, and what cannot
    change anything.

    A page of another site can send GET, forms and plain text without asking first; Dagster
    would run a mutation sent by any of them, and takes any content type that has
    "application/json" in it (`dagster_webserver/graphql.py` at 1.13.27). JSON makes the
    browser ask first (CORS preflight), and it is not allowed.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _refused_operation(scope) if scope["type"] == "http" else None
        await (app if refusal is None else refusal.response)(scope, receive, send)

    return answer


def _refused_operation(scope: Scope) -> Refusal | None:
    if scope["method"] in ("GET", "HEAD"):
        if scope["path"].rstrip("/") == "/graphql" and scope["query_string"]:
            return Refusal(405, "post_only", "send GraphQL operations by POST, as JSON")
        return None
    content_type = Headers(scope=scope).get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != "application/json":
        return Refusal(415, "json_only", "send JSON, with Content-Type: application/json")
    return None


def _is_from_another_site(scope: Scope, headers: Headers) -> bool:
    """Whether a browser says that a page elsewhere sent this, for another purpose than to
    show an address that its user followed (https://www.w3.org/TR/fetch-metadata/)."""
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    shown = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
    return scope.get("method") != "GET" or shown != ("navigate", "document")


async def body_of(request: Request, most: int) -> bytes | None:
    """Return the body of a request, None if it has more than `most` bytes or never arrives whole;
    whoever sent that is gone, or was told."""
    body = b""
    with suppress(ClientDisconnect):
        async for part in request.stream():
            body += part
            if len(body) > most:
                return None
        return body
    return None


def listen(
    app: ASGIApp,
    host: str,
    port: int,
    token: str | None,
    *,
    lifespan: bool,
    started: Callable[[str], None],
) -> None:
    """Serve `app` at an address until SIGTERM or Ctrl-C; see `require_token`, `bind`, `serve`."""
    require_token(host, token)
    serve(app, bind(host, port), lifespan=lifespan, started=started)


def serve(
    app: ASGIApp,
    bound: socket.socket,
    *,
    lifespan: bool,
    started: Callable[[str], None],
    websockets: bool = False,
) -> None:
    """Serve `app` on a listening socket until SIGTERM or Ctrl-C; requests under way are answered
    first.

    `started` is called with the address once connections are accepted. Requests are not logged,
    because they contain questions.
    """
    server = server_of(app, lifespan=lifespan, websockets=websockets)

    def stop(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    # uvicorn has its own handlers while it runs, and raises the signal again once it has
    # stopped; these are for the moments before and after.
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
    started(url_of(bound))
    server.run(sockets=[bound])


def server_of(app: ASGIApp, *, lifespan: bool, websockets: bool = False) -> uvicorn.Server:
    """Return the server of an application, with its limits."""
    import uvicorn

    from memory_assets.serving.timed_requests import TimedRequests

    config = uvicorn.Config(
        app,
        http=TimedRequests,
        ws="auto" if websockets else "none",
        lifespan="on" if lifespan else "off",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=_CONCURRENT,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        h11_max_incomplete_event_size=16_384,
    )
    return uvicorn.Server(config)


def url_of(bound: socket.socket) -> str:
    """Return the address that a listening socket is reached at."""
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; port 0 takes any free port.

    Raises:
        ConfigurationError: the address cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen()
    except OSError as error:
        bound.close()
        raise ConfigurationError(
            f"cannot listen on {host} port {port} ({error.strerror}); choose another with --port"
        ) from None
    return bound
