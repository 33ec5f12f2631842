"""The installation's secret key: 32 random bytes, mode 0600, outside the data directory.

Hashes that could confirm a guess about a transcript (ids of records that have none of their
own, fingerprints of files) are keyed with it, so that the data directory alone reveals
nothing.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from pathlib import Path

from memory_assets.errors import StoreError
from memory_assets.paths import user_config_dir

KEY_FILE = "install.key"
_KEY_BYTES = 32


def load_install_key(config_dir: Path | None = None) -> bytes:
    """Return the key, made on first use.

    Raises:
        StoreError: it cannot be read or written, or is not a key.
    """
    path = (config_dir or user_config_dir()) / KEY_FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _create(path)
        key = path.read_bytes()
    except OSError as error:
        raise StoreError(
            f"cannot use the key file {path}: {error.strerror}. Correct its permissions, or "
            "set XDG_CONFIG_HOME to a directory that you can write."
        ) from error
    if len(key) != _KEY_BYTES:
        raise StoreError(
            f"{path} is not a key of {_KEY_BYTES} bytes. Remove it; all is read again."
        )
    return key


def _create(path: Path) -> None:
    """Write a new key whole before it gets its name: a concurrent starter sees all or
    nothing, and the first one wins."""
    descriptor, staging = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(staging, path)
    finally:
        Path(staging).unlink()
