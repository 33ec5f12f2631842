"""The syntax of JavaScript, as far as code mode's scripts need it: nodes, literals, parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from memory_assets.transcripts.fields import clean_text
from memory_assets.word_lists import word_set

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MOST_PARAMETERS = 30
"""Parameters of a function that are looked at."""
_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "", "\n": ""}
_SIMPLE["\r\n"] = ""
FUNCTIONS = word_set("arrow_function function_expression function_declaration")
_PATTERNS = word_set("array_pattern object_pattern")
_NAMES = word_set("identifier shorthand_property_identifier_pattern")


@cache
def _parser() -> Parser:
    import tree_sitter_javascript
    from tree_sitter import Language, Parser  # 40 ms, which most files need not take

    return Parser(Language(tree_sitter_javascript.language()))


def parse(source: bytes) -> Node:
    """Return the tree of a script in UTF-8."""
    return _parser().parse(source).root_node


def nodes(root: Node) -> Iterator[Node]:
    """Yield a node and all below it, in the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.named_children))


def text(node: Node | None) -> str:
    """Return the source of a node, all of it: only for nodes that hold few others."""
    return (node.text or b"").decode() if node is not None else ""


def name_of(node: Node | None) -> str:
    """Return the name that an expression is, or ""."""
    return text(node) if node_type(node) in _NAMES else ""


def named_child(node: Node | None, name: str) -> Node | None:
    """Return the child that has a name in the grammar."""
    return node.child_by_field_name(name) if node is not None else None


def node_type(node: Node | None) -> str:
    """Return the type that a node has in the grammar, or ""."""
    return node.type if node is not None else ""


def items(node: Node | None) -> list[Node]:
    """Return the elements of a list, without comments."""
    return [item for item in node.named_children if item.type != "comment"] if node else []


def code_in(template: Node) -> list[Node]:
    """Return the `${...}` of a template."""
    return [child for child in template.named_children if child.type == "template_substitution"]


def parameters_of(function: Node) -> list[Node]:
    """Return the parameters of a function, names and patterns."""
    alone = named_child(function, "parameter")
    return [alone] if alone else items(named_child(function, "parameters"))[:MOST_PARAMETERS]


def parts_of(pattern: Node) -> Iterator[tuple[str, Node | None]]:
    """Yield the names and patterns in a pattern that takes a list or an object apart, each with the
    key of the part that it stands for."""
    place = 0
    for child in pattern.children if pattern.type in _PATTERNS else ():
        place += child.type == ","
        if child.type == "pair_pattern":
            yield key_of(named_child(child, "key")), named_child(child, "value")
        elif child.is_named:
            yield str(place) if pattern.type == "array_pattern" else name_of(child), child


def key_of(node: Node | None) -> str:
    """Return the key of a member; of a computed one, which may be long code, where it stands."""
    if node is not None and node.type == "computed_property_name":
        return f"[{node.start_byte}]"
    return literal(node) or text(node)


def literal(node: Node | None) -> str:
    """Return the text of a literal that holds no code, or ""."""
    if node is None or node.type not in ("string", "template_string") or code_in(node):
        return ""
    return unescaped(text(node)[1:-1])


def unescaped(literal: str) -> str:
    """Return the value of a string literal's inside."""
    if "\\" not in literal:
        return literal

    def value(escape: re.Match[str]) -> str:
        code = escape.group(1)
        if len(code) > 1 and code[0] in "ux":
            number = int(code[1:].strip("{}"), 16)
            return chr(number) if number <= 0x10FFFF else "\ufffd"
        return _SIMPLE.get(code, code)

    return clean_text(_ESCAPE.sub(value, literal))
