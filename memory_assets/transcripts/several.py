"""An agent with stores of several kinds, each of which has a reader of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, ignore
from memory_assets.transcripts.content import Content
from memory_assets.transcripts.reader import Reader
from memory_assets.transcripts.session import Session


class SeveralReader(Reader):
    """Reads what any of these readers of one agent reads. The first that `holds` a source has it.
    A session that several have is the first one's."""

    def __init__(self, *readers: Reader) -> None:
        self._readers = readers
        self.agent = readers[0].agent
        self.version = "-".join(reader.version for reader in readers)
        self.left_out = tuple(row for reader in readers for row in reader.left_out)

    def sniff(self, head: bytes) -> bool:
        """Return whether any of them knows a file's beginning."""
        return any(reader.sniff(head) for reader in self._readers)

    def identify(self, path: Path, head: bytes) -> tuple[str, str | None]:
        """Return the ids that the one says that knows the file."""
        knowing = (reader for reader in self._readers if reader.sniff(head))
        return next(knowing, self._readers[-1]).identify(path, head)

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield what each finds below a directory."""
        seen: set[tuple[str, str | None]] = set()
        for reader in self._readers:
            for source in reader.discover(root, known, note):
                if (own := (source.session_id, source.agent_id)) not in seen:
                    seen.add(own)
                    yield source

    def holds(self, source: Source) -> bool:
        """Return whether any of them has a source."""
        return any(reader.holds(source) for reader in self._readers)

    def left_out_of(self, source: Source) -> tuple[LeftOut, ...]:
        """Return the places whose text is left out of a source on purpose."""
        return self._of(source).left_out_of(source)

    def unread(self, source: Source) -> Mapping[str, int]:
        """Return the bytes of text of a source at places that its reader does not know."""
        return self._of(source).unread(source)

    def renders(self, source: Source) -> bool:
        """Return whether a source is rendered."""
        return self._of(source).renders(source)

    def state(self, source: Source) -> tuple[int, int] | None:
        """Return the present state of a source."""
        return self._of(source).state(source)

    def contents(self, source: Source) -> tuple[Content, ...]:
        """Return what a source's lines are read from."""
        return self._of(source).contents(source)

    def begin(self, source: Source, report: ReadReport, end: int | None = None) -> Session:
        """Return the state of reading a source."""
        return self._of(source).begin(source, report, end)

    def _of(self, source: Source) -> Reader:
        return next((reader for reader in self._readers if reader.holds(source)), self._readers[-1])
