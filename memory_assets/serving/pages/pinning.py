"""Pins and notes from the page of a session: the one form that writes.

It is there only where a token is asked for, as the writing routes of the API are: what is noted is
told to agents. The guard of all pages refuses requests of other sites by host, origin and fetch
metadata, and the browser sends the cookie with none of their forms (`login.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from memory_assets.errors import MemoryAssetsError
from memory_assets.requests.agent_memory import PinRequest
from memory_assets.serving.agent_memory import AgentMemory
from memory_assets.serving.http_api import status_of
from memory_assets.serving.pages.rendering import page
from memory_assets.settings import Settings

PIN_PATH = "/page/pin"
_MOST_BYTES = 100_000


def pinning(settings: Settings) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler of the form: it pins, or removes what is pinned, and leads back."""
    agents = AgentMemory(settings)

    async def pinned(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MOST_BYTES:
                return _problem(request, 413, f"the note has more than {_MOST_BYTES} bytes")
        given = {
            name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()
        }
        session, turn = given.pop("session", ""), given.pop("turn", "")
        try:
            asked = PinRequest.given(
                "http", {**given, "id": f"{session}:{turn}" if turn else session}
            )
            await run_in_threadpool(agents.answer, asked)
        except MemoryAssetsError as error:
            return _problem(request, status_of(error)[0], str(error))
        at = f"?turn={quote(turn)}#turn-{quote(turn)}" if turn else ""
        return RedirectResponse(f"/page/session/{quote(session)}{at}", 303)

    return pinned


def _problem(request: Request, status: int, message: str) -> Response:
    return page(request, "problem.html", status, title="This was not pinned", message=message)
