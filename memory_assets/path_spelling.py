"""Paths of files in the one spelling in which they are stored and compared.

On Windows one file appears with slashes, with backslashes and with both, and its drive in either
case, as agents and their tools write it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory_assets.redacted_text import RedactedText

_BACKSLASH = re.compile(r"\\")
_OF_WINDOWS = re.compile(r"[A-Za-z]:(?=[\\/]|\Z)|\\\\|//(?=[^/]+/[^/])|[^/\\]*\\")
_EXTENDED = re.compile(r"(?:\\\\|//)[?.][\\/](?:([A-Za-z]:)|UNC(?=[\\/]))", re.IGNORECASE)
"""How programs that ask Windows for the full path begin it."""
_MOUNTED = re.compile(r"/mnt/([a-z])(?=/|\Z)")
"""WSL's name of a drive."""


def is_of_windows(path: str) -> bool:
    """Return whether a path is one of Windows: with a drive, a server, or a backslash before any
    slash."""
    return _OF_WINDOWS.match(path) is not None


def one_spelling(path: str) -> str:
    """Return a path of Windows with slashes and a drive in upper case, as which agents spell it in
    three ways; any other path as it is."""
    if "\\" not in path and path[1:2] not in (":", "/"):
        return path
    if not is_of_windows(path) and not path.startswith("~"):
        return path
    plain = _EXTENDED.sub(lambda it: it[1] or "/", path, count=1).replace("\\", "/")
    return plain[0].upper() + plain[1:] if plain[1:2] == ":" else plain


def as_compared(path: str) -> str:
    """Return what the spellings of one path have in common: Windows has no upper and lower case,
    and WSL names its drives otherwise."""
    named = _MOUNTED.sub(r"\1:", path, count=1) if path.startswith("/mnt/") else path
    of_windows = is_of_windows(named) or (named.startswith("~") and "\\" in named)
    return one_spelling(named).casefold() if of_windows else named


def _below(path: str, base: str) -> int | None:
    """Return where in `path` the part below `base` begins, whatever the spelling of Windows; None
    if it is not below."""
    bare = base.rstrip("/\\")
    if bare and path.startswith(bare) and path[len(bare) : len(bare) + 1] in ("/", "\\"):
        return len(bare) + 1 if len(path) > len(bare) + 1 else None
    if not bare or not (is_of_windows(base) or is_of_windows(path)):
        return None
    above = f"{as_compared(bare)}/"
    if not as_compared(path).startswith(above) or path[-1] in "/\\":
        return None
    inside = one_spelling(path).split("/", above.count("/") + 2 * path.startswith("/mnt/"))[-1]
    return len(path) - len(inside)


def relative_path(path: RedactedText, bases: Iterable[str]) -> RedactedText:
    """Return `path` below the first of `bases` that holds it, else `path` itself, one of Windows
    with slashes."""
    for base in bases:
        if (begins := _below(path, base)) is not None:
            of_windows = is_of_windows(path) or is_of_windows(base)
            path = path.cut(begins)
            return path.sub(_BACKSLASH, "/") if of_windows else path
    if is_of_windows(path):
        return path.sub(_BACKSLASH, "/")
    return path.cut(2) if path.startswith("./") else path
