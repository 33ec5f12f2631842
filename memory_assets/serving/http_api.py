"""The HTTP API: routes over `recall/` and, if a token is required, two by which agents write their
memory. Each route is declared once, with its request; its handler and its part of the OpenAPI
document follow from that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from threading import Semaphore
from typing import TYPE_CHECKING, Any

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memory_assets.errors import (
    BadArgument,
    BadTime,
    ConfigurationError,
    MemoryAssetsError,
    NotFound,
    StoreError,
    StoreMismatch,
    UnknownName,
    unexpected,
)
from memory_assets.requests.agent_memory import AppendRequest, RememberRequest
from memory_assets.requests.arguments import Arguments, declared
from memory_assets.requests.questions import (
    FrictionRequest,
    HowRequest,
    RestoreRequest,
    SessionRequest,
    SessionsRequest,
    ShowRequest,
    StatusRequest,
    TimelineRequest,
    UsageRequest,
)
from memory_assets.requests.search import CrossQueryRequest, SearchRequest
from memory_assets.serving.agent_memory import AgentMemory
from memory_assets.serving.http_server import Guard, body_of
from memory_assets.serving.opened import OpenedMemory
from memory_assets.serving.schemas import describe_api, get_operation, post_operation
from memory_assets.serving.visible_text import Frame, visible

if TYPE_CHECKING:
    from memory_assets.recall import Memory
    from memory_assets.settings import Settings

MAX_BYTES = 8_000_000
"""Most bytes of an answer."""
AT_ONCE = 4
"""Questions answered at a time."""
_CODES: dict[type[MemoryAssetsError], tuple[int, str]] = {
    BadTime: (422, "not_answerable"),
    BadArgument: (400, "bad_parameter"),
    UnknownName: (404, "not_found"),
    ConfigurationError: (422, "not_answerable"),
    NotFound: (404, "not_found"),
    StoreMismatch: (409, "mismatch"),
}
_NO_MEMORY = "no_memory"


_QUESTIONS: dict[str, tuple[str, type[Arguments]]] = {
    "/search": ("The turns, prompts or summaries that answer a question", SearchRequest),
    "/turns/{id}": ("A turn in full, with turns around it", ShowRequest),
    "/sessions": ("The sessions on record, newest first", SessionsRequest),
    "/sessions/{id}": ("A session's summary and index", SessionRequest),
    "/usage": ("The tokens of sessions, their price and time", UsageRequest),
    "/timeline": ("What happened around something", TimelineRequest),
    "/cross-query": (
        "A question across another collection and the sessions; `where.KEY=VALUE` keeps "
        "documents by metadata",
        CrossQueryRequest,
    ),
    "/how": ("The commands of a tool that worked, and what failed before them", HowRequest),
    "/friction": ("The errors met in several sessions, and what ended them", FrictionRequest),
    "/restore": ("The contents of a file, as far as sessions wrote or read them", RestoreRequest),
    "/status": ("What is in memory", StatusRequest),
}
"""Each route of the API: what it answers, and its request."""


_WRITES: dict[str, tuple[str, type[Arguments]]] = {
    "/memories": ("Store a memory", RememberRequest),
    "/history": ("Append a turn to a conversation", AppendRequest),
}
"""Each route that writes by POST, where a token is asked for: what it does, and its request."""
MAX_BODY = 1_000_000
"""Most bytes of a request's body."""


class _Health(Arguments):
    """A request for a sign of life."""

    answers = ("status",)


@cache
def openapi_document(*, writes: bool = False) -> dict[str, Any]:
    """Return the document that `/openapi.json` answers; `writes`: with the routes that write."""
    routes = {path: get_operation(*described) for path, described in _QUESTIONS.items()}
    if writes:
        routes |= {path: post_operation(*described) for path, described in _WRITES.items()}
    return describe_api({**routes, "/healthz": get_operation("That the server answers", _Health)})


def build_app(
    settings: Settings,
    *,
    hosts: Sequence[str] = (),
    token: str | None = None,
    opened: OpenedMemory | None = None,
) -> Guard:
    """Return the ASGI application over the memory of these settings, guarded; `opened` is the
    memory where another application shares it."""
    memory = opened or OpenedMemory(settings)
    turns = Semaphore(AT_ONCE)
    agents = AgentMemory(settings)
    constants: Mapping[str, Callable[[], dict[str, Any]]] = {
        "/healthz": lambda: {"status": "ok"},
        "/openapi.json": partial(openapi_document, writes=bool(token)),
    }
    routes = {
        **{
            path: _question_handler(request, memory, turns)
            for path, (_, request) in _QUESTIONS.items()
        },
        **{path: _constant(value) for path, value in constants.items()},
    }
    app = Starlette(
        routes=[
            Route(path.replace("{id}", "{id:path}"), handler, methods=["GET"])
            for path, handler in routes.items()
        ]
        + [
            Route(path, _write_handler(request, agents, memory), methods=["POST"])
            for path, (_, request) in (_WRITES.items() if token else ())
        ],
        exception_handlers={HTTPException: _http_error},
    )
    return Guard(app, hosts=hosts, token=token)


_Handler = Callable[[Request], Response | Awaitable[Response]]


def _question_handler(
    question: type[Arguments], opened: OpenedMemory, turns: Semaphore
) -> _Handler:
    """Return the handler of a route, which Starlette runs in a thread; `turns` bounds how many
    questions are answered at a time."""

    def handle(request: Request) -> Response:
        parameters = [*request.path_params.items(), *request.query_params.multi_items()]
        with turns:
            return _answer_question(question, opened, parameters)

    return handle


def _write_handler(
    question: type[Arguments], agents: AgentMemory, opened: OpenedMemory
) -> _Handler:
    """Return the handler of a route that writes what the JSON object of a body asks for."""

    async def handle(request: Request) -> Response:
        body = await body_of(request, MAX_BODY)
        if body is None:
            return _error(413, "too_large", f"the body has more than {MAX_BODY} bytes")
        try:
            arguments = orjson.loads(body)
        except ValueError:
            arguments = None
        if not isinstance(arguments, dict):
            return _error(400, "bad_parameter", "give a JSON object")
        return await run_in_threadpool(
            _respond, opened, lambda: _json(agents.answer(question.from_values("http", arguments)))
        )

    return handle


def _respond(opened: OpenedMemory, answer: Callable[[], Response]) -> Response:
    """Return a response; an error becomes its status and code, and quotes no transcript."""
    try:
        return answer()
    except MemoryAssetsError as error:
        return _error(*status_of(error), opened.error_message(error, "http"))
    except Exception as error:  # noqa: BLE001 - a traceback's message may quote a transcript
        return _error(500, "unexpected", str(unexpected(error)))


def _answer_question(
    question: type[Arguments], opened: OpenedMemory, parameters: list[tuple[str, str]]
) -> Response:
    """Return the answer as a response; an error becomes its status and code, and quotes no
    transcript."""

    def answer() -> Response:
        try:
            memory = opened.get()
        except NotFound as error:
            return _error(503, _NO_MEMORY, str(error))
        return _json(Frame().payload(_ask(memory, _parse_query(question, parameters))))

    response = _respond(opened, answer)
    if len(response.body) > MAX_BYTES:
        return _error(413, "too_large", f"the answer has more than {MAX_BYTES} bytes; ask for less")
    return response


def status_of(error: MemoryAssetsError) -> tuple[int, str]:
    """Return the HTTP status of an error, and its code for programs."""
    codes = (code for kind, code in _CODES.items() if isinstance(error, kind))
    return next(codes, (503, "unavailable"))


def _parse_query(request: type[Arguments], parameters: list[tuple[str, str]]) -> Arguments:
    """Return the request of a query string; parameters `where.KEY` become entries of its
    `where`."""
    values: dict[str, str] = {}
    where: dict[str, Any] = {}
    has_where = any(spec.name == "where" for spec in declared(request))
    for name, value in parameters:
        is_where = has_where and name.startswith("where.")
        target = where if is_where else values
        key = name.removeprefix("where.") if is_where else name
        if key in target:
            raise BadArgument(f"{name}: is given twice; give it once")
        target[key] = value
    return request.from_values("http", values, **({"where": where} if where else {}))


def _ask(memory: Memory, request: Arguments) -> dict[str, Any]:
    """Return the answer. A search in an empty memory raises `StoreError`, which becomes 503: the
    question is valid, so 404 would mislead."""
    try:
        return memory.ask(request)
    except NotFound as error:
        if isinstance(request, SearchRequest) and not request.selects_observations:
            raise StoreError(str(error)) from None
        raise


def _json(value: Mapping[str, Any], status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")


def _error(status: int, code: str, message: str) -> Response:
    return _json({"error": {"code": code, "message": visible(message)}}, status)


def _constant(value: Callable[[], dict[str, Any]]) -> _Handler:
    async def handle(_: Request) -> Response:
        return _json(value())

    return handle


async def _http_error(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    code, message = "refused", f"HTTP {status}"
    if status == 404:
        code, message = "not_found", "there is no such path; /openapi.json has those there are"
    response = _error(status, code, message)
    headers = error.headers if isinstance(error, HTTPException) else None
    response.headers.update(headers or {})
    return response
