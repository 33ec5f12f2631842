"""Ids and names of transcripts made safe, and ids that are derived.

They are stored without redaction (ids must stay joinable), so a value that does not look like an id
or a name is never returned as one.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

from memory_assets.record_identity import DERIVED, looks_stored
from memory_assets.record_identity import text_hash as text_hash

_UNIQUE = 32
"""An id of so many characters is no other record's by chance."""
_ID = re.compile(r"[A-Za-z0-9_.:|/=+-]{1,128}")
_NAME = re.compile(r"[A-Za-z0-9_.:/@<>()\[\] +-]{1,100}")
_TYPE = re.compile(r"[A-Za-z]+(?:[_./:-][A-Za-z]+)*\d{0,2}")
UNNAMED_TYPE = "(not a name)"
NO_TYPE = "(none)"


def derived_id(*parts: str) -> str:
    """Return an id that is a function of `parts` alone. It confirms a guess of them, so it
    is keyed before it is written (`RecordIdentity.stored`)."""
    digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{DERIVED}{digest[:32]}"


def record_id(agent: str, session_id: str, value: object, start: int) -> str:
    """Return the id of a record: the agent's own if it looks unique, else one derived from it and
    the session, or without one from the place where the record starts."""
    own = safe_id(value)
    return own if len(own) >= _UNIQUE else derived_id(agent, session_id, own or f"@{start}")


def safe_id(value: object) -> str:
    """Return `value` if it is an id, a digest of it if it is other text, "" if it is no text.

    Equal values give equal ids, so copies stay recognisable even where a tool mangled their
    ids. A value in the form of our own derived ids is digested, because no agent wrote it.
    """
    if not isinstance(value, str) or not value:
        return ""
    return value if _ID.fullmatch(value) and not looks_stored(value) else derived_id(value)


def safe_name(value: str) -> str:
    """Return `value` if it can be the name of a model or a version, else ""."""
    return value if _NAME.fullmatch(value) else ""


def type_name(value: object) -> str:
    """Return `value` if it can be the name of a record type, else a stand-in."""
    return _type_name(value) if isinstance(value, str) else NO_TYPE


@lru_cache(maxsize=512)
def _type_name(value: str) -> str:
    return value if len(value) <= 48 and _TYPE.fullmatch(value) else UNNAMED_TYPE
