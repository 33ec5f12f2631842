"""Reading a source file whole: its records, and keyed hashes of their ids and contents."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from memory_assets.models import Record
from memory_assets.record_identity import RecordIdentity
from memory_assets.stores.catalog.records import RECORD_DTYPE
from memory_assets.transcripts import (
    Account,
    Balance,
    Content,
    ReadReport,
    Source,
    content_bytes,
    contents_of,
    read_session,
    reader_by_agent,
)

PASSED_OVER_MS = -1
"""Stands for the time of a record that yielded no row; its id is kept so that a repetition
is recognised."""


@dataclass
class FileReading:
    """The result of reading a file: the reader's report, and a `RECORD_DTYPE` row for each record
    read (`ids`)."""

    report: ReadReport = field(default_factory=ReadReport)
    ids: bytes = b""
    family: int | None = None
    """Hash of the first record's id, which forks have in common."""
    records: list[Record] | None = field(default=None, repr=False)
    """None if they are not to be kept."""
    balance: Balance = field(default_factory=Balance)
    """The account of the file's text."""
    contents: tuple[Content, ...] = field(default=(), repr=False)
    """What its lines were read from."""


def read_file(source: Source, identity: RecordIdentity, *, keep: bool = False) -> FileReading:
    """Read a file up to `source.size`, and return the reading; with `keep`, with its records.

    Raises:
        TranscriptError: it cannot be read.
    """
    reading = FileReading(records=[] if keep else None)
    report = reading.report
    account = report.account = Account(reader_by_agent(source.agent).left_out_of(source))
    ids: list[tuple[int, int, int]] = []
    last = None
    contents = reading.contents = contents_of(source)
    for record in read_session(
        source.path, source=source, report=report, end=source.size, contents=contents
    ):
        if reading.records is not None:
            reading.records.append(record)
        if record.record_uuid == last:
            continue  # another block of the same object
        last = record.record_uuid
        if reading.family is None:
            reading.family = identity.family_of(last)
        written = int(record.timestamp.timestamp() * 1000) if record.timestamp else 0
        content = identity.content_of(content_bytes(record.content))
        ids.append((identity.id_of(last), written, content))
    ids += [
        (identity.id_of(record_uuid), PASSED_OVER_MS, identity.content_of(content))
        for record_uuid, content in report.passed_over
    ]
    reading.balance, report.account = account.balance(), None
    reading.ids = np.array(ids, dtype=RECORD_DTYPE).tobytes()
    return reading
