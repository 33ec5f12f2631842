"""The installation's secret key: 32 random bytes, mode 0600, outside the data directory.

Hashes that could confirm a guess about a transcript (ids of records that have none of their
own, fingerprints of files) are keyed with it, so that the data directory alone reveals
nothing.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from memory_assets.errors import StoreError
from memory_assets.paths import user_config_dir
from memory_assets.private_files import create_once

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
            create_once(path, secrets.token_bytes(_KEY_BYTES))
        key = path.read_bytes()
    except OSError as error:
        raise StoreError(
            f"cannot use the key file {path}: {error.strerror}. Correct its permissions, or "
            "set XDG_CONFIG_HOME to a directory that you can write."
        ) from error
    if len(key) != _KEY_BYTES:
        raise StoreError(
            f"{path} is not a key of {_KEY_BYTES} bytes. Restore it from a copy; or move it away: "
            "another is made, and all is read again."
        )
    return key
