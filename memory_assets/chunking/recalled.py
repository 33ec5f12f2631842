"""Recognise our own recall output in transcripts, so that it is not indexed again.

Answers from memory occur in an agent's transcript as tool output, and in texts that people
paste. If they were indexed, searches would find them instead of the original. They are
recognised by the frame around every answer, by the names of our tools, or by the command.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from memory_assets.models import RedactedRecord
from memory_assets.redacted_text import FRAME_CLOSING, FRAME_OPENING, RedactedText, join

SERVER_NAMES = ("memory", "memory-assets", "memory_assets")
RECALLING_TOOLS = (
    *("recall", "timeline", "get", "cross_query", "summarize_session", "status", "how"),
    *("ask", "workspace_search", "workspace_index_stats", "recall_session", "search_sessions"),
    *("search_user_prompts", "search_observations", "get_context_timeline", "find_by_concept"),
    *("find_by_file", "find_by_type"),
)
RECALLING_COMMANDS = (
    *("search", "show", "timeline", "summarize", "blame", "context", "audit"),
    *("how", "friction", "restore", "resume", "cross-query", "verify", "status"),
    "export",
)

_FRAME_WITHIN = 400
"""Characters at the head of an output that the frame's opening stands in: a file that
merely mentions it, further down, is somebody's work."""

_OPENING = re.compile(rf"{re.escape(FRAME_OPENING)}(?: (?P<nonce>[0-9a-f]{{16}}))?>")
_CLOSING = re.compile(rf"{re.escape(FRAME_CLOSING)}(?: (?P<nonce>[0-9a-f]{{16}}))?>[ \t]*\n?")
_TOOL = re.compile(
    rf"(?:mcp__)?(?:plugin_memory_)?(?:{'|'.join(SERVER_NAMES)})(?:__|[./])(?:{'|'.join(RECALLING_TOOLS)})"
)
_COMMAND = re.compile(rf"(?<![\w.-])memory[ \t]+(?:{'|'.join(RECALLING_COMMANDS)})\b")
_PROGRAM = re.compile(
    r"(?:^|[;&|(){}\n`]|\b(?:do|then|else|if|while|until)[ \t])\s*"
    r"(?:(?:\w+=\S+|(?:ba|z)?sh\s+-l?c|uvx|(?:uv|poetry|pipx)\s+run|timeout|sudo|time|env|nohup"
    r"|exec|command|xargs|-\w\s+[\w@.]+|--?\w\S*|\d+[smh]?)\s+)*+['\"]?(?:[^\s'\"]*/)?$"
)
"""Before a word that is the program of a simple command: where one begins, words that take
another program, and its directory."""
_BEFORE = 200
SHELL = re.compile(r"(?:/\S*/)?(?:ba|z)?sh\s+-l?c\s+['\"]?")


def asks_memory(record: RedactedRecord) -> bool:
    """Return True for calls of this memory's tools or commands, and for their results."""
    if record.kind not in ("tool_use", "tool_result"):
        return False
    if _TOOL.fullmatch(record.tool_name):
        return True
    return any(
        _PROGRAM.search(record.command[max(call.start() - _BEFORE, 0) : call.start()])
        for call in _COMMAND.finditer(record.command)
    )


def is_recalled(record: RedactedRecord) -> bool:
    """Return True if a record is an answer of this memory."""
    if record.kind != "tool_result":
        return False
    return _OPENING.search(record.text[:_FRAME_WITHIN]) is not None or asks_memory(record)


def as_said(records: Iterable[RedactedRecord]) -> Iterator[RedactedRecord]:
    """Yield records without answers of this memory, and texts without quoted answers."""
    for record in records:
        if is_recalled(record):
            continue
        text = record.text
        if record.kind in ("prompt", "assistant_text", "tool_result"):
            text = without_recalled(text)
        yield record if text is record.text else replace(record, text=text)


def without_recalled(text: RedactedText) -> RedactedText:
    """Return a text without the framed answers quoted in it, or the whole text if nothing else
    is left. A frame that is not closed is kept."""
    if FRAME_OPENING not in text:
        return text
    pieces: list[RedactedText] = []
    position = 0
    for start, end in _frames(text):
        pieces.append(text.cut(position, start))
        position = end
    kept = join("", (*pieces, text.cut(position)))
    return kept if kept.strip() else text


def _frames(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of closed frames: from an opening to the first closing with its number."""
    closings: dict[str | None, list[tuple[int, int]]] = defaultdict(list)
    for closing in _CLOSING.finditer(text):
        closings[closing["nonce"]].append(closing.span())
    position = 0
    for opening in _OPENING.finditer(text):
        ends = closings[opening["nonce"]]
        place = bisect_left(ends, (opening.end(), 0))
        if opening.start() >= position and place < len(ends):
            position = ends[place][1]
            yield opening.start(), position
