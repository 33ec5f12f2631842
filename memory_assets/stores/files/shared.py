"""Files that several processes use: locks, and atomic replacement of texts.

The operating system releases a lock when its process ends, however it ends.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from memory_assets.errors import StoreBusy, StoreError, StoreReadOnly

_State = TypeVar("_State")
REPLICA_FILE = "replica.json"
"""Marks the data directory of a shard that was pulled (`stores/shard/replicas.py`)."""
_FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def locked(path: Path, seconds: float, busy: str) -> Iterator[None]:
    """Hold the lock of a file for a block; its directory is made if need be.

    Raises:
        StoreBusy: another process holds it for longer than `seconds`; the message is `busy`.
        StoreError: its directory cannot be written.
    """
    from filelock import FileLock, Timeout

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, thread_local=False)
        lock.acquire(timeout=seconds)
    except Timeout:
        raise StoreBusy(busy) from None
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        yield
    finally:
        lock.release()


def cannot_write(path: Path, error: OSError) -> StoreError:
    """Return the error of a command that cannot write a file."""
    kind = StoreReadOnly if error.errno in _FORBIDDEN else StoreError
    return kind(
        f"cannot write {path}: {error.strerror or type(error).__name__}. What is there can be "
        "searched; correct the permissions, or free space, to change it."
    )


def remove_directory(directory: Path, last: str) -> None:
    """Delete a directory, and the file in it that says what it is at the end, so that what a killed
    process leaves is known to whoever goes on.

    Raises:
        StoreError: something in it cannot be deleted.
    """
    try:
        for path in directory.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != last:
                path.unlink()
        shutil.rmtree(directory)
    except OSError as error:
        raise cannot_write(directory, error) from None


def is_writable(directory: Path) -> bool:
    """Whether files can be created in a directory, or the directory itself."""
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    effective = os.access in os.supports_effective_ids
    return os.access(directory, os.W_OK | os.X_OK, effective_ids=effective)


def require_writable(directory: Path, why: str) -> None:
    """Raise `StoreReadOnly` if a data directory cannot be written; `why` is a sentence on what
    needs to write."""
    if not is_writable(directory):
        raise StoreReadOnly(
            f"cannot write in {directory}, which is read-only here. {why} What is there can be "
            "searched as it is; run this where the directory can be written."
        )


def require_own(directory: Path) -> None:
    """Raise `StoreReadOnly` if a data directory is a copy of another memory's shard."""
    if (directory / REPLICA_FILE).exists():
        raise StoreReadOnly(
            f"{directory} is a copy of a shard, which `memory pull` writes and nothing else; set "
            "MEMORY_DATA_DIR to the memory of this machine."
        )


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


def holder_state(path: Path, lock: Path, kind: Callable[..., _State]) -> _State | None:
    """Return the state that the holder of a lock has written to a JSON file, as a `kind`; None if
    no process holds the lock, or the file is missing or not of this kind. Usually costs one failed
    open."""
    try:
        values = json.loads(path.read_text("utf-8"))
        return kind(**values) if is_locked(lock) else None
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def replace_text(path: Path, text: str) -> None:
    """Replace a file atomically. One process writes it at a time, so that the next one overwrites
    the staging file of a killed one."""
    staging = path.with_name(f"{path.name}.staging")
    staging.unlink(missing_ok=True)  # it may be a link to another file
    staging.write_text(text, "utf-8")
    staging.replace(path)
