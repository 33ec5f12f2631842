"""The commands that ask. `requests/` declares their arguments, `Memory.ask` answers them, and a
view of `serving/views.py` prints the answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from memory_assets.cli import exit_codes
from memory_assets.cli.asking import ask_and_print, exit_unless_found
from memory_assets.cli.commands import request_command
from memory_assets.cli.printing import rendering
from memory_assets.requests.questions import (
    AuditRequest,
    BlameRequest,
    LinkRequest,
    SessionRequest,
    SessionsRequest,
    ShowRequest,
    TimelineRequest,
    UnlinkRequest,
    UsageRequest,
)
from memory_assets.requests.search import CrossQueryRequest, SearchRequest
from memory_assets.serving.answer_lines import (
    clock,
    empty_days_note,
    link_line,
    page_note,
    search_lines,
    search_notes,
    sessions_notes,
    timeline_notes,
    usage_notes,
    with_spoken_names,
)
from memory_assets.serving.views import (
    AgentText,
    audit_view,
    blame_view,
    cross_query_view,
    records_view,
    rows_view,
    session_view,
    sessions_view,
    timeline_view,
    usage_view,
)


@request_command(
    SearchRequest, "memory search why did the upload time out --project . --since 'last monday'"
)
def search(request: SearchRequest, as_json: bool) -> None:
    """Search by words and meaning.

    Prints the best hits, each with the id that `memory show` takes. If none is likely to answer,
    says so first; ends with exit code 3 if, besides, a word of the query is nowhere in memory.
    """
    from memory_assets.recall import open_memory

    if request.interactive:
        from memory_assets.cli.browse import browse, require_terminal

        require_terminal()
    memory = open_memory()
    with rendering.notice_if_slow():
        answer = memory.ask(request)
    filters = with_spoken_names(answer["filters"], memory.catalog.spoken_projects)
    notes = list(search_notes({**answer, "filters": filters}))
    by_time = request.sort == "date" or not request.query.strip()
    if request.interactive:
        browse(memory, answer, by_time=by_time)
        rendering.print_lines(notes, stderr=True)
    elif as_json or not sys.stdout.isatty():
        lines = search_lines(answer, AgentText(memory).project, full=request.full)
        rendering.print_recalled(answer, as_json, lines, notes)
    else:
        from memory_assets.cli.printing.hit_view import terminal_lines, what_to_type

        layout = rendering.layout_of_output(colours=True, full=request.full)
        lines = terminal_lines(memory, answer, layout, by_time=by_time)
        rendering.write_lines(lines, sys.stdout, paged=request.pager)
        rendering.print_lines(what_to_type(memory, answer), stderr=True)
        rendering.print_lines(notes, stderr=True)
    nothing_close = not answer["hits"] or (answer["weak"] and answer["missing"])
    if nothing_close:
        sys.exit(exit_codes.NOTHING_FOUND)


@request_command(ShowRequest, "memory show 3d0f6a52:1 --records")
def show(request: ShowRequest, as_json: bool) -> None:
    """Print one search hit in full.

    Accepts the id of a turn, prompt, summary, observation or commit; for a session, prints its
    summary. With --records, prints the turns behind it as they were kept.
    """
    if request.records:
        ask_and_print(request, as_json, records_view, page_note)
    else:
        ask_and_print(request, as_json, rows_view)


@request_command(TimelineRequest, "memory timeline yesterday --project .")
def timeline(request: TimelineRequest, as_json: bool) -> None:
    """Show what happened around an event.

    Lists prompts, turns, observations, commits and summaries before and after the anchor, grouped
    by session.
    """
    reply = ask_and_print(request, as_json, timeline_view, _timeline_notes)
    exit_unless_found(reply["sessions"] and not empty_days_note(reply))


def _timeline_notes(answer: dict[str, Any]) -> Iterator[str]:
    if empty_days_note(answer):
        return
    yield from timeline_notes(answer)
    if sides := answer["more"]:
        options = " ".join(f"--{side} 50" for side in sides)
        yield f"There is more {' and '.join(sides)}: {options}"


@request_command(SessionRequest, "memory summarize 3d0f6a52")
def summarize(request: SessionRequest, as_json: bool) -> None:
    """Show a session's summary and an index of it."""
    ask_and_print(request, as_json, session_view, lambda answer: answer["missing"].values())


@request_command(SessionsRequest, "memory sessions --project . --since yesterday")
def sessions(request: SessionsRequest, as_json: bool) -> None:
    """List sessions.

    The one that ended last first: when, how long, where, and its title, with the beginning of its
    id, which `memory summarize` and `memory resume` take.
    """
    answer = ask_and_print(request, as_json, sessions_view, sessions_notes)
    if not answer["sessions"] and (request.since or request.until):
        rendering.print_lines(_last_session_note(request), stderr=True)
    exit_unless_found(answer["sessions"])


def _last_session_note(request: SessionsRequest) -> Iterator[str]:
    """Yield when the last session ended that passes all filters except the time."""
    from memory_assets.recall import open_memory

    last = open_memory().ask(replace(request, since=None, until=None, n=1))["sessions"]
    since = f" since {clock(request.since.isoformat())}" if request.since else ""
    until = f" until {clock(request.until.isoformat())}" if request.until else ""
    for session in last:
        day = clock(session["ended_at"])
        yield f"None{since}{until}."
        yield f"The last one ended {day}: memory sessions --since {day[:10]}"


@request_command(UsageRequest, "memory usage --by project --since 'last week'")
def usage(request: UsageRequest, as_json: bool) -> None:
    """Show what sessions took.

    Tokens, their price by the providers' lists, and time, by model, project, agent, session or day,
    as the transcripts say. `memory costs` shows what this memory itself asked of models.
    """
    exit_unless_found(ask_and_print(request, as_json, usage_view, usage_notes)["groups"])


@request_command(CrossQueryRequest, "memory cross-query why are uploads slow --project .")
def cross_query(request: CrossQueryRequest, as_json: bool) -> None:
    """Search sessions and documents together.

    The documents are those of workspaces, or of a collection of your own in the same Chroma. Prints
    them, the sessions that match, and pairs of the two that are about one subject.
    """
    answer = ask_and_print(request, as_json, cross_query_view)
    exit_unless_found(answer["documents"], answer["sessions"])


@request_command(BlameRequest, "memory blame src/app.py:40")
def blame(request: BlameRequest, as_json: bool) -> None:
    """Find the sessions behind code.

    For a commit, a file or a line, lists the sessions and turns that made it, with the evidence.
    """
    answer = ask_and_print(request, as_json, blame_view)
    exit_unless_found(answer["turns"], *(commit["sessions"] for commit in answer["commits"]))


@request_command(AuditRequest, "memory audit 3d0f6a52:1")
def audit(request: AuditRequest, as_json: bool) -> None:
    """Trace a hit back to its source.

    Shows the chunk, records, source file and bytes, Dagster runs and redactions behind an id. For
    a redaction tag, lists the sessions that contain it.
    """
    answer = ask_and_print(request, as_json, audit_view)
    if not answer.get("intact", True):
        sys.exit(exit_codes.CHECK_FAILED)


@request_command(LinkRequest, "memory link 3d0f6a52 HEAD")
def link(request: LinkRequest, as_json: bool) -> None:
    """Link a session to a commit by hand.

    The commit must be in the repository of the current directory or of the session. The link is
    kept until `memory unlink` removes it or the session is forgotten.
    """
    from memory_assets.recall import open_memory
    from memory_assets.serving.agent_memory import link_to_commit

    created = link_to_commit(open_memory(), request)
    rendering.print_answer(created, as_json, [f"linked {link_line(created)}"])


@request_command(UnlinkRequest, "memory unlink 3d0f6a52 1a2b3c4")
def unlink(request: UnlinkRequest, as_json: bool) -> None:
    """Remove a link that was set by hand."""
    from memory_assets.recall import open_memory
    from memory_assets.serving.agent_memory import unlink_from_commit

    removed = unlink_from_commit(open_memory(), request)
    rendering.print_answer(removed, as_json, [f"no longer linked: {link_line(removed)}"])
