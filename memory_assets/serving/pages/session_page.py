"""A session as a page: windows of its turns, one record in full, the session as Markdown or as one
HTML file; and the form that pins it, the only form that writes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from memory_assets.errors import BadArgument, MemoryAssetsError, NotFound
from memory_assets.requests.agent_memory import PinRequest
from memory_assets.serving.agent_memory import AgentMemory
from memory_assets.serving.exports import html_file, markdown_lines, session_title
from memory_assets.serving.http_api import status_of
from memory_assets.serving.http_server import body_of
from memory_assets.serving.pages.rendering import of_memory, page
from memory_assets.serving.visible_text import visible
from memory_assets.settings import Settings

if TYPE_CHECKING:
    from memory_assets.recall import Memory
    from memory_assets.recall.sessions.conversation import Conversation

WINDOW = 40
"""Turns that are shown at a time."""
MOST_QUERY_CHARACTERS = 2_000
"""Characters of a question whose words are marked."""
_ALL = 1_000_000
_PLACES = 200
"""Turns in which a text stands that are listed."""
_OUTLINED = 200
"""Turns of the list beside a session."""
_POLL_SECONDS = ((timedelta(hours=6), 5), (timedelta(days=1), 60))
"""Pairs of an age of the last turn, and the seconds between two polls for further turns up to that
age; an older session is not polled."""


def session_page(memory: Memory, request: Request) -> Response:
    """Return a session around the turn that is asked for."""
    conversation = _window(memory, request, WINDOW)
    sought = request.query_params.get("find", "").strip()[:MOST_QUERY_CHARACTERS]
    places = memory.conversations.with_text(conversation, sought)
    values: dict[str, Any] = {
        "title": session_title(conversation),
        "up": True,
        "down": True,
        "whole": False,
        "query": sought or request.query_params.get("q", "")[:MOST_QUERY_CHARACTERS],
        "sought": sought,
        "places": places[:_PLACES],
        "place_count": len(places),
    }
    from memory_assets.recall.names import short_id

    values["usage"] = _usage(memory, conversation)
    values["writes"] = request.app.state.writes
    values["short"] = short_id(memory, conversation.session_id)
    values |= _side_facts(memory, conversation)
    return page(
        request, "session.html", session=conversation, **values, **_links(memory, conversation)
    )


def live_turns(memory: Memory, request: Request) -> Response:
    """Return the last turn of a session and those after it, for a page that shows a session while
    its agent works."""
    after = _number(request, "after") or 0
    conversation = memory.conversations.window(request.path_params["id"], WINDOW, turn=after)
    conversation = replace(
        conversation,
        turns=[turn for turn in conversation.turns if turn.index >= after],
        wanted=None,
    )
    return _turns_alone(memory, request, conversation, going_down=True)


def _side_facts(memory: Memory, conversation: Conversation) -> dict[str, Any]:
    """Return what stands beside a session: its turns, models, commits, how to resume it, the
    sessions before and after it that changed the same files, and how often to ask for further
    turns, in seconds (`follow`; None: not at all)."""
    from memory_assets.recall.sessions.resume import resume_command
    from memory_assets.recall.sessions.session import commits_that_stand, sessions_of_same_files

    try:
        resume = resume_command(memory, conversation.session_id)
    except MemoryAssetsError:
        resume = None
    own = (memory.lake, conversation.project, conversation.session_id)
    earlier, later = sessions_of_same_files(*own)
    last = str(conversation.summary.get("ended_at") or conversation.turns[-1].time or "")
    return {
        "outline": memory.conversations.outline(conversation, _OUTLINED),
        "models": memory.conversations.models(conversation),
        "commits": commits_that_stand(*own),
        "resume": resume,
        "earlier": earlier,
        "later": later,
        "follow": _poll_seconds(last) if last else None,
    }


def _poll_seconds(last: str) -> int | None:
    age = datetime.now(UTC) - datetime.fromisoformat(last)
    return next((seconds for most, seconds in _POLL_SECONDS if age < most), None)


def turns_fragment(memory: Memory, request: Request) -> Response:
    """Return turns alone: those before or after the ones that are there already."""
    end = _number(request, "end")
    most = WINDOW if end is None else max(0, end - (_number(request, "from") or 0))
    conversation = _window(memory, request, min(most, WINDOW))
    return _turns_alone(memory, request, conversation, going_down=end is None)


def _turns_alone(
    memory: Memory, request: Request, conversation: Conversation, *, going_down: bool
) -> Response:
    sides: dict[str, Any] = {"up": not going_down, "down": going_down, "whole": False, "query": ""}
    links = _links(memory, conversation)
    return page(request, "turns.html", session=conversation, **sides, **links)


def record_text(memory: Memory, request: Request) -> Response:
    """Return the text of one record, all of it."""
    agent_id = request.query_params.get("agent") or None
    seq = _number(request, "seq") or 0
    record = memory.conversations.record(request.path_params["id"], seq, agent_id)
    return _plain_text(str(record.text))


def session_markdown(memory: Memory, request: Request) -> Response:
    """Return a session, or one turn of it, as Markdown."""
    conversation = _window(memory, request, _ALL, first=0)
    only = _number(request, "turn")
    text = "\n".join(markdown_lines(conversation, session_title(conversation), only))
    if not text:
        raise NotFound(f"session {conversation.session_id} has no turn {only}")
    return _plain_text(text)


def session_export(memory: Memory, request: Request) -> Response:
    """Return a session as one HTML file that needs nothing else and runs nothing."""
    conversation = _window(memory, request, _ALL, first=0)
    body = html_file(memory, [conversation])
    name = "".join(
        character
        for character in conversation.session_id
        if character.isalnum() or character in "-_"
    )
    attached = {"content-disposition": f'attachment; filename="session-{name[:80]}.html"'}
    return HTMLResponse(body, headers={"cache-control": "no-store", **attached})


def _window(
    memory: Memory, request: Request, most: int, *, first: int | None = None
) -> Conversation:
    start = _number(request, "from") if first is None else first
    turn = _number(request, "turn")
    return memory.conversations.window(request.path_params["id"], most, turn=turn, first=start)


def _number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise BadArgument(f"{name}: give a whole number from 0 on")
    return int(text)


def _usage(memory: Memory, conversation: Conversation) -> dict[str, Any]:
    from memory_assets.recall.sessions.usage import session_usage

    return session_usage(memory.lake, conversation.project, conversation.session_id)


def _links(memory: Memory, conversation: Conversation) -> dict[str, Any]:
    from memory_assets.recall.pins import pin_key, pins_by_session
    from memory_assets.recall.sessions.usage import usage_by_turn

    took = usage_by_turn(memory.lake, conversation.project, conversation.session_id)
    pinned = pins_by_session(memory).get(pin_key(conversation.project, conversation.session_id), [])
    shown = {"most": WINDOW, "pinned": pinned, "took": took, "copy_of": memory.copy_of}
    return {**of_memory(memory), **shown}


def _plain_text(text: str) -> Response:
    return PlainTextResponse(visible(text), headers={"cache-control": "no-store"})


PIN_PATH = "/page/pin"
_MOST_BYTES = 100_000


def pinning(settings: Settings) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler of the form: it pins, or removes what is pinned, and leads back.

    Like the writing routes of the API it exists only if a token is required, because agents are
    given what is noted. The guard of all pages refuses requests of other sites by host, origin and
    fetch metadata, and the browser sends the cookie with none of their forms (`login.py`).
    """
    agents = AgentMemory(settings)

    async def pinned(request: Request) -> Response:
        body = await body_of(request, _MOST_BYTES)
        if body is None:
            return _problem(request, 413, f"the note has more than {_MOST_BYTES} bytes")
        arguments = {
            name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()
        }
        session = arguments.pop("session", "")
        turn = arguments.pop("turn", "")
        try:
            pin_request = PinRequest.from_values(
                "http", {**arguments, "id": f"{session}:{turn}" if turn else session}
            )
            await run_in_threadpool(agents.answer, pin_request)
        except MemoryAssetsError as error:
            return _problem(request, status_of(error)[0], str(error))
        fragment = f"?turn={quote(turn)}#turn-{quote(turn)}" if turn else ""
        return RedirectResponse(f"/page/session/{quote(session)}{fragment}", 303)

    return pinned


def _problem(request: Request, status: int, message: str) -> Response:
    return page(request, "problem.html", status, title="This was not pinned", message=message)
