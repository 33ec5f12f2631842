"""One ASGI application of pages and API: routes of the pages, what guards them, their errors as
pages, and the files of docs/ as pages, for whoever follows a link from Dagster's UI."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from http.client import HTTPException as HTTPError
from itertools import pairwise
from threading import Semaphore
from typing import TYPE_CHECKING

import orjson
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from memory_assets.errors import MemoryAssetsError, NotFound, unexpected
from memory_assets.paths import SHIPPED
from memory_assets.serving.http_api import AT_ONCE, MAX_BYTES, build_app, status_of
from memory_assets.serving.http_server import PAGE_HEADERS, Guard, Header
from memory_assets.serving.opened import OpenedMemory
from memory_assets.serving.pages.login import STATIC_PATH, SignIn
from memory_assets.serving.pages.overview_page import (
    audit_page,
    health_page,
    overview_page,
    overview_part,
    side_list,
    tag_page,
    usage_page,
)
from memory_assets.serving.pages.project_pages import (
    conversation_page,
    document_page,
    memories_page,
    memory_page,
    project_page,
    projects_page,
    sessions_file,
    sessions_page,
    timeline_page,
)
from memory_assets.serving.pages.rendering import STATIC, page, static_file
from memory_assets.serving.pages.search_page import (
    hits_fragment,
    observations_page,
    palette,
    search_page,
)
from memory_assets.serving.pages.session_page import (
    PIN_PATH,
    live_turns,
    pinning,
    record_text,
    session_export,
    session_markdown,
    session_page,
    turns_fragment,
)

if TYPE_CHECKING:
    from memory_assets.recall import Memory
    from memory_assets.settings import Settings

_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_OWN_HEADERS: tuple[Header, ...] = (
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
)
SITE_HEADERS = (*PAGE_HEADERS, *_OWN_HEADERS)
"""Headers of each page: it may use its own files alone, and no script or style within it."""

_DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Asks this machine, whatever proxy is set."""
_PATIENCE_SECONDS = 30.0
_ICON = "/favicon.ico"
"""The path that browsers ask for an icon where the answer names none, as plain text does."""
_STATIC_ROUTE = STATIC_PATH + "{name}"
_Page = Callable[["Memory", Request], Response]


def _here_or_pulled(answer: _Page) -> _Page:
    """Return a page that looks for its id in this memory first, then in those that were pulled."""
    return lambda memory, request: memory.first_with(
        request.path_params["id"], lambda opened: answer(opened, request)
    )


_PAGES: dict[str, _Page] = {
    "/": search_page,
    "/page/hits": hits_fragment,
    "/page/side": side_list,
    "/page/overview": overview_page,
    "/page/overview/parts": overview_part,
    "/page/palette": palette,
    "/page/session/{id:path}": _here_or_pulled(session_page),
    "/page/turns/{id:path}": _here_or_pulled(turns_fragment),
    "/page/live/{id:path}": live_turns,
    "/page/record/{id:path}": _here_or_pulled(record_text),
    "/page/markdown/{id:path}": _here_or_pulled(session_markdown),
    "/page/export/{id:path}": _here_or_pulled(session_export),
    "/page/sessions": sessions_page,
    "/page/sessions/file": sessions_file,
    "/page/projects": projects_page,
    "/page/usage": usage_page,
    "/page/project/{id:path}": project_page,
    "/page/observations": observations_page,
    "/page/memories": memories_page,
    "/page/memory/{id:path}": memory_page,
    "/page/conversation/{id:path}": conversation_page,
    "/page/timeline": timeline_page,
    "/page/document/{id:path}": _here_or_pulled(document_page),
    "/page/health": health_page,
    "/page/audit/{id:path}": audit_page,
    "/page/tag/{tag}": tag_page,
}


def build_site(
    settings: Settings, *, hosts: Sequence[str] = (), token: str | None = None
) -> ASGIApp:
    """Return the pages, below `/` and `/page/`, and the API, over the memory of these settings,
    guarded."""
    opened = OpenedMemory(settings)
    turns = Semaphore(AT_ONCE)
    pages = Starlette(
        routes=[
            *(Route(path, _handler(handler, opened, turns)) for path, handler in _PAGES.items()),
            Route(_STATIC_ROUTE, _static),
            Route(_ICON, _static),
        ],
        exception_handlers={HTTPException: _http_error},
    )
    pages.state.writes = bool(token)
    pages.state.dagster_url = settings.dagster_url
    if token:
        pages.router.routes.append(Route(PIN_PATH, pinning(settings), methods=["POST"]))
    guarded = Guard(SignIn(pages, token), hosts=hosts, headers=SITE_HEADERS)
    api = build_app(settings, hosts=hosts, token=token, opened=opened)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        is_page = path in ("/", _ICON) or path.startswith("/page/")
        await (guarded if is_page else api)(scope, receive, send)

    return answer


def with_manual(app: ASGIApp) -> ASGIApp:
    """Return another application, which is guarded as a whole, with the files of docs/ as pages."""
    manual = Starlette(
        routes=[Route(MANUAL_PATH + "{name}", _manual), Route(_STATIC_ROUTE, _static)],
        exception_handlers={HTTPException: _http_error},
    )

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        ours = scope["type"] == "http" and scope["path"].startswith((MANUAL_PATH, STATIC_PATH))
        await (manual if ours else app)(scope, receive, send)

    return answer


def answers_for(url: str, settings: Settings) -> bool | None:
    """Return whether the API at an address is that of this memory; None if nothing answers."""
    headers = {"authorization": f"Bearer {settings.http_token}"} if settings.http_token else {}
    request = urllib.request.Request(f"{url}/status", headers=headers)
    try:
        with _DIRECTLY.open(request, timeout=_PATIENCE_SECONDS) as answer:
            payload = orjson.loads(answer.read(MAX_BYTES))
    except urllib.error.HTTPError:
        return False
    except (OSError, HTTPError):
        return None
    except orjson.JSONDecodeError:
        return False
    return isinstance(payload, dict) and payload.get("data_dir") == str(settings.data_dir)


def _handler(render: _Page, opened: OpenedMemory, turns: Semaphore) -> Callable[..., Response]:
    """Return the handler of a page, which Starlette runs in a thread."""

    def answered(request: Request) -> Response:
        with turns:
            try:
                return render(opened.get(), request)
            except MemoryAssetsError as error:
                status = 503 if not opened.is_open else status_of(error)[0]
                return _problem(
                    request, status, opened.error_message(error), lost=isinstance(error, NotFound)
                )
            except HTTPException:
                raise
            except Exception as error:  # noqa: BLE001 - a traceback may quote a transcript
                return _problem(request, 500, str(unexpected(error)))

    return answered


def _problem(request: Request, status: int, message: str, *, lost: bool = False) -> Response:
    title = "Not in memory" if lost else "This cannot be shown"
    return page(request, "problem.html", status, title=title, message=message)


def _manual(request: Request) -> Response:
    answer = manual_page(request)
    answer.raw_headers.extend(_OWN_HEADERS)
    return answer


def _static(request: Request) -> Response:
    name = request.path_params.get("name", "icon.svg")
    if name not in STATIC:
        raise HTTPException(404)
    kept = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(static_file(name), media_type=STATIC[name], headers=kept)


def _http_error(request: Request, error: Exception) -> Response | Awaitable[Response]:
    status = error.status_code if isinstance(error, HTTPException) else 500
    message = "There is no such page." if status == 404 else f"HTTP {status}"
    return _problem(request, status, message, lost=status == 404)


MANUAL_PATH = "/docs/"
_NAME = re.compile(r"[a-z-]+\.md")
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_NOT_OF_WORDS = re.compile(r"[^\w\- ]")


def manual_page(request: Request) -> Response:
    """Return the file of docs/ that the path names, as HTML."""
    name = request.url.path.removeprefix(MANUAL_PATH)
    file = SHIPPED / "docs" / name
    if not (_NAME.fullmatch(name) and file.is_file()):
        message = "There is no such document."
        return page(request, "problem.html", 404, title="Not in docs", message=message)
    body = _html(file.read_text(encoding="utf-8"))
    return page(request, "manual.html", title=name, body=body)


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _html(text: str) -> Markup:
    """Return Markdown of ours as HTML, with an id at each heading by which links name it, and
    without pictures: an installed package has none."""
    parser = _markdown()
    tokens = parser.parse(_PICTURE.sub("", text))
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            words = _NOT_OF_WORDS.sub("", inline.content.lower())
            opening.attrSet("id", words.replace(" ", "-"))
    return Markup(parser.renderer.render(tokens, parser.options, {}))
