"""Pages about the whole memory: the overview before a search, what sessions used by day, model and
project, health, the audit of an id, and redaction tags; and the list of the newest sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from memory_assets.project_names import with_spoken_projects
from memory_assets.requests.questions import AuditRequest, UsageGroup, UsageRequest
from memory_assets.requests.search import SearchRequest
from memory_assets.requests.times import is_within
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.serving.answer_lines import usage_notes, with_spoken_names
from memory_assets.serving.pages.charts import (
    heat_map,
    hours_of_week,
    span_bar,
    sparkline,
    stacked_weeks,
)
from memory_assets.serving.pages.form import filled_form
from memory_assets.serving.pages.project_pages import last_day
from memory_assets.serving.pages.rendering import of_memory, page
from memory_assets.serving.pages.search_page import newest_listed
from memory_assets.status.health import last_checks, redactions_by_rule, sizes_by_day
from memory_assets.status.words import chroma_notes, duration_text, in_words, totals

if TYPE_CHECKING:
    from memory_assets.recall import Memory

_ROWS = 6
"""Rows of the tables of models and of projects."""
_FILES = 10
_NOTED = 6
"""Decisions, fixes and pins that are shown, of each."""
_OPEN = 6
_OPEN_PROJECTS = 24
"""Projects, the newest first, whose sessions are searched for open ends."""
_TIME_FIELDS = ("since", "until")


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
    """Return the values of the overview for the time in its form."""
    with filled_form(memory, request, UsageRequest) as shown:
        shown["empty"] = False
        given = shown["given"]
        time_range = {name: given[name] for name in _TIME_FIELDS if name in given}
        usage_request = UsageRequest.from_values("http", time_range)
        shown.update(_overview_of_time(memory, usage_request, time_range))
    between = [field for field in shown["fields"] if field.name in _TIME_FIELDS]
    return {**shown, "between": between}


def _overview_of_time(
    memory: Memory, usage_request: UsageRequest, time_range: Mapping[str, str]
) -> dict[str, Any]:
    """Return the figures of a time; `time_range` are the bounds as they were typed."""
    from memory_assets.recall.pins import pins_by_session
    from memory_assets.recall.sessions.activity import activity, most_changed_files
    from memory_assets.recall.sessions.usage import usage_over_time

    projects = activity(memory, None, usage_request.since, usage_request.until)
    days: Counter[date] = Counter()
    hours: Counter[tuple[int, int]] = Counter()
    for entry in projects:
        days.update(entry.turns_by_day)
        hours.update(entry.turns_by_hour)
    last = last_day(days)
    roots = {entry.project: entry.root for entry in projects}
    usage = usage_over_time(memory, usage_request)
    pinned = [pin for of_session in pins_by_session(memory).values() for pin in of_session]
    newest = [entry.project for entry in projects[:_OPEN_PROJECTS]]
    shown = {
        "pinned": [] if time_range else pinned[::-1][:_NOTED],
        "heat": heat_map(days, last, "turns", _sessions_of_day),
        "hours": hours_of_week(hours, "turns"),
        "tokens": stacked_weeks(usage["tokens_by_week"], last, "tokens"),
        "dollars": stacked_weeks(usage["dollars_by_week"], last, "dollars"),
        "models": usage["models"][:_ROWS],
        "projects": usage["projects"][:_ROWS],
        "files": most_changed_files(memory, _FILES, usage_request.since, usage_request.until),
        "decided": _newest_of_type(memory, "decision", time_range),
        "fixed": _newest_of_type(memory, "bugfix", time_range),
        "open": _open_ends(memory, newest, usage_request),
    }
    parts = (days, *map(shown.get, ("models", "projects", "files", "decided", "fixed", "open")))
    return {**shown, "roots": roots, "empty": bool(time_range) and not any(parts)}


def _sessions_of_day(day: date) -> str:
    """Return the address of the sessions that were going on on a day."""
    return f"/page/sessions?since={day}&until={day + timedelta(days=1)}"


def _newest_of_type(
    memory: Memory, kind: str, time_range: Mapping[str, str]
) -> list[dict[str, Any]]:
    arguments = {"in": "observations", "type": kind, "sort": "date", **time_range}
    request = SearchRequest.from_values("http", arguments)
    hits = memory.search(request).to_dict()["hits"][:_NOTED]
    return [{**hit, "address": f"/page/session/{quote(hit['id'])}"} for hit in hits]


def _open_ends(memory: Memory, projects: list[str], request: UsageRequest) -> list[dict[str, Any]]:
    """Return the open ends of the newest projects' sessions that ended in the requested time, the
    newest first."""
    from memory_assets.recall.sessions.recent_work import left_open

    ends = [
        end
        for end in left_open(memory, projects)
        for ended_at in [datetime.fromisoformat(end["ended_at"]) if end["ended_at"] else None]
        if is_within(ended_at, request.since, request.until)
    ]
    ends.sort(key=lambda end: end["ended_at"] or "", reverse=True)
    return [{**end, "address": f"/page/session/{quote(end['turn'])}"} for end in ends[:_OPEN]]


_MOST = 25
"""Rows of the table if there is one."""
_MOST_OF_EACH = 10
"""Rows of each table if there are several."""


def usage_page(memory: Memory, request: Request) -> Response:
    """Return tokens, prices and time: of the days as a chart, and in a table for the group that is
    asked for, else by model, by project and by session."""
    with filled_form(memory, request, UsageRequest) as shown:
        by_one_group = "by" in shown["given"]
        shown["most"] = _MOST if by_one_group else _MOST_OF_EACH
        usage_request = UsageRequest.from_values("http", shown["given"])
        shown.update(_answers(memory, usage_request, by_one_group=by_one_group))
    return page(request, "usage.html", **shown)


def _answers(
    memory: Memory, usage_request: UsageRequest, *, by_one_group: bool
) -> Mapping[str, Any]:
    from memory_assets.recall.sessions.usage import usages

    groups: list[UsageGroup] = (
        [usage_request.by] if by_one_group else ["model", "project", "session"]
    )
    by_day, *answers = usages(memory, usage_request, ["day", *groups], titled=_MOST)
    days: Counter[date] = Counter()
    for entry in by_day["groups"]:
        if entry["name"]:
            days[date.fromisoformat(entry["name"])] += entry["tokens"]
    return {
        "answer": answers[0],
        "answers": answers,
        "heat": heat_map(days, last_day(days), "tokens"),
        "notes": list(usage_notes(with_spoken_names(answers[0], memory.catalog.spoken_projects))),
    }


def health_page(memory: Memory, request: Request) -> Response:
    """Return what is in memory, what is held back and why, and how checks and runs ended."""
    from memory_assets.recall.search.unread import waiting_for_ingest

    current = memory.status()
    shown: dict[str, Any] = {
        "totals": totals(current),
        "agents_wait": waiting_for_ingest(memory),
        "covered": list(in_words(current["coverage"])),
        "chroma": list(chroma_notes(current)),
        "lag": duration_text(current["freshness"]["lag_seconds"]),
        "rules": redactions_by_rule(memory.catalog),
        "checked": last_checks(memory.data_dir),
        "grown": {
            store: sparkline(days, store) for store, days in sizes_by_day(memory.data_dir).items()
        },
        "tables": {name: kind.table for name, kind in SEARCH_KINDS.items()},
        "told": partial(with_spoken_projects, spoken=memory.catalog.spoken_projects()),
        **of_memory(memory),
    }
    return page(request, "health.html", found=current, **shown)


def audit_page(memory: Memory, request: Request) -> Response:
    """Return the provenance of an id: the bytes of its transcript, and the runs behind its rows."""
    answer = memory.ask(AuditRequest(request.path_params["id"]))
    bars = [
        span_bar(source["byte_start"] or 0, source["byte_end"] or 0, source["size_read"])
        for source in answer["sources"]
    ]
    runs = {run["run_id"]: run for run in answer["runs"] if run["run_id"]}
    shown = {"bars": bars, "distinct_runs": list(runs.values()), **of_memory(memory)}
    return page(request, "audit.html", answer=answer, **shown)


def tag_page(memory: Memory, request: Request) -> Response:
    """Return the sessions that contained a redacted value."""
    answer = memory.ask(AuditRequest(request.path_params["tag"]))
    return page(request, "tag.html", answer=answer, **of_memory(memory))
