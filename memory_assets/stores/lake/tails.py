"""Files of a long session as versions before wrote them, to be read until it is written again.

    <session>.parquet        the rows
    <session>.tail.parquet   what was appended: it replaces all after the first `keep` rows

A tail names the base that it belongs to; one that names another is left over, and ignored.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from memory_assets.stores.lake.parquet_files import (
    OUTPUT_HASH,
    Extent,
    FileFacts,
    SessionRows,
    bare,
    footer_of,
    group_rows,
)

SUFFIX = ".parquet"
TAIL_SUFFIX = ".tail.parquet"
GENERATION = "generation"
_TAIL_OF = "tail_of"
_KEEP = "keep"
OF_THE_FILE = frozenset({"ARROW:schema", GENERATION, _TAIL_OF, _KEEP, "cut"})
"""In the footers of these files, what says nothing of the session."""


def tail_path(path: Path) -> Path:
    """Return where the tail of the base at `path` is, or would be."""
    return path.with_name(path.name.removesuffix(SUFFIX) + TAIL_SUFFIX)


def with_tail(base: SessionRows, generation: str, files: ExitStack) -> SessionRows:
    """Return the rows of a session whose base is of this generation, with those of its tail if it
    has one; `files` closes that.

    Raises:
        pa.ArrowInvalid, OSError: the tail is not readable as Parquet.
    """
    try:
        opened = files.enter_context(pa.OSFile(str(tail_path(base.path)), "rb"))
    except FileNotFoundError:
        return base
    tail = pq.ParquetFile(opened)
    footer, rows = footer_of(tail.metadata), tail.metadata.num_rows
    if footer.get(_TAIL_OF) != generation:
        return base

    def read_group(number: int, columns: list[str] | None) -> pa.Table:
        return bare(tail.read_row_group(number, columns=columns, use_threads=False))

    kept = replace(base.extents[0], rows=int(footer[_KEEP]))
    added = Extent(tail.metadata, group_rows(tail.metadata), read_group, 0, rows)
    size = base.facts.bytes + opened.size()
    facts = FileFacts(kept.rows + rows, size, footer.get(OUTPUT_HASH, ""))
    own = {key: value for key, value in footer.items() if key not in OF_THE_FILE}
    return SessionRows(base.path, [kept, added], facts, own)
