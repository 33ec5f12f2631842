"""What somebody could compute who guesses right, and where it stands in a data directory.

They have the directory, but not the install key. For each guess of a text they try the common
hashes of it, in every form that it may have been hashed and written in.
"""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from memory_assets.record_identity import DERIVED
from memory_assets.transcripts import Source, read_session
from memory_assets.transcripts.ids import safe_id
from memory_assets_tests.pipeline.bytes_at_rest import Forms, files_in

_HEAD = 8
_ENOUGH = 16
"""Characters that must agree: 64 bits of a hash in hex, more in other spellings."""


def guesses(sources: Iterable[Source], sentences: Iterable[str]) -> set[str]:
    """Every text that would be tried: the sentences, the lines and objects that they stand
    in, what a reader makes of them, alone and joined as code is wont to join."""
    texts = {form for text in sentences for form in (text, safe_id(text))}
    for source in sources:
        for line in source.path.read_text().splitlines():
            texts.update({line, *_parts(json.loads(line))})
        for record in read_session(source.path, source=source):
            kinds = (record.kind, record.role, record.subtype, record.session_id)
            texts.update({record.text, record.record_uuid, record.parent_uuid or ""})
            texts.update({record.tool_use_id, record.message_id, record.command})
            for joint in ("\0", "\x1f", ":", "\n"):
                texts.update(f"{kind}{joint}{record.text}" for kind in kinds)
    told = {text for text in texts if "password" in text or text.startswith(DERIVED)}
    return told | {json.dumps(text) for text in told if not text.startswith(DERIVED)}


def _parts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield json.dumps(value)
        yield json.dumps(value, separators=(",", ":"), sort_keys=True)
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, str) and " " in part:
            yield part
        elif isinstance(part, dict | list):
            yield from _parts(part)


def _digests(text: str) -> Iterator[bytes]:
    """The unkeyed hashes of a text; an id that a reader derived is one already."""
    content = text.encode()
    if text.startswith(DERIVED):
        yield bytes.fromhex(text[len(DERIVED) :])
    for name in ("md5", "sha1", "sha256", "sha512", "sha3_256"):
        yield hashlib.new(name, content).digest()
    for size in (8, 12, 16, 20, 32, 64):
        yield hashlib.blake2b(content, digest_size=size).digest()
    yield uuid.uuid5(uuid.NAMESPACE_URL, text).bytes


def _spellings(digest: bytes) -> Iterator[bytes]:
    """The forms that a hash is written in, as far as they must agree."""
    yield digest[:_HEAD]
    yield digest[:_HEAD][::-1]
    yield digest.hex()[:_ENOUGH].encode()
    yield base64.b64encode(digest)[:_ENOUGH]
    yield base64.b85encode(digest)[:_ENOUGH]
    for signed in (False, True):
        yield str(int.from_bytes(digest[:_HEAD], "little", signed=signed)).encode()


def confirmed(root: Path, texts: Iterable[str]) -> dict[str, set[str]]:
    """The guesses that a data directory confirms, by the file that does."""
    text_of = {
        form: text for text in texts for digest in _digests(text) for form in _spellings(digest)
    }
    search = Forms(list(text_of))
    found: dict[str, set[str]] = {}
    for path in files_in(root):
        where = str(path.relative_to(root))
        for content in (where.encode(), path.read_bytes(), _decoded(path)):
            for form in search.within(content):
                found.setdefault(where, set()).add(text_of[form])
    return found


def _decoded(path: Path) -> bytes:
    """Every value of a Parquet file, and what it says of itself; nothing of others."""
    if path.suffix != ".parquet":
        return b""
    file = pq.ParquetFile(path)
    values = [str(column.to_pylist()) for column in file.read().itercolumns()]
    return "\0".join([*values, repr(file.metadata.metadata)]).encode("utf-8", "replace")
