"""Files in which versions up to 0.3.0 had a long session each. They are moved into segments before
the catalogue of such a version is used, or when its tables are put back:

    <session>.parquet        one session; of a name that is too long the footer has the whole
    <session>.tail.parquet   what was appended: it replaces all after the first `keep` rows

A tail names the base that it belongs to; one that names another is left over, and ignored.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from memory_assets.stores.lake.parquet_files import footer_of, without_metadata
from memory_assets.stores.lake.partition import Partition, reading
from memory_assets.stores.lake.rows import OUTPUT_HASH
from memory_assets.stores.lake.segments import SEGMENT, Packed

_SUFFIX = ".parquet"
_TAIL_SUFFIX = ".tail.parquet"
_GENERATION, _TAIL_OF, _KEEP = "generation", "tail_of", "keep"
_FILE_KEYS = frozenset({"ARROW:schema", _GENERATION, _TAIL_OF, _KEEP, "cut"})
"""Footer keys of such files that describe the file, not the session."""
_SESSION_OF_FILE = "session_of_file"


def move_own_files(partition: Partition) -> None:
    """Move the own files of a partition into segments; the caller holds the project's lock.

    Raises:
        DamagedFile: one is not readable; move it away, then call again.
    """
    files = sorted(partition.directory.glob(f"[!.]*{_SUFFIX}"))
    tails = [path for path in files if path.name.endswith(_TAIL_SUFFIX)]
    for own in files:
        if own not in tails and not SEGMENT.fullmatch(own.name):
            with reading(own, partition.project):
                session = _read_session(own)
            partition.move(session)
            own.unlink()
    for tail in tails:
        tail.unlink()


def _read_session(path: Path) -> Packed:
    """Return the session of such a file, its last rows replaced by those of its tail."""
    rows, footer = _read_file(path)
    session_id = footer.pop(_SESSION_OF_FILE, "") or unquote(path.name.removesuffix(_SUFFIX))
    tail = path.with_name(path.name.removesuffix(_SUFFIX) + _TAIL_SUFFIX)
    if tail.exists():
        added, of_tail = _read_file(tail)
        if of_tail.get(_TAIL_OF) == (footer.get(_GENERATION) or footer.get(OUTPUT_HASH)):
            rows = pa.concat_tables([rows.slice(0, int(of_tail[_KEEP])), added])
            footer = of_tail
    of_session = {key: value for key, value in footer.items() if key not in _FILE_KEYS}
    return Packed(session_id, secrets.token_hex(8), of_session, [rows])


def _read_file(path: Path) -> tuple[pa.Table, dict[str, str]]:
    with pa.OSFile(str(path), "rb") as opened:
        file = pq.ParquetFile(opened, page_checksum_verification=True)
        return without_metadata(file.read(use_threads=False)), footer_of(file.metadata)
