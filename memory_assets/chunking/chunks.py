"""Turns to `Chunk` and `Prompt` rows."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from memory_assets.chunking.composition import Composition, Segment, segments
from memory_assets.chunking.digest import (
    LOOKUPS,
    MAX_COMMAND,
    MAX_ERROR,
    error_head,
    short_command,
    unique,
)
from memory_assets.chunking.files import stored_path
from memory_assets.chunking.passages import Tokens, split_passages
from memory_assets.chunking.recalled import without_recalled
from memory_assets.models import Chunk, Prompt, RedactedRecord, Turn
from memory_assets.redacted_text import RedactedText, compose, join, require_redacted

# Changes whenever the same turn would give other chunks.
CHUNKER_VERSION = "2"
DEFAULT_COMPOSITION = Composition()

MAX_TOOLS = 50
MAX_FILES = 100
MAX_COMMANDS = 30
MAX_ERRORS = 20
_SEPARATOR = "\n\n"


def content_hash(text: str) -> str:
    """Return the sha256 of `text` in hex: equal texts share one vector."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def chunk_turn(
    turn: Turn, tokens: Tokens, composition: Composition = DEFAULT_COMPOSITION
) -> list[Chunk]:
    """Return the passages of a turn, in reading order; none if nobody says anything.

    Part 0 has the turn's own id, part k that id and `::part::<k>`. Tools, files,
    commands and errors are the whole turn's on every passage, so that a filter finds
    the turn whichever passage answers. `prompt_uuid` is set where the prompt begins.

    Raises:
        TypeError: a text of the turn has not passed the redactor.
    """
    parts = tuple(segments(turn, composition))
    whole = join(_SEPARATOR, (segment.text for segment in parts))
    if not whole.strip():
        return []
    starts = _starts(parts)
    limit = min(composition.max_tokens, tokens.max_tokens)
    context = _context(turn, tokens, composition.context_tokens)
    room = limit - (tokens.count_tokens(context) - 2 if context else 0)
    prompt_start = next((at for at, part in zip(starts, parts, strict=True) if part.is_prompt), -1)
    facts = _Facts(turn)
    chunks = []
    for part, (start, end) in enumerate(split_passages(whole, tokens, room, starts)):
        text = whole.cut(start, end)
        if context and start > prompt_start + len(context):
            text = compose("{}\n\n{}", context, text)
        begins_prompt = start <= prompt_start < end
        chunks.append(
            facts.chunk(
                part,
                text,
                role=_role(parts, starts, start, end),
                prompt_uuid=turn.prompt.record_uuid if turn.prompt and begins_prompt else "",
            )
        )
    return chunks


def prompt_passages(
    turn: Turn, tokens: Tokens, composition: Composition = DEFAULT_COMPOSITION
) -> list[Prompt]:
    """Return the prompt of a turn in passages of at most `max_tokens`.

    Empty if the turn has no prompt or the prompt no text.
    """
    record = turn.prompt
    if record is None:
        return []
    require_redacted([record.text])
    typed = without_recalled(record.text)
    limit = min(composition.max_tokens, tokens.max_tokens)
    prompt_id = f"prompt::{turn.session_id}::{turn.turn_index}"
    passages = []
    for part, (start, end) in enumerate(split_passages(typed, tokens, limit)):
        text = typed.cut(start, end)
        passages.append(
            Prompt(
                id=f"{prompt_id}::{part}" if part else prompt_id,
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


class _Facts:
    """The fields that all passages of a turn share."""

    def __init__(self, turn: Turn) -> None:
        records = turn.records
        calls = [record for record in records if record.kind == "tool_use"]
        failed = [r for r in records if r.kind == "tool_result" and r.is_error]
        main = [record for record in records if record.agent_id is None] or list(records)
        times = [record.timestamp for record in records if record.timestamp is not None]
        self._turn = turn
        self._first = turn.prompt or records[0]
        self._started: datetime | None = self._first.timestamp or min(times, default=None)
        self._ended: datetime | None = max(times, default=None)
        self._seqs = [record.seq for record in main]
        self._tools = unique((call.tool_name for call in calls), MAX_TOOLS)
        self._files = unique(
            (
                stored_path(path, call.project_root, call.cwd)
                for call in _changes_first(calls)
                for path in call.paths
            ),
            MAX_FILES,
        )
        self._commands = unique(
            (short_command(call.command, call.project_root) for call in calls),
            MAX_COMMANDS,
            MAX_COMMAND,
        )
        self._errors = unique((error_head(r.text) for r in failed), MAX_ERRORS, MAX_ERROR)

    def chunk(
        self,
        part: int,
        text: RedactedText,
        *,
        role: Literal["user", "assistant", "turn"],
        prompt_uuid: str,
    ) -> Chunk:
        """Return passage number `part` of the turn."""
        turn, first = self._turn, self._first
        return Chunk(
            id=f"{turn.id}::part::{part}" if part else turn.id,
            turn_id=turn.id,
            part=part,
            project=first.project,
            project_root=first.project_root,
            agent=first.agent,
            session_id=turn.session_id,
            turn_index=turn.turn_index,
            role=role,
            timestamp=self._started,
            ended_at=self._ended,
            text=text,
            tools_used=self._tools,
            files=self._files,
            commands=self._commands,
            errors=self._errors,
            git_branch=first.git_branch,
            prompt_uuid=prompt_uuid,
            first_seq=min(self._seqs),
            last_seq=max(self._seqs),
            content_hash=content_hash(text),
            chunker_version=CHUNKER_VERSION,
        )


def _changes_first(calls: Sequence[RedactedRecord]) -> list[RedactedRecord]:
    """Order calls so that a cap on files drops files that were only looked at."""
    return sorted(calls, key=lambda call: call.tool_name in LOOKUPS)


def _starts(parts: Sequence[Segment]) -> list[int]:
    """Return where each segment begins in the joined text."""
    starts = []
    at = 0
    for part in parts:
        starts.append(at)
        at += len(part.text) + len(_SEPARATOR)
    return starts


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


def _context(turn: Turn, tokens: Tokens, most: int) -> RedactedText | None:
    """Return the head of the prompt, at most `most` word pieces, on one line if it can be."""
    if turn.prompt is None or most <= 0:
        return None
    spans = split_passages(turn.prompt.text, tokens, most + 2)
    return turn.prompt.text.cut(*spans[0]) if spans else None
