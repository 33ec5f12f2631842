"""Finding the sessions that share records with others (forks, resumed sessions), as files are
read.

Few do. So the ids of all records are compared once, when new ones are read, and ownership is
decided among the sessions that share some only.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.records import RECORD_DTYPE
from memory_assets.stores.catalog.sources import SourceKey, source_key


def note_sharing(catalog: Catalog, project: str) -> None:
    """Note in the catalogue which main files share records with one of those of the project that
    were not compared yet, whoever has read them."""
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
    held: dict[SourceKey, npt.NDArray[np.int64]] = {}
    counts = np.zeros(len(new), dtype=np.int64)
    for key, ids in ids_of.items():
        places: npt.NDArray[np.int64] = np.searchsorted(new, ids).astype(np.int64)
        places[places == len(new)] = 0
        found = np.unique(places[new[places] == ids])
        counts[found] += 1
        held[key] = found
    sharing = [key for key, found in held.items() if (counts[found] > 1).any()]
    catalog.sources.note_sharing(changed.difference(sharing), sharing)
