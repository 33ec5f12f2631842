"""Whether a collection is being rebuilt now, for searches.

A marker beside the lock that the maker holds says which one; a marker that a killed process
left says nothing, because nobody holds its lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK_NAME = "rebuild.lock"
_MARKER = "rebuild.collection"


@contextmanager
def marked_as_rebuilding(data_dir: Path, collection: str) -> Iterator[None]:
    """Mark a collection for the length of a block; the caller holds the lock."""
    marker = data_dir / _MARKER
    written = marker.with_suffix(".new")  # renamed, so that no search reads half a name
    written.write_text(collection, "utf-8")
    written.replace(marker)
    try:
        yield
    finally:
        marker.unlink(missing_ok=True)


def rebuilding(data_dir: Path) -> str | None:
    """Return the collection that is being rebuilt, or None. Costs one stat."""
    try:
        collection = (data_dir / _MARKER).read_text("utf-8")
    except OSError:
        return None
    from filelock import FileLock, Timeout

    lock = FileLock(data_dir / LOCK_NAME)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return collection
    lock.release()
    return None
