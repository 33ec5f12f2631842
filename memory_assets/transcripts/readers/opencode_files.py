"""OpenCode's sessions in files: the tree of 1.0 and 1.1, and what `opencode export` prints.

A session of the tree is `storage/session/<project>/<session>.json`, with a file for each message in
`storage/message/<session>/`, and for each part of one in `storage/part/<message>/`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson

from memory_assets.errors import DamagedTranscript, TranscriptError, printable, unreadable
from memory_assets.transcripts.discovery import Walk
from memory_assets.transcripts.fields import object_field
from memory_assets.transcripts.lines import JsonObject


def documents(
    walk: Walk, root: Path, *, in_tree: bool
) -> Iterator[tuple[Path, JsonObject, int, int]]:
    """Yield path, facts, size and time of the sessions that are files: those of the tree, or in a
    directory without one what was exported to it."""
    storage = root / "storage" / "session"
    is_home = in_tree or storage.is_dir()
    for entry, size, mtime_ns in walk.transcripts(
        storage if storage.is_dir() else root, 1 if storage.is_dir() else 0, (".json",)
    ):
        path = Path(entry.path)
        if is_home and not storage.is_dir():
            return  # what lies beside a database is none: its secrets among it
        try:
            document = document_of(path)
        except TranscriptError as error:
            walk.note(path, error)
            continue
        if storage.is_dir():
            state = tree_state(path)
            if state is not None:
                yield path, document, *state
        elif isinstance(document.get("info"), dict) and isinstance(document.get("messages"), list):
            yield path, object_field(document, "info"), size, mtime_ns


def document_of(path: Path) -> JsonObject:
    """Return the object in a file; raise `TranscriptError` if it cannot be read, or is none."""
    try:
        found = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError:
        reason = "it is no JSON document"
        raise DamagedTranscript(f"{printable(path)}: {reason}", reason) from None
    except OSError as error:
        raise unreadable(path, error) from error
    return found if isinstance(found, dict) else {}


def listed(document: JsonObject, name: str) -> list[JsonObject]:
    """Return the objects of a list in an object."""
    found = document.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _tree_files(session: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Yield the file of each message of a session in the tree, with those of its parts."""
    storage = session.parent.parent.parent
    for message in sorted((storage / "message" / session.stem).glob("*.json")):
        yield message, sorted((storage / "part" / message.stem).glob("*.json"))


def tree_messages(session: Path) -> Iterator[JsonObject]:
    """Yield the messages of a session in the tree, as an export has them."""
    for message, parts in _tree_files(session):
        try:
            yield {"info": document_of(message), "parts": [document_of(part) for part in parts]}
        except TranscriptError:
            if message.exists():
                raise


def tree_state(path: Path) -> tuple[int, int] | None:
    """Return bytes of a session's files with their number, and the time of the newest."""
    size = newest = 0
    files = (each for message, parts in _tree_files(path) for each in (message, *parts))
    try:
        for each in (path, *files):
            status = each.stat()
            size, newest = size + status.st_size + 1, max(newest, status.st_mtime_ns)
    except FileNotFoundError:
        return tree_state(path) if path.exists() else None
    except OSError as error:
        raise unreadable(path, error) from error
    return size, newest
