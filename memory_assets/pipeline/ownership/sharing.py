"""Finding the sessions that share records with others (forks, resumed sessions), as files are
read.

Few do. So the ids of all records are compared once, when new ones are read, and ownership is
decided among the sessions that share some only.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.records import RECORD_DTYPE, RecordIds
from memory_assets.stores.catalog.sources import SourceKey, source_key


def note_sharing(catalog: Catalog, project: str, new_ids: Mapping[SourceKey, RecordIds]) -> None:
    """Note in the catalogue which main files share records with one of those in `new_ids`, the
    files just read with their record ids."""
    changed = [key for key in new_ids if not key[3]]
    if not changed:
        return
    new = np.unique(np.concatenate([new_ids[key] for key in changed]))
    if not len(new):
        catalog.sources.note_sharing(changed, ())
        return
    held: dict[SourceKey, npt.NDArray[np.int64]] = {}
    counts = np.zeros(len(new), dtype=np.int64)
    for row in catalog.sources.families_of(project):
        ids = np.frombuffer(row.records, dtype=RECORD_DTYPE)["id"]
        places: npt.NDArray[np.int64] = np.searchsorted(new, ids).astype(np.int64)
        places[places == len(new)] = 0
        found = np.unique(places[new[places] == ids])
        counts[found] += 1
        held[source_key(row)] = found
    sharing = [key for key, found in held.items() if (counts[found] > 1).any()]
    catalog.sources.note_sharing(set(changed).difference(sharing), sharing)
