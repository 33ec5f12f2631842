"""Which session owns a record that stands in several: forks and resumes count once.

A fork starts with copies of earlier records under the same uuid. Two
records are copies of one another if they share the id and say the same: anybody can write
a file with another one's ids. Each shared record belongs to the oldest session that holds
it. Of two sessions the older is the one that the other's records name; else the one that
already counted as older; else the one that was first to write something the other has not
(a file that is nothing but the shared part ended where the fork began).

What a record says is not known of files that were gone when this began to be noted, or
that were adopted from the lake. Such a record keeps its copies away by its id alone, and
gives way to none to which it did not before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key

import numpy as np
import numpy.typing as npt

from memory_assets.stores.catalog.records import RecordIds, Records

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
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
    records: Records
    family: int | None = None
    named: str | None = None
    on_record: bool = False
    gave_way_to: frozenset[SessionKey] = frozenset()

    @property
    def key(self) -> SessionKey:
        """What tells it from every other file."""
        return (self.project, self.session_id)


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
        for session in sessions
        if len(held := session.records[np.isin(session.records["id"], shared)])
    }
    sharing = sorted((s for s in sessions if s.key in held_by), key=lambda session: session.key)
    sharing.sort(key=cmp_to_key(_by_age))
    taken = _Taken()
    copied: dict[SessionKey, RecordIds] = {}
    for session in sharing:
        held = held_by[session.key]
        repeated = taken.holds(session, held)
        ids_of: RecordIds = held["id"]
        repeats = np.setdiff1d(ids_of[repeated], ids_of[~repeated])
        if len(repeats):
            copied[session.key] = repeats
        taken.add(session, held)
    return copied


def owners(
    sessions: Sequence[SessionRecords], copied: Mapping[SessionKey, RecordIds]
) -> Mapping[SessionKey, list[SessionKey]]:
    """Return, per session that holds copies, the sessions that own them, sorted."""
    nothing = np.empty(0, dtype=np.uint64)
    own: dict[SessionKey, _Taken] = {}
    for session in sessions:
        is_copy = np.isin(session.records["id"], copied.get(session.key, nothing))
        own[session.key] = _Taken()
        own[session.key].add(session, session.records[~is_copy])
    owned_by: dict[SessionKey, list[SessionKey]] = {}
    for session in sessions:
        if session.key in copied:
            copies = session.records[np.isin(session.records["id"], copied[session.key])]
            owned_by[session.key] = sorted(
                key
                for key, kept in own.items()
                if key != session.key and kept.holds(session, copies).any()
            )
    return owned_by


class _Taken:
    """Records that sessions hold, asked whether others are copies of them."""

    def __init__(self) -> None:
        self._keys: set[SessionKey] = set()
        self._ids: RecordIds = np.empty(0, dtype=np.uint64)
        self._said: RecordIds = np.empty(0, dtype=np.uint64)
        self._of_unknown: RecordIds = np.empty(0, dtype=np.uint64)
        self._by_name: dict[str, RecordIds] = {}

    def add(self, session: SessionRecords, records: Records) -> None:
        """Add records of a session."""
        ids: RecordIds = records["id"]
        unknown = records["content"] == 0
        self._keys.add(session.key)
        self._ids = np.union1d(self._ids, ids)
        self._said = np.union1d(self._said, _said(records))
        if unknown.any():
            self._of_unknown = np.union1d(self._of_unknown, ids[unknown])
        named = self._by_name.get(session.session_id)
        self._by_name[session.session_id] = ids if named is None else np.union1d(named, ids)

    def holds(self, session: SessionRecords, records: Records) -> npt.NDArray[np.bool_]:
        """Return for each of a session's records whether it is a copy.

        Of one session's file in two projects the id alone tells: whatever was changed in
        one of them, both are that session, and their turns have the same ids.
        """
        ids: RecordIds = records["id"]
        unknown = records["content"] == 0
        found: npt.NDArray[np.bool_] = np.isin(_said(records), self._said) & ~unknown
        if len(self._of_unknown):
            found |= np.isin(ids, self._of_unknown) & ~unknown
        if unknown.any() and session.gave_way_to & self._keys:
            found |= np.isin(ids, self._ids) & unknown
        if session.session_id in self._by_name:
            found |= np.isin(ids, self._by_name[session.session_id])
        return found


def _said(records: Records) -> RecordIds:
    """Return 64 bits for the id of each record and what it says."""
    mixed: RecordIds = records["id"] + records["content"].astype(np.uint64) * _SPREAD
    return mixed


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
