"""The form in which the catalogue keeps the records of a source file."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

RECORD_DTYPE = np.dtype([("id", np.uint64), ("time_ms", np.int64), ("content", np.uint32)])
"""One record of a source file, 20 bytes: the keyed hash of its id (`RecordIdentity.id_of`),
when it was written (0: unknown), and the keyed hash of its content (0: unknown)."""

Records = npt.NDArray[np.void]
"""Rows of `RECORD_DTYPE`."""
RecordIds = npt.NDArray[np.uint64]
