"""Render templates as HTML, and addresses in Dagster's UI, which are left out while it does not
answer. Every value loses its invisible characters and is escaped, unless a function of `prose.py`
made it HTML."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from memory_assets.recall.rows import one_line
from memory_assets.serving.answer_lines import (
    ITEM_WORDS,
    NOT_SURE,
    age,
    clock,
    distinct_project_names,
    dollars_in_words,
    pin_line,
    project_name,
    short_count,
    unsure_note,
)
from memory_assets.serving.http_server import LOOPBACK
from memory_assets.serving.pages.charts import agent_mark
from memory_assets.serving.pages.prose import (
    breakable,
    diff_lines,
    inline_prose,
    prose,
    with_plain_tags,
    with_tags,
    without_dagster_links,
)
from memory_assets.serving.visible_text import Frame, visible, without_markdown, without_tool_names
from memory_assets.status.words import counted, duration_text

if TYPE_CHECKING:
    from memory_assets.recall import Memory

_HERE = Path(__file__).parent
STATIC = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files that pages load, and their types."""
NAVIGATION = (
    ("/", "Search"),
    ("/page/sessions", "Sessions"),
    ("/page/projects", "Projects"),
    ("/page/usage", "Usage"),
    ("/page/observations", "Observations"),
    ("/page/memories", "Memories"),
    ("/page/timeline", "Timeline"),
    ("/page/health", "Health"),
)
"""The pages that each page leads to: address and name."""
_THEMES = ("light", "dark")
_LONG_AGO = timedelta(days=60)
_SHORT_SECONDS = 10
"""Seconds of a call below which tenths are shown."""
_LONG_SECONDS = 120
"""Seconds of a call from which words replace them."""


def _text_visible(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def static_file(name: str) -> bytes:
    """Return the content of a file that pages load."""
    return (_HERE / "static" / name).read_bytes()


def static_url(name: str) -> str:
    """Return the address of a file that pages load; it changes with the content."""
    return f"/page/static/{name}?v={sha256(static_file(name)).hexdigest()[:12]}"


def _ago(time: str | None) -> str:
    """Return how long ago a time was; of one long ago, its day, which tells more."""
    if time and datetime.now(UTC) - datetime.fromisoformat(time) > _LONG_AGO:
        return f"{datetime.fromisoformat(time).astimezone():%d %b %Y}"
    return age(time, datetime.now(UTC))


def day_named(moment: datetime) -> str:
    """Return the day of a moment in the local zone, which it names."""
    return f"{moment.astimezone():%A, %d %B %Y (%Z)}"


def _seconds(seconds: float) -> str:
    """Return how long a call took, in seconds, a short one to the tenth; a long one in words."""
    if seconds >= _LONG_SECONDS:
        return duration_text(seconds)
    return f"{seconds:.{int(seconds < _SHORT_SECONDS)}f}\N{NO-BREAK SPACE}s"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_text_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ago": _ago,
        "unsure_note": unsure_note,
        "breakable": breakable,
        "clock": clock,
        "dollars": dollars_in_words,
        "short_count": short_count,
        "diff_lines": diff_lines,
        "lasting": duration_text,
        "seconds": _seconds,
        "day": lambda time: day_named(datetime.fromisoformat(time)),
        "hour": lambda time: f"{datetime.fromisoformat(time).astimezone():%H:%M}",
        "in_words": lambda kind: ITEM_WORDS.get(kind, kind),
        "counted": counted,
        "grouped": lambda number: f"{number:,}",
        "without_tool_names": without_tool_names,
        "without_markdown": without_markdown,
        "list_line": list_line,
        "prose": prose,
        "inline_prose": inline_prose,
        "with_tags": with_tags,
        "with_plain_tags": with_plain_tags,
        "named": _named,
        "pin_line": pin_line,
        "project_name": project_name,
        "distinct_project_names": distinct_project_names,
        "agent_mark": agent_mark,
    }
    environment.globals |= {"static_url": static_url, "pages": NAVIGATION, "not_sure": NOT_SURE}
    return environment


_LINE_CHARACTERS = 100
_LEAST_QUESTION = 20
"""Characters of a question that must fit before its answer in a line."""


def list_line(text: str) -> str:
    """Return the beginning of a text on one line. Of a question and its answer, joined by an arrow,
    the answer is whole, and the question is cut."""
    question, arrow, answer = text.partition(" → ")
    room = _LINE_CHARACTERS - len(arrow) - len(answer)
    if not arrow or len(text) <= _LINE_CHARACTERS or "\n" in question or room < _LEAST_QUESTION:
        return one_line(text, _LINE_CHARACTERS)
    return f"{one_line(question, room)}{arrow}{answer}"


def _named(project: str, roots: Mapping[str, str]) -> str:
    """Return the name of a project that has transcripts; any other partition's key as it is."""
    has_transcripts = project in roots
    return (
        project_name({"project": project, "project_root": roots[project]})
        if has_transcripts
        else project
    )


def render(template: str, **values: Any) -> Markup:
    """Return a template with values as HTML."""
    return Markup(_environment().get_template(template).render(**values))


def frame_marks() -> dict[str, Markup]:
    """Return the marks around one answer as comments."""
    frame = Frame()
    marks = {"opening": frame.notice, "closing": frame.closing}
    return {name: Markup(f"<!-- {mark} -->") for name, mark in marks.items()}


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a template as a response, in the colours that the reader chose; no cache keeps it. The
    frame around answers is in it as comments, so that an agent's transcript of it is recognised."""
    theme = request.cookies.get("memory_theme", "")
    body = render(
        template,
        theme=theme if theme in _THEMES else "",
        path=request.url.path,
        frame=frame_marks(),
        **values,
    )
    state = getattr(request.scope.get("app"), "state", None)  # none before one is signed in
    dagster_url = getattr(state, "dagster_url", "")
    if 'rel="noreferrer"' in body and not is_answering(dagster_url):
        body = Markup(without_dagster_links(body))
    return HTMLResponse(body, status, {"cache-control": "no-store"})


_REMEMBERED_SECONDS = 10.0
_TIMEOUT_SECONDS = 0.2
_asked: dict[str, tuple[float, bool]] = {}
"""When each address was asked last, and whether it answered."""


def is_answering(url: str) -> bool:
    """Return whether Dagster's UI answers at an address. Only this machine is asked, at most every
    `_REMEMBERED_SECONDS`. An address elsewhere counts as answering, an invalid one as not."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return False
    if parts.hostname not in LOOPBACK:
        return True
    asked_at, answered = _asked.get(url, (float("-inf"), False))
    if time.monotonic() - asked_at > _REMEMBERED_SECONDS:
        answered = False
        with suppress(OSError):
            socket.create_connection((parts.hostname, port), _TIMEOUT_SECONDS).close()
            answered = True
        _asked[url] = time.monotonic(), answered
    return answered


def lineage_url(memory: Memory, asset: str, partition: str = "") -> str:
    """Return the address of an asset, or of one of its partitions: its materializations, and the
    way to its lineage."""
    url = f"{_dagster_url(memory)}/assets/{asset}"
    # The page of an asset shows a partition in this view alone.
    return f"{url}?view=partitions&partition={quote(partition, safe='')}" if partition else url


def of_memory(memory: Memory) -> dict[str, Any]:
    """Return what templates name projects by (`roots`), and make addresses of: that of Dagster's UI
    (`dagster`), without a slash at its end, and `lineage_url(asset, partition)`."""
    return {
        "roots": memory.catalog.sources.project_roots(),
        "dagster": _dagster_url(memory),
        "lineage_url": partial(lineage_url, memory),
    }


def _dagster_url(memory: Memory) -> str:
    return memory.settings.dagster_url.rstrip("/")
