"""Every record of a turn as it was kept, in pages: what was said and thought, each call with its
output, edits as diffs, and the records of a subagent folded into one entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from difflib import unified_diff
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from memory_assets.chunking import build_turns
from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.models import RedactedRecord, Turn
from memory_assets.recall.names import resolve_id, row_of_id
from memory_assets.recall.rows import iso_time
from memory_assets.requests.questions import ShowRequest
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis import session_turns as analysed
from memory_assets.session_analysis.files import edits_of
from memory_assets.status.words import counted
from memory_assets.stores.lake.rows import rows_from_arrow
from memory_assets.stores.lake.schemas import REDACTED_RECORDS
from memory_assets.stores.stores import Stores
from memory_assets.tool_names import kind_of_tool

_ANALYSIS_COLUMNS = [
    *("project", "project_root", "agent", "session_id", "agent_id", "seq", "timestamp", "kind"),
    *("text", "subtype", "tool_name", "tool_use_id", "is_error", "paths", "command", "cwd"),
    "spawned_agent_id",
]
"""The columns by which turns, runs and touched files are found."""
PAGE_CHARACTERS = 40_000
"""Characters of a page, unless one record alone has more: pages hold whole records."""
_READING_TOOLS = ("read", "search", "list")


def session_turns(
    stores: Stores, project: str, session_id: str, *, recalled: bool = False
) -> list[Turn]:
    """Return the turns of a session with their records; answers of this memory among them if
    `recalled`."""
    records = stores.lake.read_rows(REDACTED_RECORDS, project, session_id)
    copied = _copied_prompts(stores, project, session_id)
    return list(build_turns(records, first_index=copied, recalled=recalled))


def whole_session(
    memory: Stores,
    project: str,
    session_id: str,
    needed: Callable[[pa.Table], Any] | None = None,
) -> SessionTurns | None:
    """Return a session with its records and turns, None if nothing of it is on record. Most of the
    time goes into making records of rows, so that `needed` may say which rows are worth it;
    the turns are the same if what is said and what spawns a subagent is among them. Fields by which
    no run is found are empty then."""
    try:
        columns = None if needed is None else _ANALYSIS_COLUMNS
        rows = memory.lake.read(REDACTED_RECORDS, project, session_id, columns)
    except NotFound:
        return None
    kept = rows if needed is None else rows.filter(needed(rows))
    records = rows_from_arrow(REDACTED_RECORDS, kept)
    copied = _copied_prompts(memory, project, session_id)
    return analysed(records, build_turns(records, first_index=copied)) if records else None


def _copied_prompts(stores: Stores, project: str, session_id: str) -> int:
    """Return how many prompts of another session, which it begins with copies of, were left out."""
    facts = stores.catalog.products.facts(REDACTED_RECORDS.name, project, session_id)
    return facts.get("copied_prompts", 0)


def calls_and_prompts(rows: Any) -> Any:
    """Return a mask of a session's rows in which its turns and runs are found. What is left out is
    most of a session: what is said or thought after its first prompt, and calls that only looked at
    files with what these returned."""
    kind, is_main = rows["kind"], pc.is_null(rows["agent_id"])
    prompts = pc.indices_nonzero(pc.and_(pc.equal(kind, pa.scalar("prompt")), is_main))
    first = prompts[0].as_py() if len(prompts) else len(rows)
    is_text = pc.invert(pc.is_in(kind, pa.array(["prompt", "tool_use", "tool_result"])))
    begin = min(first + 1, len(rows))
    after = pa.concat_arrays([pa.repeat(False, begin), pa.repeat(True, len(rows) - begin)])
    later = pc.and_(is_main, after)
    names = pc.unique(rows["tool_name"]).to_pylist()
    reading_tools = pa.array(
        [name for name in names if kind_of_tool(name) in _READING_TOOLS], pa.string()
    )
    is_reading = pc.and_(
        pc.equal(rows["command"], pa.scalar("")),
        pc.and_(pc.is_in(rows["tool_name"], reading_tools), pc.invert(rows["is_error"])),
    )
    spawning = pc.not_equal(rows["spawned_agent_id"], pa.scalar(""))
    is_thinking = pc.equal(kind, pa.scalar("thinking"))
    dropped = pc.or_(pc.or_(is_reading, is_thinking), pc.and_(is_text, later))
    return pc.or_(pc.invert(dropped), spawning)


def records_behind(
    stores: Stores, any_id: str, around: int = 0, *, subagents: bool = False
) -> list[dict[str, Any]]:
    """Return the records of the turns behind an id, in order: of a turn or prompt its turn and
    `around` turns beside it, of an observation or commit the turns that it comes from, of a session
    or summary all turns. Without `subagents`, a subagent's records are one entry of the kind
    `subagent`, which counts them and its calls.

    Raises:
        ConfigurationError: it does not look like an id, or no turn is behind it.
        NotFound: nothing of that id is in memory.
    """
    named = resolve_id(stores, any_id)
    turns = session_turns(stores, named.project, named.parts.session_id, recalled=True)
    if named.parts.turn_index is not None:
        middle = named.parts.turn_index
        turns = [turn for turn in turns if abs(turn.turn_index - middle) <= around]
    elif named.has_row:
        row = row_of_id(stores.lake, named) or {}
        turn_ids = row.get("turn_ids") or [row.get("turn_id")]
        turns = [turn for turn in turns if turn.id in turn_ids]
    if not turns:
        raise NotFound(f"no turn is behind {named.id}; `memory show` prints what is kept of it")
    return [
        entry
        for turn in turns
        for agent_id, own in groupby(turn.records, key=lambda record: record.agent_id)
        for entry in _records_as_json(turn.id, agent_id, list(own), subagents)
    ]


def record_page(stores: Stores, request: ShowRequest) -> dict[str, Any]:
    """Return one page of `records_behind`: `records`, `page` and `pages`.

    Raises:
        ConfigurationError: there is no such page.
    """
    records = records_behind(stores, request.id, request.around, subagents=request.subagents)
    pages = list(_pages(records))
    if request.page > len(pages):
        raise ConfigurationError(f"there is no page {request.page}; the last is {len(pages)}")
    return {"records": pages[request.page - 1], "page": request.page, "pages": len(pages)}


def _records_as_json(
    turn_id: str, agent_id: str | None, records: list[RedactedRecord], subagents: bool
) -> Iterator[dict[str, Any]]:
    """Yield records as JSON, or one entry for all of a subagent's."""
    if agent_id is None or subagents:
        yield from (_record_as_json(turn_id, record) for record in records)
        return
    calls = Counter(str(record.tool_name) for record in records if record.kind == "tool_use")
    tools = ", ".join(f"{name} {count}" for name, count in calls.most_common())
    yield {
        **_record_as_json(turn_id, records[0]),
        **{"kind": "subagent", "subtype": "", "tool": "", "is_error": False, "diff": None},
        **{"paths": [], "redactions": sum(record.redactions for record in records)},
        "text": f"{counted(len(records), 'record')}{f', calls: {tools}' if tools else ''}",
    }


def _record_as_json(turn_id: str, record: RedactedRecord) -> dict[str, Any]:
    return {
        "turn_id": turn_id,
        "seq": record.seq,
        "agent_id": record.agent_id,
        "kind": record.kind,
        "subtype": record.subtype,
        "time": iso_time(record.timestamp),
        "tool": str(record.tool_name),
        "is_error": record.is_error,
        "paths": [str(path) for path in record.paths],
        "redactions": record.redactions,
        "text": str(record.text),
        "diff": as_diff(str(record.text)) if record.kind == "tool_use" else None,
    }


def as_diff(call: str) -> str | None:
    """Return the edits of a call as a diff without line numbers, or None if it is no edit that
    replaces one text by another."""
    diffs = [diff for old, new in edits_of(call) if (diff := _diff(old, new))]
    return "\n".join(diffs) or None


def _diff(old: str, new: str) -> str:
    lines = list(unified_diff(old.splitlines(), new.splitlines(), lineterm=""))[2:]
    return "\n".join("@@" if line.startswith("@@ ") else line for line in lines)


def _pages(entries: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    page: list[dict[str, Any]] = []
    size = 0
    for entry in entries:
        length = len(entry["text"]) + len(entry["diff"] or "")
        if page and size + length > PAGE_CHARACTERS:
            yield page
            page, size = [], 0
        page.append(entry)
        size += length
    yield page
