"""What sessions took, by day, model and project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from memory_assets.errors import MemoryAssetsError
from memory_assets.requests.questions import UsageGroup, UsageRequest
from memory_assets.serving.answer_lines import usage_notes, with_directories
from memory_assets.serving.http_api import status_of
from memory_assets.serving.pages.charts import heat_map
from memory_assets.serving.pages.form import fields, given_arguments, listed_values
from memory_assets.serving.pages.project_pages import last_day
from memory_assets.serving.pages.rendering import page

if TYPE_CHECKING:
    from memory_assets.recall import Memory

_MOST, _MOST_OF_EACH = 25, 10
"""Rows of a table, and of each where there are several."""


def usage_page(memory: Memory, request: Request) -> Response:
    """Return tokens, prices and time: of the days as a chart, and in a table for the group that is
    asked for, else by model, by project and by session."""
    given = given_arguments(request.query_params)
    most = _MOST if "by" in given else _MOST_OF_EACH
    shown: dict[str, Any] = {"answer": None, "problem": "", "most": most}
    status = 200
    try:
        asked = UsageRequest.given("http", given)
        shown |= _answers(memory, asked, chosen="by" in given)
    except MemoryAssetsError as error:
        status, shown["problem"] = status_of(error)[0], str(error)
        if status >= 500:
            raise
    shown["fields"] = fields(UsageRequest, request.query_params, listed_values(memory))
    shown["given"] = given
    shown["filtered"] = [f"{name} {value}" for name, value in given.items()]
    return page(request, "usage.html", status, **shown)


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
        "notes": list(
            usage_notes(with_directories(answers[0], memory.catalog.sources.project_roots))
        ),
    }
