"""What was derived from the rules, kept between runs in the user's cache directory.

A file is named by the hash of all that its content follows from. It begins with the hash of the
content and is written whole before it gets its name (mode 0600, directory 0700), so that one that
is cut short or altered is not read. One process makes content at a time; others wait for its file.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from filelock import FileLock

_DIGEST = hashlib.sha256().digest_size
_PACKAGE = Path(__file__).resolve().parents[1]


def kept_path(directory: Path, name: str, follows_from: str, suffix: str) -> Path:
    """Return the path of the content `name` that follows from the given text."""
    return directory / f"{name}-{hashlib.sha256(follows_from.encode()).hexdigest()[:24]}{suffix}"


def kept(
    path: Path, make: Callable[[], bytes], usable: Callable[[bytes], bool] = lambda content: True
) -> bytes:
    """Return the content of a file; if it is missing, damaged or not usable, what `make` returns,
    which is kept where it can be written."""
    content = _read(path)
    if content is not None and usable(content):
        return content
    with contextlib.ExitStack() as after:
        with contextlib.suppress(OSError):  # made by each process where none can write
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            after.enter_context(FileLock(path.with_name("compiling.lock"), mode=0o600))
        content = _read(path)
        if content is None or not usable(content):
            content = make()
            _write(path, content)
        return content


def _read(path: Path) -> bytes | None:
    """Return the content of a whole file; None if there is none."""
    with contextlib.suppress(OSError):
        stored = path.read_bytes()
        if hashlib.sha256(stored[_DIGEST:]).digest() == stored[:_DIGEST]:
            return stored[_DIGEST:]
    return None


def _write(path: Path, content: bytes) -> None:
    """Write a file, where it can be written: of those who write it at the same time the last one
    wins, with the same content."""
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
    """Return a hash of the source of every rule and all code of redaction, and of Python's
    version; "" if the source cannot be read: then nothing may be kept by it."""
    digest = hashlib.sha256(sys.version.encode())
    with contextlib.suppress(OSError):
        for module in sorted(_PACKAGE.rglob("*.py")):
            digest.update(f"{module.relative_to(_PACKAGE)} {module.stat().st_size}\n".encode())
            digest.update(module.read_bytes())
        return digest.hexdigest()
    return ""
