"""Sessions that are one document each, rewritten as a whole; and the documents beside sessions,
such as the settings by which VS Code and its relatives name the directory of a window."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG
from typing import Any
from urllib.parse import unquote, urlparse

from memory_assets.errors import DamagedTranscript, TranscriptError, printable, unreadable
from memory_assets.transcripts.fields import from_json, rows_of, text_field
from memory_assets.transcripts.lines import JsonObject

MAX_BYTES = 1 << 29
"""A larger document is not read: it is held in memory."""
MAX_BESIDE = 1 << 25
"""A larger file beside a session is passed over."""
_NO_FILE = "it is no file"
_NO_JSON = "it is no JSON document"
_TOO_LARGE = "it is too large to be held in memory"


def document_of(path: Path) -> JsonObject:
    """Return the object in a file.

    Raises:
        TranscriptError: it cannot be read.
        DamagedTranscript: it is no JSON object, or too large.
    """
    document = from_json(bytes_of(path))
    if not isinstance(document, dict):
        raise DamagedTranscript(f"{printable(path)}: {_NO_JSON}", _NO_JSON)
    return document


def text_of(path: Path) -> str:
    """Return the text in a file, whatever its bytes, its lines as on Unix; raise as `document_of`
    does."""
    return bytes_of(path).decode("utf-8-sig", "replace").replace("\r\n", "\n")


def json_beside(path: Path) -> Any:
    """Return what a file beside sessions says in JSON (a list of them, settings, a workspace's
    directory); None if it is not there, cannot be read, is too large, or is no JSON."""
    try:
        return from_json(bytes_of(path, MAX_BESIDE))
    except TranscriptError:
        return None


def object_beside(path: Path) -> JsonObject:
    """Return the object in a file beside sessions; an empty one where there is none."""
    parsed = json_beside(path)
    return parsed if isinstance(parsed, dict) else {}


def text_beside(path: Path) -> str:
    """Return the text in a file beside sessions; "" where there is none."""
    try:
        return bytes_of(path, MAX_BESIDE).decode("utf-8", "replace")
    except TranscriptError:
        return ""


def bytes_of(path: Path, most: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file, because anything else might never end; raise as
    `document_of` does."""
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode):
            raise DamagedTranscript(f"{printable(path)}: {_NO_FILE}", _NO_FILE)
        if status.st_size > most:
            raise DamagedTranscript(f"{printable(path)}: {_TOO_LARGE}", _TOO_LARGE)
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:  # a name with a NUL
        raise DamagedTranscript(f"{printable(path)}: {_NO_FILE}", _NO_FILE) from error


def rows_of_document(path: Path, name: str) -> Iterator[JsonObject]:
    """Yield a document without its list `name`, which is its head, and then the entries of that
    list; raise as `document_of` does."""
    document = document_of(path)
    listed = document.pop(name, None)
    yield document
    yield from rows_of(listed)


def field_in_head(head: bytes, name: str) -> str:
    """Return the first text in a field of this name in the beginning of a document, which may be
    cut off; "" if there is none."""
    match = re.search(rb'"%s"\s*:\s*"([^"\\]{1,200})"' % name.encode(), head)
    return match.group(1).decode("utf-8", "replace") if match else ""


_HASH = re.compile(r"[0-9a-f]{32}")


def directory_of(workspace: Path) -> str:
    """Return the directory that a window was opened in; "" if nothing says it."""
    document = object_beside(workspace)
    if folder := text_field(document, "folder"):
        return path_of(folder)
    named = path_of(text_field(document, "workspace"))
    return named.rpartition("/")[0]


def named_by_hash(workspace_id: str) -> str:
    """Return a window's id if it is the hash of a directory, after which a project can be named
    while nothing says the directory; "" for one that was opened without."""
    return workspace_id if _HASH.fullmatch(workspace_id) else ""


def path_of(uri: str) -> str:
    """Return the path of a file's URI, on whatever machine; a path is returned as it is."""
    if "://" not in uri:
        return uri
    path = unquote(urlparse(uri).path)
    is_windows = len(path) > 2 and path[0] == "/" and path[2] == ":"
    return path[1:] if is_windows else path
