"""`Reader`: reads one agent's files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from memory_assets.models import Record
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, ignore
from memory_assets.transcripts.containers import is_compressed, size_of
from memory_assets.transcripts.lines import read_objects
from memory_assets.transcripts.session import Session


class Reader(ABC):
    """Reads one agent's transcripts. Stateless: one instance serves all files."""

    agent: str
    """Stable name, as in `Record.agent`."""
    version: str
    """The code version; must change whenever a file would give other records."""
    left_out: tuple[LeftOut, ...] = ()
    """The places whose text the reader leaves out on purpose."""

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

    def left_out_of(self, source: Source) -> tuple[LeftOut, ...]:
        """Return the places whose text is left out of this file on purpose."""
        return self.left_out

    @abstractmethod
    def begin(self, source: Source, report: ReadReport, end: int | None = None) -> Session:
        """Return the state of reading a source's first `end` bytes, or all, at its start."""

    def read(self, source: Source, report: ReadReport, end: int | None = None) -> Iterator[Record]:
        """Yield the records of the source's files in order, filling `report`; of the first
        `end` bytes on disk, or of all. Offsets count through all files. What a further file
        repeats of those before it is dropped.

        Raises:
            TranscriptError: a file cannot be opened or read.
        """
        session, account = self.begin(source, report, end), report.account
        for path in source.files:
            before = report.bytes_read
            unpacked = is_compressed(path)  # what is packed never grows: it is read whole
            for begins, ends, record in read_objects(path, report, end=None if unpacked else end):
                report.reason = ""
                if source.parts and session.has_met(record, repeats=path != source.path):
                    made = session.repeated()
                else:
                    made = session.take(record, before + begins, before + ends)
                if account is not None:
                    account.compare(record, made, dropped=report.reason, version=report.version)
                yield from made
            if path != source.files[-1] or unpacked:
                report.end_file(before)
            if end is not None and source.parts:
                end = max(end - size_of(path), 0)
        made = session.end()
        if account is not None:
            account.made(made)
        yield from made
