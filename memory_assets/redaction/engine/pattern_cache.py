"""A cache, in the user's cache directory, of what is derived from the rules: compiled Hyperscan
databases, triggers, and the passed self-test.

The name of a file has the hash of everything that its content depends on. The file begins with the
hash of the content and is renamed when complete (mode 0600, directory 0700), so that damaged files
are not read. One process creates content at a time; others wait for its file. A database of another
version of Hyperscan or another processor is compiled again; if the directory is not writable,
everything is compiled in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import logging
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock

_LOG = logging.getLogger("memory_assets.redaction")


class Databases:
    """The databases of all groups of patterns."""

    _compiles = False
    """True once it was logged that databases are compiled."""

    def __init__(
        self, groups: Mapping[str, Sequence[tuple[bytes, bool]]], cache: Path | None
    ) -> None:
        """Load the database of each group from `cache` (None: no cache), or compile it in seconds.

        `groups`: patterns by group, each with True if only its first match counts.

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
            return self._compile(patterns)
        path = kept_path(cache, name, repr(patterns), ".hsdb")
        return kept(path, lambda: self._compile(patterns), self._loads)

    def _loads(self, stored: bytes) -> bool:
        """Return True if a stored database can be loaded: if this version of Hyperscan compiled it
        for this processor."""
        with contextlib.suppress(self._hyperscan.error):
            self._hyperscan.loadb(stored, self._hyperscan.HS_MODE_BLOCK)
            return True
        return False

    def _compile(self, patterns: Sequence[tuple[bytes, bool]]) -> bytes:
        if not self._compiles:
            self._compiles = True
            _LOG.info("Compiling the rules that find secrets, once on this machine ...")
        database = self._hyperscan.Database(mode=self._hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=[source for source, _ in patterns],
            ids=list(range(len(patterns))),
            elements=len(patterns),
            flags=[self._hyperscan.HS_FLAG_SINGLEMATCH if once else 0 for _, once in patterns],
        )
        return bytes(self._hyperscan.dumpb(database))


_DIGEST = hashlib.sha256().digest_size
_PACKAGE = Path(__file__).resolve().parents[1]


def kept_path(directory: Path, name: str, follows_from: str, suffix: str) -> Path:
    """Return the path of the content `name` that depends on the text `follows_from` only."""
    return directory / f"{name}-{hashlib.sha256(follows_from.encode()).hexdigest()[:24]}{suffix}"


def kept(
    path: Path, make: Callable[[], bytes], usable: Callable[[bytes], bool] = lambda content: True
) -> bytes:
    """Return the content of a file; if it is missing, damaged or not usable, the result of `make`,
    which is then written if possible."""
    content = _read(path)
    if content is not None and usable(content):
        return content
    with contextlib.ExitStack() as after:
        with contextlib.suppress(OSError):  # not writable: each process makes its own
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            after.enter_context(FileLock(path.with_name("compiling.lock"), mode=0o600))
        content = _read(path)
        if content is None or not usable(content):
            content = make()
            _write(path, content)
        return content


def _read(path: Path) -> bytes | None:
    """Return the content of a file; None if it is missing or damaged."""
    with contextlib.suppress(OSError):
        stored = path.read_bytes()
        if hashlib.sha256(stored[_DIGEST:]).digest() == stored[:_DIGEST]:
            return stored[_DIGEST:]
    return None


def _write(path: Path, content: bytes) -> None:
    """Write a file if possible. If several processes write it, the last one wins, with the same
    content."""
    with (
        contextlib.suppress(OSError),
        tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as staging,
    ):
        try:
            staging.write(hashlib.sha256(content).digest() + content)
            staging.close()
            Path(staging.name).replace(path)
        except OSError:
            Path(staging.name).unlink(missing_ok=True)
            raise


@cache
def code_digest() -> str:
    """Return a hash of the whole source of redaction and of Python's version; "" if the source
    cannot be read, so that nothing may be cached by it."""
    digest = hashlib.sha256(sys.version.encode())
    with contextlib.suppress(OSError):
        for module in sorted(_PACKAGE.rglob("*.py")):
            digest.update(f"{module.relative_to(_PACKAGE)} {module.stat().st_size}\n".encode())
            digest.update(module.read_bytes())
        return digest.hexdigest()
    return ""
