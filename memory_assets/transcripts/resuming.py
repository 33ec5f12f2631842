"""The loop that every reader shares, from the start of a file or from a checkpoint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import astuple
from datetime import datetime
from typing import Any, Protocol

from memory_assets.errors import ResumeFailed
from memory_assets.models import Record
from memory_assets.transcripts.base import BadLine, ReadReport, Source
from memory_assets.transcripts.checkpoint import Checkpoint, Extent, Resume
from memory_assets.transcripts.fields import mark
from memory_assets.transcripts.lines import JsonObject, object_at, read_objects

Fetch = Callable[[Extent], JsonObject]
"""Returns the object that stands at a place of the file."""

_COUNTS = ("lines", "good_lines", "blank_lines", "bad_line_count", "records", "kept", "blocks")
_MORE_COUNTS = ("prompts", "copied")
_COUNTERS = ("dropped", "record_types", "unknown_types")


class Session(Protocol):
    """The state of reading one file."""

    def take(self, record: JsonObject, start: int, end: int, /) -> list[Record]:
        """Return the `Record`s that this object gives, and those it releases."""

    def end(self) -> list[Record]:
        """Return the records that were held until the end of the file."""

    def state(self) -> dict[str, Any]:
        """Return the state without text, as JSON can hold it."""

    def restore(self, state: Mapping[str, Any], fetch: Fetch) -> None:
        """Take on a state; the report may be filled with whatever is read for it."""


Begin = Callable[[Container[int]], Session]


def read_with(begin: Begin, source: Source, report: ReadReport, resume: Resume) -> Iterator[Record]:
    """Yield the records of a file, parsed by the session object that `begin` returns; `begin`
    is passed the marks of the record ids of earlier readings.

    Raises:
        TranscriptError: the file cannot be opened or read.
        ResumeFailed: the file has changed before the point where `resume` starts.
    """
    session = begin(resume.seen)
    start = resume.start
    if start is not None:
        _restore(begin, session, source, report, start)

    def at_last_line() -> None:
        report.passed_over_before = len(report.passed_over)
        report.checkpoint = Checkpoint(
            report.complete_offset, report_state(report), session.state()
        )

    offset = start.offset if start is not None else 0
    for begins, ends, record in read_objects(
        source.path, report, start=offset, end=resume.end, at_last_line=at_last_line
    ):
        yield from session.take(record, begins, ends)
    yield from session.end()


def records_at(begin: Begin, source: Source, extents: Iterable[Extent]) -> Iterator[Record]:
    """Yield the records of single objects of a file, each read on its own, so that results
    lack the name of their call.

    Raises:
        TranscriptError: the file cannot be read.
        ResumeFailed: one of the objects is no longer there.
    """
    session = begin(frozenset())
    for start, end in extents:
        yield from session.take(object_at(source.path, start, end), start, end)
    yield from session.end()


def _restore(
    begin: Begin,
    session: Session,
    source: Source,
    report: ReadReport,
    start: Checkpoint,
) -> None:
    def fetch(extent: Extent) -> JsonObject:
        return object_at(source.path, *extent)

    try:
        names = begin(frozenset())
        for begins, ends in start.report["origins"]:
            report.at = (begins, ends)
            names.take(fetch((begins, ends)), begins, ends)
        session.restore(start.reader, fetch)
        restore_report(report, start.report, start.offset)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ResumeFailed(f"{source.path}: {type(error).__name__} at its checkpoint") from None


def report_state(report: ReadReport) -> dict[str, Any]:
    """Return the counts of a report, and marks of its texts, as JSON can hold them."""
    first, last = report.first_timestamp, report.last_timestamp
    return {
        "counts": [getattr(report, name) for name in (*_COUNTS, *_MORE_COUNTS)],
        "counters": [dict(getattr(report, name)) for name in _COUNTERS],
        "bad_lines": [astuple(bad) for bad in report.bad_lines],
        "times": [first.isoformat() if first else None, last.isoformat() if last else None],
        "cwd": mark(report.first_cwd),
        "parent": mark(report.parent_session or ""),
        "versions": sorted(mark(version) for version in report.agent_versions),
        "sessions": [[mark(name), count] for name, count in report.own_session_ids.items()],
        "origins": sorted(report.origins),
    }


def restore_report(report: ReadReport, state: Mapping[str, Any], offset: int) -> None:
    """Restore a report to its state at `offset`, from the objects at `state["origins"]`.

    Raises:
        ValueError: a text is not where it was.
    """
    for name, count in zip((*_COUNTS, *_MORE_COUNTS), state["counts"], strict=True):
        setattr(report, name, count)
    for name, counts in zip(_COUNTERS, state["counters"], strict=True):
        setattr(report, name, Counter(counts))
    report.bad_lines = [BadLine(*bad) for bad in state["bad_lines"]]
    times = [datetime.fromisoformat(time) if time else None for time in state["times"]]
    report.first_timestamp, report.last_timestamp = times
    report.bytes_read = report.complete_offset = offset
    report.pending_bytes = 0
    report.passed_over.clear()
    report.origins = {(begins, ends) for begins, ends in state["origins"]}
    sessions = {mark(name): name for name in report.own_session_ids}
    report.own_session_ids = Counter({sessions[known]: count for known, count in state["sessions"]})
    versions = {mark(version): version for version in report.agent_versions}
    report.agent_versions = {versions[known] for known in state["versions"]}
    if state["parent"] == mark(""):
        report.parent_session = None
    now = mark(report.first_cwd), mark(report.parent_session or "")
    if now != (state["cwd"], state["parent"]):
        raise ValueError("a text is not where it was")
