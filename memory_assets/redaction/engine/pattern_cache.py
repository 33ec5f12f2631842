"""Compiled Hyperscan databases, kept between runs.

One file per group of patterns in the cache directory, named by the hash of the patterns,
of Hyperscan's version and of the processor's features. A file is written whole before it
gets its name (mode 0600, directory 0700); one that is cut short, altered or of another
machine is compiled anew, and where nothing can be written all is compiled in memory. One
process compiles at a time; others wait for its files.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import logging
import platform
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

_FORMAT = b"memory-assets patterns 1\n"
_DIGEST = hashlib.sha256().digest_size
_LOG = logging.getLogger("memory_assets.redaction")


class Databases:
    """The databases of all groups."""

    def __init__(
        self,
        groups: Mapping[str, Sequence[tuple[bytes, bool]]],
        cache: Path | None,
        on_compile: Callable[[], None] | None = None,
    ) -> None:
        """Load each group's database from `cache` (None: keep nothing), or compile it.

        `groups`: patterns, and whether only their first match counts.

        `on_compile` is called once before the first compilation, which takes seconds.

        Raises:
            ImportError: Hyperscan is not installed.
        """
        self._hyperscan: Any = importlib.import_module("hyperscan")
        self._announce = on_compile
        self._serialised = {
            name: self._load(name, patterns, cache) for name, patterns in groups.items() if patterns
        }

    def scanner(self, name: str) -> Callable[[bytes, Any], None]:
        """Return the group's scan function on a copy of its own, as a database and its
        scratch space serve one thread at a time."""
        serialised = self._serialised.get(name)
        if serialised is None:
            return _scan_nothing
        database = self._hyperscan.loadb(serialised, self._hyperscan.HS_MODE_BLOCK)
        database.scratch = self._hyperscan.Scratch(database)
        scan: Callable[[bytes, Any], None] = database.scan
        return scan

    def _load(self, name: str, patterns: Sequence[tuple[bytes, bool]], cache: Path | None) -> bytes:
        if cache is None:
            return self._compile(name, patterns)
        path = cache / f"{name}-{self._key(patterns)}.hsdb"
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
        """Return a stored database that can be loaded; None if there is none."""
        stored = _read(path)
        if stored is not None:
            with contextlib.suppress(self._hyperscan.error):
                self._hyperscan.loadb(stored, self._hyperscan.HS_MODE_BLOCK)
                return stored
        return None

    def _compile(self, name: str, patterns: Sequence[tuple[bytes, bool]]) -> bytes:
        announce, self._announce = self._announce, None
        if announce is not None:
            announce()
        _LOG.info("compiling the redaction patterns (%s), once for these rules ...", name)
        database = self._hyperscan.Database(mode=self._hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=[source for source, _ in patterns],
            ids=list(range(len(patterns))),
            elements=len(patterns),
            flags=[self._hyperscan.HS_FLAG_SINGLEMATCH if once else 0 for _, once in patterns],
        )
        return bytes(self._hyperscan.dumpb(database))

    def _key(self, patterns: Sequence[tuple[bytes, bool]]) -> str:
        digest = hashlib.sha256(_FORMAT)
        sources = (b"1" + source if once else b"0" + source for source, once in patterns)
        for part in (str(self._hyperscan.__version__).encode(), processor(), *sources):
            digest.update(len(part).to_bytes(4, "big") + part)
        return digest.hexdigest()[:24]


def _scan_nothing(_data: bytes, _report: Any) -> None:
    """Stand in for a group without patterns."""


def _read(path: Path) -> bytes | None:
    """Return the database in the file; None if there is none, or it is not whole."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    head = len(_FORMAT)
    digest, stored = content[head : head + _DIGEST], content[head + _DIGEST :]
    if not content.startswith(_FORMAT) or hashlib.sha256(stored).digest() != digest:
        return None
    return stored


def _write(path: Path, database: bytes) -> None:
    """Write the file whole before it gets its name: who compiles at the same time sees all
    of it or nothing, and the last one wins with the same bytes."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as staging:
        try:
            staging.write(_FORMAT + hashlib.sha256(database).digest() + database)
            staging.close()
            Path(staging.name).replace(path)
        except OSError:
            Path(staging.name).unlink(missing_ok=True)
            raise


def processor() -> bytes:
    """Return what tells this machine's processor features from another's."""
    described = "|".join((platform.system(), platform.machine(), platform.processor()))
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
        for line in lines:
            if line.lower().startswith(("flags", "features")):
                described += line
                break
    return hashlib.sha256(described.encode()).digest()
