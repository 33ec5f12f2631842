"""Compiled Hyperscan databases, kept between runs.

One file per group of patterns in the cache directory, named by the hash of the patterns. A file is
written whole before it gets its name (mode 0600, directory 0700); one that is cut short, altered,
or of another version of Hyperscan or another processor is compiled anew, and where nothing can be
written all is compiled in memory. One process compiles at a time; others wait for its files.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import logging
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

_DIGEST = hashlib.sha256().digest_size
_LOG = logging.getLogger("memory_assets.redaction")


class Databases:
    """The databases of all groups."""

    def __init__(
        self, groups: Mapping[str, Sequence[tuple[bytes, bool]]], cache: Path | None
    ) -> None:
        """Load each group's database from `cache` (None: keep nothing), or compile it, which takes
        seconds.

        `groups`: patterns, and whether only their first match counts.

        Raises:
            ImportError: Hyperscan is not installed.
        """
        self._hyperscan: Any = importlib.import_module("hyperscan")
        self._serialised = {
            name: self._load(name, patterns, cache) for name, patterns in groups.items() if patterns
        }

    def scanner(self, name: str) -> Callable[[bytes, Any], None]:
        """Return the group's scan function on a copy of its own, as a database and its
        scratch space serve one thread at a time."""
        serialised = self._serialised.get(name)
        if serialised is None:  # a group without patterns
            return lambda data, report: None
        database = self._hyperscan.loadb(serialised, self._hyperscan.HS_MODE_BLOCK)
        database.scratch = self._hyperscan.Scratch(database)
        scan: Callable[[bytes, Any], None] = database.scan
        return scan

    def _load(self, name: str, patterns: Sequence[tuple[bytes, bool]], cache: Path | None) -> bytes:
        if cache is None:
            return self._compile(name, patterns)
        path = cache / f"{name}-{hashlib.sha256(repr(patterns).encode()).hexdigest()[:24]}.hsdb"
        with contextlib.ExitStack() as after:
            stored = self._stored(path)
            if stored is None:
                with contextlib.suppress(OSError):  # compiled by each process where none can write
                    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    after.enter_context(FileLock(cache / "compiling.lock", mode=0o600))
                stored = self._stored(path)
            if stored is None:
                stored = self._compile(name, patterns)
                with contextlib.suppress(OSError):
                    _write(path, stored)
            return stored

    def _stored(self, path: Path) -> bytes | None:
        """Return a stored database that is whole and can be loaded; None if there is none."""
        with contextlib.suppress(OSError, self._hyperscan.error):
            content = path.read_bytes()
            stored = content[_DIGEST:]
            if hashlib.sha256(stored).digest() == content[:_DIGEST]:
                # refuses what another version compiled, or for another processor
                self._hyperscan.loadb(stored, self._hyperscan.HS_MODE_BLOCK)
                return stored
        return None

    def _compile(self, name: str, patterns: Sequence[tuple[bytes, bool]]) -> bytes:
        _LOG.info("compiling the redaction patterns (%s), once for these rules ...", name)
        database = self._hyperscan.Database(mode=self._hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=[source for source, _ in patterns],
            ids=list(range(len(patterns))),
            elements=len(patterns),
            flags=[self._hyperscan.HS_FLAG_SINGLEMATCH if once else 0 for _, once in patterns],
        )
        return bytes(self._hyperscan.dumpb(database))


def _write(path: Path, database: bytes) -> None:
    """Write the file whole before it gets its name: who compiles at the same time sees all
    of it or nothing, and the last one wins with the same bytes."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as staging:
        try:
            staging.write(hashlib.sha256(database).digest() + database)
            staging.close()
            Path(staging.name).replace(path)
        except OSError:
            Path(staging.name).unlink(missing_ok=True)
            raise
