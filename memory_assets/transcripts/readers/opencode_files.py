"""OpenCode's sessions in files: the tree of 1.0 and 1.1, and what `opencode export` prints.

A session of the tree is `storage/session/<project>/<session>.json`, with a file for each message in
`storage/message/<session>/`, and for each part of one in `storage/part/<message>/`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memory_assets.errors import DamagedTranscript, TranscriptError, unreadable
from memory_assets.transcripts.discovery import Walk
from memory_assets.transcripts.json_documents import document_of
from memory_assets.transcripts.lines import JsonObject

_OF_HOMES = ("auth.json", "storage", "opencode.db", "kilo.db")
_UNREADABLE = "unreadable"
_DEPTH = 2
"""How many directories may stand between a root and what was exported below it."""
_EXPORTED = "ses_"
"""Part of the name that OpenCode gives to an exported session."""


def session_files(walk: Walk, root: Path) -> Iterator[Path]:
    """Yield the files of sessions: those of the tree, or in a directory without one what was
    exported to it. Nothing else beside a database is looked at: its secrets are there."""
    tree = root / "storage" / "session"
    if tree.is_dir():
        yield from (Path(entry.path) for entry, *_ in walk.transcripts(tree, 1, (".json",)))
    elif not any((root / name).exists() for name in _OF_HOMES):
        for entry, *_ in walk.transcripts(root, _DEPTH, (".json",)):
            if _EXPORTED in entry.name:
                yield Path(entry.path)


def is_of_tree(path: Path) -> bool:
    """Return whether a file is one of the tree."""
    return path.parent.parent.name == "session"


def _tree_files(session: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Yield the file of each message of a session in the tree, with those of its parts."""
    storage = session.parent.parent.parent
    for message in sorted((storage / "message" / session.stem).glob("*.json")):
        yield message, sorted((storage / "part" / message.stem).glob("*.json"))


def tree_messages(session: Path) -> Iterator[JsonObject]:
    """Yield the messages of a session in the tree, as an export has them. One that is no JSON, or
    a part that is none, stands for itself as `unreadable`."""
    for message, parts in _tree_files(session):
        info = _readable(message, {"id": message.stem, "role": _UNREADABLE})
        readable = (_readable(part, {"id": part.stem, "type": _UNREADABLE}) for part in parts)
        if info is not None:
            yield {"info": info, "parts": [part for part in readable if part is not None]}


def _readable(path: Path, otherwise: JsonObject) -> JsonObject | None:
    """Return the object in a file, None if it has vanished."""
    try:
        return document_of(path)
    except DamagedTranscript:
        return otherwise
    except TranscriptError:
        if path.exists():
            raise
        return None


def state_of_files(path: Path) -> tuple[int, int] | None:
    """Return bytes of a session's files with their number, and the time of the newest; None if it
    is deleted."""
    try:
        status = path.stat()
        size, newest = status.st_size + 1, status.st_mtime_ns
        for entry in _entries_of(path) if is_of_tree(path) else ():
            try:
                status = entry.stat()
            except FileNotFoundError:
                continue
            size, newest = size + status.st_size + 1, max(newest, status.st_mtime_ns)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(path, error) from error
    return size, newest


def _entries_of(session: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the files of a session's messages and of their parts, in any order: there may be ten
    thousands, each of which is looked at once."""
    storage = session.parent.parent.parent
    parts = str(storage / "part")
    for message in _scanned(str(storage / "message" / session.stem)):
        yield message
        yield from _scanned(f"{parts}{os.sep}{message.name.removesuffix('.json')}")


def _scanned(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.name.endswith(".json")]
    except (FileNotFoundError, NotADirectoryError):
        return []
