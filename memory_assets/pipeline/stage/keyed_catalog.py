"""A catalogue of the versions before is brought to keyed identities, once.

Those versions noted unkeyed hashes of records' texts, as numbers for records and families.
They are keyed when the catalogue is opened for work, in one transaction. What a record says is
noted when its file is read again, which the readers' new version sees to; of a file that is gone
it stays unknown. The lake follows: `keyed_lake.py`.
"""

from __future__ import annotations

import numpy as np

from memory_assets.record_identity import RecordIdentity
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.records import RECORD_DTYPE

_FIRST_DTYPE = np.dtype([("id", np.uint64), ("time_ms", np.int64)])


def key_catalog(catalog: Catalog, identity: RecordIdentity) -> None:
    """Put keyed hashes of records in the place of unkeyed ones.

    Raises:
        StoreBusy, StoreError: it cannot be written; nothing was changed.
    """

    def records(noted: bytes) -> bytes:
        before = np.frombuffer(noted, dtype=_FIRST_DTYPE)
        keyed = np.zeros(len(before), dtype=RECORD_DTYPE)
        keyed["id"] = [identity.id_of_mark(int(marked)) for marked in before["id"]]
        keyed["time_ms"] = before["time_ms"]
        return keyed.tobytes()

    catalog.identities.key_records(records, identity.family_of_mark)
