"""The forgotten sessions and records that no stage may take in again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from memory_assets.pipeline.ownership.attribution import SessionKey, SessionRecords
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.records import RecordIds
from memory_assets.stores.tombstones import FILE_NAME, Tombstones


def tombstones(components: Components) -> Tombstones:
    """Return the tombstones of this memory; the install key is read only if there are any."""
    path = components.data_dir / FILE_NAME
    return Tombstones(path, components.install_key if path.exists() else b"")


def with_forgotten(
    components: Components,
    project: str,
    sessions: Sequence[SessionRecords],
    copied: Mapping[SessionKey, RecordIds],
) -> Mapping[SessionKey, RecordIds]:
    """Return the ids of the copies in each session (`copied`), with those added whose owner was
    forgotten, in sessions of `project`.

    So a fork does not bring records of a forgotten session back, and its turns keep their
    numbers.
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
