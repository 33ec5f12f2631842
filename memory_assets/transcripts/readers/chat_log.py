"""The document of a session of VS Code's chat: a JSON file, or since 1.109 a log of operations.

A line of a log is `{kind, k, v, i}`: 0 sets the whole document, 1 a value at the path `k`, 2 cuts
the list there to `i`, if that is given, and appends `v`, 3 deletes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memory_assets.errors import DamagedTranscript, printable
from memory_assets.transcripts.fields import from_json, objects_in, text_field
from memory_assets.transcripts.json_documents import bytes_of
from memory_assets.transcripts.lines import JsonObject

LOG = ".jsonl"
_NO_DOCUMENT = "it is no session of the chat"
_RESTORE = "delete it in the editor, or restore it; it is read again when it changes"


def is_empty(path: Path) -> bool:
    """Return whether a session can be read and has no request."""
    try:
        document, taken_back, _ = document_of(path)
    except DamagedTranscript:
        return False
    return not document.get("requests") and not taken_back


def document_of(path: Path) -> tuple[JsonObject, dict[int, list[JsonObject]], list[int]]:
    """Return a session's document, the requests that were taken back, by the place that they had,
    and the numbers of lines of a log that cannot be read."""
    data = bytes_of(path)
    if path.suffix == LOG:
        document, taken_back, bad = replayed(data.split(b"\n"))
    else:
        taken_back, bad = {}, []
        document = from_json(data)
    if not isinstance(document, dict) or not isinstance(document.get("requests", []), list):
        raise DamagedTranscript(f"{printable(path)}: {_NO_DOCUMENT}", _NO_DOCUMENT, _RESTORE)
    return document, taken_back, bad


def replayed(lines: Iterable[bytes]) -> tuple[Any, dict[int, list[JsonObject]], list[int]]:
    """Return what a log of operations comes to: the document, the requests that were taken back,
    and the numbers of the lines that are no operation, a half-written last one aside."""
    state: Any = None
    removed: dict[int, list[JsonObject]] = {}
    bad: list[int] = []
    torn = False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        operation = from_json(line)
        torn = operation is None
        try:
            state = _applied(state, operation, removed)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            bad.append(number)
    if torn and bad:
        bad.pop()
    present = (
        {_id(request) for request in objects_in(state.get("requests"))}
        if isinstance(state, dict)
        else set()
    )
    kept = {
        place: [
            {"type": "request", **request, "undone": True}
            for request in requests
            if _id(request) not in present
        ]
        for place, requests in removed.items()
    }
    return state, {place: requests for place, requests in kept.items() if requests}, bad


def _applied(state: Any, operation: Any, removed: dict[int, list[JsonObject]]) -> Any:
    """Return the state after an operation: 0 sets it, 1 sets a value at a path, 2 cuts a list to
    `i` and appends to it, 3 deletes."""
    kind = operation["kind"]
    if kind == 0:
        return operation["v"]
    *above, last = operation["k"]
    at = state
    for step in above:
        at = at[step]
    if kind == 1:
        at[last] = operation.get("v")
    elif kind == 2:
        values = at.setdefault(last, []) if isinstance(at, dict) else at[last]
        if (cut := operation.get("i")) is not None:
            if operation["k"] == ["requests"] and values[cut:]:
                removed.setdefault(cut, []).extend(objects_in(values[cut:]))
            del values[cut:]
        values += operation.get("v") or []
    elif kind == 3:
        if isinstance(at, dict):
            at.pop(last, None)
        else:
            del at[last]
    return state


def _id(request: JsonObject) -> str:
    return text_field(request, "requestId")
