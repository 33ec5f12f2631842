"""Convert turns to `Chunk` and `Prompt` rows. A chunk has the text that `segments` selects from its
turn, in reading order."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from types import MappingProxyType
from typing import Literal

from memory_assets.chunking.digest import (
    LOOKUPS,
    MAX_COMMAND,
    MAX_ERROR,
    digest,
    error_head,
    short_command,
    stored_path,
    unique,
)
from memory_assets.chunking.passages import Tokens, split_passages
from memory_assets.chunking.printed import Whole, error_lines, identifiers
from memory_assets.chunking.recalled import without_recalled
from memory_assets.models import (
    ABANDONED,
    ATTACHED,
    MEMORY_INPUT,
    Chunk,
    Prompt,
    RedactedRecord,
    Turn,
)
from memory_assets.redacted_text import RedactedText, compose, content_hash, join, require_redacted


@dataclass(frozen=True, slots=True)
class Segment:
    """One block of a turn's text: who speaks, and whether it is the human prompt itself."""

    speaker: Literal["user", "assistant"]
    text: RedactedText
    is_prompt: bool = False


# Replies of a human in the results of tools: answers to the agent's questions, and the reason for
# declining a call. The agent's own text around them is left out.
_ANSWERS = ("User has answered your questions:", "Your questions have been answered:")
_ANSWERS_END = ("You can now continue", "You can continue")
_GIVEN_ANSWER = re.compile(r"\"answers\":\s*\[((?:\s*\"(?:[^\"\\]|\\.)*\",?)+)\s*\]")
"""Answers in the JSON of Codex."""
_DECLINED = re.compile(r"(?:the user said|reason for the rejection):")
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
        segment = _segment_of(record, messages)
        if segment is not None:
            yield record, segment


def _segment_of(record: RedactedRecord, messages: dict[str, list[RedactedText]]) -> Segment | None:
    """Return the segment of a record, None if it has none; the first record of a message has all
    its blocks."""
    if record.kind == "prompt":
        text = _mark_abandoned(record, without_recalled(record.text).trimmed())
        segment = Segment("user", text, is_prompt=True)
    elif record.kind == "assistant_text":
        blocks = messages.pop(record.message_id, []) if record.message_id else [record.text]
        text = _mark_abandoned(record, without_recalled(join("\n\n", blocks)).trimmed())
        segment = Segment("assistant", text)
    elif record.subtype in _GIVEN:
        segment = Segment("user", record.text.trimmed())
    elif record.kind == "tool_result":
        segment = Segment("user", _human_reply(record).trimmed())
    elif record.kind == "tool_use" and record.tool_name == "ExitPlanMode":
        segment = Segment("assistant", record.text.sub(_PLAN, "").trimmed())
    else:
        return None
    return segment if segment.text else None


def _mark_abandoned(record: RedactedRecord, text: RedactedText) -> RedactedText:
    """Return a text, marked if its branch of the conversation was abandoned."""
    if record.subtype != ABANDONED or not text:
        return text
    return compose("[abandoned branch] {}", text)


def _human_reply(record: RedactedRecord) -> RedactedText:
    """Return the human's reply in the result of a tool, empty if there is none."""
    text = record.text
    if record.tool_name == "AskUserQuestion":
        for opening in _ANSWERS:
            if text.startswith(opening):
                answer_ends = [end for end in map(text.rfind, _ANSWERS_END) if end > 0]
                return text.cut(len(opening), min(answer_ends, default=None))
    elif record.tool_name == "request_user_input":
        return join("\n", (text.cut(*answers.span(1)) for answers in _GIVEN_ANSWER.finditer(text)))
    elif record.is_error and (declined := _DECLINED.search(text, 0, 1_000)):
        return text.cut(declined.end())
    return text.cut(0, 0)


# Changes whenever the same turn would give other chunks.
CHUNKER_VERSION = "6"
MAX_TOKENS = 256
"""Word pieces of a passage, special ones included; measured best (docs/chunking.md)."""

MAX_TOOLS = 50
MAX_FILES = 100
MAX_COMMANDS = 30
MAX_ERRORS = 20
_SEPARATOR = "\n\n"


def chunk_turn(
    turn: Turn,
    tokens: Tokens,
    max_tokens: int = MAX_TOKENS,
    whole_outputs: Whole = MappingProxyType({}),
) -> list[Chunk]:
    """Return the passages of a turn, in reading order; none if it has no text.

    Part 0 has the id of the turn, part k that id with `::part::<k>`. Every passage has the tools,
    files, commands and errors of the whole turn, so that a filter works for each of them. Error
    lines and identifiers are on part 0 only, `prompt_uuid` on the part where the prompt begins.

    Raises:
        TypeError: a text of the turn has not passed the redactor.
    """
    parts = tuple(segments(turn))
    whole = join(_SEPARATOR, (segment.text for segment in parts))
    if not whole.strip():
        return []
    lengths = (len(part.text) + len(_SEPARATOR) for part in parts[:-1])
    starts = list(accumulate(lengths, initial=0))
    limit = min(max_tokens, tokens.max_tokens)
    prompt_start = next(
        (start for start, part in zip(starts, parts, strict=True) if part.is_prompt), -1
    )
    shared = _shared_fields(turn)
    lines = error_lines(turn.records, whole_outputs)
    names = identifiers(turn.records, lines)
    chunks = []
    for part, (start, end) in enumerate(split_passages(whole, tokens, limit, starts)):
        text = whole.cut(start, end)
        begins_prompt = start <= prompt_start < end
        chunks.append(
            replace(
                shared,
                id=f"{turn.id}::part::{part}" if part else turn.id,
                part=part,
                role=_role(parts, starts, start, end),
                text=text,
                error_lines=() if part else lines,
                identifiers=() if part else names,
                prompt_uuid=turn.prompt.record_uuid if turn.prompt and begins_prompt else "",
                content_hash=content_hash(text),
            )
        )
    return chunks


def prompt_passages(turn: Turn, tokens: Tokens) -> list[Prompt]:
    """Return the passages, of at most `MAX_TOKENS`, of the prompt that a human typed to begin a
    turn; none if there is no such prompt or it has no text."""
    record = turn.typed
    if record is None:
        return []
    require_redacted([record.text])
    typed = without_recalled(record.text)
    limit = min(MAX_TOKENS, tokens.max_tokens)
    passages = []
    for part, (start, end) in enumerate(split_passages(typed, tokens, limit)):
        text = typed.cut(start, end)
        passages.append(
            Prompt(
                id=f"{turn.prompt_id}::{part}" if part else turn.prompt_id,
                turn_id=turn.id,
                part=part,
                project=record.project,
                project_root=record.project_root,
                agent=record.agent,
                session_id=turn.session_id,
                turn_index=turn.turn_index,
                timestamp=record.timestamp,
                text=text,
                git_branch=record.git_branch,
                record_uuid=record.record_uuid,
                content_hash=content_hash(text),
            )
        )
    return passages


def _shared_fields(turn: Turn) -> Chunk:
    """Return the fields that all passages of a turn share, as a chunk without text."""
    records = turn.records
    calls = [record for record in records if record.kind == "tool_use"]
    failed = [r for r in records if r.kind == "tool_result" and r.is_error]
    seqs = [record.seq for record in records if record.agent_id is None]
    seqs = seqs or [record.seq for record in records]
    times = [record.timestamp for record in records if record.timestamp is not None]
    first = turn.prompt or records[0]
    paths = (
        stored_path(path, call.project_root, call.cwd)
        # A cap on files drops those that were only looked at.
        for call in sorted(calls, key=lambda call: call.tool_name in LOOKUPS)
        for path in call.paths
    )
    commands = (short_command(call.command, call.project_root) for call in calls)
    return Chunk(
        id=turn.id,
        turn_id=turn.id,
        part=0,
        project=first.project,
        project_root=first.project_root,
        agent=first.agent,
        session_id=turn.session_id,
        turn_index=turn.turn_index,
        role="turn",
        timestamp=first.timestamp or min(times, default=None),
        ended_at=max(times, default=None),
        text=compose(""),
        tools_used=unique((call.tool_name for call in calls), MAX_TOOLS),
        files=unique(paths, MAX_FILES),
        commands=unique(commands, MAX_COMMANDS, MAX_COMMAND),
        errors=unique((error_head(record.text) for record in failed), MAX_ERRORS, MAX_ERROR),
        error_lines=(),
        identifiers=(),
        git_branch=first.git_branch,
        prompt_uuid="",
        first_seq=min(seqs),
        last_seq=max(seqs),
        content_hash="",
        chunker_version=CHUNKER_VERSION,
        by_program=turn.by_program,
    )


def _role(
    parts: Sequence[Segment], starts: Sequence[int], start: int, end: int
) -> Literal["user", "assistant", "turn"]:
    first = max(0, bisect_right(starts, start) - 1)
    speakers = {
        part.speaker
        for part, at in zip(parts[first:], starts[first : bisect_left(starts, end)], strict=False)
        if at + len(part.text) > start
    }
    if len(speakers) == 2:
        return "turn"
    return "user" if speakers == {"user"} else "assistant"
