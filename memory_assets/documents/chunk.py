"""Cut a file into chunks, by its type."""

from __future__ import annotations

from functools import cache
from pathlib import PurePosixPath
from types import MappingProxyType

from memory_assets.chunking import Tokens
from memory_assets.documents.definitions import definitions
from memory_assets.documents.diagrams import plantuml
from memory_assets.documents.document import Chunker, Cut, Malformed, Section, Source
from memory_assets.documents.embedded import embedded_by_name
from memory_assets.documents.file_types import file_type
from memory_assets.documents.interfaces import asyncapi, openapi
from memory_assets.documents.keys import keys, toml
from memory_assets.documents.markdown import asciidoc, decision_record, markdown
from memory_assets.documents.scripts import dockerfile, makefile, shell
from memory_assets.documents.sizing import Size, fitted
from memory_assets.embedding import load_word_pieces


def _windows(source: Source) -> list[Cut]:
    return [Cut(0, "window", PurePosixPath(source.path).name)]


_CODE = Size(100, 1000)
_CONFIG = Size(50, 400)
_WINDOW = Size(100, 500)
CHUNKERS: MappingProxyType[str, tuple[Chunker, Size]] = MappingProxyType(
    {
        "markdown": (markdown, Size(200, 1500)),
        "asciidoc": (asciidoc, Size(200, 1500)),
        "adr": (decision_record, Size(100, 500)),
        "openapi": (openapi, Size(100, 800)),
        "asyncapi": (asyncapi, Size(100, 500)),
        "yaml": (keys, _CONFIG),
        "json": (keys, _CONFIG),
        "toml": (toml, _CONFIG),
        "dockerfile": (dockerfile, _CONFIG),
        "makefile": (makefile, _CONFIG),
        "shell": (shell, _CODE),
        "java": (definitions("java"), _CODE),
        "python": (definitions("python"), _CODE),
        "typescript": (definitions("typescript"), _CODE),
        "javascript": (definitions("javascript"), _CODE),
        "go": (definitions("go"), _CODE),
        "rust": (definitions("rust"), _CODE),
        "plantuml": (plantuml, Size(50, 1500)),
        "text": (_windows, _WINDOW),
    }
)
"""file_type -> its chunker, and how many tokens its chunks have."""


@cache
def _word_pieces() -> Tokens:
    return load_word_pieces()


def sections(path: str, text: str) -> list[Section]:
    """Return the chunks of a file in its order; none if it is blank.

    `path` is relative to the workspace. Each line that is not blank is in some chunk, but
    for extension keys (`x-...`) of OpenAPI and AsyncAPI. A file that its parser refuses is
    one `full_file`, or windows if it is long; one that is embedded by its name is one chunk.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        return []
    kind = file_type(path, text)
    if embedded_by_name(path, kind, text):
        lines = text.count("\n") + (not text.endswith("\n"))
        return [Section("full_file", PurePosixPath(path).name, 1, max(lines, 1), text)]
    source = Source(path, text, _word_pieces())
    chunker, size = CHUNKERS[kind]
    try:
        cuts = list(chunker(source))
    except Malformed:
        cuts, size = [Cut(0, "full_file", PurePosixPath(path).name)], _WINDOW
    return fitted(source, cuts, size)
