"""YAML, JSON and TOML by their top-level keys."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from memory_assets.documents.document import Cut, Malformed, Source
from memory_assets.documents.structure import Node, begin, read

_NAMES = ("name", "id", "title", "key")
"""Keys whose value names an element of a list."""
_TOML = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|'
    r"'''.*?'''|"
    r'"(?:[^"\\\n]|\\.)*"|'
    r"'[^'\n]*'|"
    r"\#[^\n]*|"
    r"^[ \t]*(?P<table>\[\[?[^\]\n]+\]\]?)[ \t]*(?:\#[^\n]*)?$",
    re.DOTALL | re.MULTILINE,
)


def keys(source: Source) -> list[Cut]:
    """Cut at the top-level keys of each document, or at the elements of a list."""
    cuts: list[Cut] = []
    for number, root in enumerate(read(source)):
        cuts += _entries(source, root, f"document {number}")
    if not cuts:
        raise Malformed
    return cuts


def _entries(source: Source, root: Node, group: str) -> Iterator[Cut]:
    metadata = root.get("metadata")
    name = metadata.text("name") if metadata else ""
    prefix = f"{root.text('kind')} {name}: " if name and root.text("kind") else ""
    if root.kind == "mapping":
        for key, value in root.items():
            edges = tuple(begin(source, child) for child in _keys_of(value))
            yield Cut(begin(source, key), "key", f"{prefix}{key.value}"[:160], group, edges=edges)
    for number, element in enumerate(root.children if root.kind == "sequence" else ()):
        named = next(filter(None, (element.text(each) for each in _NAMES)), "")
        edges = tuple(begin(source, child) for child in _keys_of(element))
        yield Cut(begin(source, element), "key", named or f"[{number}]", group, edges=edges)


def _keys_of(node: Node) -> list[Node]:
    return node.children[::2] if node.kind == "mapping" else node.children


def toml(source: Source) -> list[Cut]:
    """Cut at each table; keys before the first are headed by the first of them."""
    try:
        tomllib.loads(source.text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Malformed from error
    text = source.text.replace("\r", " ")  # one for one, so that places stay the same
    first = text.lstrip().split("\n")[0].split("=")[0].strip()[:160]
    tables = [
        Cut(
            source.with_comments(source.line_start(match.start("table"))),
            "key",
            match["table"].strip("[] "),
            "tables",
        )
        for match in _TOML.finditer(text)
        if match["table"]
    ]
    top = [] if tables and not text[: tables[0].start].strip() else [Cut(0, "key", first, "tables")]
    return top + tables
