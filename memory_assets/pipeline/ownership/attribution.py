"""Deciding which session owns a record that several sessions contain, so that it is stored once.

A fork or resumed session starts with copies of earlier records under the same uuid. Two
records are copies of each other if id and content are equal; the id alone is not enough,
because anybody can write a file with the ids of another one. A shared record belongs to the
oldest session that has it. Of two sessions the older one is:

1. the one that the records of the other name,
2. else, of two files of one session, the one in the project that is named after its directory,
3. else the one that was first to write a record which the other lacks, or that has no such
   record (it ended where the fork began).

Only the files decide, so that the tables do not depend on the order in which files came and grew.
But if a file is gone, or retention cut its session down, the session that owned its copies before
stays their owner.

The content is unknown (0) for files that were deleted before contents were recorded, and for
sessions adopted from the lake. Such a record is recognised in other sessions by its id alone,
and yields only to sessions that owned it before.

Few sessions share records. So the ids of all are compared once, when new files are read
(`note_sharing`), and ownership is decided among sessions that share some.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key

import numpy as np
import numpy.typing as npt

from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.records import RECORD_DTYPE, RecordIds, Records
from memory_assets.stores.catalog.sources import SourceKey, source_key

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
SessionKey = tuple[str, str]
"""Project and session id: a file that was moved or copied may be in two projects."""


@dataclass(frozen=True)
class SessionRecords:
    """The records of one session's main file, in file order, as `RECORD_DTYPE` rows.

    `family` is the hash of the first record's id, which forks share. `named` is the session
    that most of the records name; in forks of older versions of Claude Code, the session they
    were copied from. `parent` is the session that the file says it was forked from. `at_home`:
    the project is named after the session's directory.

    `on_record`: its records were taken in before, and `earlier_owners` are the sessions that
    owned its copies then. `unreadable`: the file is gone or the session retained, so that
    only what is on record is left.
    """

    project: str
    session_id: str
    records: Records
    family: int | None = None
    named: str | None = None
    parent: str | None = None
    at_home: bool = False
    on_record: bool = False
    unreadable: bool = False
    earlier_owners: frozenset[SessionKey] = frozenset()

    @property
    def key(self) -> SessionKey:
        """Project and session id."""
        return (self.project, self.session_id)


def copied_records(sessions: Sequence[SessionRecords]) -> Mapping[SessionKey, RecordIds]:
    """Return the sorted ids of the records that each session only copied, by session.

    Sessions without copies are left out. The order of `sessions` does not matter.
    """
    if len(sessions) < 2:
        return {}
    unique = [np.unique(session.records["id"]) for session in sessions]
    ids, counts = np.unique(np.concatenate(unique), return_counts=True)
    shared = ids[counts > 1]
    if not len(shared):
        return {}
    shared_by = {
        session.key: shared_records
        for session in sessions
        if len(shared_records := session.records[np.isin(session.records["id"], shared)])
    }
    sharing = sorted((s for s in sessions if s.key in shared_by), key=lambda session: session.key)
    sharing.sort(key=cmp_to_key(_by_age))
    for session in [member for member in sharing if member.unreadable and member.earlier_owners]:
        _move_behind_owners(session, sharing)
    owned = _OwnedRecords()
    copied: dict[SessionKey, RecordIds] = {}
    for session in sharing:
        shared_records = shared_by[session.key]
        is_copy = owned.are_copies(session, shared_records)
        ids_of: RecordIds = shared_records["id"]
        copies_of_session = np.setdiff1d(ids_of[is_copy], ids_of[~is_copy])
        if len(copies_of_session):
            copied[session.key] = copies_of_session
        owned.add(session, shared_records)
    return copied


def owners(
    sessions: Sequence[SessionRecords], copied: Mapping[SessionKey, RecordIds]
) -> Mapping[SessionKey, list[SessionKey]]:
    """Return the sessions that own the copies of each session, sorted, by session."""
    nothing = np.empty(0, dtype=np.uint64)
    own: dict[SessionKey, _OwnedRecords] = {}
    for session in sessions:
        is_copy = np.isin(session.records["id"], copied.get(session.key, nothing))
        own[session.key] = _OwnedRecords()
        own[session.key].add(session, session.records[~is_copy])
    owned_by: dict[SessionKey, list[SessionKey]] = {}
    for session in sessions:
        if session.key in copied:
            copies = session.records[np.isin(session.records["id"], copied[session.key])]
            owned_by[session.key] = sorted(
                key
                for key, kept in own.items()
                if key != session.key and kept.are_copies(session, copies).any()
            )
    return owned_by


def _move_behind_owners(session: SessionRecords, order: list[SessionRecords]) -> None:
    """Move a session behind its earlier owners, which pairwise comparison of ages need not do if a
    third session sorts between them."""
    place = [member.key for member in order].index(session.key)
    last = max(
        (at for at, member in enumerate(order) if member.key in session.earlier_owners), default=0
    )
    if last > place:
        order.insert(last, order.pop(place))


class _OwnedRecords:
    """The records that some sessions own, to recognise copies of them in other sessions."""

    def __init__(self) -> None:
        self._keys: set[SessionKey] = set()
        self._ids: RecordIds = np.empty(0, dtype=np.uint64)
        self._with_content: RecordIds = np.empty(0, dtype=np.uint64)
        self._without_content: RecordIds = np.empty(0, dtype=np.uint64)
        self._by_name: dict[str, RecordIds] = {}

    def add(self, session: SessionRecords, records: Records) -> None:
        """Add records that a session owns."""
        ids: RecordIds = records["id"]
        unknown = records["content"] == 0
        self._keys.add(session.key)
        self._ids = np.union1d(self._ids, ids)
        self._with_content = np.union1d(self._with_content, _with_content(records))
        if unknown.any():
            self._without_content = np.union1d(self._without_content, ids[unknown])
        named = self._by_name.get(session.session_id)
        self._by_name[session.session_id] = ids if named is None else np.union1d(named, ids)

    def are_copies(self, session: SessionRecords, records: Records) -> npt.NDArray[np.bool_]:
        """Return for each of a session's records whether it is a copy of one of these. Of two files
        of the same session, in two projects, only ids are compared, since one may be edited."""
        ids: RecordIds = records["id"]
        unknown = records["content"] == 0
        is_copy: npt.NDArray[np.bool_] = (
            np.isin(_with_content(records), self._with_content) & ~unknown
        )
        if len(self._without_content):
            is_copy |= np.isin(ids, self._without_content) & ~unknown
        if unknown.any() and session.earlier_owners & self._keys:
            is_copy |= np.isin(ids, self._ids) & unknown
        if session.session_id in self._by_name:
            is_copy |= np.isin(ids, self._by_name[session.session_id])
        return is_copy


def _with_content(records: Records) -> RecordIds:
    """Return a 64-bit number for id and content of each record."""
    mixed: RecordIds = records["id"] + records["content"].astype(np.uint64) * _SPREAD
    return mixed


def _by_age(one: SessionRecords, other: SessionRecords) -> int:
    """Return -1 if `one` is older than `other`, 1 if it is younger, 0 if that is unknown."""
    if one.unreadable or other.unreadable:
        one_yielded, other_yielded = (
            other.key in one.earlier_owners,
            one.key in other.earlier_owners,
        )
        if one_yielded != other_yielded:
            return 1 if one_yielded else -1
        if one.session_id == other.session_id and one.on_record != other.on_record:
            return -1 if one.on_record else 1  # the file moved to another project
    if one.session_id == other.session_id:
        if one.at_home != other.at_home:
            return -1 if one.at_home else 1
    else:
        names_other = other.session_id in (one.named, one.parent)
        if names_other != (one.session_id in (other.named, other.parent)):
            return 1 if names_other else -1
    first, second = _first_apart(one, other), _first_apart(other, one)
    return (first > second) - (first < second)


def _first_apart(session: SessionRecords, other: SessionRecords) -> int:
    """Return the time (ms) of the first record that only `session` has; -1 if there is none."""
    own = session.records[~np.isin(session.records["id"], other.records["id"])]
    own_times = own["time_ms"][own["time_ms"] > 0]
    return int(own_times[0]) if len(own_times) else -1


def note_sharing(catalog: Catalog, project: str) -> None:
    """Compare the project's main files that were not compared yet with all others, and note in the
    catalogue which files share records."""
    changed = set(catalog.sources.not_compared(project))
    if not changed:
        return
    ids_of = {
        source_key(row): np.frombuffer(row.records, dtype=RECORD_DTYPE)["id"]
        for row in catalog.sources.families_of(project)
    }
    new = np.unique(np.concatenate([ids_of[key] for key in sorted(changed)]))
    if not len(new):
        catalog.sources.note_sharing(changed, ())
        return
    positions: dict[SourceKey, npt.NDArray[np.int64]] = {}
    counts = np.zeros(len(new), dtype=np.int64)
    for key, ids in ids_of.items():
        places: npt.NDArray[np.int64] = np.searchsorted(new, ids).astype(np.int64)
        places[places == len(new)] = 0
        indices = np.unique(places[new[places] == ids])
        counts[indices] += 1
        positions[key] = indices
    sharing = [key for key, indices in positions.items() if (counts[indices] > 1).any()]
    catalog.sources.note_sharing(changed.difference(sharing), sharing)
