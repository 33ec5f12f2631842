"""What the stages leave out because it was forgotten: sessions, and copies in forks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from memory_assets.pipeline.ownership.attribution import SessionKey, SessionRecords
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.records import RecordIds
from memory_assets.stores.tombstones import FILE_NAME, Tombstones


def tombstones(components: Components) -> Tombstones:
    """Return the tombstones of this memory; the key is asked for only if there are any."""
    path = components.data_dir / FILE_NAME
    return Tombstones(path, components.install_key if path.exists() else b"")


def with_forgotten(
    components: Components,
    project: str,
    sessions: Sequence[SessionRecords],
    copied: Mapping[SessionKey, RecordIds],
) -> Mapping[SessionKey, RecordIds]:
    """Return `copied` with the records of `project` that a forgotten session owned.

    A fork holds copies of earlier records. When the session that owned them is forgotten
    they are not the fork's to bring back; it counts its turns from where it began, as
    before.
    """
    tombstone_store = tombstones(components)
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
