"""Signing in where a token is asked for: a form takes the token and sets a cookie.

The cookie holds when it ends and a hash of that, keyed with the token: nothing is kept on the
server, and a new token ends all sessions. A browser sends it with no request of another site but
with a link that its user follows, which only reads.
"""

from __future__ import annotations

import hmac
import time
from collections import deque
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from memory_assets.http.access import token_of
from memory_assets.serving.pages.rendering import page

LOGIN_PATH = "/page/login"
STATIC_PATH = "/page/static/"
COOKIE = "memory_page"
_LASTS_SECONDS = 12 * 3600
_MOST_BYTES = 4_096
_TRIES, _WITHIN_SECONDS = 10, 60.0


class SignIn:
    """ASGI middleware that shows a form to whoever has neither cookie nor token; without a token to
    ask for, everybody passes. At most 10 wrong tokens a minute are looked at, whoever sends them.
    """

    def __init__(
        self, app: ASGIApp, token: str | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._token = token
        self._clock = clock
        self._wrong: deque[float] = deque(maxlen=_TRIES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or show the form."""
        if scope["type"] != "http" or self._token is None or self._admits(scope, self._token):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        signs_in = request.method == "POST" and request.url.path == LOGIN_PATH
        answer = await self._signed_in(request, self._token) if signs_in else _form(request, 401)
        await answer(scope, receive, send)

    def _admits(self, scope: Scope, token: str) -> bool:
        if scope["path"].startswith(STATIC_PATH):
            return True
        headers = Headers(scope=scope)
        bearer = token_of(headers.get("authorization", ""), basic=False)
        return _same(bearer, token) or _is_valid(_cookie(headers), token)

    async def _signed_in(self, request: Request, token: str) -> Response:
        now = self._clock()
        if len(self._wrong) == _TRIES and now - self._wrong[0] < _WITHIN_SECONDS:
            return _form(request, 429, "Too many wrong tokens: wait a minute.")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MOST_BYTES:
                return _form(request, 413, "That is too long to be a token.")
        given = parse_qs(body.decode("utf-8", "replace"))
        if not _same("".join(given.get("token", [])).strip(), token):
            self._wrong.append(now)
            return _form(request, 401, "That is not the token.")
        answer = RedirectResponse(_local("".join(given.get("next", []))), 303)
        ends = str(int(time.time()) + _LASTS_SECONDS)
        answer.set_cookie(
            COOKIE,
            f"{ends}.{_signature(ends, token)}",
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
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _is_valid(cookie: str, token: str) -> bool:
    ends, _, signature = cookie.partition(".")
    if not (ends.isascii() and ends.isdigit() and len(ends) < 12 and int(ends) > time.time()):
        return False
    return _same(signature, _signature(ends, token))


def _signature(ends: str, token: str) -> str:
    return hmac.digest(token.encode(), f"page:{ends}".encode(), "sha256").hex()


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
