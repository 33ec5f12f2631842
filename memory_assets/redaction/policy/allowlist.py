"""The allowlist of file contents: globs, resolved against `..`, links and roots.

A path is allowed if a glob matches it as written *and* as resolved on this disk, so that a link
out of an allowed directory is not allowed. Globs are case-sensitive on every file system. A file of
secrets is allowed only by a glob whose last part names such a file (`**/.env.test`, not
`config/**`).
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache

from memory_assets.redaction.policy.sensitive_paths import is_sensitive

_WILD = re.compile(r"[*?\[]")
_LONGEST = 4_096
_REMOTE = ("//", "/net/")
"""Beginnings of paths that are not resolved, because that may contact another machine."""


class Allowlist:
    """Globs of paths whose contents may be kept."""

    def __init__(self, globs: tuple[str, ...]) -> None:
        self._globs = tuple(glob.replace("\\", "/") for glob in globs)
        self._for_secrets = tuple(g for g in self._globs if is_sensitive(g.rsplit("/", 1)[-1]))

    def allows(self, path: str, roots: tuple[str, ...]) -> bool:
        """Return True if the contents of `path` may be kept; `roots` are the directories that a
        relative path or glob starts from, the working directory first."""
        if not self._globs or not path or len(path) > _LONGEST or "\0" in path:
            return False
        base = roots[0] if roots else ""
        real = real_path(path, base)
        globs = self._for_secrets if is_sensitive(path) or is_sensitive(real) else self._globs
        if not _matches(globs, _spellings(path, roots)):
            return False
        return _is_same(path, real, base) or _matches(
            (*globs, *(_resolved(glob) for glob in globs)), _real_spellings(real, roots)
        )


def _plain(path: str) -> str:
    return path.replace("\\", "/").removeprefix("file://")


def real_path(path: str, base: str) -> str:
    """Return the resolved path of `path`, relative to the directory `base`, on this disk.

    Broken links, loops and impossible paths are returned unresolved.
    """
    plain = _plain(path)
    whole = posixpath.join(base.replace("\\", "/"), plain)
    if len(whole) > _LONGEST or "\0" in whole or whole.startswith(_REMOTE) or whole[:1] != "/":
        return plain
    return _resolve(whole)


@lru_cache(maxsize=8_192)
def _resolve(path: str) -> str:
    try:
        return os.path.realpath(path).replace("\\", "/")
    except (OSError, ValueError):
        return path


def _is_same(path: str, real: str, base: str) -> bool:
    plain = _plain(path)
    whole = posixpath.normpath(posixpath.join(base.replace("\\", "/"), plain))
    return real in (whole, plain)


def _resolved(glob: str) -> str:
    """Return an absolute glob with the directories before its first wildcard resolved."""
    wild = _WILD.search(glob)
    fixed = glob[: wild.start()] if wild else glob
    directory, _, rest = fixed.rpartition("/")
    if not directory.startswith("/"):
        return glob
    return f"{_resolve(directory)}/{rest}{glob[len(fixed) :]}"


def _matches(globs: tuple[str, ...], spellings: Iterator[str]) -> bool:
    return any(fnmatchcase(spelling, glob) for spelling in spellings for glob in globs)


def _spellings(path: str, roots: tuple[str, ...]) -> Iterator[str]:
    """Yield `path` without `..`, both as it is and relative to each root that contains it."""
    plain = _plain(path)
    yield posixpath.normpath(plain)
    for root in roots:
        base = posixpath.normpath(root.replace("\\", "/"))
        whole = posixpath.normpath(posixpath.join(base, plain))
        yield whole
        if whole.startswith(base.rstrip("/") + "/"):
            yield posixpath.relpath(whole, base)


def _real_spellings(real: str, roots: tuple[str, ...]) -> Iterator[str]:
    """Yield a resolved path, both as it is and relative to each resolved root that contains it."""
    yield real
    for root in roots:
        base = real_path(root, "")
        if real.startswith(base.rstrip("/") + "/"):
            inside = real[len(base.rstrip("/")) + 1 :]
            yield inside
            yield posixpath.join(root.replace("\\", "/"), inside)
