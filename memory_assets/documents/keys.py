"""Cut YAML, JSON and TOML at their top-level keys."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace

from memory_assets.documents.document import Cut, Malformed, Source
from memory_assets.documents.structure import Node, begin, read

_NAMES = ("id", "name", "key", "title")
"""Keys whose value names an element of a list."""
_ENTRY = 4
"""Nodes (keys and values) that a list's element has at least if it is a chunk by itself."""
_MAX_LEVELS = 3
"""How deep below a top-level key chunks begin."""
_LONG = 400
"""Tokens above which a mapping is cut at its keys: the most that a chunk of settings has."""
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
    """Cut at the top-level keys of each document, or at the elements of a list.

    Under a key, the named entries of a list are chunks of their own, headed by key and name
    (`tickets[ABC-12]`); a mapping that is longer than a chunk is cut at its own keys.
    """
    cuts: list[Cut] = []
    for number, root in enumerate(read(source)):
        cuts += _document(source, root, f"document {number}")
    if not cuts:
        raise Malformed
    return cuts


def _document(source: Source, root: Node, group: str) -> Iterator[Cut]:
    metadata = root.get("metadata")
    name = metadata.text("name") if metadata else ""
    prefix = f"{root.text('kind')} {name}: " if name and root.text("kind") else ""
    if root.kind == "mapping":
        for key, value in root.items():
            cut = Cut(begin(source, key), "key", f"{prefix}{key.value}"[:160], group)
            yield from _below(source, cut, value, _MAX_LEVELS)
    for number, element in enumerate(root.children if root.kind == "sequence" else ()):
        edges = tuple(begin(source, child) for child in _keys_of(element))
        heading = element.first_text(_NAMES) or f"[{number}]"
        yield Cut(begin(source, element), "key", heading, group, edges=edges)


def _below(source: Source, cut: Cut, value: Node, levels: int) -> Iterator[Cut]:
    """Yield the cut of a key, or those of what is below it, of which the first begins at the
    key."""
    is_short = value.kind == "mapping" and source.size(value.start, value.end) <= _LONG
    children = [] if is_short or not levels else list(_entries(source, cut, value))
    if not children:
        yield replace(cut, edges=tuple(begin(source, child) for child in _keys_of(value)))
        return
    children[0] = (replace(children[0][0], start=cut.start), children[0][1])
    for below, node in children:
        if below.group:
            yield from _below(source, below, node, levels - 1)
        else:
            yield replace(below, edges=tuple(begin(source, child) for child in _keys_of(node)))


def _entries(source: Source, cut: Cut, value: Node) -> Iterator[tuple[Cut, Node]]:
    """Yield a cut for each named entry of a list, without a group so that it stays alone, or for
    each key of a mapping; with what is there."""
    if value.kind == "mapping":
        for key, node in value.items():
            heading = f"{cut.heading}.{key.value}"[:160]
            yield Cut(begin(source, key), "key", heading, cut.group), node
    elif all(
        element.first_text(_NAMES) and len(element.children) >= _ENTRY for element in value.children
    ):
        for element in value.children:
            heading = f"{cut.heading}[{element.first_text(_NAMES)}]"[:160]
            yield Cut(begin(source, element), "key", heading), element


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
