"""Mappings and sequences of YAML and JSON with their places in the text.

Nothing is constructed: tags are not looked at, aliases stay names, and what is nested
deeper than is asked for is skipped over. Time and memory grow with the text only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import yaml

from memory_assets.documents.document import Malformed, Source

MAX_DEPTH = 16
"""Levels whose nodes are kept."""
_MAX_NESTING = 1_000
"""Levels of YAML that are read; the parser's time grows with their square."""

_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s{}\[\]",:]+')
_BEFORE_KEY = re.compile(r"[ \t]*(?:-[ \t]+)*(?:\{[ \t]*)?")
_REST_OF_LINE = re.compile(r"[ \t]*,?[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n)?")


@dataclass(slots=True)
class Node:
    """A value from `start` to `end` of the text. `before` is where the text of the value
    before it ended: what stands between is white space, comments and punctuation.

    `value` is a scalar's text, `children` a sequence's elements, or a mapping's keys and
    values in turn.
    """

    kind: str
    start: int
    end: int
    before: int
    value: str = ""
    children: list[Node] = field(default_factory=list)

    def items(self) -> Iterator[tuple[Node, Node]]:
        """Yield keys and values of a mapping; nothing for other nodes."""
        if self.kind == "mapping":
            yield from zip(self.children[::2], self.children[1::2], strict=False)

    def get(self, key: str) -> Node | None:
        """Return the value of a key, if this is a mapping that has it."""
        return next((value for name, value in self.items() if name.value == key), None)

    def text(self, key: str) -> str:
        """Return the first line of a scalar value; empty if there is none."""
        node = self.get(key)
        lines = node.value.strip().splitlines() if node else []
        return lines[0] if lines else ""

    def first_text(self, keys: Iterable[str]) -> str:
        """Return the first line of the first of these values that is not empty."""
        return next(filter(None, map(self.text, keys)), "")


def read(source: Source) -> list[Node]:
    """Return the root of each document of a JSON or YAML text.

    Raises:
        Malformed: it is neither, or nested too deeply for its parser.
    """
    if source.text.lstrip()[:1] in ("{", "["):
        try:
            return [_read_json(source.text)]
        except (ValueError, RecursionError):
            if source.path.lower().endswith("json"):
                raise Malformed from None
    text = source.text.encode(errors="replace").decode()  # lone surrogates, one for one
    try:
        return _read_yaml(text)
    except (yaml.YAMLError, ValueError) as error:
        raise Malformed from error


def begin(source: Source, key: Node, *, comments: bool = True) -> int:
    """Return where the lines of a key or element begin, with the comments above it unless told
    otherwise; its own place if something else stands before it in its line."""
    start = source.line_start(key.start)
    if start < key.before or not _BEFORE_KEY.fullmatch(source.text, start, key.start):
        return key.start
    return source.with_comments(start, key.before) if comments else start


def whole(source: Source, key: Node, value: Node) -> tuple[int, int]:
    """Return the range of a key and its value, with the rest of its last line, and without the
    comments above it."""
    rest = _REST_OF_LINE.match(source.text, max(key.end, value.end))
    return begin(source, key, comments=False), rest.end() if rest else value.end


def _read_yaml(text: str) -> list[Node]:
    """Return the documents; the end of a block is the end of its last value."""
    roots: list[Node] = []
    waiting: list[Node] = []
    ended = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        assert event.start_mark and event.end_mark
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.CollectionEndEvent):
            ended = end if end > start else ended
            waiting.pop().end = ended
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        node = Node("scalar", start, end, ended)
        if isinstance(event, yaml.ScalarEvent):
            node.value = event.value
        if len(waiting) < MAX_DEPTH:
            (waiting[-1].children if waiting else roots).append(node)
        if isinstance(event, yaml.CollectionStartEvent):
            node.kind = "mapping" if isinstance(event, yaml.MappingStartEvent) else "sequence"
            waiting.append(node)
            if len(waiting) > _MAX_NESTING:
                raise Malformed
        elif end > start:
            ended = start + len(text[start:end].rstrip())
            node.end = ended
    return roots


def _read_json(text: str) -> Node:
    json.loads(text, strict=False, parse_int=str, parse_float=str)
    waiting: list[Node] = []
    root = Node("scalar", 0, 0, 0)
    ended = 0
    for token in _JSON_TOKEN.finditer(text):
        mark = token[0]
        if mark in ("}", "]"):
            ended = token.end()
            waiting.pop().end = ended
            continue
        node = Node("scalar", token.start(), token.end(), ended)
        if not waiting:
            root = node
        elif len(waiting) < MAX_DEPTH:
            waiting[-1].children.append(node)
        if mark in ("{", "["):
            node.kind = "mapping" if mark == "{" else "sequence"
            waiting.append(node)
        elif len(waiting) <= MAX_DEPTH:
            node.value = str(json.loads(mark, strict=False)) if mark[0] == '"' else mark
        ended = token.end()
    return root
