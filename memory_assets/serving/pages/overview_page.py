"""What the first page shows before anything is asked: what was done when, what it took, the files
that change most, what was decided, fixed and left open; the newest sessions beside it; and what
sessions took, by day, model and project, as a page of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from memory_assets.requests.questions import UsageGroup, UsageRequest
from memory_assets.requests.search import SearchRequest
from memory_assets.requests.times import is_within
from memory_assets.serving.answer_lines import as_spoken, usage_notes
from memory_assets.serving.pages.charts import heat_map, hours_of_week, stacked_weeks
from memory_assets.serving.pages.form import fields, given_arguments, listed_values, refused
from memory_assets.serving.pages.project_pages import last_day
from memory_assets.serving.pages.rendering import page
from memory_assets.serving.pages.search_page import newest_listed

if TYPE_CHECKING:
    from memory_assets.recall import Memory

_ROWS, _FILES, _NOTED, _OPEN, _OPEN_PROJECTS = 6, 10, 6, 6, 24
_BETWEEN = ("since", "until")


def side_list(memory: Memory, request: Request) -> Response:
    """Return the newest sessions alone, as a list that is renewed while the page is open."""
    return page(request, "side.html", **newest_listed(memory))


def overview_page(memory: Memory, request: Request) -> Response:
    """Return the overview as a page, for whom no script loads it into the first one."""
    return page(request, "overview.html", **_overview(memory, request))


def overview_part(memory: Memory, request: Request) -> Response:
    """Return the overview alone."""
    return page(request, "overview_parts.html", **_overview(memory, request))


def _overview(memory: Memory, request: Request) -> dict[str, Any]:
    """Return what the overview shows of the time that its form asks for."""
    given = given_arguments(request.query_params)
    between = {name: value for name, value in given.items() if name in _BETWEEN}
    shown: dict[str, Any] = {"empty": False}
    with refused(shown):
        shown |= _done(memory, UsageRequest.given("http", between), between)
    offered = fields(UsageRequest, request.query_params)
    return {**shown, "between": [field for field in offered if field.name in _BETWEEN]}


def _done(memory: Memory, asked: UsageRequest, between: Mapping[str, str]) -> dict[str, Any]:
    """Return what was done in a time, which `between` has as it was typed."""
    from memory_assets.recall.pins import pins_by_session
    from memory_assets.recall.sessions.activity import activity, most_changed_files
    from memory_assets.recall.sessions.usage import usage_over_time

    projects = activity(memory, None, asked.since, asked.until)
    days: Counter[date] = Counter()
    hours: Counter[tuple[int, int]] = Counter()
    for entry in projects:
        days.update(entry.turns_by_day)
        hours.update(entry.turns_by_hour)
    last = last_day(days)
    roots = {entry.project: entry.root for entry in projects}
    usage = usage_over_time(memory, asked)
    pinned = [pin for of_session in pins_by_session(memory).values() for pin in of_session]
    newest = [entry.project for entry in projects[:_OPEN_PROJECTS]]
    shown = {
        "pinned": [] if between else pinned[::-1][:_NOTED],
        "heat": heat_map(days, last, "turns", _sessions_of_day),
        "hours": hours_of_week(hours, "turns"),
        "tokens": stacked_weeks(usage["tokens_by_week"], last, "tokens"),
        "dollars": stacked_weeks(usage["dollars_by_week"], last, "dollars"),
        "models": usage["models"][:_ROWS],
        "projects": usage["projects"][:_ROWS],
        "files": most_changed_files(memory, _FILES, asked.since, asked.until),
        "decided": _newest_of_type(memory, "decision", between),
        "fixed": _newest_of_type(memory, "bugfix", between),
        "open": _left_open(memory, newest, asked),
    }
    parts = (days, *map(shown.get, ("models", "projects", "files", "decided", "fixed", "open")))
    return {**shown, "roots": roots, "empty": bool(between) and not any(parts)}


def _sessions_of_day(day: date) -> str:
    """Return the address of the sessions that were going on on a day."""
    return f"/page/sessions?since={day}&until={day + timedelta(days=1)}"


def _newest_of_type(memory: Memory, kind: str, between: Mapping[str, str]) -> list[dict[str, Any]]:
    given = {"in": "observations", "type": kind, "sort": "date", **between}
    asked = SearchRequest.given("http", given)
    hits = memory.search(asked).to_dict()["hits"][:_NOTED]
    return [{**hit, "address": f"/page/session/{quote(hit['id'])}"} for hit in hits]


def _left_open(memory: Memory, projects: list[str], asked: UsageRequest) -> list[dict[str, Any]]:
    """Return what was left open in the newest projects by sessions that ended in the time that is
    asked for, the newest first."""
    from memory_assets.recall.sessions.recent_work import left_open

    ends = [
        end
        for end in left_open(memory, projects)
        for at in [datetime.fromisoformat(end["ended_at"]) if end["ended_at"] else None]
        if is_within(at, asked.since, asked.until)
    ]
    ends.sort(key=lambda end: end["ended_at"] or "", reverse=True)
    return [{**end, "address": f"/page/session/{quote(end['turn'])}"} for end in ends[:_OPEN]]


_MOST, _MOST_OF_EACH = 25, 10
"""Rows of a table, and of each where there are several."""


def usage_page(memory: Memory, request: Request) -> Response:
    """Return tokens, prices and time: of the days as a chart, and in a table for the group that is
    asked for, else by model, by project and by session."""
    given = given_arguments(request.query_params)
    most = _MOST if "by" in given else _MOST_OF_EACH
    shown: dict[str, Any] = {"answer": None, "most": most}
    with refused(shown):
        asked = UsageRequest.given("http", given)
        shown |= _answers(memory, asked, chosen="by" in given)
    shown["fields"] = fields(UsageRequest, request.query_params, listed_values(memory))
    shown["given"] = given
    shown["filtered"] = [f"{name} {value}" for name, value in given.items()]
    return page(request, "usage.html", **shown)


def _answers(memory: Memory, asked: UsageRequest, *, chosen: bool) -> Mapping[str, Any]:
    from memory_assets.recall.sessions.usage import usages

    wanted: list[UsageGroup] = [asked.by] if chosen else ["model", "project", "session"]
    by_day, *answers = usages(memory, asked, ["day", *wanted], titled=_MOST)
    days: Counter[date] = Counter()
    for entry in by_day["groups"]:
        if entry["name"]:
            days[date.fromisoformat(entry["name"])] += entry["tokens"]
    return {
        "answer": answers[0],
        "answers": answers,
        "heat": heat_map(days, last_day(days), "tokens"),
        "notes": list(usage_notes(as_spoken(answers[0], memory.catalog.spoken_projects))),
    }
