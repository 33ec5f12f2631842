"""Sessions as files for other programs: the list of them, or all that they say."""

from __future__ import annotations

import csv
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from io import StringIO
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from memory_assets.requests.actions import ExportFormat
from memory_assets.requests.questions import MAX_SESSIONS, SessionsRequest
from memory_assets.serving.pages.lineage import lineage_links
from memory_assets.serving.pages.markdown_copy import session_lines
from memory_assets.serving.pages.rendering import framed, rendered, static_file
from memory_assets.serving.pages.tags import without_tag_links
from memory_assets.serving.visible_text import visible, visible_payload
from memory_assets.status import counted

if TYPE_CHECKING:
    from memory_assets.recall import Memory
    from memory_assets.recall.sessions.conversation import Conversation

COLUMNS = (
    *("session_id", "project", "project_root", "agent", "title", "started_at", "ended_at"),
    *("duration_seconds", "turns", "prompts", "git_branch", "models", "commits"),
    *("files_modified", "tokens", "dollars"),
)
"""The columns of the CSV; lists are separated by semicolons."""
_FORMULA = re.compile(r"(^|[;\t\r\n])([ \xa0]*)(?=[=+\-@＝＋－＠])")
"""Where a spreadsheet may take something for a formula: where a cell begins, for one that separates
cells by semicolons, too."""
_ALL_TURNS = 1_000_000


def exported(memory: Memory, asked: SessionsRequest, form: ExportFormat) -> Iterator[str]:
    """Yield the pieces of a file of the sessions that pass the filters; of the forms that are a
    list, the newest first, of the others, the oldest."""
    if form == "markdown":
        yield from markdown(memory, asked)
    elif form == "html":
        yield one_file(memory, conversations(memory, asked))
    else:
        answer = memory.ask(asked)
        as_text = sessions_csv if form == "csv" else _json
        yield as_text(answer["sessions"])


def _json(sessions: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(visible_payload(sessions), ensure_ascii=False, indent=1) + "\n"


def sessions_csv(sessions: Sequence[Mapping[str, Any]]) -> str:
    """Return a list of sessions, as `memory sessions --json` has it, as CSV (RFC 4180). What
    a spreadsheet would take for a formula begins with an apostrophe."""
    out = StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for session in sessions:
        row = {**session["usage"], **session}
        writer.writerow([_cell(row[name]) for name in COLUMNS])
    return out.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        value = "; ".join(map(str, value))
    text = visible("" if value is None else str(value))
    return text if isinstance(value, (int, float)) else _FORMULA.sub(r"\1\2'", text)


def conversations(memory: Memory, asked: SessionsRequest) -> Iterator[Conversation]:
    """Yield the sessions that pass the filters, with all of their turns, the oldest first."""
    listed = memory.ask(replace(asked, n=MAX_SESSIONS))["sessions"]
    for session in reversed(listed):
        yield memory.conversations.window(session["session_id"], _ALL_TURNS, first=0)


def markdown(memory: Memory, asked: SessionsRequest) -> Iterator[str]:
    """Yield sessions as Markdown, one after the other; nothing in it acts where it is shown."""
    for conversation in conversations(memory, asked):
        yield visible("\n".join(session_lines(conversation, session_title(conversation)))) + "\n"


def one_file(memory: Memory, sessions: Iterable[Conversation]) -> str:
    """Return sessions as one HTML file that needs nothing else and runs nothing."""
    from memory_assets.recall.sessions.usage import session_usage

    shown = [
        {
            "session": session,
            "title": session_title(session),
            "usage": session_usage(memory.lake, session.project, session.session_id),
            "models": memory.conversations.models(session),
        }
        for session in sessions
    ]
    titles = [str(session["title"]) for session in shown]
    style = static_file("page.css").decode()
    digest = b64encode(sha256(style.encode()).digest()).decode()
    body = rendered(
        "export.html",
        sessions=shown,
        title=titles[0] if len(titles) == 1 else counted(len(titles), "session"),
        style=Markup(style),
        policy=f"default-src 'none'; style-src 'sha256-{digest}'",
        frame=framed(),
        **{"up": False, "down": False, "whole": True, "query": "", "most": 0},
        **lineage_links(memory),
    )
    return without_tag_links(body)


def session_title(conversation: Conversation) -> str:
    """Return the title of a session's summary, else what is said first in it, else its id."""
    from memory_assets.recall.rows import one_line

    first = next((entry.text for turn in conversation.turns for entry in turn.entries), "")
    return str(conversation.summary.get("title") or one_line(first, 80) or conversation.session_id)
