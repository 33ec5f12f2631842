"""The documents that a session retrieved through Chroma's MCP server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memory_assets.models import RedactedRecord, Turn
from memory_assets.session_analysis.session import SessionTurns

# Claude Code writes mcp__<server>__<tool>, Codex the tool alone.
_TOOL = re.compile(r"(?:.*[_./])?chroma_(?:query_documents|get_documents|peek_collection)")
_COLLECTION = re.compile(r"^collection_name: (.+)$", re.MULTILINE)
_IDS = re.compile(r'"ids"\s*:\s*(?=\[)')
_MOST = 500
"""Documents of one call that are recorded."""


@dataclass(frozen=True)
class Retrieval:
    """One result of a call: the queried collection ("" if unknown), and the ids of the documents,
    best first for each query text."""

    turn: Turn
    result: RedactedRecord
    collection: str
    documents: tuple[str, ...]


def retrievals(session: SessionTurns) -> Iterator[Retrieval]:
    """Yield the calls that returned documents, in the session's order."""
    for turn in session.turns:
        asked: dict[str, str] = {}
        for record in turn.records:
            if not _TOOL.fullmatch(record.tool_name):
                continue
            if record.kind == "tool_use":
                named = _COLLECTION.search(record.text)
                asked[record.tool_use_id] = named[1].strip() if named else ""
            elif record.kind == "tool_result" and (documents := _documents(record.text)):
                yield Retrieval(turn, record, asked.get(record.tool_use_id, ""), documents)


def _documents(text: str) -> tuple[str, ...]:
    """Return the ids of a result: a list, or a list for each query text. The rest of the result may
    be cut off."""
    begins = _IDS.search(text)
    if begins is None:
        return ()
    try:
        parsed, _ = json.JSONDecoder().raw_decode(text, begins.end())
    except (ValueError, RecursionError):
        return ()
    flat: list[Any] = [
        name for part in parsed for name in (part if isinstance(part, list) else [part])
    ]
    return tuple(dict.fromkeys(name for name in flat if isinstance(name, str) and name))[:_MOST]
