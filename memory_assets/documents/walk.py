"""Find the documents of a workspace: a walk that follows no links and obeys `.gitignore` and
`.memoryignore`, nested and negated as Git reads them (`ignore_rules.py`)."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from memory_assets.commits.repository import Repository
from memory_assets.documents.ignore_rules import RuleFile, rules_at
from memory_assets.word_lists import word_set

MOST_BYTES = 10_000_000
"""Larger files are skipped: no document that somebody reads is larger."""
SKIPPED_DIRECTORIES = word_set(
    ".git .hg .svn node_modules .venv venv site __pycache__ .mypy_cache .ruff_cache .pytest_cache"
    " .tox .gradle .idea"
)
SKIPPED_FILES = frozenset({".DS_Store", "Thumbs.db"})
IGNORE_FILES = (".gitignore", ".memoryignore")
_BY_RULE = "ignored"
_Ignored = list[tuple[int, RuleFile]]
"""Rules with the bytes of the path of their directory, slash included; outermost first."""


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
    """Return the documents below `root`. Directories in `others`, roots of other workspaces, are
    not entered; the walk ends after `most` files.

    Raises:
        OSError: the root cannot be read.
    """
    listing = Walk()
    ignored_by_rule: set[str] = set()
    apart = {str(directory) for directory in others}
    pending: list[tuple[str, _Ignored]] = [
        ("", _rules_of(root, "", _excluded_by_git(root, listing), listing))
    ]
    while pending and (most is None or len(listing.files) < most):
        prefix, ignored = pending.pop()
        try:
            entries = sorted(os.scandir(root / prefix), key=lambda entry: entry.name)
        except OSError:
            if not prefix:
                raise
            listing.skipped["unreadable directory"] += 1
            continue
        for entry in entries:
            path = prefix + entry.name
            is_directory = entry.is_dir(follow_symlinks=False)
            reason = _exclusion_reason(path, is_directory, ignored, is_sensitive)
            if entry.is_symlink():
                listing.skipped["link"] += 1
            elif reason is None and is_directory:
                if str(root / path) in apart:
                    listing.skipped["directory of another workspace or memory"] += 1
                else:
                    inner = f"{path}/"
                    pending.append((inner, _rules_of(root, inner, ignored, listing)))
            elif reason is None:
                with suppress(OSError):  # it vanished
                    _add(listing, path, entry.stat(follow_symlinks=False))
            elif reason == _BY_RULE:
                ignored_by_rule.add(path)
                listing.skipped[reason] += not is_directory
            elif reason:
                listing.skipped[reason] += 1
    _count_tracked(listing, root, ignored_by_rule)
    return listing


def _count_tracked(listing: Walk, root: Path, ignored: set[str]) -> None:
    """Count the ignored files that Git tracks separately."""
    tracked = Repository(root).files() if ignored and (root / ".git").exists() else []
    left_out = [path for path in tracked if not ignored.isdisjoint(accumulate(_parts(path)))]
    listing.skipped[_BY_RULE] -= len(ignored.intersection(left_out))
    listing.skipped[f"{_BY_RULE} though Git tracks them"] += len(left_out)
    listing.skipped = +listing.skipped


def _parts(path: str) -> Iterator[str]:
    """Yield the names of a path, with the slash before each but the first."""
    first, *names = path.split("/")
    yield first
    yield from (f"/{name}" for name in names)


def found_at(root: Path, path: str, is_sensitive: Callable[[str], bool]) -> FoundFile | None:
    """Return the document at a path below `root`, as `walk` would; None if there is none."""
    listing = Walk()
    ignored = _rules_of(root, "", _excluded_by_git(root, listing), listing)
    directories = list(accumulate(path.split("/")[:-1], "{}/{}".format))
    for place in (*directories, path):
        try:
            status = (root / place).lstat()
        except OSError:
            return None
        is_directory = stat.S_ISDIR(status.st_mode)
        kept_out = _exclusion_reason(place, is_directory, ignored, is_sensitive) is not None
        if kept_out or is_directory == (place == path):
            return None
        if is_directory:
            ignored = _rules_of(root, f"{place}/", ignored, listing)
    _add(listing, path, status)
    return listing.files.get(path)


def is_passed_over(path: str) -> bool:
    """Return True if a path is in a directory that is never entered."""
    return not SKIPPED_DIRECTORIES.isdisjoint(path.split("/"))


def _exclusion_reason(
    path: str, is_directory: bool, ignored: _Ignored, is_sensitive: Callable[[str], bool]
) -> str | None:
    """Return why an entry is left out, "" for a reason not worth counting, None if it is kept."""
    name = path.rpartition("/")[2]
    if name in (SKIPPED_DIRECTORIES if is_directory else SKIPPED_FILES):
        return ""
    if not is_directory and _is_text(path) and is_sensitive(path):
        return "holds secrets by its name"
    if _is_ignored(os.fsencode(path), is_directory, ignored):
        return _BY_RULE
    return None


def _add(listing: Walk, path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        listing.skipped["no plain file"] += 1
    elif status.st_size > MOST_BYTES:
        listing.skipped[f"larger than {MOST_BYTES // 1_000_000} MB"] += 1
    elif not _is_text(path):
        listing.skipped["name that is not text"] += 1
    else:
        listing.files[path] = FoundFile(path, status.st_size, status.st_mtime_ns)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8
        return False
    return True


def _is_ignored(path: bytes, is_directory: bool, ignored: _Ignored) -> bool:
    """Return True if the innermost rule that matches a path leaves it out."""
    for directory, rules in reversed(ignored):
        verdict = rules.verdict(path[directory:], is_directory)
        if verdict is not None:
            return verdict
    return False


def _rules_of(root: Path, directory: str, outer: _Ignored, listing: Walk) -> _Ignored:
    """Return the rules that hold in a directory: those around it, and its own."""
    prefix_length = len(os.fsencode(directory))
    rule_files = (_read(root / directory / name, listing) for name in IGNORE_FILES)
    own = [(prefix_length, rules) for rules in rule_files if rules is not None]
    return [*outer, *own] if own else outer


def _excluded_by_git(root: Path, listing: Walk) -> _Ignored:
    """Return the rules of `.git/info/exclude`."""
    rules = _read(root / ".git" / "info" / "exclude", listing)
    return [] if rules is None else [(0, rules)]


def _read(path: Path, listing: Walk) -> RuleFile | None:
    """Return the rules of a file, and count its invalid ones."""
    rules = rules_at(path)
    if rules is not None and rules.invalid:
        listing.skipped["rule of an ignore file that is not valid"] += rules.invalid
    return rules
