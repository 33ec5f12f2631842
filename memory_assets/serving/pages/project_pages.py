"""Projects with their activity, the list of sessions, the timeline, documents, and what agents
wrote: memories, and the conversations that they come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from memory_assets.errors import NotFound
from memory_assets.requests.agent_memory import MemoriesRequest
from memory_assets.requests.questions import (
    MAX_SESSIONS,
    ExportRequest,
    SessionsRequest,
    TimelineRequest,
)
from memory_assets.requests.search import SearchRequest
from memory_assets.requests.times import parse_reach
from memory_assets.serving.answer_lines import project_name, timeline_notes
from memory_assets.serving.exports import export_pieces
from memory_assets.serving.pages.charts import heat_map, stacked_weeks
from memory_assets.serving.pages.form import filled_form, given_arguments
from memory_assets.serving.pages.rendering import day_named, lineage_url, of_memory, page
from memory_assets.serving.pages.search_page import by_session, shown_hits, turn_address

if TYPE_CHECKING:
    from memory_assets.recall import Memory
    from memory_assets.recall.sessions.activity import ProjectActivity

_FILES = 15
_SESSIONS = 50
_ALSO_EXPORTED = ("project", "agent", "since", "until")
"""Filters of the list that a saved file has, too."""
_REACH = "10"
"""Items on the side of a timeline that is followed, if none of that side were asked for."""
_FILES_AS = {
    "csv": ("text/csv; charset=utf-8", "csv"),
    "json": ("application/json", "json"),
    "markdown": ("text/markdown; charset=utf-8", "md"),
    "html": ("text/html; charset=utf-8", "html"),
}
"""Type and ending of a file of each form."""
_QUIET_TIME = timedelta(weeks=13)
"""After so long without a turn a chart ends with the last turn, not today: a phone shows the right
end of a chart first."""


def projects_page(memory: Memory, request: Request) -> Response:
    """Return all projects, the one with the newest turn first, and the activity of all."""
    from memory_assets.recall.sessions.activity import activity

    activities = activity(memory)
    turns: Counter[date] = Counter()
    for project in activities:
        turns.update(project.turns_by_day)
    heat = heat_map(turns, last_day(turns), "turns")
    projects = [_project_as_json(project) for project in activities]
    return page(request, "projects.html", projects=projects, heat=heat)


def project_page(memory: Memory, request: Request) -> Response:
    """Return one project: its activity, agents, files that were changed most, newest sessions."""
    from memory_assets.recall.sessions.activity import activity, changed_files

    name = memory.project_named(request.path_params["id"])
    activities = activity(memory, name)
    if not activities:
        raise NotFound(f"project {name} has no turns in the keyword index")
    (own_activity,) = activities
    project = _project_as_json(own_activity)
    newest = SearchRequest(project=name, kinds=("summaries",), sort="date", n=_SESSIONS)
    last = last_day(own_activity.turns_by_day)
    values: dict[str, Any] = {
        "heat": heat_map(own_activity.turns_by_day, last, "turns"),
        "weeks": stacked_weeks(
            {project["name"]: own_activity.sessions_by_week}, last, "sessions"
        ).image,
        "files": changed_files(memory, own_activity.project, _FILES),
        "hits": by_session(shown_hits(memory, memory.search(newest).to_dict())),
        **of_memory(memory),
    }
    return page(request, "project.html", project=project, **values)


def sessions_page(memory: Memory, request: Request) -> Response:
    """Return the sessions that pass the filters of a form, the one that ended last first."""
    with filled_form(memory, request, SessionsRequest) as shown:
        given = shown["given"]
        question = SessionsRequest.from_values("http", given, n=_SESSIONS)
        shown["answer"] = answer = memory.ask(question)
        further = {**given, "n": min(4 * question.n, MAX_SESSIONS)}
        has_more = answer["total"] > question.n < MAX_SESSIONS
        shown["more"] = f"/page/sessions?{urlencode(further)}" if has_more else ""
        for_export = {name: given[name] for name in _ALSO_EXPORTED if name in given}
        shown["saved"] = urlencode(for_export)
    return page(request, "sessions.html", **shown)


def sessions_file(memory: Memory, request: Request) -> Response:
    """Return sessions as a file: what `memory export` writes."""
    question = ExportRequest.from_values("http", given_arguments(request.query_params))
    media_type, ending = _FILES_AS[question.format]
    headers = {
        "cache-control": "no-store",
        "content-disposition": f'attachment; filename="sessions.{ending}"',
    }
    body = "".join(export_pieces(memory, question.sessions, question.format))
    return Response(body, media_type=media_type, headers=headers)


def timeline_page(memory: Memory, request: Request) -> Response:
    """Return what happened around an id, a session, a commit, a file or a time."""
    days = _days(memory)
    with filled_form(memory, request, TimelineRequest) as shown:
        arguments = shown["given"]
        day = date_of(arguments["anchor"]) if "anchor" in arguments else max(days, default=None)
        shown.update(_steps(days, day))
        if not arguments and day is not None:
            arguments = _day_query(day)
        if arguments:
            shown["answer"] = answer = memory.ask(TimelineRequest.from_values("http", arguments))
            shown["notes"] = list(timeline_notes(answer))
            shown["further"] = list(_neighbours_on_timeline(answer, arguments))
    shown |= {"turn_address": turn_address, **of_memory(memory)}
    return page(request, "timeline.html", **shown)


def _days(memory: Memory) -> list[date]:
    """Return the local days on which turns were begun, in order; none where there is no index."""
    from memory_assets.recall.sessions.activity import activity

    with suppress(NotFound):
        return sorted({day for project in activity(memory) for day in project.turns_by_day})
    return []


def date_of(text: str) -> date | None:
    """Return the day that an ISO date is, None of anything else."""
    try:
        return date.fromisoformat(text.removeprefix("time:"))
    except ValueError:
        return None


def _day_query(day: date) -> dict[str, str]:
    return {"anchor": day.isoformat(), "before": "0", "after": "1d", "scope": "all"}


def _steps(days: Sequence[date], day: date | None) -> dict[str, Any]:
    """Return the name of a day (`day`), and name and address of the nearest earlier, nearest later
    and newest day on which something happened (`steps`)."""
    if day is None:
        return {"day": None, "steps": []}
    earlier = [other for other in days if other < day]
    later = [other for other in days if other > day]
    near = [("Earlier", earlier[-1:]), ("Later", later[:1]), ("Newest", days[-1:] if later else [])]
    steps = [
        (f"{name}: {nearest[0]:%a %d %b %Y}", f"/page/timeline?{urlencode(_day_query(nearest[0]))}")
        for name, nearest in near
        if nearest
    ]
    return {"day": day_named(datetime.combine(day, time())), "steps": steps}


def _neighbours_on_timeline(
    answer: Mapping[str, Any], arguments: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield name and address of what goes on before and after a timeline: the one around its first
    item, and around its last, with some items of that side even if none were asked for."""
    items = [item for part in answer["sessions"] for item in part["items"] if item["time"]]
    items.sort(key=lambda item: datetime.fromisoformat(item["time"]))
    for side, name, place in (("before", "Earlier", 0), ("after", "Later", -1)):
        if side in answer["more"] and items:
            around = {**arguments, "scope": answer["scope"], "anchor": items[place]["id"]}
            if not parse_reach(arguments.get(side, _REACH)):
                around[side] = _REACH
            yield name, f"/page/timeline?{urlencode(around)}"


def document_page(memory: Memory, request: Request) -> Response:
    """Return a document of a workspace, or a chunk of one."""
    rows = memory.show(request.path_params["id"])
    named = {"id": request.path_params["id"], "copy_of": memory.copy_of}
    return page(request, "document.html", rows=rows, **named)


def last_day(turns: Counter[date]) -> date:
    """Return the day with which a chart ends: today, or the last one with a turn if that is long
    ago."""
    today = date.today()  # local, as the days are
    newest = max(turns, default=today)
    return today if today - newest < _QUIET_TIME else newest


def _project_as_json(activity: ProjectActivity) -> dict[str, Any]:
    return {
        "project": activity.project,
        "name": project_name({"project": activity.project, "project_root": activity.root}),
        "root": activity.root,
        "sessions": activity.sessions,
        "turns": activity.turns,
        "agents": dict(activity.agents.most_common()),
        "first": activity.first_day,
        "last": activity.last_day,
    }


def memories_page(memory: Memory, request: Request) -> Response:
    """Return the memories of agents, to be filtered by type, conversation and project."""
    from memory_assets.recall.agent_rows import memories

    rows: list[dict[str, Any]] = []
    with filled_form(memory, request, MemoriesRequest) as shown:
        rows = memories(memory, MemoriesRequest.from_values("http", shown["given"]))
    return page(request, "memories.html", **shown, **_memories_shown(memory, rows))


def memory_page(memory: Memory, request: Request) -> Response:
    """Return one memory."""
    from memory_assets.recall.agent_rows import memory_of

    shown = _memories_shown(memory, [memory_of(memory, request.path_params["id"])])
    return page(request, "memories.html", fields=[], problem="", **shown)


def conversation_page(memory: Memory, request: Request) -> Response:
    """Return the turns of a conversation, if any were appended, and the memories from it."""
    from memory_assets.recall.agent_rows import conversation, partition_about

    name = request.path_params["id"]
    turns, memories = conversation(memory, name)
    project = (turns or memories)[0]["project"]
    lineage = lineage_url(memory, "agent_history", partition_about(project))
    shown = {"turns": turns, **_memories_shown(memory, memories)}
    return page(request, "conversation.html", name=name, lineage=lineage, **shown)


def _memories_shown(memory: Memory, memories: list[dict[str, Any]]) -> dict[str, Any]:
    """Return memories as templates show them, and the roots that projects are named by."""
    from memory_assets.recall.agent_rows import partition_about

    shown = [
        {**row, "lineage": lineage_url(memory, "agent_memory", partition_about(row["project"]))}
        for row in memories
    ]
    return {"memories": shown, **of_memory(memory)}
