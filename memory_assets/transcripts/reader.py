"""`Reader`: reads one agent's files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from memory_assets.errors import unreadable
from memory_assets.models import Record
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, ignore
from memory_assets.transcripts.content import Content, FileContent, Rendered
from memory_assets.transcripts.discovery import File, Identity, Walk
from memory_assets.transcripts.ids import safe_id
from memory_assets.transcripts.lines import JsonObject, objects_in, read_head
from memory_assets.transcripts.session import SessionParser


class Reader(ABC):
    """Reads one agent's transcripts. Stateless: one instance serves all files."""

    agent: str
    """Stable name, as in `Record.agent`."""
    version: str
    """The code version; must change whenever a file would give other records."""
    left_out: tuple[LeftOut, ...] = ()
    """The places whose text the reader leaves out on purpose."""
    session: type[SessionParser]
    """The state of reading a source."""
    once = False
    """Whether of several files of a session the first counts alone."""
    format = ""
    """The name of its lines, where another agent's files have the same."""

    def identify(self, path: Path, head: bytes) -> Identity:
        """Return whose a file is that begins with `head`: a session of its name, unless a reader
        says otherwise."""
        return Identity(safe_id(path.stem))

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield this agent's transcripts under `root` in a fixed order: those of `files`, unless
        a reader says otherwise.

        Files that vanish during the walk are skipped. Files and directories that cannot be
        listed, read or named are skipped and passed to `note`; nothing is raised.
        """
        walk = Walk(self.agent, note)
        return walk.sources(self.files(walk, root), known, self.identified)

    def files(self, walk: Walk, root: Path) -> Iterable[File]:
        """Return the transcripts that are files under `root`, in a fixed order."""
        return ()

    def identified(self, path: Path) -> Identity:
        """Return whose a file is; raise `TranscriptError` if it cannot be read."""
        return self.identify(path, read_head(path))

    def elsewhere(self, root: Path) -> Iterable[Path]:
        """Return directories outside of `root` that have sessions which are found by it."""
        return ()

    def holds(self, source: Source) -> bool:
        """Return whether a source of the agent is this reader's, where the agent has several; the
        last of them reads what none holds."""
        return True

    def left_out_of(self, source: Source) -> tuple[LeftOut, ...]:
        """Return the places whose text is left out of this file on purpose."""
        return self.left_out

    def begin(self, source: Source, report: ReadReport, end: int | None = None) -> SessionParser:
        """Return the state of reading a source's first `end` bytes, or all, at its start."""
        return self.session(source, report)

    def contents(self, source: Source) -> tuple[Content, ...]:
        """Return what the source's lines are read from, in order: its files, or one that was
        rendered in memory.

        Raises:
            TranscriptError: a store cannot be read, or has no such session any more.
        """
        if not self.renders(source):
            return tuple(map(FileContent, source.files))
        return (Rendered.of(self.rows(source), source.path),)

    def rows(self, source: Source) -> Iterable[JsonObject]:
        """Return the lines of a source that is rendered: an object for each row or message, in
        order, and last those that change (`content.CHANGING`). Equal rows are equal here.

        Raises:
            TranscriptError: the store cannot be read, or has no such session any more.
        """
        raise NotImplementedError

    def unread(self, source: Source) -> Mapping[str, int]:
        """Return the bytes of text of a source by place that the reader does not ask its store for,
        because it knows no such place."""
        return {}

    def renders(self, source: Source) -> bool:
        """Return whether the source's lines are rendered from a store, and are in no file."""
        return False

    def state(self, source: Source) -> tuple[int, int] | None:
        """Return the present `size` and `mtime_ns` of a source; None if it is deleted.

        Raises:
            TranscriptError: it cannot be looked at now.
        """
        try:
            states = [path.stat() for path in source.files]
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise unreadable(source.path, error) from error
        return sum(state.st_size for state in states), max(state.st_mtime_ns for state in states)

    def read(
        self,
        source: Source,
        report: ReadReport,
        end: int | None = None,
        contents: Sequence[Content] | None = None,
    ) -> Iterator[Record]:
        """Yield the records of the source's contents in order, filling `report`; of the first
        `end` bytes on disk, or of all. Offsets count through all contents. What a further one
        repeats of those before it is dropped.

        Raises:
            TranscriptError: a file cannot be opened or read.
        """
        contents = self.contents(source) if contents is None else contents
        session, account = self.begin(source, report, end), report.account
        for content in contents:
            before = report.bytes_read
            last = None if content.is_whole else end  # what is packed or rendered never grows
            for begins, ends, record in objects_in(content.text(last), report):
                report.reason = ""
                if source.parts and session.has_met(record, repeats=content is not contents[0]):
                    records = session.repeated()
                else:
                    records = session.take_at(before + begins, before + ends, record)
                if account is not None:
                    account.compare(record, records, dropped=report.reason, version=report.version)
                yield from records
            if content is not contents[-1] or content.is_whole:
                report.end_file()
            if end is not None and source.parts:
                end = max(end - content.size, 0)
        records = session.end()
        if account is not None:
            account.made(records)
            account.unread(self.unread(source), report.version)
        yield from records


class RenderingReader(Reader):
    """A reader whose sources are no files of lines.

    Its sources' `size` and `mtime_ns` are a token of their state, as `state` says it: those of the
    file for a document that is one session.
    """

    @abstractmethod
    def rows(self, source: Source) -> Iterable[JsonObject]:
        """Return the lines of a source."""

    def renders(self, source: Source) -> bool:
        """Return True."""
        return True
