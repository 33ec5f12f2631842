"""Which files of a workspace are documents: a walk that follows no link and goes by
`.gitignore` and `.memoryignore`, nested and negated as Git reads them.

https://git-scm.com/docs/gitignore; matched by pathspec.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MOST_BYTES = 10_000_000
"""Larger files are skipped: no document that somebody reads is larger."""
SKIPPED_DIRECTORIES = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "node_modules",
        ".venv",
        "venv",
        "site",
        "__pycache__",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".tox",
        ".gradle",
        ".idea",
    }
)
SKIPPED_FILES = frozenset({".DS_Store", "Thumbs.db"})
IGNORE_FILES = (".gitignore", ".memoryignore")
_Ignored = list[tuple[str, "GitIgnoreSpec"]]
"""Rules with the directory that they are in (with a slash at its end), outermost first."""


@dataclass(frozen=True)
class FoundFile:
    """A file: its path in the workspace, with slashes, its size and its time of change."""

    path: str
    size: int
    mtime_ns: int


@dataclass
class Walk:
    """The documents of a workspace, by path, and the number of files skipped by reason."""

    files: dict[str, FoundFile] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)


def walk(
    root: Path,
    is_sensitive: Callable[[str], bool],
    others: Collection[Path] = (),
    most: int | None = None,
) -> Walk:
    """Return the documents below `root`. `others` are directories that are not entered: roots of
    other workspaces; `most`: the walk ends at so many files.

    Raises:
        OSError: the root cannot be read.
    """
    found = Walk()
    apart = {str(other) for other in others}
    pending: list[tuple[str, _Ignored]] = [("", _rules_of(root, "", _excluded_by_git(root)))]
    while pending and (most is None or len(found.files) < most):
        prefix, ignored = pending.pop()
        try:
            entries = sorted(os.scandir(root / prefix), key=lambda entry: entry.name)
        except OSError:
            if not prefix:
                raise
            found.skipped["unreadable directory"] += 1
            continue
        for entry in entries:
            path = prefix + entry.name
            is_directory = entry.is_dir(follow_symlinks=False)
            reason = _kept_out(path, is_directory, ignored, is_sensitive)
            if entry.is_symlink():
                found.skipped["link"] += 1
            elif reason is None and is_directory:
                if str(root / path) in apart:
                    found.skipped["directory of another workspace or memory"] += 1
                else:
                    inner = f"{path}/"
                    pending.append((inner, _rules_of(root, inner, ignored)))
            elif reason is None:
                with suppress(OSError):  # it vanished
                    _add(found, path, entry.stat(follow_symlinks=False))
            elif reason:
                found.skipped[reason] += 1
    return found


def found_at(root: Path, path: str, is_sensitive: Callable[[str], bool]) -> FoundFile | None:
    """Return the document at a path below `root`, as `walk` would; None if there is none."""
    found, ignored = Walk(), _rules_of(root, "", _excluded_by_git(root))
    directories = list(accumulate(path.split("/")[:-1], "{}/{}".format))
    for place in (*directories, path):
        try:
            status = (root / place).lstat()
        except OSError:
            return None
        is_directory = stat.S_ISDIR(status.st_mode)
        kept_out = _kept_out(place, is_directory, ignored, is_sensitive) is not None
        if kept_out or is_directory == (place == path):
            return None
        if is_directory:
            ignored = _rules_of(root, f"{place}/", ignored)
    _add(found, path, status)
    return found.files.get(path)


def is_passed_over(path: str) -> bool:
    """Whether a path is in a directory that is never entered."""
    return not SKIPPED_DIRECTORIES.isdisjoint(path.split("/"))


def _kept_out(
    path: str, is_directory: bool, ignored: _Ignored, is_sensitive: Callable[[str], bool]
) -> str | None:
    """Return why an entry is left out, "" if that is not worth a word, None if it is not."""
    name = path.rpartition("/")[2]
    if is_directory:
        return "" if name in SKIPPED_DIRECTORIES or _is_ignored(f"{path}/", ignored) else None
    if name in SKIPPED_FILES:
        return ""
    if is_sensitive(path):
        return "holds secrets by its name"
    return "ignored" if _is_ignored(path, ignored) else None


def _add(found: Walk, path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        found.skipped["no plain file"] += 1
    elif status.st_size > MOST_BYTES:
        found.skipped[f"larger than {MOST_BYTES // 1_000_000} MB"] += 1
    elif not _is_text(path):
        found.skipped["name that is not text"] += 1
    else:
        found.files[path] = FoundFile(path, status.st_size, status.st_mtime_ns)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8
        return False
    return True


def _is_ignored(path: str, ignored: _Ignored) -> bool:
    """Whether the innermost rule that says anything of a path leaves it out."""
    for directory, rules in reversed(ignored):
        verdict = rules.check_file(path[len(directory) :]).include
        if verdict is not None:
            return verdict
    return False


def _rules_of(root: Path, directory: str, outer: _Ignored) -> _Ignored:
    """Return the rules that hold in a directory: those around it, and its own."""
    own = [
        (directory, rules)
        for name in IGNORE_FILES
        for rules in _read_rules(root / directory / name)
    ]
    return [*outer, *own] if own else outer


def _excluded_by_git(root: Path) -> _Ignored:
    return [("", rules) for rules in _read_rules(root / ".git" / "info" / "exclude")]


def _read_rules(path: Path) -> Iterator[GitIgnoreSpec]:
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    try:
        yield _rules(lines)
    except ValueError:  # a line that Git passes over, too
        yield _rules(line for line in lines if _is_rule(line))


def _is_rule(line: str) -> bool:
    try:
        _rules([line])
    except ValueError:
        return False
    return True


def _rules(lines: Iterable[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # not for an ingest of sessions

    return GitIgnoreSpec.from_lines(lines)
