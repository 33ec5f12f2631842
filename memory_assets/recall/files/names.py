"""What a file is called in full: by its name alone, or by the end of its path."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from memory_assets.chunking import file_matches
from memory_assets.errors import ConfigurationError
from memory_assets.path_spelling import one_spelling
from memory_assets.recall.names import comma_list
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import TURN_CHUNKS

_LISTED = 5
_SHA = re.compile(r"[0-9a-f]{7,40}")


def is_absolute(path: str) -> bool:
    """Return True for a path from a root or a home directory, of either kind of system."""
    return path.startswith("~") or any(
        kind(path).is_absolute() for kind in (PurePosixPath, PureWindowsPath)
    )


def directory_of(target: str) -> Path:
    """Return the directory that a path or a revision is looked for in: the current one. Where that
    is gone, a full path and a commit's hash need none.

    Raises:
        FileNotFoundError: it is gone, and the target is relative to it.
    """
    try:
        return Path.cwd()
    except FileNotFoundError:
        if is_absolute(target) or _SHA.fullmatch(target.strip()):
            return Path(Path.home().anchor)
        raise


def only_file(name: str, paths: Mapping[str, str]) -> str | None:
    """Return the full path of the only file that ends with `name`, of full paths by what tells
    files apart; None if there is none. One that sessions with and without a directory name is one.

    Raises:
        ConfigurationError: several do; lists them.
    """
    matching = sorted({full for path, full in paths.items() if file_matches(path, name)})
    if len(matching) > 1:
        raise several_files(name, matching)
    return matching[0] if matching else None


def several_files(name: str, paths: Collection[str]) -> ConfigurationError:
    """Return the error for a name that several files have."""
    listed = comma_list(paths, _LISTED)
    return ConfigurationError(f"{name} can mean {listed}; give more of its path")


def touched_files(lake: Lake, projects: Sequence[str], name: str) -> dict[str, str]:
    """Return the full paths of the files called `name` that turns of these projects read or wrote,
    by path in the project, so that copies in worktrees are one; by full path outside."""
    spellings: dict[str, str] = {}
    for project in projects:
        rows = lake.read_partition(TURN_CHUNKS, project, ["project_root", "files"])
        pairs = ((row["project_root"], row["files"]) for row in rows.to_pylist())
        for root, path in {(str(root), str(path)) for root, paths in pairs for path in paths}:
            if len(path) >= len(name) and file_matches(path, name):
                full = one_spelling(path if is_absolute(path) else f"{root.rstrip('/')}/{path}")
                spellings[path] = min(full, spellings.get(path, full))
    return spellings
