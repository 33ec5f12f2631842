"""Facts about a Git checkout, read from its files: no program is run.

https://git-scm.com/docs/git-config and
https://git-scm.com/book/en/v2/Git-Internals-Git-Objects
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator, Mapping
from configparser import ConfigParser, Error
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path, PurePosixPath

_SLUG = re.compile(r"[:/]([^/:\s]+/[^/:\s]+?)(?:\.git)?/?$")
_SERVICE = "svc-*"
_NAME_END = re.compile(r"\.|--")
"""What a name ends at: `svc-orders.openapi.yaml` and `svc-orders--v2` are of `svc-orders`."""
_INDEX_ENTRY = 62
"""Bytes of an entry of Git's index before its path."""
_LONGEST_PATH = 4_096


def repo_slug(root: Path) -> str:
    """Return `owner/name` of the repository's remote `origin`, or the directory's name."""
    config = ConfigParser(strict=False, interpolation=None)
    try:
        config.read_string((root / ".git" / "config").read_text("utf-8"))
        url = config['remote "origin"']["url"]
    except (OSError, UnicodeDecodeError, Error, KeyError):
        return root.name
    match = _SLUG.search(url)
    return match[1] if match else root.name


def tracked_paths(root: Path) -> frozenset[str]:
    """Return the paths that Git tracks in the checkout at a directory; none if it is no checkout,
    or its index is not to be read (https://git-scm.com/docs/index-format)."""
    place = root / ".git"
    try:
        if place.is_file():  # of a working tree
            place = root / place.read_text("utf-8").removeprefix("gitdir:").strip()
        status = (place / "index").stat()
        return _tracked(place / "index", status.st_mtime_ns, status.st_size)
    except (OSError, ValueError, IndexError, struct.error):
        return frozenset()


@lru_cache(maxsize=8)
def _tracked(index: Path, mtime_ns: int, size: int) -> frozenset[str]:
    """Return the paths in an index that was last written then: each plan asks for them."""
    return frozenset(_index_paths(index.read_bytes()))


def _index_paths(index: bytes) -> Iterator[str]:
    """Yield the paths in an index of version 2, 3 or 4, whose hashes are SHA-1."""
    signature, version, count = struct.unpack_from(">4sII", index)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("no index that is known")
    at, path = 12, b""
    for _ in range(count):
        start = at
        at += _INDEX_ENTRY + 2 * (index[at + _INDEX_ENTRY - 2] >> 6 & 1)
        kept = b""
        if version == 4:  # begins as the path before, but for so many bytes
            cut, at = _index_number(index, at)
            kept = path[: len(path) - cut]
        end = index.index(b"\0", at)
        path = kept + index[at:end]
        if len(path) > _LONGEST_PATH:  # or each of a million could be as long as the file
            raise ValueError("no path of a file system")
        at = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
        yield path.decode("utf-8", "surrogateescape")


def _index_number(index: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable width, and where it ends."""
    number = index[at] & 127
    while index[at] & 128:
        at += 1
        number = (number + 1 << 7) | index[at] & 127
    return number, at + 1


def git_blob(content: bytes) -> str:
    """Return the hash by which Git knows a content (SHA-1)."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def service_of(path: str, services: Mapping[str, str]) -> str:
    """Return the service that a file belongs to: the first part of its path that is called
    `svc-*`, as far as its first dot or two dashes, or the one that the first matching pattern of
    `services` names; "" if none does."""
    for part in PurePosixPath(path).parts:
        name = _NAME_END.split(part, maxsplit=1)[0]
        if fnmatchcase(name, _SERVICE):
            return name
    return next((name for glob, name in services.items() if fnmatchcase(path, glob)), "")
