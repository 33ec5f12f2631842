"""What was derived from the rules, kept between runs in the user's cache directory.

A file is named by the hash of all that its content follows from. It begins with the hash of the
content and is written whole before it gets its name (mode 0600, directory 0700), so that one that
is cut short or altered is not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import tempfile
from functools import cache
from pathlib import Path

_DIGEST = hashlib.sha256().digest_size
_PACKAGE = Path(__file__).resolve().parents[1]


def kept_path(directory: Path, name: str, follows_from: str, suffix: str) -> Path:
    """Return the path of the content `name` that follows from the given text."""
    return directory / f"{name}-{hashlib.sha256(follows_from.encode()).hexdigest()[:24]}{suffix}"


def read_kept(path: Path) -> bytes | None:
    """Return the content of a whole file; None if there is none."""
    with contextlib.suppress(OSError):
        stored = path.read_bytes()
        if hashlib.sha256(stored[_DIGEST:]).digest() == stored[:_DIGEST]:
            return stored[_DIGEST:]
    return None


def keep(path: Path, content: bytes) -> None:
    """Write a file, where it can be written: of those who write it at the same time the last one
    wins, with the same content."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as staging:
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
