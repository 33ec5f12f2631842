"""Export sessions for other programs: the list of them, or their conversations.

Nothing of a transcript acts where its Markdown copy is shown. Programs that show Markdown take HTML
in it for HTML, load the images, and open the links. Outside code that becomes text: elements,
images, and links that are no web addresses.
"""

from __future__ import annotations

import csv
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from io import StringIO
from itertools import product
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from memory_assets.recall.rows import one_line
from memory_assets.requests.questions import MAX_SESSIONS, ExportFormat, SessionsRequest
from memory_assets.serving.answer_lines import clock, project_name
from memory_assets.serving.pages.prose import without_tag_links
from memory_assets.serving.pages.rendering import frame_marks, of_memory, render, static_file
from memory_assets.serving.visible_text import visible, visible_payload
from memory_assets.status.words import counted

if TYPE_CHECKING:
    from memory_assets.recall import Memory
    from memory_assets.recall.sessions.conversation import Conversation, Entry

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


def export_pieces(memory: Memory, request: SessionsRequest, form: ExportFormat) -> Iterator[str]:
    """Yield the pieces of a file with the sessions that pass the filters: CSV and JSON have the
    newest first, Markdown and HTML the oldest."""
    if form == "markdown":
        yield from markdown_pieces(memory, request)
    elif form == "html":
        yield html_file(memory, conversations(memory, request))
    elif form == "csv":
        yield sessions_csv(memory.ask(request)["sessions"])
    else:
        sessions = visible_payload(memory.ask(request)["sessions"])
        yield json.dumps(sessions, ensure_ascii=False, indent=1) + "\n"


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


def conversations(memory: Memory, request: SessionsRequest) -> Iterator[Conversation]:
    """Yield the sessions that pass the filters, with all of their turns, the oldest first."""
    listed = memory.ask(replace(request, n=MAX_SESSIONS))["sessions"]
    for session in reversed(listed):
        yield memory.conversations.window(session["session_id"], _ALL_TURNS, first=0)


def markdown_pieces(memory: Memory, request: SessionsRequest) -> Iterator[str]:
    """Yield sessions as Markdown, one after the other; nothing in it acts where it is shown."""
    for conversation in conversations(memory, request):
        yield visible("\n".join(markdown_lines(conversation, session_title(conversation)))) + "\n"


def html_file(memory: Memory, sessions: Iterable[Conversation]) -> str:
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
    body = render(
        "export.html",
        sessions=shown,
        title=titles[0] if len(titles) == 1 else counted(len(titles), "session"),
        style=Markup(style),
        policy=f"default-src 'none'; style-src 'sha256-{digest}'",
        frame=frame_marks(),
        **{"up": False, "down": False, "whole": True, "query": "", "most": 0},
        **of_memory(memory),
    )
    return without_tag_links(body)


def session_title(conversation: Conversation) -> str:
    """Return the title of a session's summary, else what is said first in it, else its id."""
    first = next((entry.text for turn in conversation.turns for entry in turn.entries), "")
    return str(conversation.summary.get("title") or one_line(first, 80) or conversation.session_id)


_ELEMENT = re.compile(r"<(?=[A-Za-z/!?])")
_IMAGE = re.compile(r"!(?=\[)")
_LINK = re.compile(r"\](?=[(\[:])")
_BRACKET = "&#93;"
"""In place of a link's bracket: a backslash would be undone by one that stands before it."""
_CODE_SPAN = re.compile(r"(?<![\\`])(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_SCHEME = re.compile(r"(?i)(?!https?:|mailto:)[^/?#]*:|(?:/|%5C){2}")
_DEFINITION = re.compile(r"(?m)^ *\[[^\]]{1,999}\]:")
"""Of a footnote, of which indented lines are no code, or of where a link leads."""
_TASK = re.compile(r"\[[ \txX]\]\s+")
_ADDRESS = re.compile(r"(?i)(?:www\.|://)[^\s<]+")
_CODE = ("fence", "code_block")


@cache
def _parsers() -> tuple[MarkdownIt, MarkdownIt]:
    """Parsers as forgiving as any: all links count, whatever they lead to. The second one knows
    tables, whose cells end amid code, as most programs do."""
    parsers = tuple(MarkdownIt("commonmark", {"html": True}) for _ in range(2))
    for parser in parsers:
        parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return parsers[0], parsers[1].enable("table")


def inert_markdown(text: str) -> str:
    """Return Markdown that looks the same, except that HTML, images and links to anything but web
    addresses appear as they are written.

    The result is inert between any other texts, if it begins in their first column: it leaves no
    block of code open, and defines no links for them.
    """
    return _close_code_block(_without_active_markup("\n".join(visible(text).splitlines())))


def _close_code_block(text: str) -> str:
    """Return a text with the end of a block of code that it leaves open."""
    last = _parsers()[0].parse(f"{text}\n\n.")[-1]
    return f"{text}\n{last.markup}" if last.type == "fence" else text


def _without_active_markup(text: str) -> str:
    if not _has_active_markup(text):
        return text
    lines = text.split("\n")
    pieces = []
    next_line = 0
    for start, end in (*_code_lines(text), (len(lines), len(lines))):
        if start > next_line:
            pieces.append(_escaped("\n".join(lines[next_line:start]), spare_code=True))
        if end > start:
            pieces.append("\n".join(lines[start:end]))
        next_line = end
    result = "\n".join(pieces)
    return result if not _has_active_markup(result) else _escaped(text, spare_code=False)


def _escaped(text: str, *, spare_code: bool) -> str:
    """Return text whose elements, images and links are escaped; with `spare_code` code spans stay
    as they are."""
    if not spare_code:
        return _escape_prose(text)
    pieces = []
    next_character = 0
    for span in _CODE_SPAN.finditer(text):
        pieces += [_escape_prose(text[next_character : span.start()]), span.group()]
        next_character = span.end()
    return "".join([*pieces, _escape_prose(text[next_character:])])


def _escape_prose(text: str) -> str:
    text = _ELEMENT.sub("&lt;", text)
    text = _IMAGE.sub(r"!\\", text)
    return _LINK.sub(_BRACKET, text) if _has_active_markup(text) else text


def _code_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield first line and end (exclusive) of each block of code."""
    for token in _parsers()[0].parse(text):
        if token.type in _CODE and token.map and not token.level:
            yield token.map[0], token.map[1]


def _has_active_markup(text: str) -> bool:
    """Return True if the text, as Markdown, has an element of HTML, an image, or a link to anything
    but a web address, a mail address or a part of its own; or defines where links lead, which texts
    elsewhere in the copy may use, or a footnote."""
    for reading, parser in product({text, _as_github_reads(text)}, _parsers()):
        defined: dict[str, Any] = {}
        tokens = parser.parse(reading, defined)
        if defined.get("references") or any(map(_is_active, tokens)):
            return True
    return False


def _as_github_reads(text: str) -> str:
    """Return Markdown without the boxes of tasks, behind which a paragraph begins, and without the
    marks in bare addresses, which are part of the address there."""
    return _ADDRESS.sub(lambda found: re.sub(r"[`\\]", "/", found[0]), _TASK.sub("", text))


def _is_active(token: Token) -> bool:
    if token.type in ("html_block", "html_inline", "image"):
        return True
    if token.type == "inline" and _DEFINITION.search(token.content):
        return True
    address = str(token.attrGet("href") or "") if token.type == "link_open" else ""
    return _SCHEME.match(address) is not None or any(map(_is_active, token.children or ()))


def markdown_lines(
    conversation: Conversation, title: str, only: int | None = None
) -> Iterator[str]:
    """Yield the lines of a session, or of one of its turns: prompts and prose in full, calls on one
    line each."""
    if only is None:
        yield f"# {_line(title)}\n"
        project = project_name(conversation.summary or {"project": conversation.project})
        about = f"{conversation.agent}, project {project}, session {conversation.session_id}"
        yield f"{_line(about)}\n"
    for turn in conversation.turns:
        if only in (None, turn.index):
            yield f"## Turn {turn.index}, {clock(turn.time)}\n"
            yield from _entries_markdown(turn.entries)
            for item in turn.beside:
                kind = item.kind.removesuffix("s")
                yield f"- {_line(f'{kind}: {item.text}')}"
            yield ""


def _line(text: str) -> str:
    """Return a text in one line, as an item of a list or a heading has it: what begins a block of
    code in an item is text in a heading."""
    line = " ".join(visible(text).split())
    return _without_active_markup(_without_active_markup(f"# {line}").removeprefix("# "))


def _entries_markdown(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the lines of entries; a list of calls ends with an empty one, or what follows would be
    read as more of its last item."""
    in_list = False
    for entry in entries:
        is_item = entry.kind in ("call", "subagent")
        if in_list and not is_item:
            yield ""
        yield from _entry_markdown(entry)
        in_list = is_item


def _entry_markdown(entry: Entry, indent: str = "") -> Iterator[str]:
    if entry.kind == "prompt":
        text = inert_markdown(
            entry.text.expandtabs(4)
        )  # tabs reach less far behind the mark of a quote
        yield "\n".join(f"> {line}" for line in text.splitlines()) + "\n"
    elif entry.kind == "assistant_text":
        text = inert_markdown(entry.text).lstrip("\n")
        ends = "&nbsp;\n\n" if text.startswith((" ", "\t")) else ""  # what a list before it began
        yield f"{ends}{text}\n"
    elif entry.kind == "call":
        failed = f" (failed: {one_line(entry.result or '', 120)})" if entry.failed else ""
        yield f"{indent}- {_line(f'{entry.tool}: {entry.subject}{failed}')}"
    elif entry.kind == "subagent":
        yield f"{indent}- {_line(f'subagent {entry.agent_id}, {entry.calls} calls')}"
        for inner in entry.entries:
            if inner.kind in ("call", "subagent"):
                yield from _entry_markdown(inner, f"{indent}  ")
