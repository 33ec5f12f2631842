"""Signing in if a token is required: a form takes the token and sets a cookie.

The cookie is random and unrelated to the token. The server keeps its hash and the time of its end
in memory, so a restart ends all sessions. A browser sends it with no request of another site,
except when its user follows a link, which only reads (`SameSite=Lax`).
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
from memory_assets.serving.http_server import TOO_MANY, WrongTokens, body_of
from memory_assets.serving.pages.rendering import page

LOGIN_PATH = "/page/login"
STATIC_PATH = "/page/static/"
COOKIE = "memory_page"
_LASTS_SECONDS = 12 * 3600
_MOST_BYTES = 4_096
_MOST_SESSIONS = 1_000
"""Sessions that are kept; the oldest ends when there are more."""


class SignIn:
    """ASGI middleware that answers requests without cookie or token by a form; with `token=None`
    all requests pass. Wrong tokens are delayed (`WrongTokens`)."""

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
        self._ends = {cookie_hash: ends for cookie_hash, ends in self._ends.items() if ends > now}
        while len(self._ends) >= _MOST_SESSIONS:
            del self._ends[next(iter(self._ends))]
        cookie = secrets.token_urlsafe(32)
        self._ends[_hash(cookie)] = now + _LASTS_SECONDS
        return cookie

    async def _signed_in(self, request: Request, token: str) -> Response:
        body = await body_of(request, _MOST_BYTES)
        if body is None:
            return _form(request, 413, "That is too long to be a token.")
        form = parse_qs(body.decode("utf-8", "replace"))
        if not _same("".join(form.get("token", [])).strip(), token):
            if await self._wrong.add():
                return _form(request, 429, "Too many wrong tokens are being sent.")
            return _form(request, 401, "That is not the token.")
        answer = RedirectResponse(_local("".join(form.get("next", []))), 303)
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
    address = request.url.path
    if request.url.query:
        address = f"{address}?{request.url.query}"
    next_address = "/" if address.startswith(LOGIN_PATH) else address
    return page(request, "login.html", status, problem=problem, next=next_address)


def _local(path: str) -> str:
    """Return a path of ours to go to; a browser takes `//x` and `/\\x` for other hosts."""
    is_local = path.startswith("/") and path[1:2] not in ("/", "\\") and path.isprintable()
    return path if is_local else "/"


def _cookie(headers: Headers) -> str:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie is not None else ""


def _hash(cookie: str) -> bytes:
    return sha256(cookie.encode("utf-8", "replace")).digest()


def _same(token: str, expected: str) -> bool:
    return hmac.compare_digest(token.encode("utf-8", "replace"), expected.encode())
