"""The directory of each workspace id of VS Code and of editors derived from it."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlparse

from memory_assets.transcripts.fields import text_field
from memory_assets.transcripts.json_documents import object_beside

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
