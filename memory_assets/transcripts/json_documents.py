"""Sessions that are one document each, rewritten as a whole: read, and cut into rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import orjson

from memory_assets.errors import DamagedTranscript, printable, unreadable
from memory_assets.transcripts.lines import JsonObject

MAX_BYTES = 1 << 29
"""A larger document is not read: it is held in memory."""
_NO_JSON, _TOO_LARGE = "it is no JSON document", "it is too large to be held in memory"


def document_of(path: Path) -> JsonObject:
    """Return the object in a file.

    Raises:
        TranscriptError: it cannot be read.
        DamagedTranscript: it is no JSON object, or too large.
    """
    try:
        found = orjson.loads(_bytes_of(path))
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise DamagedTranscript(f"{printable(path)}: {_NO_JSON}", _NO_JSON)
    return found


def text_of(path: Path) -> str:
    """Return the text in a file, whatever its bytes; raise as `document_of` does."""
    return _bytes_of(path).decode("utf-8", "replace")


def _bytes_of(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DamagedTranscript(f"{printable(path)}: {_TOO_LARGE}", _TOO_LARGE)
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


def rows_of_document(path: Path, name: str) -> Iterator[JsonObject]:
    """Yield a document without its list `name`, which is its head, and then the objects of that
    list; raise as `document_of` does."""
    document = document_of(path)
    listed = document.pop(name, None)
    yield document
    for each in listed if isinstance(listed, list) else []:
        if isinstance(each, dict):
            yield each


def field_in_head(head: bytes, name: str) -> str:
    """Return the first text in a field of this name in the beginning of a document, which may be
    cut off; "" if there is none."""
    found = re.search(rb'"%s"\s*:\s*"([^"\\]{1,200})"' % name.encode(), head)
    return found.group(1).decode("utf-8", "replace") if found else ""
