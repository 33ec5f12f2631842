"""How much of a chunk's text is embedded: the model takes nine tenths of the time of an index.

Words are searched of all of it. Measured in benchmarks/notes/retrieval.md.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from memory_assets.chunking import Tokens

EMBEDDED_TOKENS = 128
"""Word pieces of a passage, from its start, that its vector is made of, special ones included."""
_PROSE = ("markdown", "asciidoc", "adr", "plantuml")
"""Types of files whose passages are embedded whole: any of their sentences may be asked for."""

_BY_NAME = re.compile(
    r".+\.(?:patch|diff|svg|map|min\.(?:js|css))|.+\.lock|"
    r"package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum",
    re.IGNORECASE,
)


def embedded_by_name(path: str) -> bool:
    """Return whether a program wrote the file (patches, lists of resolved dependencies, drawings,
    minified code). Its content is in other files, too, or nobody asks for it, so that its passages
    have the vector of its name."""
    return _BY_NAME.fullmatch(PurePosixPath(path).name) is not None


def embedded_length(file_type: str, text: str, tokens: Tokens) -> int:
    """Return how many characters of a passage, from its start, are embedded."""
    short = len(text) <= EMBEDDED_TOKENS - 2  # a word piece has at least a character
    if short or file_type in _PROSE:
        return len(text)
    offsets = tokens.token_offsets(text)
    read = EMBEDDED_TOKENS - 2
    return offsets[read][0] if len(offsets) > read else len(text)
