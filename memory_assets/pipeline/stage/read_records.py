"""The records of files that were just scanned, kept in memory for their redaction.

So a file is parsed once, and what is redacted is exactly what was scanned. Files that are not
kept, because there are too many, are read again for redaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memory_assets.models import Record
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets.transcripts import ReadReport

_MOST_BYTES = 32 << 20
"""Limit in bytes of the files; Python objects take about three times as much."""


@dataclass(frozen=True)
class FileRecords:
    """The records of a file, and the reader's report."""

    records: Sequence[Record] = field(repr=False)
    report: ReadReport


class ReadRecords:
    """Keeps the unredacted records of scanned files until they are taken."""

    def __init__(self) -> None:
        self._files: dict[tuple[object, ...], FileRecords] = {}
        self._left = _MOST_BYTES

    def has_room(self, size: int) -> bool:
        """Whether a file of `size` bytes may be kept."""
        return size <= self._left

    def keep(self, row: SourceRow, file: FileRecords) -> None:
        """Keep the records of a file in the state that its row of the ledger describes."""
        self._left -= row.size
        self._files[_state(row)] = file

    def take(self, row: SourceRow) -> FileRecords | None:
        """Return the records of a file in the state of `row`, and keep them no longer; None if
        they were not kept."""
        file = self._files.pop(_state(row), None)
        if file is not None:
            self._left += row.size
        return file

    def forget(self) -> None:
        """Drop all records."""
        self._files.clear()
        self._left = _MOST_BYTES


def _state(row: SourceRow) -> tuple[object, ...]:
    return (row.agent, row.path, row.size, row.mtime_ns, row.fingerprint, row.reader_version)
