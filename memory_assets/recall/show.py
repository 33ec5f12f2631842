"""Everything on record under one id: as rows (`memory show`), or as one text (MCP's `get`), of a
turn in order of use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from memory_assets.chunking.chunks import spoken
from memory_assets.chunking.digest import digest, error_head, stored_path
from memory_assets.models import RedactedRecord
from memory_assets.recall.agent_rows import shown_rows, written_row
from memory_assets.recall.documents import document_named, shown_document
from memory_assets.recall.names import resolve_id, row_of_id
from memory_assets.recall.rows import not_in_memory, rows_of, some_files, with_iso_times
from memory_assets.recall.sessions.records import session_turns
from memory_assets.recall.sessions.session import session_items
from memory_assets.recall.sessions.timeline import anchor_of_id
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import SESSION_COMMITS, SESSION_SUMMARIES, TURN_CHUNKS
from memory_assets.stores.stores import Stores
from memory_assets.tool_names import kind_of_tool

_OF_TURN = (
    *("project", "agent", "session_id", "turn_index", "timestamp", "git_branch"),
    *("files", "commands", "errors", "tools_used"),
)


def show(stores: Stores, any_id: str, around: int = 0) -> list[dict[str, Any]]:
    """Return the whole turn, summary, observation or commit behind an id; `around` adds that
    many turns before and after.

    Raises:
        ConfigurationError: it does not look like an id.
        NotFound: there is no such id.
    """
    if written := written_row(stores, any_id.strip()):
        return shown_rows(stores, written, around)
    if document := document_named(stores, any_id.strip()):
        return shown_document(stores, document)
    named = resolve_id(stores, any_id)
    wanted, project, lake = named.parts, named.project, stores.lake
    session_id = wanted.session_id
    if wanted.kind in ("summary", "session"):
        rows = rows_of(lake, SESSION_SUMMARIES, project, session_id)
        if not rows:
            raise not_in_memory(stores, project, session_id, "summary")
        return list(map(with_iso_times, rows))
    if named.has_row:
        row = row_of_id(lake, named)
        if row is None:
            raise not_in_memory(stores, project, session_id, f"{wanted.kind} {named.id}")
        turn = row.get("turn_index")
        if not around or turn is None:
            return [with_iso_times(row)]
        return [with_iso_times(row), *_turns(lake, project, session_id, turn, around)]
    turn = wanted.turn_index or 0
    turns = _turns(lake, project, session_id, turn, around)
    if all(shown["turn_index"] != turn for shown in turns):
        raise not_in_memory(stores, project, session_id, f"turn {turn}")
    return turns


def _turns(
    lake: Lake, project: str, session_id: str, turn: int, around: int
) -> list[dict[str, Any]]:
    """Return the turns from `around` before one to as many after it, in order."""
    turns: dict[str, dict[str, Any]] = {}
    for row in rows_of(lake, TURN_CHUNKS, project, session_id, ["turn_id", "text", *_OF_TURN]):
        if turn - around <= row["turn_index"] <= turn + around:
            kept = {name: row[name] for name in _OF_TURN}
            shown = {"id": row["turn_id"], **with_iso_times(kept), "passages": []}
            turns.setdefault(row["turn_id"], shown)["passages"].append(row["text"])
    return list(turns.values())


def whole_text(memory: Stores, any_id: str) -> dict[str, Any]:
    """Return everything under one id: `id`, `kind`, `time`, `project`, `session_id`, and `text` in
    full. Of a turn, `text` is what is read first, `rest` what was said on the way, and the calls.

    Raises:
        ConfigurationError: it is no id.
        NotFound: there is no such thing.
    """
    if written := written_row(memory, any_id.strip()):
        (row,) = shown_rows(memory, written)
        return {**row, "kind": written.kind, "time": row.pop("timestamp")}
    if document := document_named(memory, any_id.strip()):
        (row,) = shown_document(memory, document)
        return {**row, "kind": "documents", "time": row.pop("timestamp"), "session_id": ""}
    anchor = anchor_of_id(memory, any_id)
    if anchor.item_id is None:
        anchor = anchor_of_id(memory, f"summary::{anchor.session_id}")
    kind = anchor.item_kind or "turns"
    project, session_id = anchor.project or "", anchor.session_id or ""
    for item in session_items(memory.lake, project, session_id, (kind,), full=True):
        if item.id != anchor.item_id:
            continue
        row = {**item.to_dict(), "project": project, "session_id": session_id}
        if kind == "turns" and (parts := turn_parts(memory, project, session_id, item.turn_index)):
            row |= parts
        return row
    raise not_in_memory(memory, project, session_id, str(anchor.item_id))


_PROMPT = 600
"""Characters of a prompt that stand before the answer to it; the whole of a longer one follows."""
_SHORTEST_REPORT = 400
"""Characters of a message with headings that is a report."""
_HEADING = re.compile(r"^#{1,4} \S", re.M)
_DIRECTIVES = re.compile(r"^::git-[a-z-]+\{[^}\n]*\}[^\S\n]*\n?", re.M)
"""What Codex writes for its own window about a commit or push that the message tells of."""
_CALLS = ("tool_use", "tool_result")


def turn_parts(
    stores: Stores, project: str, session_id: str, turn_index: int
) -> dict[str, str] | None:
    """Return a turn in order of use: what is read first (`text`), and the `rest`, which is empty
    where the turn is a prompt and an answer. None where its records are gone, or nobody says
    anything."""
    turns = session_turns(stores, project, session_id)
    turn = next((turn for turn in turns if turn.turn_index == turn_index), None)
    if turn is None:
        return None
    messages = [(record, str(part.text), part) for record, part in spoken(turn)]
    prompt = "\n\n".join(text for _, text, part in messages if part.is_prompt)
    closing = _closing_records(
        turn.records, {id(record) for record, _, part in messages if not part.is_prompt}
    )
    before = [
        text for record, text, part in messages if not part.is_prompt and id(record) not in closing
    ]
    report = [text for text in before if _is_report(text)][-1:]
    on_the_way = [text for text in before if text not in report]
    answers = [*report, *(text for record, text, _ in messages if id(record) in closing)]
    answer = _DIRECTIVES.sub("", "\n\n".join(answers)).rstrip()
    calls = [record for record in turn.records if record.kind in _CALLS]
    rows = rows_of(stores.lake, SESSION_COMMITS, project, session_id)
    changed = [
        *_changed_file_lines(calls),
        *_commit_lines([row for row in rows if row["turn_id"] == turn.id], answer),
    ]
    is_long = len(prompt) > _PROMPT
    first = [f"{prompt[:_PROMPT].rstrip()}…" if is_long else prompt, answer, "\n".join(changed)]
    rest = [prompt if is_long else "", *on_the_way, str(digest(calls))]
    if not any([*first, *rest]):
        return None
    parts = {"text": first, "rest": rest}
    return {name: "\n\n".join(filter(None, part)) for name, part in parts.items()}


def _is_report(text: str) -> bool:
    """Return whether a message on the way to the last one is a report, as of a cause before the
    work on it: it has headings."""
    return len(text) >= _SHORTEST_REPORT and _HEADING.search(text) is not None


def _closing_records(records: Sequence[RedactedRecord], message_ids: set[int]) -> set[int]:
    """Return the records (by identity) of the last message: what was said last, back to the call
    before it."""
    closing: set[int] = set()
    for record in reversed(records):
        if record.agent_id is not None:
            continue
        if id(record) in message_ids:
            closing.add(id(record))
        elif closing and record.kind in _CALLS:
            break
    return closing


def _changed_file_lines(calls: Iterable[RedactedRecord]) -> Iterator[str]:
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


def _commit_lines(rows: Sequence[dict[str, str]], answer: str) -> Iterator[str]:
    """Yield a line for each commit, in their order, that the last message does not name with its
    subject."""
    for row in sorted(rows, key=lambda row: str(row["timestamp"] or "")):
        if row["commit"] and not (row["commit"][:7] in answer and row["subject"] in answer):
            yield f"Committed: {row['commit'][:9]} {row['subject']}"
