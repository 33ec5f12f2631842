"""What finding transcript files needs whatever the agent: walking, and project names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

UNKNOWN_PROJECT = "-unknown"

_NOT_ALPHANUMERIC = re.compile(r"[^A-Za-z0-9]")


def project_of(cwd: str) -> str:
    """Return the project name of a directory, made as Claude Code names its folders.

    Each character outside A-Z a-z 0-9 becomes "-": 76 of 76 folders whose true path was
    known agree. Lossy and colliding: never decode it.
    """
    return _NOT_ALPHANUMERIC.sub("-", cwd) or UNKNOWN_PROJECT


def entries(directory: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    """Return the entries of `directory` by name; none if it vanished or can't be read."""
    try:
        with os.scandir(directory) as scan:
            return sorted(scan, key=lambda entry: entry.name)
    except OSError:
        return []


def is_directory(entry: os.DirEntry[str], *, follow_symlinks: bool = True) -> bool:
    """Return whether `entry` is a directory that is still there."""
    try:
        return entry.is_dir(follow_symlinks=follow_symlinks)
    except OSError:
        return False


def file_facts(entry: os.DirEntry[str]) -> tuple[int, int] | None:
    """Return (size, mtime_ns) of a regular file; None for all else and what vanished."""
    try:
        if not entry.is_file():
            return None
        status = entry.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def walk_jsonl(root: Path, max_depth: int) -> Iterator[tuple[os.DirEntry[str], int, int]]:
    """Yield (entry, size, mtime_ns) of the *.jsonl files at most `max_depth` directories
    under `root`, in order of path. Symbolic links to directories are not followed."""
    for entry in entries(root):
        if entry.name.endswith(".jsonl"):
            facts = file_facts(entry)
            if facts is not None:
                yield entry, *facts
        elif max_depth and is_directory(entry, follow_symlinks=False):
            yield from walk_jsonl(Path(entry.path), max_depth - 1)
