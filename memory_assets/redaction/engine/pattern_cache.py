"""Compiled Hyperscan databases, kept between runs.

One file per group of patterns in the cache directory, named by the hash of the patterns. One that
is cut short, altered, or of another version of Hyperscan or another processor is compiled anew, and
where nothing can be written all is compiled in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memory_assets.redaction.engine.kept_files import kept, kept_path

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

    def digest(self) -> str:
        """Return a hash of all databases, which depend on Hyperscan's version and the processor."""
        digest = hashlib.sha256()
        for serialised in self._serialised.values():
            digest.update(hashlib.sha256(serialised).digest())
        return digest.hexdigest()

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
        path = kept_path(cache, name, repr(patterns), ".hsdb")
        return kept(path, lambda: self._compile(name, patterns), self._loads)

    def _loads(self, stored: bytes) -> bool:
        """Whether a stored database can be loaded: one that another version of Hyperscan compiled,
        or that was compiled for another processor, cannot."""
        with contextlib.suppress(self._hyperscan.error):
            self._hyperscan.loadb(stored, self._hyperscan.HS_MODE_BLOCK)
            return True
        return False

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
