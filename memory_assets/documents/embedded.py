"""How much of a chunk's text is embedded: the model takes nine tenths of the time of indexing.

The keyword index covers the whole text. Measured in benchmarks/notes/retrieval.md.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from memory_assets.chunking import Tokens
from memory_assets.documents.file_types import KIND_OF

EMBEDDED_TOKENS = 128
"""Word pieces of a passage, from its start and with special ones, that are embedded."""
_PROSE = ("markdown", "asciidoc", "adr", "plantuml")
"""Types of files whose passages are embedded whole: any of their sentences may be asked for."""

_BY_NAME = re.compile(
    r".+\.(?:patch|diff|svg|map|min\.(?:js|css))|.+\.lock|"
    r"package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum",
    re.IGNORECASE,
)
_LONG_LINES = 500
"""Average characters of a file's lines above which a program wrote it; files of people in eight
public workspaces have at most 131."""
_LONGEST = 5_000
"""Characters that its longest line must exceed, too."""


def written_by_program(path: str) -> bool:
    """Return True if a file's name says that a program wrote it."""
    return _BY_NAME.fullmatch(PurePosixPath(path).name) is not None


def embedded_by_name(path: str, file_type: str, text: str) -> bool:
    """Return True if a program wrote the file (patches, lists of resolved dependencies, drawings,
    minified code, icons and data in JSON). Its content is also in other files, or nobody searches
    for it, so that its passages get the vector of its name."""
    if written_by_program(path):
        return True
    if KIND_OF[file_type] not in ("code", "config") or len(text) < _LONGEST:
        return False
    lines = text.splitlines()
    return len(text) > _LONG_LINES * len(lines) and max(map(len, lines)) > _LONGEST


def embedded_length(file_type: str, text: str, tokens: Tokens) -> int:
    """Return how many characters of a passage, from its start, are embedded."""
    short = len(text) <= EMBEDDED_TOKENS - 2  # a word piece has at least a character
    if short or file_type in _PROSE:
        return len(text)
    offsets = tokens.token_offsets(text)
    read = EMBEDDED_TOKENS - 2
    return offsets[read][0] if len(offsets) > read else len(text)
