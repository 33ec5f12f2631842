"""Paths as they are stored and as they are asked for."""

from __future__ import annotations

import re

from memory_assets.redacted_text import RedactedText


def stored_path(path: RedactedText, project_root: str, cwd: str) -> RedactedText:
    """Return `path` relative to the project's root, else to `cwd`, else as it is."""
    for base in (project_root, cwd):
        bare = base.rstrip("/\\")
        if bare and path.startswith((f"{bare}/", f"{bare}\\")):
            return path.cut(len(bare) + 1)
    return path.cut(2) if path.startswith("./") else path


def without_root(text: RedactedText, project_root: str) -> RedactedText:
    """Return `text` with the paths in it relative to the project's root."""
    prefix = project_root.rstrip("/\\") + "/"
    if len(prefix) < 2 or prefix not in text:
        return text
    return text.sub(re.compile(re.escape(prefix)), "")


def file_matches(stored: str, asked: str) -> bool:
    """Return True if a stored path and a requested one can name one file.

    They do if one ends with the other at a directory's boundary: `split.py`,
    `src/split.py` and `/home/ada/app/src/split.py` all match `src/split.py`.
    """
    left, right = _parts(stored), _parts(asked)
    length = min(len(left), len(right))
    return length > 0 and left[-length:] == right[-length:]


def _parts(path: str) -> list[str]:
    return [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
