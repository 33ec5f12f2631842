"""Paths of files in the one spelling in which they are stored and compared.

On Windows one file appears with slashes, with backslashes and with both, and its drive in either
case, as agents and their tools write it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory_assets.redacted_text import RedactedText

_BACKSLASH = re.compile(r"\\")
_OF_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\|[^/\\]*\\")


def is_of_windows(path: str) -> bool:
    """Return whether a path is one of Windows: with a drive, a server, or a backslash before any
    slash."""
    return _OF_WINDOWS.match(path) is not None


def one_spelling(path: str) -> str:
    """Return a path of Windows with slashes and a drive in upper case, as which agents spell it in
    three ways; any other path as it is."""
    if "\\" not in path and path[1:2] != ":":
        return path
    if not is_of_windows(path) and not path.startswith("~"):
        return path
    plain = path.replace("\\", "/")
    return plain[0].upper() + plain[1:] if plain[1:2] == ":" else plain


def _below(path: str, base: str) -> int | None:
    """Return where in `path` the part below `base` begins, whatever the spelling of Windows; None
    if it is not below."""
    bare = base.rstrip("/\\")
    inside = bare and len(path) > len(bare) + 1 and path[len(bare)] in "/\\"
    if not inside:
        return None
    head = path[: len(bare)]
    if head != bare and not (is_of_windows(base) or is_of_windows(path)):
        return None
    same = head == bare or one_spelling(head) == one_spelling(bare)
    return len(bare) + 1 if same else None


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
