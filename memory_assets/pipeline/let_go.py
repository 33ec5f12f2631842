"""Which records a retained session had, kept in the footer of what is left of it.

The catalogue knows them too, but may be lost. Without them a fork that is still on disk would
take its copies of what was let go of for its own. They are hashes of ids, and some agents' ids
are hashes of what was said: so they are encrypted with the install key, without which nobody
can test a guess.
"""

from __future__ import annotations

import base64
import hashlib
import secrets

import numpy as np
import numpy.typing as npt

from memory_assets.pipeline.attribution import RECORD_DTYPE
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.session_files import SessionFiles
from memory_assets.stores.reading_ledger import source_key

LET_GO = "let_go"
"""Name in the footer of `redacted_records`."""

_ID = np.dtype("<u8")
_NONCE_BYTES = 16
_OPENED = bytes(8)
"""What comes out first under the right key."""


def let_go(components: Components, session: SessionFiles) -> str:
    """Return the value for the footer: the family and the ids of all records of the session's
    own file, but for those that it only copied. Empty if it has no file of its own."""
    main = next((row for row in session.rows if not row.agent_id), None)
    if main is None or main.family is None:
        return ""
    on_record = components.catalog.record_ids(source_key(main))
    ids = np.unique(np.frombuffer(on_record, dtype=RECORD_DTYPE)["id"])
    family = np.array([main.family], dtype=np.int64).view(np.uint64)
    told = np.append(family, np.setdiff1d(ids, session.copied)).astype(_ID)
    nonce = secrets.token_bytes(_NONCE_BYTES)
    hidden = _crypted(components.install_key, nonce, _OPENED + told.tobytes())
    return base64.b85encode(nonce + hidden).decode()


def read_let_go(install_key: bytes, value: str) -> tuple[int | None, npt.NDArray[np.void]]:
    """Return family and records (`RECORD_DTYPE`, of unknown times) that a footer tells of; none
    where it tells nothing, or was written under another key."""
    nothing = np.empty(0, dtype=RECORD_DTYPE)
    content = base64.b85decode(value)
    told = _crypted(install_key, content[:_NONCE_BYTES], content[_NONCE_BYTES:])
    if not told or not told.startswith(_OPENED):
        return None, nothing
    family, *_ = np.frombuffer(told, dtype=np.int64, offset=len(_OPENED), count=1)
    ids = np.frombuffer(told, dtype=_ID, offset=len(_OPENED) + _ID.itemsize)
    records = np.zeros(len(ids), dtype=RECORD_DTYPE)
    records["id"] = ids
    return int(family), records


def _crypted(install_key: bytes, nonce: bytes, content: bytes) -> bytes:
    """Encrypt, or decrypt: the content combined with a key stream."""
    stream = hashlib.shake_256(install_key + nonce).digest(len(content))
    mixed = np.frombuffer(content, dtype=np.uint8) ^ np.frombuffer(stream, dtype=np.uint8)
    return mixed.tobytes()
