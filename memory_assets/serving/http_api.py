"""The HTTP API: routes over `recall/`, read only. `openapi.py` says the same for programs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio
import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memory_assets.errors import (
    ConfigurationError,
    MemoryAssetsError,
    NotFound,
    StoreMismatch,
    unexpected,
)
from memory_assets.serving.http_guard import Guard
from memory_assets.serving.http_parameters import BadParameter, Parameters
from memory_assets.serving.openapi import SEARCHED, TYPES, openapi_document
from memory_assets.serving.opened import OpenedMemory
from memory_assets.serving.visible_text import visible
from memory_assets.settings import KNOWN_AGENTS, Settings

MAX_BYTES = 8_000_000
"""Bytes of an answer."""
_AT_ONCE = 4
_CODES: dict[type[MemoryAssetsError], tuple[int, str]] = {
    BadParameter: (400, "bad_parameter"),
    ConfigurationError: (422, "not_answerable"),
    NotFound: (404, "not_found"),
    StoreMismatch: (409, "mismatch"),
}
_NO_MEMORY = "no_memory"


def build_app(settings: Settings, *, hosts: Sequence[str] = (), token: str | None = None) -> Guard:
    """Return the ASGI application over the memory of these settings, guarded."""
    api = _Api(OpenedMemory(settings))
    names: Mapping[str, Callable[[Request], Awaitable[Response]]] = {
        "/search": api.search,
        "/turns/{id:path}": api.turn,
        "/sessions/{id:path}": api.session,
        "/timeline": api.timeline,
        "/cross-query": api.cross_query,
        "/status": api.status,
        "/healthz": api.healthz,
        "/openapi.json": api.openapi,
    }
    app = Starlette(
        routes=[Route(path, handler, methods=["GET"]) for path, handler in names.items()],
        exception_handlers={HTTPException: _http_error},
    )
    return Guard(app, hosts=hosts, token=token)


class _Api:
    """The routes' handlers. What they ask of `recall` runs in threads, a few at a time."""

    def __init__(self, opened: OpenedMemory) -> None:
        self._opened = opened
        self._limiter: anyio.CapacityLimiter | None = None

    async def search(self, request: Request) -> Response:
        """GET /search."""

        def answer(asked: Parameters) -> dict[str, Any]:
            from memory_assets.serving import questions

            given = {
                **{name: asked.text(name, 500) for name in ("session", "concept")},
                **{name: asked.text(name, 1_000) for name in ("project", "file", "tool")},
                **{name: asked.text(name, 40) for name in ("since", "until")},
                "agent": asked.choice("agent", KNOWN_AGENTS),
                "type": asked.choice("type", TYPES),
                "mode": asked.choice("mode", ("hybrid", "semantic", "keyword"), "hybrid"),
                "n": asked.number("n", 10, 1, 200),
            }
            query = asked.text("q", questions.MAX_QUERY) or ""
            kind = asked.choice("in", SEARCHED) or "sessions"
            fallback = asked.flag("fallback", default=True)
            asked.nothing_else()
            self._require_project(given["project"])
            found = questions.search(self._opened.get(), query=query, kind=kind, **given)
            if found.degraded == "keyword-only" and not fallback:
                raise _Unavailable("Chroma is away, and keyword-only answers were not allowed")
            return found.to_dict()

        return await self._answered(request, answer)

    async def turn(self, request: Request) -> Response:
        """GET /turns/{id}."""

        def answer(asked: Parameters) -> dict[str, Any]:
            around = asked.number("around", 0, 0, 50)
            asked.nothing_else()
            turn_id = request.path_params["id"]
            return {"id": turn_id, "rows": self._opened.get().show(turn_id, around)}

        return await self._answered(request, answer)

    async def session(self, request: Request) -> Response:
        """GET /sessions/{id}."""

        def answer(asked: Parameters) -> dict[str, Any]:
            from memory_assets.serving import questions

            asked.nothing_else()
            return questions.overview(self._opened.get(), request.path_params["id"])

        return await self._answered(request, answer)

    async def timeline(self, request: Request) -> Response:
        """GET /timeline."""

        def answer(asked: Parameters) -> dict[str, Any]:
            from memory_assets.recall.timeline.items import ITEM_KINDS
            from memory_assets.recall.timeline.timeline import DETAILS, SCOPES, timeline

            kinds = asked.text("kinds", 200)
            given: dict[str, Any] = {
                "before": asked.text("before", 8) or "10",
                "after": asked.text("after", 8) or "10",
                "kinds": kinds.split(",") if kinds else ITEM_KINDS,
                "scope": asked.choice("scope", SCOPES),
                "project": asked.text("project", 1_000),
                "detail": asked.choice("detail", DETAILS, "index"),
            }
            anchor = asked.needed("anchor", 1_000)
            asked.nothing_else()
            self._require_project(given["project"])
            return timeline(self._opened.get(), anchor, **given).to_dict()

        return await self._answered(request, answer)

    async def cross_query(self, request: Request) -> Response:
        """GET /cross-query."""

        def answer(asked: Parameters) -> dict[str, Any]:
            from memory_assets.recall.cross_query import MAX_DOCUMENTS, cross_query

            given: dict[str, Any] = {
                "document": asked.text("document", 1_000),
                "collection": asked.text("collection", 512),
                "project": asked.text("project", 1_000),
                "n": asked.number("n", 10, 1, MAX_DOCUMENTS),
                "assume_same_embedder": asked.flag("assume_same_embedder", default=False),
            }
            query = asked.text("q", 4_000) or ""
            given["where"] = asked.rest("where.")
            asked.nothing_else()
            self._require_project(given["project"])
            return cross_query(self._opened.get(), query, **given).to_dict()

        return await self._answered(request, answer)

    async def status(self, request: Request) -> Response:
        """GET /status."""

        def answer(asked: Parameters) -> dict[str, Any]:
            asked.nothing_else()
            return self._opened.get().status()

        return await self._answered(request, answer)

    async def healthz(self, _: Request) -> Response:
        """GET /healthz: that the server answers, and nothing of the memory."""
        return _json({"status": "ok"})

    async def openapi(self, _: Request) -> Response:
        """GET /openapi.json."""
        return _json(openapi_document())

    def _require_project(self, project: Any) -> None:
        if project is not None and project not in self._opened.get().catalog.projects():
            raise NotFound(f"no project {project!r} in memory; /status lists them")

    async def _answered(
        self, request: Request, answer: Callable[[Parameters], dict[str, Any]]
    ) -> Response:
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_AT_ONCE)
        asked = request.query_params.multi_items()
        return await anyio.to_thread.run_sync(self._response, answer, asked, limiter=self._limiter)

    def _response(
        self, answer: Callable[[Parameters], dict[str, Any]], asked: list[tuple[str, str]]
    ) -> Response:
        """Return the answer, or the error as one; never a text of a transcript in it."""
        from memory_assets.serving.framing import Frame

        try:
            try:
                self._opened.get()
            except NotFound as error:
                return _error(503, _NO_MEMORY, str(error))
            response = _json(Frame().payload(answer(Parameters(asked))))
        except MemoryAssetsError as error:
            status, code = next(
                (each for kind, each in _CODES.items() if isinstance(error, kind)),
                (503, "unavailable"),
            )
            return _error(status, code, str(error))
        except Exception as error:  # noqa: BLE001 - a traceback's message may quote a transcript
            return _error(500, "unexpected", str(unexpected(error)))
        if len(response.body) > MAX_BYTES:
            return _error(
                413, "too_large", f"the answer has more than {MAX_BYTES} bytes; ask for less"
            )
        return response


class _Unavailable(MemoryAssetsError):
    """It cannot be answered as asked, now."""


def _json(value: Mapping[str, Any], status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")


def _error(status: int, code: str, message: str) -> Response:
    return _json({"error": {"code": code, "message": visible(message)}}, status)


async def _http_error(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    response = _error(status, "not_found" if status == 404 else "refused", f"HTTP {status}")
    headers = error.headers if isinstance(error, HTTPException) else None
    response.headers.update(headers or {})
    return response
