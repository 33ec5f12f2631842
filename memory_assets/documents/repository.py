"""Facts about a Git checkout, read from its files.

https://git-scm.com/docs/git-config and
https://git-scm.com/book/en/v2/Git-Internals-Git-Objects
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from configparser import ConfigParser, Error
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

_SLUG = re.compile(r"[:/]([^/:\s]+/[^/:\s]+?)(?:\.git)?/?$")
_SERVICE = "svc-*"
_NAME_END = re.compile(r"\.|--")
"""What a name ends at: `svc-orders.openapi.yaml` and `svc-orders--v2` are of `svc-orders`."""


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
