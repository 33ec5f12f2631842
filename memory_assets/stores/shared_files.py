"""Files that several processes use: locks, and texts that are replaced whole.

The operating system releases a lock when its process ends, however it ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_assets.errors import StoreBusy


@contextmanager
def locked(path: Path, seconds: float, busy: str) -> Iterator[None]:
    """Hold the lock of a file for a block; its directory is made if need be.

    Raises:
        StoreBusy: another process holds it for longer than `seconds`; the message is `busy`.
    """
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise StoreBusy(busy) from None
    try:
        yield
    finally:
        lock.release()


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a file; False where there is no such file."""
    if not path.exists():
        return False
    from filelock import FileLock, Timeout

    try:
        with FileLock(path).acquire(blocking=False):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def replace_text(path: Path, text: str) -> None:
    """Replace a file in one step, so that no reader finds half of the text. One process writes it
    at a time, so that what a killed one leaves is overwritten by the next."""
    staging = path.with_name(f"{path.name}.staging")
    staging.write_text(text, "utf-8")
    staging.replace(path)
