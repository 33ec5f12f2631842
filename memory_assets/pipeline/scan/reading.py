"""Reading a source file from where the last reading stopped, or from its start.

Reading continues where it stopped if the file has grown and its beginning has the same
fingerprint (`begins_with`); any other file is read from its start.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import uuid
import zlib
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from memory_assets.errors import ResumeFailed
from memory_assets.models import Record
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

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

PASSED_OVER_MS = -1
"""Stands for the time of a record that yielded no row; its id is kept so that a repetition
is recognised."""
_LINEAR_LOOKUPS = 30


@dataclass(frozen=True)
class FileState:
    """Where reading a file stopped: the reader's checkpoint, the fingerprint of the file up to
    there, and the length in bytes of the record ids up to there (`ids`).

    `series` is random for each reading from the start, and inherited by those that continue
    it: the order of record ids, and so the meaning of `ids`, is the same within a series only.
    """

    checkpoint: Checkpoint
    fingerprint: Fingerprint
    ids: int
    reader_version: str
    series: str = ""

    def sealed(self, key: bytes) -> str:
        """Return the state encrypted, because a reader's checkpoint has unkeyed hashes of text.

        Equal states give equal bytes, so that writing one again changes nothing: the cipher is
        AES-SIV (RFC 5297), which is made for that.
        """
        sealed = _cipher(key).encrypt(zlib.compress(self.to_json().encode(), 1), None)
        return base64.b64encode(sealed).decode()

    @classmethod
    def unsealed(cls, sealed: str, key: bytes) -> FileState | None:
        """Return the state that `sealed` encrypted; None for "", if the key is another one, or if
        it is damaged."""
        from cryptography.exceptions import InvalidTag

        try:
            content = _cipher(key).decrypt(base64.b64decode(sealed, validate=True), None)
        except (binascii.Error, InvalidTag):
            return None
        return cls.from_json(zlib.decompress(content).decode())

    def to_json(self) -> str:
        """Return the state as JSON."""
        blocks = self.fingerprint.blocks.hex()
        rest = [self.ids, self.reader_version, self.series]
        return json.dumps([self.checkpoint.to_json(), blocks, *rest])

    @classmethod
    def from_json(cls, text: str) -> FileState:
        """Return the state that `to_json` wrote."""
        checkpoint, blocks, *rest = json.loads(text)
        at = Checkpoint.from_json(checkpoint)
        print_ = Fingerprint(at.offset, bytes.fromhex(blocks))
        return cls(at, print_, *rest)

    def still_holds(self, source: Source, key: bytes) -> bool:
        """Whether the part of the file that was read is unchanged, and so is the reader.

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
    """The records that were read from a file before: a container of the hashes (`mark`) that
    readers know ids by. Loaded at the first look-up, sorted after thirty."""

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
    """The result of reading a file: the reader's report, and a `RECORD_DTYPE` row for each
    record read: `final` ones before the new checkpoint, `tentative` ones after it."""

    identity: RecordIdentity
    report: ReadReport = field(default_factory=ReadReport)
    final: list[tuple[int, int, int]] = field(default_factory=list)
    tentative: list[tuple[int, int, int]] = field(default_factory=list)
    before: FileState | None = None
    family: int | None = None
    """Hash of the first record's id, which forks have in common."""
    records: list[tuple[Record, bool]] | None = field(default=None, repr=False)
    """Each record with whether it is final; None if they are not to be kept."""
    _last: tuple[bool, str] | None = field(default=None, repr=False)

    def add(self, record: Record) -> None:
        """Add a record that was read."""
        is_final = self.report.checkpoint is None
        if self.records is not None:
            self.records.append((record, is_final))
        if self._last == (is_final, record.record_uuid):
            return  # another block of the same object
        self._last = (is_final, record.record_uuid)
        identity = self.identity
        if self.family is None:
            self.family = identity.family_of(record.record_uuid)
        written = int(record.timestamp.timestamp() * 1000) if record.timestamp else 0
        content = identity.content_of(content_bytes(record.content))
        ids = self.final if is_final else self.tentative
        ids.append((identity.id_of(record.record_uuid), written, content))

    def end(self) -> None:
        """Add the records that yielded no row."""
        identity, before = self.identity, self.report.passed_over_before
        over = [
            (identity.id_of(record_uuid), PASSED_OVER_MS, identity.content_of(content))
            for record_uuid, content in self.report.passed_over
        ]
        self.final += over[:before]
        self.tentative += over[before:]

    @property
    def kept_bytes(self) -> int:
        """Length in bytes of the stored ids that stay valid."""
        return self.before.ids if self.before is not None else 0

    def ids(self) -> bytes:
        """Return the new ids as bytes, final ones first."""
        return np.array(self.final + self.tentative, dtype=RECORD_DTYPE).tobytes()

    def state(self, source: Source, key: bytes) -> tuple[FileState, str]:
        """Return the state in which reading stopped, and the fingerprint of all complete lines.

        Raises:
            TranscriptError: the file cannot be read.
        """
        at = self.report.checkpoint
        if at is None:
            raise ResumeFailed(f"{source.path}: reading did not reach its end")
        known = self.before.fingerprint if self.before is not None else None
        fingerprint = take_fingerprint(source.path, at.offset, key, known)
        complete = take_fingerprint(source.path, self.report.complete_offset, key, fingerprint)
        ids = self.kept_bytes + len(self.final) * RECORD_DTYPE.itemsize
        series = self.before.series if self.before is not None else uuid.uuid4().hex
        state = FileState(at, fingerprint, ids, READER_VERSIONS[source.agent], series)
        return state, complete.hex(key)


def read_file(
    source: Source,
    before: FileState | None,
    ids_before: Callable[[], bytes],
    identity: RecordIdentity,
    *,
    keep: bool = False,
) -> FileReading:
    """Read a file up to `source.size`, from the state `before` if reading can continue there,
    and return the reading. `ids_before` returns the record ids as bytes as of `before`. With
    `keep`, the reading has the records of a file that was read from its start.

    Raises:
        TranscriptError: it cannot be read.
    """
    reading = FileReading(identity, before=before)
    reading.records = [] if keep and before is None else None
    resume, report = resume_at(source, before, ids_before, identity), reading.report
    try:
        for record in read_session(source.path, source=source, report=report, resume=resume):
            reading.add(record)
    except ResumeFailed:
        if before is None:
            raise
        return read_file(source, None, ids_before, identity, keep=keep)
    reading.end()
    return reading


def resume_at(
    source: Source,
    state: FileState | None,
    ids_before: Callable[[], bytes],
    identity: RecordIdentity,
) -> Resume:
    """Return the range of a file to read: from `state`, or its start, to `source.size`."""
    if state is None:
        return Resume(end=source.size)
    return Resume(state.checkpoint, SeenRecords(ids_before, identity), source.size)


@lru_cache(maxsize=2)
def _cipher(install_key: bytes) -> AESSIV:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return AESSIV(hashlib.blake2b(b"sealed text", key=install_key, digest_size=64).digest())
