"""Whether source files are as they were when they were read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memory_assets.errors import TranscriptError
from memory_assets.models import RedactedRecord
from memory_assets.paths import is_gone, split_locator
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets.transcripts import (
    Content,
    Source,
    contents_of,
    is_rendered,
    state_of,
    take_fingerprint,
)


@dataclass(frozen=True)
class SourceState:
    """One source file of records. `state` is "unchanged", "grown" (bytes were appended),
    "rewritten", "gone" or "unreadable"; `byte_start` and `byte_end` bound the records, `line_start`
    and `line_end` are the numbers of their lines, from 1 (None where it cannot be read).

    `path` is a locator (`opencode.db#ses_...`) for a session of a store; its lines are those that
    it is rendered to."""

    agent_id: str | None
    path: str
    state: str
    size_read: int
    size_now: int | None
    byte_start: int | None
    byte_end: int | None
    line_start: int | None = None
    line_end: int | None = None


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
            start, end = min(each.byte_start for each in own), max(each.byte_end for each in own)
            state, size_now, lines = _compared(row, key, (start, end))
            of, size_read = row.agent_id or None, row.facts.get("rendered", row.size)
            found.append(SourceState(of, row.path, state, size_read, size_now, start, end, *lines))
    return found


_Lines = tuple[int | None, int | None]
_NO_LINES: _Lines = (None, None)


def _compared(row: SourceRow, key: bytes, span: tuple[int, int]) -> tuple[str, int | None, _Lines]:
    """Return the state of a source, its size now, and the numbers of the lines of `span`."""
    if not row.path or is_gone(row.path):
        return "gone", None, _NO_LINES
    path, member = split_locator(row.path)
    source = Source(
        *(row.agent, row.project, row.session_id, row.agent_id or None),
        *(Path(path), row.size, row.mtime_ns),
        tuple(map(Path, row.facts.get("parts", ()))),
        member=member,
    )
    read = row.facts.get("rendered", row.size)
    complete = read - row.facts.get("pending_bytes", 0)
    size = None
    try:
        if is_rendered(source) and state_of(source) is None:
            return "gone", None, _NO_LINES
        contents = contents_of(source)
        size = sum(content.size for content in contents)
        same = size >= complete and take_fingerprint(contents, complete, key) == row.fingerprint
        lines = _line_numbers(contents, *span) if same else _NO_LINES
    except TranscriptError:
        return "unreadable", size, _NO_LINES
    if same:
        return ("grown" if size > read else "unchanged"), size, lines
    finished = row.facts.get("finished", 0)
    goes_on = (
        finished and take_fingerprint(contents, finished, key) == row.facts["finished_fingerprint"]
    )
    return ("grown" if goes_on else "rewritten"), size, lines


def _line_numbers(contents: Sequence[Content], start: int, end: int) -> tuple[int, int]:
    """Return the numbers of the lines that the bytes from `start` to `end` are in."""
    first = last = 1
    at = 0
    for content in contents:
        for block in content.text():
            if at >= end:
                return first, last
            first += block.count(b"\n", 0, max(start - at, 0))
            last += block.count(b"\n", 0, max(end - at, 0))
            at += len(block)
    return first, last
