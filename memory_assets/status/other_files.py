"""Count the files in the agents' directories that are not transcripts on record: known and left out
for a reason, or unknown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from memory_assets.agents import AGENTS
from memory_assets.errors import printable

_DESKTOP = "written by file managers, editors and version control"
_DESKTOP_FILES = tuple((name, _DESKTOP) for name in (".DS_Store", "Thumbs.db", "*~", ".git/*"))
_LINK = "links to directories that are looked into"
_COPY = "another copy of a transcript that is read"
_SETTINGS = "settings and caches of the agent beside its transcripts"
_MAY_BE_TRANSCRIPTS = re.compile(
    r"\.(jsonl|ndjson|zst|gz|xz|bz2|zip|tar|tgz|db|sqlite3?|vscdb)(-wal|-shm)?\Z"
)
_SUFFIX = re.compile(r"(?:\.[a-z]{1,5})?\.[A-Za-z0-9]{1,8}(?:-wal|-shm)?\Z")
_SHOWN = 5


@dataclass
class OtherFiles:
    """How many files are left out, by reason, and how many nobody knows, by agent and kind
    (`codex *.jsonl.zst`), with the `first` of each kind."""

    left_out: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, agent: str, root: Path, path: str, *, is_copy: bool = False) -> None:
        """Add a file, or a directory too deep to be looked into (it ends with "/"), below an
        agent's directory; `is_copy`: a transcript of its name is read."""
        if reason := _COPY if is_copy else _reason(agent, root, path):
            self.left_out[reason] += 1
        else:
            kind = f"{agent} {_kind(path)}"
            self.unknown[kind] += 1
            self.first.setdefault(kind, printable(path))

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, and the first unknown files, as JSON has them."""
        return {
            "files_left_out": dict(self.left_out),
            "files_unknown": dict(self.unknown),
            "files_unknown_first": self.first,
        }

    def sentence(self) -> str:
        """Return which files nobody knows, as one line; "" if there are none."""
        if not self.unknown:
            return ""
        kinds = ", ".join(f"{kind} ({number})" for kind, number in self.unknown.most_common(_SHOWN))
        more = len(self.unknown) - _SHOWN
        rest = f" and {more} more kinds" if more > 0 else ""
        number = self.unknown.total()
        files = f"{number} file{'s' * (number != 1)} in the agents' directories"
        return f"{files} that no reader knows: {kinds}{rest}"


def _reason(agent: str, root: Path, path: str) -> str:
    """Return why a file is not read, "" if nobody knows."""
    if leads_back(root, path):
        return _LINK
    may_be_read = path.endswith("/") or _MAY_BE_TRANSCRIPTS.search(path) is not None
    folders = _session_folders(agent, root)
    inside = path[len(str(root)) :]
    if not may_be_read and folders and not _is_in(folders, inside[1:]):
        return _SETTINGS
    for pattern, reason in (*AGENTS[agent].other_files, *_DESKTOP_FILES):
        if fnmatchcase(inside, f"*/{pattern}"):
            return reason
    return ""


def leads_back(root: Path, path: str) -> bool:
    """Return whether a path is a link to a directory in the agent's own, which is looked into under
    its own name."""
    link = Path(path)
    is_link = link.is_symlink() and link.is_dir()
    return is_link and link.resolve().is_relative_to(root.resolve())


def _is_in(folders: Set[str], path: str) -> bool:
    """Return whether a path begins with one of these folders, or has one below its first."""
    first, _, rest = path.partition("/")
    return first in folders or rest.partition("/")[0] in folders


@lru_cache(maxsize=16)
def _session_folders(agent: str, root: Path) -> frozenset[str]:
    """Return the names of the folders with transcripts below a home; none if `root` is one."""
    names = AGENTS[agent].folders
    places = (root / above / name for above in ("", "agent") for name in names)
    is_home = root.name not in names and any(place.is_dir() for place in places)
    return names if is_home else frozenset()


def _kind(path: str) -> str:
    if path.endswith("/"):
        return "directories too deep to be looked into"
    suffix = _SUFFIX.search(path)
    return f"*{suffix.group()}" if suffix else "files without a suffix"
