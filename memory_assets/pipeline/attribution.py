"""Which session owns a record that stands in several: forks and resumes count once.

A fork starts with copies of earlier records under the same uuid (formats.md, 1.6).
Each shared record belongs to the oldest session that holds it: the one that the records
themselves name, else the one whose first record of its own is earliest (a file that is
nothing but the shared part ended where the fork began).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

RECORD_DTYPE = np.dtype([("id", np.uint64), ("time_ms", np.int64)])
"""One record of a source: hash of its uuid, and when it was written (0: unknown)."""

RecordIds = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class SessionRecords:
    """The records of one session's main file, in file order, as `RECORD_DTYPE` rows.

    `named` is the session that most of its records name, which for an old-style fork is
    the one they were copied from.
    """

    session_id: str
    records: npt.NDArray[np.void]
    named: str | None = None


def hash_record_id(record_uuid: str) -> int:
    """Return 64 bits that stand for a record's uuid."""
    return int.from_bytes(blake2b(record_uuid.encode(), digest_size=8).digest(), "little")


def copied_records(sessions: Sequence[SessionRecords]) -> dict[str, RecordIds]:
    """Return, per session that holds copies, the sorted ids that another session owns.

    Independent of the order of `sessions`.
    """
    if len(sessions) < 2:
        return {}
    unique = [np.unique(session.records["id"]) for session in sessions]
    ids, counts = np.unique(np.concatenate(unique), return_counts=True)
    shared = ids[counts > 1]
    if not len(shared):
        return {}
    holders = [
        (session, np.intersect1d(own, shared, assume_unique=True))
        for session, own in zip(sessions, unique, strict=True)
    ]
    holders = [(session, held) for session, held in holders if len(held)]
    holders.sort(key=lambda holder: _age(holder[0], shared, [other for other, _ in holders]))
    taken = np.empty(0, dtype=np.uint64)
    copied: dict[str, RecordIds] = {}
    for session, held in holders:
        repeats = np.intersect1d(held, taken, assume_unique=True)
        if len(repeats):
            copied[session.session_id] = repeats
        taken = np.union1d(taken, held)
    return copied


def _age(
    session: SessionRecords, shared: RecordIds, holders: Iterable[SessionRecords]
) -> tuple[bool, int, str]:
    others = {other.session_id for other in holders} - {session.session_id}
    own = session.records[~np.isin(session.records["id"], shared)]
    own_times = own["time_ms"][own["time_ms"] > 0]
    first_own = int(own_times[0]) if len(own_times) else -1
    return (session.named in others, first_own, session.session_id)
