"""Whether source files are as they were when they were read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memory_assets.errors import TranscriptError
from memory_assets.models import RedactedRecord
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets.transcripts import take_fingerprint


@dataclass(frozen=True)
class SourceState:
    """One source file of records. `state` is "unchanged", "grown" (bytes were appended),
    "rewritten", "gone" or "unreadable"; `byte_start` and `byte_end` bound the records."""

    agent_id: str | None
    path: str
    state: str
    size_read: int
    size_now: int | None
    byte_start: int | None
    byte_end: int | None


def source_states(
    catalog: Catalog,
    project: str,
    session_id: str,
    records: Sequence[RedactedRecord],
    key: bytes,
) -> list[SourceState]:
    """Return the source files of these records, main file first. Each is read once, to compute its
    keyed fingerprint."""
    ranges: dict[str, list[RedactedRecord]] = {}
    for record in records:
        ranges.setdefault(record.agent_id or "", []).append(record)
    found = []
    for row in catalog.sources.rows(project):
        if row.session_id == session_id and (own := ranges.get(row.agent_id)):
            state, size_now = _compared(row, key)
            start, end = min(each.byte_start for each in own), max(each.byte_end for each in own)
            of = row.agent_id or None
            found.append(SourceState(of, row.path, state, row.size, size_now, start, end))
    return found


def _compared(row: SourceRow, key: bytes) -> tuple[str, int | None]:
    paths = [Path(path) for path in (row.path, *row.facts.get("parts", ()))]
    try:
        size = sum(path.stat().st_size for path in paths) if row.path else None
    except OSError:
        size = None
    if size is None:
        return "gone", None
    complete = row.size - row.facts.get("pending_bytes", 0)
    if size < complete:
        return "rewritten", size
    try:
        same = take_fingerprint(paths, complete, key) == row.fingerprint
    except TranscriptError:
        return "unreadable", size
    if not same:
        return "rewritten", size
    return ("grown" if size > row.size else "unchanged"), size
