"""Records that must not be ingested again: those of forgotten sessions, whose tombstones are in a
file, and those that retention removed from a session, whose ids are in its Parquet footer.

Without them a fork that is still on disk would own its copies of the removed records. The
catalogue has them too, but may be lost. Like tombstones they are keyed hashes: without the
install key nobody can test a guess.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from memory_assets.pipeline.ownership.attribution import SessionKey, SessionRecords
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.records import RECORD_DTYPE, RecordIds, Records
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets.stores.catalog.sources import source_key

REMOVED_RECORDS = "let_go"
"""Name in the footer of `redacted_records`."""

_KEYED = "keyed:"
"""Prefix of a value with keyed hashes."""
_RECORD = np.dtype([("id", "<u8"), ("content", "<u4")])
_FAMILY_BYTES = 8


def removed_records_of(components: Components, rows: Iterable[SourceRow], copied: RecordIds) -> str:
    """Return the footer's value: the family, and the ids of the records of the session's main file
    that are not `copied`. Empty if there is no main file."""
    main = next((row for row in rows if not row.agent_id), None)
    if main is None or main.family is None:
        return ""
    on_record = components.catalog.sources.records(source_key(main))
    records = np.unique(np.frombuffer(on_record, dtype=RECORD_DTYPE)[["id", "content"]])
    own = records[~np.isin(records["id"], copied)].astype(_RECORD)
    family = main.family.to_bytes(_FAMILY_BYTES, "little", signed=True)
    return _KEYED + base64.b85encode(family + own.tobytes()).decode()


def read_removed_records(value: str) -> tuple[int | None, Records]:
    """Return family and records (`RECORD_DTYPE`, without times) of a footer's value, which may be
    empty."""
    if not value.startswith(_KEYED):
        return None, np.empty(0, dtype=RECORD_DTYPE)
    content = base64.b85decode(value.removeprefix(_KEYED))
    own = np.frombuffer(content, dtype=_RECORD, offset=_FAMILY_BYTES)
    records = np.zeros(len(own), dtype=RECORD_DTYPE)
    records["id"], records["content"] = own["id"], own["content"]
    return int.from_bytes(content[:_FAMILY_BYTES], "little", signed=True), records


def with_forgotten(
    components: Components,
    project: str,
    sessions: Sequence[SessionRecords],
    copied: Mapping[SessionKey, RecordIds],
) -> Mapping[SessionKey, RecordIds]:
    """Return `copied`, the ids of copies by session, with copies of records of forgotten sessions
    added in sessions of `project`. So a fork does not bring back records of a forgotten session,
    and its turns keep their numbers."""
    tombstone_store = components.tombstones
    families = tombstone_store.families()
    if not families:
        return copied
    merged = dict(copied)
    for session in sessions:
        family = session.family
        if session.project != project or family is None:
            continue
        if tombstone_store.family_key(family) not in families:
            continue
        gone = tombstone_store.records_among(family, session.records)
        if len(gone):
            before = copied.get(session.key, gone)
            merged[session.key] = np.union1d(before, gone)
    return merged
