"""The commands that ask, and what they print. What each may be asked is declared in `requests/`,
and `Memory.ask` answers it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from memory_assets.cli import exit_codes
from memory_assets.cli.asking import exit_unless_found, print_answer
from memory_assets.cli.commands import takes
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
from memory_assets.requests.search import CrossQueryRequest
from memory_assets.serving.answer_lines import (
    clock,
    link_line,
    page_note,
    sessions_notes,
    timeline_notes,
    usage_lines,
    usage_notes,
)
from memory_assets.serving.views import (
    audit_view,
    blame_view,
    cross_query_view,
    nothing_on,
    records_view,
    rows_view,
    session_view,
    sessions_view,
    timeline_view,
)


@takes(ShowRequest, "memory show 3d0f6a52:1 --records")
def show(asked: ShowRequest, as_json: bool) -> None:
    """Print one search hit in full.

    Accepts the id of a turn, prompt, summary, observation or commit; for a session, prints its
    summary. With --records, prints the turns behind it as they were kept.
    """
    if asked.records:
        print_answer(asked, as_json, page_note, view=records_view)
    else:
        print_answer(asked, as_json, view=rows_view)


@takes(TimelineRequest, "memory timeline yesterday --project .")
def timeline(asked: TimelineRequest, as_json: bool) -> None:
    """Show what happened around an event.

    Lists prompts, turns, observations, commits and summaries before and after the anchor, grouped
    by session.
    """
    reply = print_answer(asked, as_json, _around, view=timeline_view)
    exit_unless_found(reply["sessions"] and not nothing_on(reply))


def _around(answer: dict[str, Any]) -> Iterable[str]:
    return () if nothing_on(answer) else timeline_notes(answer)


@takes(SessionRequest, "memory summarize 3d0f6a52")
def summarize(asked: SessionRequest, as_json: bool) -> None:
    """Show a session's summary and an index of it."""
    print_answer(asked, as_json, _missing, view=session_view)


def _missing(answer: dict[str, Any]) -> Iterable[str]:
    return list(answer["missing"].values())


@takes(SessionsRequest, "memory sessions --project . --since yesterday")
def sessions(asked: SessionsRequest, as_json: bool) -> None:
    """List sessions.

    The one that ended last first: when, how long, where, and its title, with the beginning of its
    id, which `memory summarize` and `memory resume` take.
    """
    answer = print_answer(asked, as_json, sessions_notes, view=sessions_view)
    if not answer["sessions"] and (asked.since or asked.until):
        rendering.print_lines(_last_of_all(asked), stderr=True)
    exit_unless_found(answer["sessions"])


def _last_of_all(asked: SessionsRequest) -> Iterator[str]:
    """Yield when the last session was that passes the filters but the time."""
    from memory_assets.recall import open_memory

    last = open_memory().ask(replace(asked, since=None, until=None, n=1))["sessions"]
    since = f" since {clock(asked.since.isoformat())}" if asked.since else ""
    until = f" until {clock(asked.until.isoformat())}" if asked.until else ""
    for session in last:
        day = clock(session["ended_at"])
        yield f"None{since}{until}."
        yield f"The last one ended {day}: memory sessions --since {day[:10]}"


@takes(UsageRequest, "memory usage --by project --since 'last week'")
def usage(asked: UsageRequest, as_json: bool) -> None:
    """Show what sessions took.

    Tokens, their price by the providers' lists, and time, by model, project, agent, session or day,
    as the transcripts say. `memory costs` shows what this memory itself asked of models.
    """
    exit_unless_found(print_answer(asked, as_json, usage_notes, lines=usage_lines)["groups"])


@takes(CrossQueryRequest, "memory cross-query why are uploads slow --project .")
def cross_query(asked: CrossQueryRequest, as_json: bool) -> None:
    """Search sessions and documents together.

    The documents are those of workspaces, or of a collection of your own in the same Chroma. Prints
    them, the sessions that match, and pairs of the two that are about one subject.
    """
    answer = print_answer(asked, as_json, view=cross_query_view)
    exit_unless_found(answer["documents"], answer["sessions"])


@takes(BlameRequest, "memory blame src/app.py:40")
def blame(asked: BlameRequest, as_json: bool) -> None:
    """Find the sessions behind code.

    For a commit, a file or a line, lists the sessions and turns that made it, with the evidence.
    """
    answer = print_answer(asked, as_json, view=blame_view)
    exit_unless_found(answer["turns"], *(commit["sessions"] for commit in answer["commits"]))


@takes(AuditRequest, "memory audit 3d0f6a52:1")
def audit(asked: AuditRequest, as_json: bool) -> None:
    """Trace a hit back to its source.

    Shows the chunk, records, source file and bytes, Dagster runs and redactions behind an id. For
    a redaction tag, lists the sessions that contain it.
    """
    answer = print_answer(asked, as_json, view=audit_view)
    if not answer.get("intact", True):
        sys.exit(exit_codes.CHECK_FAILED)


@takes(LinkRequest, "memory link 3d0f6a52 HEAD")
def link(asked: LinkRequest, as_json: bool) -> None:
    """Link a session to a commit by hand.

    The commit must be in the repository of the current directory or of the session. The link is
    kept until `memory unlink` removes it or the session is forgotten.
    """
    from memory_assets.recall import open_memory
    from memory_assets.serving.tool_answers import link_to_commit

    linked = link_to_commit(open_memory(), asked)
    rendering.print_answer(linked, as_json, [f"linked {link_line(linked)}"])


@takes(UnlinkRequest, "memory unlink 3d0f6a52 1a2b3c4")
def unlink(asked: UnlinkRequest, as_json: bool) -> None:
    """Remove a link that was set by hand."""
    from memory_assets.recall import open_memory
    from memory_assets.serving.tool_answers import unlink_from_commit

    gone = unlink_from_commit(open_memory(), asked)
    rendering.print_answer(gone, as_json, [f"no longer linked: {link_line(gone)}"])
