"""A turn in order of use: what was asked, what it came to and what it changed; then what was said
on the way, and the calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory_assets.chunking.chunks import spoken
from memory_assets.chunking.digest import digest, error_head, stored_path
from memory_assets.models import RedactedRecord
from memory_assets.recall.rows import rows_of, some_files
from memory_assets.recall.sessions.records import session_turns
from memory_assets.stores.lake.schemas import SESSION_COMMITS
from memory_assets.stores.stores import Stores
from memory_assets.tool_names import kind_of_tool

_PROMPT = 600
"""Characters of a prompt that stand before the answer to it; the whole of a longer one follows."""
_DIRECTIVES = re.compile(r"^::git-[a-z-]+\{[^}\n]*\}[^\S\n]*\n?", re.M)
"""What Codex writes for its own window about a commit or push that the message tells of."""
_CALLS = ("tool_use", "tool_result")


@dataclass(frozen=True)
class TurnParts:
    """The text of a turn that is read first, and the rest of it; `rest` is empty where the turn is
    a prompt and an answer."""

    first: str
    rest: str


def turn_parts(stores: Stores, project: str, session_id: str, turn_index: int) -> TurnParts | None:
    """Return a turn in order of use; None where its records are gone, or nobody says anything."""
    turns = session_turns(stores, project, session_id)
    turn = next((turn for turn in turns if turn.turn_index == turn_index), None)
    if turn is None:
        return None
    said = [(record, str(part.text), part) for record, part in spoken(turn)]
    prompt = "\n\n".join(text for _, text, part in said if part.is_prompt)
    closing = _closing(turn.records, {id(record) for record, _, part in said if not part.is_prompt})
    answer = "\n\n".join(text for record, text, _ in said if id(record) in closing)
    answer = _DIRECTIVES.sub("", answer).rstrip()
    on_the_way = [
        text for record, text, part in said if not part.is_prompt and id(record) not in closing
    ]
    calls = [record for record in turn.records if record.kind in _CALLS]
    rows = rows_of(stores.lake, SESSION_COMMITS, project, session_id)
    changed = [
        *_changed(calls),
        *_committed([row for row in rows if row["turn_id"] == turn.id], answer),
    ]
    is_long = len(prompt) > _PROMPT
    first = [f"{prompt[:_PROMPT].rstrip()}…" if is_long else prompt, answer, "\n".join(changed)]
    rest = [prompt if is_long else "", *on_the_way, str(digest(calls))]
    if not any([*first, *rest]):
        return None
    return TurnParts(*("\n\n".join(filter(None, parts)) for parts in (first, rest)))


def _closing(records: Sequence[RedactedRecord], said: set[int]) -> set[int]:
    """Return the records (by identity) of the last message: what was said last, back to the call
    before it."""
    closing: set[int] = set()
    for record in reversed(records):
        if record.agent_id is not None:
            continue
        if id(record) in said:
            closing.add(id(record))
        elif closing and record.kind in _CALLS:
            break
    return closing


def _changed(calls: Iterable[RedactedRecord]) -> Iterator[str]:
    """Yield a line with the files that were written, and one with the last error."""
    files: dict[str, None] = {}
    errors: list[str] = []
    for record in calls:
        if record.kind == "tool_use" and kind_of_tool(record.tool_name) == "write":
            for path in record.paths:
                files[str(stored_path(path, record.project_root, record.cwd))] = None
        elif record.kind == "tool_result" and record.is_error:
            errors = [str(error_head(record.text))]
        elif record.kind == "tool_result":
            errors = []
    if files:
        yield f"Changed: {some_files(list(files))}"
    yield from (f"Failed last: {error}" for error in errors if error)


def _committed(rows: Sequence[dict[str, str]], answer: str) -> Iterator[str]:
    """Yield a line for each commit, in their order, that the last message does not name with its
    subject."""
    for row in sorted(rows, key=lambda row: str(row["timestamp"] or "")):
        if row["commit"] and not (row["commit"][:7] in answer and row["subject"] in answer):
            yield f"Committed: {row['commit'][:9]} {row['subject']}"
