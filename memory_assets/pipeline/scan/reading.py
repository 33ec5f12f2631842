"""Reading a source file from where reading it stopped, or from its start.

What has been read is taken as unchanged when the file has grown and still begins as it
did (`begins_with`); everything else is read whole.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Container
from dataclasses import dataclass, field

import numpy as np

from memory_assets.errors import ResumeFailed
from memory_assets.models import Record
from memory_assets.pipeline.scan.sealed import seal_text, unseal_text
from memory_assets.record_identity import RecordIdentity
from memory_assets.stores.catalog.records import RECORD_DTYPE, RecordIds
from memory_assets.transcripts import (
    READER_VERSIONS,
    Checkpoint,
    Fingerprint,
    ReadReport,
    Resume,
    Source,
    begins_with,
    content_bytes,
    read_session,
    take_fingerprint,
)

PASSED_OVER_MS = -1
"""In place of a time: the record gave nothing, and is known only so that it is not met
again."""
_LINEAR_LOOKUPS = 30


@dataclass(frozen=True)
class FileState:
    """Where reading a file stopped: the reader's checkpoint, the fingerprint of what stands
    before it, and how many bytes of the file's record ids do. `series` tells readings that
    went on from one another from those that began anew: record ids stand in another order
    after those, so that `ids` of one series says nothing about another."""

    checkpoint: Checkpoint
    fingerprint: Fingerprint
    ids: int
    reader_version: str
    series: str = ""

    def sealed(self, key: bytes) -> str:
        """Return it encrypted: what a reader notes of texts it has seen is unkeyed."""
        return seal_text(key, self.to_json())

    @classmethod
    def unsealed(cls, sealed: str, key: bytes) -> FileState | None:
        """Return what `sealed` was called on; None for "", and under another key."""
        text = unseal_text(key, sealed) if sealed else None
        return cls.from_json(text) if text is not None else None

    def to_json(self) -> str:
        """Return it as JSON."""
        blocks = self.fingerprint.blocks.hex()
        rest = [self.ids, self.reader_version, self.series]
        return json.dumps([self.checkpoint.to_json(), blocks, *rest])

    @classmethod
    def from_json(cls, text: str) -> FileState:
        """Return what `to_json` was called on."""
        checkpoint, blocks, *rest = json.loads(text)
        at = Checkpoint.from_json(checkpoint)
        print_ = Fingerprint(at.offset, bytes.fromhex(blocks))
        return cls(at, print_, *rest)

    def still_holds(self, source: Source, key: bytes) -> bool:
        """Whether the file begins with what was read, and the reader is the same.

        Raises:
            TranscriptError: it cannot be read.
        """
        return (
            self.series != ""
            and self.reader_version == READER_VERSIONS[source.agent]
            and source.size >= self.checkpoint.offset
            and begins_with(source.path, self.fingerprint, key)
        )


class SeenRecords(Container[int]):
    """The records of a file, asked for by the marks of their ids; loaded when the first one
    is looked up."""

    def __init__(self, load: Callable[[], bytes], identity: RecordIdentity) -> None:
        self._load = load
        self._identity = identity
        self._ids: RecordIds | None = None
        self._lookups = 0

    def __contains__(self, known: object) -> bool:
        if self._ids is None:
            self._ids = np.frombuffer(self._load(), dtype=RECORD_DTYPE)["id"].copy()
        wanted = np.uint64(self._identity.id_of_mark(int(str(known))))
        self._lookups += 1
        if self._lookups < _LINEAR_LOOKUPS:
            return bool((self._ids == wanted).any())
        if self._lookups == _LINEAR_LOOKUPS:
            self._ids.sort()
        place = int(np.searchsorted(self._ids, wanted))
        return place < len(self._ids) and bool(self._ids[place] == wanted)


@dataclass
class FileReading:
    """What came of reading a file: its report, and the ids (`RECORD_DTYPE`) of the records
    that were read now: those before the new checkpoint, and those after it."""

    identity: RecordIdentity
    report: ReadReport = field(default_factory=ReadReport)
    firm: list[tuple[int, int, int]] = field(default_factory=list)
    provisional: list[tuple[int, int, int]] = field(default_factory=list)
    before: FileState | None = None
    family: int | None = None
    """Of the first record that was read."""
    _last: tuple[bool, str] | None = field(default=None, repr=False)

    def add(self, record: Record) -> None:
        """Note a record that was read."""
        is_firm = self.report.checkpoint is None
        if self._last == (is_firm, record.record_uuid):
            return  # another block of the same object
        self._last = (is_firm, record.record_uuid)
        identity = self.identity
        if self.family is None:
            self.family = identity.family_of(record.record_uuid)
        written = int(record.timestamp.timestamp() * 1000) if record.timestamp else 0
        said = identity.content_of(content_bytes(record.content))
        ids = self.firm if is_firm else self.provisional
        ids.append((identity.id_of(record.record_uuid), written, said))

    def end(self) -> None:
        """Note the records that gave nothing."""
        identity, before = self.identity, self.report.passed_over_before
        over = [
            (identity.id_of(record_uuid), PASSED_OVER_MS, identity.content_of(said))
            for record_uuid, said in self.report.passed_over
        ]
        self.firm += over[:before]
        self.provisional += over[before:]

    @property
    def kept_bytes(self) -> int:
        """Bytes of the ids on record that still count."""
        return self.before.ids if self.before is not None else 0

    def ids(self) -> bytes:
        """Return the new ids, firm ones first."""
        return np.array(self.firm + self.provisional, dtype=RECORD_DTYPE).tobytes()

    def state(self, source: Source, key: bytes) -> tuple[FileState, str]:
        """Return where reading stopped, and the fingerprint of all complete lines.

        Raises:
            TranscriptError: the file cannot be read.
        """
        at = self.report.checkpoint
        if at is None:
            raise ResumeFailed(f"{source.path}: reading did not reach its end")
        known = self.before.fingerprint if self.before is not None else None
        fingerprint = take_fingerprint(source.path, at.offset, key, known)
        complete = take_fingerprint(source.path, self.report.complete_offset, key, fingerprint)
        ids = self.kept_bytes + len(self.firm) * RECORD_DTYPE.itemsize
        series = self.before.series if self.before is not None else uuid.uuid4().hex
        state = FileState(at, fingerprint, ids, READER_VERSIONS[source.agent], series)
        return state, complete.hex(key)


def read_file(
    source: Source,
    before: FileState | None,
    ids_before: Callable[[], bytes],
    identity: RecordIdentity,
) -> FileReading:
    """Read a file as far as it goes by `source.size`, from the state `before` if it can be
    gone on with; `ids_before` returns the record ids known then.

    Raises:
        TranscriptError: it cannot be read.
    """
    if before is not None:
        try:
            return _read(source, before, ids_before, identity)
        except ResumeFailed:
            pass
    return _read(source, None, ids_before, identity)


def _read(
    source: Source,
    before: FileState | None,
    ids_before: Callable[[], bytes],
    identity: RecordIdentity,
) -> FileReading:
    reading = FileReading(identity, before=before)
    resume = resume_at(source, before, ids_before, identity)
    for record in read_session(source.path, source=source, report=reading.report, resume=resume):
        reading.add(record)
    reading.end()
    return reading


def resume_at(
    source: Source,
    state: FileState | None,
    ids_before: Callable[[], bytes],
    identity: RecordIdentity,
) -> Resume:
    """Return what to read of a file, as far as it goes by `source.size`."""
    if state is None:
        return Resume(end=source.size)
    return Resume(state.checkpoint, SeenRecords(ids_before, identity), source.size)
