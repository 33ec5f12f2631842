"""`Reader`: reads one agent's files, from the start or from a checkpoint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import astuple
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_assets.errors import ResumeFailed
from memory_assets.models import Record
from memory_assets.transcripts.base import (
    FROM_THE_START,
    BadLine,
    Checkpoint,
    Extent,
    Known,
    Note,
    ReadReport,
    Resume,
    Source,
    ignore,
)
from memory_assets.transcripts.fields import mark
from memory_assets.transcripts.lines import object_at, read_objects
from memory_assets.transcripts.session import Session

_COUNTS = (
    *("lines", "good_lines", "blank_lines", "bad_line_count"),
    *("records", "kept", "blocks", "prompts", "copied"),
)
_COUNTERS = ("dropped", "record_types", "unknown_types")


class Reader(ABC):
    """Reads one agent's transcripts. Stateless: one instance serves all files."""

    agent: str
    """Stable name, as in `Record.agent`."""
    version: str
    """The code version; must change whenever a file would give other records."""

    @abstractmethod
    def sniff(self, head: bytes) -> bool:
        """Return True if a file that begins with `head` was written by this agent."""

    @abstractmethod
    def identify(self, path: Path, head: bytes) -> tuple[str, str | None]:
        """Return (session_id, agent_id) from the file's name and its head."""

    @abstractmethod
    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield this agent's transcripts under `root` in a fixed order.

        Files that vanish during the walk are skipped. Files and directories that cannot be
        listed, read or named are skipped and passed to `note`; nothing is raised.
        """

    @abstractmethod
    def begin(self, source: Source, report: ReadReport, seen: Container[int]) -> Session:
        """Return the state of reading a file at its start; `seen` contains the marks of the
        record ids of earlier readings."""

    def read(
        self, source: Source, report: ReadReport, resume: Resume = FROM_THE_START
    ) -> Iterator[Record]:
        """Yield the records of `source.path` in file order, filling `report`.

        Raises:
            TranscriptError: the file cannot be opened or read.
            ResumeFailed: the file has changed before the point where `resume` starts.
        """
        session = self.begin(source, report, resume.seen)
        start = resume.start
        if start is not None:
            self._restore(session, source, report, start)

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

    def read_at(self, source: Source, extents: Iterable[Extent]) -> Iterator[Record]:
        """Yield the records of the objects at these byte ranges, each read on its own, so that
        results lack the name of their call.

        Raises:
            TranscriptError: the file cannot be read.
            ResumeFailed: one of the objects is no longer there.
        """
        session = self.begin(source, ReadReport(), frozenset())
        for start, end in extents:
            yield from session.take(object_at(source.path, start, end), start, end)
        yield from session.end()

    def _restore(
        self, session: Session, source: Source, report: ReadReport, start: Checkpoint
    ) -> None:
        def fetch(extent: Extent) -> dict[str, Any]:
            return object_at(source.path, *extent)

        try:
            names = self.begin(source, report, frozenset())
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
        "counts": [getattr(report, name) for name in _COUNTS],
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
    for name, count in zip(_COUNTS, state["counts"], strict=True):
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
