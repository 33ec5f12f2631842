"""Signing in where a token is asked for: a form takes the token and sets a cookie.

The cookie is random and says nothing of the token. The server keeps a hash of it and when it ends,
in memory: a restart ends all sessions. A browser sends it with no request of another site but
with a link that its user follows, which only reads.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from memory_assets.http.access import token_of
from memory_assets.serving.http_server import TOO_MANY, WrongTokens
from memory_assets.serving.pages.rendering import page

LOGIN_PATH = "/page/login"
STATIC_PATH = "/page/static/"
COOKIE = "memory_page"
_LASTS_SECONDS = 12 * 3600
_MOST_BYTES = 4_096
_MOST_SESSIONS = 1_000
"""Sessions that are kept; the oldest ends when there are more."""


class SignIn:
    """ASGI middleware that shows a form to whoever has neither cookie nor token; without a token to
    ask for, everybody passes. Who sends wrong tokens has to wait (`WrongTokens`).
    """

    def __init__(
        self, app: ASGIApp, token: str | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._token = token
        self._clock = clock
        self._wrong = WrongTokens(clock)
        self._ends: dict[bytes, float] = {}
        """When each session ends, by the hash of its cookie."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or show the form."""
        if scope["type"] != "http" or self._token is None or self._admits(scope, self._token):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        signs_in = request.method == "POST" and request.url.path == LOGIN_PATH
        if request.headers.get("authorization") and await self._wrong.add():
            await TOO_MANY.response(scope, receive, send)
            return
        answer = await self._signed_in(request, self._token) if signs_in else _form(request, 401)
        await answer(scope, receive, send)

    def _admits(self, scope: Scope, token: str) -> bool:
        if scope["path"].startswith(STATIC_PATH):
            return True
        headers = Headers(scope=scope)
        bearer = token_of(headers.get("authorization", ""), basic=False)
        return _same(bearer, token) or self._ends.get(_hash(_cookie(headers)), 0) > self._clock()

    def _open(self) -> str:
        """Begin a session and return its cookie."""
        now = self._clock()
        self._ends = {kept: ends for kept, ends in self._ends.items() if ends > now}
        while len(self._ends) >= _MOST_SESSIONS:
            del self._ends[next(iter(self._ends))]
        cookie = secrets.token_urlsafe(32)
        self._ends[_hash(cookie)] = now + _LASTS_SECONDS
        return cookie

    async def _signed_in(self, request: Request, token: str) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MOST_BYTES:
                return _form(request, 413, "That is too long to be a token.")
        given = parse_qs(body.decode("utf-8", "replace"))
        if not _same("".join(given.get("token", [])).strip(), token):
            if await self._wrong.add():
                return _form(request, 429, "Too many wrong tokens are being sent.")
            return _form(request, 401, "That is not the token.")
        answer = RedirectResponse(_local("".join(given.get("next", []))), 303)
        answer.set_cookie(
            COOKIE,
            self._open(),
            max_age=_LASTS_SECONDS,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )
        return answer


def _form(request: Request, status: int, problem: str = "") -> Response:
    asked = request.url.path
    if request.url.query:
        asked = f"{asked}?{request.url.query}"
    follows = "/" if asked.startswith(LOGIN_PATH) else asked
    return page(request, "login.html", status, problem=problem, next=follows)


def _local(path: str) -> str:
    """Return a path of ours to go to; a browser takes `//x` and `/\\x` for other hosts."""
    ours = path.startswith("/") and path[1:2] not in ("/", "\\") and path.isprintable()
    return path if ours else "/"


def _cookie(headers: Headers) -> str:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie is not None else ""


def _hash(cookie: str) -> bytes:
    return sha256(cookie.encode("utf-8", "replace")).digest()


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
