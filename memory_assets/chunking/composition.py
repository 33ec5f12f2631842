"""Select the text of a turn to embed, as segments in reading order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from memory_assets.chunking.digest import digest
from memory_assets.chunking.recalled import without_recalled
from memory_assets.models import ABANDONED, ATTACHED, MEMORY_INPUT, RedactedRecord, Turn
from memory_assets.redacted_text import RedactedText, compose, join


@dataclass(frozen=True, slots=True)
class Segment:
    """One block of a turn's text: who speaks, and whether it is the human prompt itself."""

    speaker: Literal["user", "assistant"]
    text: RedactedText
    is_prompt: bool = False


# What a human says through a tool: answers to the agent's questions, and what was typed
# on declining a call. The result's text around the human's words is the agent's own.
_ANSWERS = ("User has answered your questions:", "Your questions have been answered:")
_ANSWERS_END = ("You can now continue", "You can continue")
_GIVEN_ANSWER = re.compile(r"\"answers\":\s*\[((?:\s*\"(?:[^\"\\]|\\.)*\",?)+)\s*\]")
"""Codex's, in JSON."""
_DECLINED = "the user said:"
_PLAN = re.compile(r"\Aplan:")
_GIVEN = frozenset({ATTACHED, MEMORY_INPUT})


def segments(turn: Turn) -> Iterator[Segment]:
    """Yield the turn's segments: prompt, prose (a message's blocks together), human replies
    given through tools, attached documents and notes, approved plans, and a digest of the tool
    calls. Thinking, injected text, compaction summaries, titles and tool output are left out."""
    yield from (segment for _, segment in spoken(turn))
    calls = [record for record in turn.records if record.kind in ("tool_use", "tool_result")]
    if text := digest(calls):
        yield Segment("assistant", text)


def spoken(turn: Turn) -> Iterator[tuple[RedactedRecord, Segment]]:
    """Yield the segments in which somebody speaks, each with its (first) record."""
    messages: dict[str, list[RedactedText]] = {}
    for record in turn.records:
        if record.kind == "assistant_text" and record.message_id and record.text.strip():
            messages.setdefault(record.message_id, []).append(record.text)
    for record in turn.records:
        segment = _spoken(record, messages)
        if segment is not None:
            yield record, segment


def _spoken(record: RedactedRecord, messages: dict[str, list[RedactedText]]) -> Segment | None:
    """Return the text of a record; all blocks of a message are placed at its first one."""
    if record.kind == "prompt":
        said = _marked(record, without_recalled(record.text).trimmed())
        segment = Segment("user", said, is_prompt=True)
    elif record.kind == "assistant_text":
        blocks = messages.pop(record.message_id, []) if record.message_id else [record.text]
        said = _marked(record, without_recalled(join("\n\n", blocks)).trimmed())
        segment = Segment("assistant", said)
    elif record.subtype in _GIVEN:
        segment = Segment("user", record.text.trimmed())
    elif record.kind == "tool_result":
        segment = Segment("user", _reply(record).trimmed())
    elif record.kind == "tool_use" and record.tool_name == "ExitPlanMode":
        segment = Segment("assistant", record.text.sub(_PLAN, "").trimmed())
    else:
        return None
    return segment if segment.text else None


def _marked(record: RedactedRecord, text: RedactedText) -> RedactedText:
    """Return a text, with a mark if its branch of the conversation was abandoned."""
    if record.subtype != ABANDONED or not text:
        return text
    return compose("[abandoned branch] {}", text)


def _reply(record: RedactedRecord) -> RedactedText:
    text = record.text
    if record.tool_name == "AskUserQuestion":
        for opening in _ANSWERS:
            if text.startswith(opening):
                ends = [at for end in _ANSWERS_END if (at := text.rfind(end)) > 0]
                return text.cut(len(opening), min(ends) if ends else None)
    elif record.tool_name == "request_user_input":
        return join("\n", (text.cut(*given.span(1)) for given in _GIVEN_ANSWER.finditer(text)))
    elif record.is_error:
        at = text.find(_DECLINED, 0, 1_000)
        if at >= 0:
            return text.cut(at + len(_DECLINED))
    return text.cut(0, 0)
