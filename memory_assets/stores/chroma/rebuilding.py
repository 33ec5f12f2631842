"""Whether a collection is being rebuilt now, for searches.

The marker names the collection. It counts while the rebuilding process holds the lock; a killed
process leaves a marker, and no lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_assets.stores.shared_files import is_locked, replace_text

LOCK_NAME = "rebuild.lock"
_MARKER = "rebuild.collection"


@contextmanager
def marked_as_rebuilding(data_dir: Path, collection: str) -> Iterator[None]:
    """Mark a collection for the length of a block; the caller holds the lock."""
    marker = data_dir / _MARKER
    replace_text(marker, collection)
    try:
        yield
    finally:
        marker.unlink(missing_ok=True)


def rebuilding(data_dir: Path) -> str | None:
    """Return the collection that is being rebuilt, or None. Usually costs one failed open."""
    try:
        collection = (data_dir / _MARKER).read_text("utf-8")
    except OSError:
        return None
    return collection if is_locked(data_dir / LOCK_NAME) else None
