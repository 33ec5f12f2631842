"""Which session owns a record that stands in several: forks and resumes count once.

A fork starts with copies of earlier records under the same uuid (formats.md, 1.6).
Each shared record belongs to the oldest session that holds it. Of two sessions the older
is the one that the other's records name; else the one that already counted as older;
else the one that was first to write something the other has not (a file that is nothing
but the shared part ended where the fork began).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

RECORD_DTYPE = np.dtype([("id", np.uint64), ("time_ms", np.int64)])
"""One record of a source: hash of its uuid, and when it was written (0: unknown)."""

RecordIds = npt.NDArray[np.uint64]
SessionKey = tuple[str, str]
"""Project and session: a file that was moved or copied may stand in two projects."""


@dataclass(frozen=True)
class SessionRecords:
    """The records of one session's main file, in file order, as `RECORD_DTYPE` rows.

    `named` is the session that most of its records name, which for an old-style fork is
    the one they were copied from. `on_record`: its records were taken in before.
    `gave_way_to`: the sessions that owned its copies then. It goes on giving way to them,
    so that an original that grows after it was forked keeps its turns.
    """

    project: str
    session_id: str
    records: npt.NDArray[np.void]
    named: str | None = None
    on_record: bool = False
    gave_way_to: frozenset[SessionKey] = frozenset()

    @property
    def key(self) -> SessionKey:
        """What tells it from every other file."""
        return (self.project, self.session_id)


def hash_record_id(record_uuid: str) -> int:
    """Return 64 bits that stand for a record's uuid."""
    return int.from_bytes(blake2b(record_uuid.encode(), digest_size=8).digest(), "little")


def copied_records(sessions: Sequence[SessionRecords]) -> Mapping[SessionKey, RecordIds]:
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
    held_by = {
        session.key: held
        for session, own in zip(sessions, unique, strict=True)
        if len(held := np.intersect1d(own, shared, assume_unique=True))
    }
    holders = sorted((s for s in sessions if s.key in held_by), key=lambda session: session.key)
    holders.sort(key=cmp_to_key(_by_age))
    taken = np.empty(0, dtype=np.uint64)
    copied: dict[SessionKey, RecordIds] = {}
    for session in holders:
        held = held_by[session.key]
        repeats = np.intersect1d(held, taken, assume_unique=True)
        if len(repeats):
            copied[session.key] = repeats
        taken = np.union1d(taken, held)
    return copied


def owners(
    sessions: Sequence[SessionRecords], copied: Mapping[SessionKey, RecordIds]
) -> Mapping[SessionKey, list[SessionKey]]:
    """Return, per session that holds copies, the sessions that own them, sorted."""
    nothing = np.empty(0, dtype=np.uint64)
    own = {
        session.key: np.setdiff1d(session.records["id"], copied.get(session.key, nothing))
        for session in sessions
    }
    return {
        key: sorted(
            other for other, kept in own.items() if other != key and np.isin(ids, kept).any()
        )
        for key, ids in copied.items()
    }


def _by_age(one: SessionRecords, other: SessionRecords) -> int:
    """Return -1 if `one` is older than `other`, 1 if it is younger, 0 if nothing tells."""
    if one.session_id != other.session_id:
        names, is_named = one.named == other.session_id, other.named == one.session_id
        if names != is_named:
            return 1 if names else -1
    gave_way, was_given_way = other.key in one.gave_way_to, one.key in other.gave_way_to
    if gave_way != was_given_way:
        return 1 if gave_way else -1
    if one.session_id == other.session_id and one.on_record != other.on_record:
        return -1 if one.on_record else 1  # the same file under another project: it moved
    first, second = _first_apart(one, other), _first_apart(other, one)
    return (first > second) - (first < second)


def _first_apart(session: SessionRecords, other: SessionRecords) -> int:
    """Return when `session` first wrote what `other` has not; -1 if it never did."""
    own = session.records[~np.isin(session.records["id"], other.records["id"])]
    own_times = own["time_ms"][own["time_ms"] > 0]
    return int(own_times[0]) if len(own_times) else -1
