"""Kingfisher's patterns, compiled once on a machine, which takes 5 s. A first ingest begins with
that, so this module imports nothing else."""

from __future__ import annotations

import threading
from contextlib import ExitStack, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from memory_assets.paths import user_cache_dir

if TYPE_CHECKING:
    from kingfisher_sdk.scanner import Scanner

_LOAD_LOCK = threading.Lock()


def kingfisher() -> Scanner:
    """Return the one compiled scanner of this process: 5 s for the first one on a machine, for
    which the others wait, 0.4 s after.

    Raises:
        ImportError: there is no wheel for the platform.
    """
    with _LOAD_LOCK:
        return _load()


def load_if_compiled() -> None:
    """Load the scanner if it was compiled on this machine before, so that forks of this process
    have it."""
    if find_spec("kingfisher_sdk") is not None and _is_compiled():
        with suppress(Exception):  # raised again when it is needed
            kingfisher()


def compile_kingfisher() -> None:
    """Compile the scanner in a thread if it never was on this machine. Compiling holds no
    interpreter lock, so a first ingest need not wait for it before its first check."""
    if find_spec("kingfisher_sdk") is None or _is_compiled():
        return

    def load() -> None:
        with suppress(Exception):  # raised again when it is needed
            kingfisher()

    threading.Thread(target=load).start()


@cache
def _load() -> Scanner:
    from kingfisher_sdk.rules import Rules
    from kingfisher_sdk.scanner import Scanner

    with ExitStack() as stack:
        if not _is_compiled():
            with suppress(OSError):  # compiled by each process where none can write
                _cache_dir().mkdir(mode=0o700, parents=True, exist_ok=True)
                stack.enter_context(FileLock(_cache_dir().with_suffix(".lock"), mode=0o600))
        return Scanner(Rules(cache_dir=_cache_dir()), redact=True)


def _cache_dir() -> Path:
    return user_cache_dir() / "kingfisher"


def _is_compiled() -> bool:
    return any(_cache_dir().glob("*.vscdb"))
