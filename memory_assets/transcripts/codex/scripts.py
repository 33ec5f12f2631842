"""The tool calls in the JavaScript of Codex's code mode: `tools.exec_command({cmd: "..."})`.

Nothing is run. tree-sitter parses the script; what is known are literals (strings, templates,
arrays, objects, `+`, `join`), the names they were given, lists that are looped over and local
functions that are called with literals. Whatever else stands in a text remains as `${...}`. Code
that is not understood gives no call, and never an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, product
from typing import TYPE_CHECKING, NamedTuple

from memory_assets.transcripts.fields import names as words
from memory_assets.transcripts.lines import clean_text

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MOST_CALLS = 200
"""Calls taken from one script, those that a loop makes included."""
_LONGEST = 500_000
"""Characters of a script that are looked at."""
_LONGEST_JOINED = 200_000
_MOST_ITEMS = 10_000
_DEEPEST = 30
_CALLS_TOOLS = re.compile(r"\btools\s*(?:\.|\[|\?\.)|\}\s*=\s*tools\b")
_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "", "\n": ""}
_SIMPLE["\r\n"] = ""
_FUNCTIONS = words("arrow_function function_expression function_declaration")
_OF_EACH = words("map forEach flatMap filter some every")
_KEEPS_TEXT = words("trim trimStart trimEnd toString")
_WRAPPERS = words("await_expression parenthesized_expression")


class Opaque(NamedTuple):
    """A value that is not known: the code that makes it."""

    code: str


Value = str | list["Value"] | dict[str, "Value"] | Opaque


class ToolCall(NamedTuple):
    """A call in a script: the tool's name and its first argument."""

    name: str
    argument: Value


class _Choice(NamedTuple):
    """What a name stands for in a loop: a value for each pass of the group."""

    group: int
    values: tuple[Value, ...]


_Pattern = list[tuple[str, str]]
"""Names that a parameter or a declaration binds, each after the key of its part; "" is the whole
value."""


def calls_tools(text: str) -> bool:
    """Return whether a text is code that calls tools, or may be."""
    return "tools" in text and _CALLS_TOOLS.search(text) is not None


def tool_calls(script: str) -> list[ToolCall]:
    """Return the calls of tools in a script, in the order of the text, at most `MOST_CALLS`."""
    root = _parsed_script(script)
    reading = _Reading({}, {})
    reading.walk(root)
    if reading.functions:  # calls of local functions say what their parameters are
        reading = _Reading(reading.functions, reading.given)
        reading.walk(root)
    return reading.calls[:MOST_CALLS]


def literals(script: str) -> Iterator[str]:
    """Yield the text of each literal of a script that holds no code."""
    for node in _nodes(_parsed_script(script)):
        if node.type == "string" or (node.type == "template_string" and not _code_in(node)):
            yield _unescaped(_text(node)[1:-1])


@cache
def _parser() -> Parser:
    import tree_sitter_javascript
    from tree_sitter import Language, Parser  # 40 ms, which most files need not take

    return Parser(Language(tree_sitter_javascript.language()))


def _parsed_script(script: str) -> Node:
    return _parser().parse(script[:_LONGEST].encode(errors="replace")).root_node


def _nodes(root: Node) -> Iterator[Node]:
    """Yield a node and all below it, in the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.named_children))


def _text(node: Node | None) -> str:
    return (node.text or b"").decode() if node is not None else ""


def _name(node: Node | None) -> str:
    """Return the name that an expression is, or ""."""
    return _text(node) if _type(node) == "identifier" else ""


def _part(node: Node | None, name: str) -> Node | None:
    return node.child_by_field_name(name) if node is not None else None


def _type(node: Node | None) -> str:
    return node.type if node is not None else ""


def _items(node: Node | None) -> list[Node]:
    """Return the elements of a list, without comments."""
    return [item for item in node.named_children if item.type != "comment"] if node else []


def _code_in(template: Node) -> list[Node]:
    return [part for part in template.named_children if part.type == "template_substitution"]


def _opaque(node: Node | None) -> Opaque:
    return Opaque(" ".join(_text(node)[:400].split())[:200])


class _Reading:
    """One passage through a script, in the order of its text; `given` are the arguments of the
    local functions' calls, as a passage before it saw them."""

    def __init__(
        self, functions: dict[str, list[_Pattern]], given: dict[str, list[list[Value]]]
    ) -> None:
        self.calls: list[ToolCall] = []
        self.functions = dict(functions)
        """Local functions, with the names in each of their parameters."""
        self.given: dict[str, list[list[Value]]] = {}
        self._given_before = given
        self._names: dict[str, Value | _Choice] = {}
        self._aliases: dict[str, str] = {}
        self._tools = {"tools"}
        self._groups = 0
        self._choice: dict[int, int] = {}
        self._met: dict[int, int] = {}
        self._depth = 0

    def walk(self, root: Node) -> None:
        """Take in names, loops and calls."""
        for node in _nodes(root):
            if len(self.calls) >= MOST_CALLS:
                return
            if node.type == "variable_declarator":
                self._assign(_part(node, "name"), _part(node, "value"))
            elif node.type == "assignment_expression":
                self._assign(_part(node, "left"), _part(node, "right"))
            elif node.type == "function_declaration":
                self._function(_text(_part(node, "name")), node)
            elif node.type == "for_in_statement" and _text(_part(node, "operator")) == "of":
                values = self._elements(_part(node, "right"))
                self._bind(_pattern(_part(node, "left")), values, self._next_group())
            elif node.type == "call_expression":
                self._call(node)

    # --- what names stand for ----------------------------------------------------------

    def _assign(self, target: Node | None, value: Node | None) -> None:
        name = _name(target)
        if name and _type(value) in _FUNCTIONS:
            self._function(name, value)
        elif name:
            if _name(value) in self._tools:
                self._tools.add(name)
            known = self._value(value)
            if not isinstance(known, Opaque) or name not in self._names:
                self._names[name] = known
        elif _name(value) in self._tools:
            self._aliases |= {name: tool for tool, name in _pattern(target)}
        elif _type(target) in ("object_pattern", "array_pattern"):
            self._bind(_pattern(target), [self._value(value)], self._next_group())

    def _function(self, name: str, function: Node | None) -> None:
        self.functions[name] = _parameters(function)
        calls = self._given_before.get(name, [])
        group = self._next_group()
        for place, pattern in enumerate(self.functions[name]):
            values = [call[place] if place < len(call) else Opaque("") for call in calls]
            self._bind(pattern, values, group)

    def _next_group(self) -> int:
        self._groups += 1
        return self._groups

    def _bind(self, pattern: _Pattern, values: Sequence[Value], group: int) -> None:
        """Let the names of a pattern stand for a value in each pass of a loop."""
        for key, name in pattern if values else ():
            parts = [_member(value, key) for value in values] if key else values
            self._names[name] = _Choice(group, tuple(parts))

    def _elements(self, node: Node | None) -> list[Value]:
        value = self._value(node)
        return value[:MOST_CALLS] if isinstance(value, list) else []

    # --- calls -------------------------------------------------------------------------

    def _call(self, call: Node) -> None:
        function, arguments = _part(call, "function"), _part(call, "arguments")
        method = _text(_part(function, "property"))
        if tool := self._tool(function):
            self._record(tool, arguments)
        elif _name(function) in self.functions:
            given = [self._value(item) for item in _items(arguments)[:_DEEPEST]]
            self.given.setdefault(_name(function), []).append(given)
        elif method in _OF_EACH and (passed := _items(arguments)) and passed[0].type in _FUNCTIONS:
            values = self._elements(_part(function, "object"))
            places: list[Value] = [str(number) for number in range(len(values))]
            group = self._next_group()
            for pattern, of_each in zip(_parameters(passed[0]), (values, places), strict=False):
                self._bind(pattern, of_each, group)

    def _tool(self, function: Node | None) -> str:
        """Return the name of the tool that a call calls, or ""."""
        if _name(_part(function, "object")) not in self._tools:
            return self._aliases.get(_name(function), "")
        index, name = _part(function, "index"), _text(_part(function, "property"))
        return _text(index)[1:-1] if _type(index) == "string" else name

    def _record(self, name: str, arguments: Node | None) -> None:
        """Take in a call, once for each pass of its loops."""
        self._met, self._choice = {}, {}
        first = self._first(arguments)
        groups = self._met
        if not groups:
            self.calls.append(ToolCall(name, first))
            return
        passes = product(*(range(length) for length in groups.values()))
        for chosen in islice(passes, MOST_CALLS):
            self._choice = dict(zip(groups, chosen, strict=True))
            self.calls.append(ToolCall(name, self._first(arguments)))
        self._choice = {}

    def _first(self, arguments: Node | None) -> Value:
        return self._value(items[0]) if (items := _items(arguments)) else Opaque("")

    # --- values ------------------------------------------------------------------------

    def _value(self, node: Node | None) -> Value:
        while _type(node) in _WRAPPERS and (inside := _items(node)):
            node = inside[0]
        if node is None or self._depth > _DEEPEST:
            return Opaque("")
        self._depth += 1
        try:
            return self._known(node)
        finally:
            self._depth -= 1

    def _known(self, node: Node) -> Value:
        value: Value | None = None
        if node.type == "string":
            value = _unescaped(_text(node)[1:-1])
        elif node.type == "number":
            value = _text(node)
        elif node.type == "template_string":
            value = self._filled(node, raw=False)
        elif node.type == "identifier":
            value = self._named(_text(node))
        elif node.type == "array":
            value = self._list(node)
        elif node.type == "object":
            value = self._object(node)
        elif node.type == "binary_expression":
            value = self._sum(node)
        elif node.type == "member_expression":
            value = _member(self._value(_part(node, "object")), _text(_part(node, "property")))
        elif node.type == "subscript_expression":
            key = self._value(_part(node, "index"))
            value = _member(self._value(_part(node, "object")), key if isinstance(key, str) else "")
        elif node.type == "call_expression":
            value = self._result(node)
        return _opaque(node) if value is None or isinstance(value, Opaque) else value

    def _named(self, name: str) -> Value | None:
        known = self._names.get(name)
        if not isinstance(known, _Choice):
            return known
        self._met.setdefault(known.group, len(known.values))
        at = self._choice.get(known.group, 0)
        return known.values[at] if at < len(known.values) else None

    def _filled(self, template: Node, *, raw: bool) -> Value:
        """Return a template's text, with what its code stands for where that is known."""
        whole, parts = template.text or b"", list[Value]()
        at = 1
        for code in [*_code_in(template), None]:
            end = code.start_byte - template.start_byte if code is not None else len(whole) - 1
            said = whole[at:end].decode(errors="replace")
            parts.append(said if raw else _unescaped(said))
            if code is not None:
                parts.append(self._value(next(iter(_items(code)), None)))
                at = code.end_byte - template.start_byte
        return _joined("", parts)

    def _sum(self, node: Node) -> Value | None:
        """Return a sum in which a text is known."""
        parts = list[Value]()
        left: Node | None = node
        while left is not None and left.type == "binary_expression":
            if _text(_part(left, "operator")) != "+":
                return None
            parts.append(self._value(_part(left, "right")))
            left = _part(left, "left")
        parts.append(self._value(left))
        return _joined("", reversed(parts)) if any(isinstance(p, str) for p in parts) else None

    def _list(self, node: Node) -> list[Value]:
        elements = list[Value]()
        for item in _items(node)[:_MOST_ITEMS]:
            spread = item.type == "spread_element"
            value = self._value(_items(item)[0] if spread else item)
            elements += value if spread and isinstance(value, list) else [value]
            del elements[_MOST_ITEMS:]
        return elements

    def _object(self, node: Node) -> dict[str, Value]:
        members = dict[str, Value]()
        for item in _items(node):
            if item.type == "spread_element":
                value = self._value(_items(item)[0])
                members |= value if isinstance(value, dict) else {}
            elif item.type == "pair":
                members[_key(_part(item, "key"))] = self._value(_part(item, "value"))
            elif item.type == "shorthand_property_identifier":
                members[_text(item)] = self._named(_text(item)) or _opaque(item)
        return members

    def _result(self, call: Node) -> Value | None:
        """Return what a call gives: of `Object.entries`, `JSON.parse`, `join` and the like."""
        function, arguments = _part(call, "function"), _part(call, "arguments")
        method, of = _text(_part(function, "property")), _part(function, "object")
        if _name(of) == "String" and method == "raw" and _type(arguments) == "template_string":
            return self._filled(arguments, raw=True) if arguments is not None else None
        if _name(of) == "Object":
            return _parts(self._first(arguments), method)
        if _name(of) == "JSON" and method == "parse":
            return _parsed(self._first(arguments))
        value = self._value(of)
        if method == "join" and isinstance(value, list):
            between = self._first(arguments)
            return _joined(between if isinstance(between, str) else ",", value)
        if method == "concat" and isinstance(value, str):
            return _joined("", [value, *map(self._value, _items(arguments)[:_DEEPEST])])
        return value if method in _KEEPS_TEXT and isinstance(value, str) else None


def _parameters(function: Node | None) -> list[_Pattern]:
    """Return the names in each parameter of a function."""
    if alone := _part(function, "parameter"):
        return [_pattern(alone)]
    return [_pattern(parameter) for parameter in _items(_part(function, "parameters"))]


def _pattern(node: Node | None) -> _Pattern:
    """Return the names that a parameter, or the left side of a declaration, binds."""
    if _type(node) == "assignment_pattern":
        node = _part(node, "left")
    if node is None or node.type not in ("array_pattern", "object_pattern"):
        return [("", _text(node))]
    pattern, place = _Pattern(), 0
    for child in node.children:
        place += child.type == ","
        part = _part(child, "left") or child
        if node.type == "array_pattern" and part.type == "identifier":
            pattern.append((str(place), _text(part)))
        elif part.type == "shorthand_property_identifier_pattern":
            pattern.append((_text(part), _text(part)))
        elif part.type == "pair_pattern":
            bound = _part(part, "value")
            pattern.append((_key(_part(part, "key")), _text(_part(bound, "left") or bound)))
    return pattern


def _key(node: Node | None) -> str:
    return _unescaped(_text(node)[1:-1]) if _type(node) == "string" else _text(node)


def _member(value: Value, key: str) -> Value:
    if isinstance(value, dict):
        return value.get(key, Opaque(key))
    if isinstance(value, list) and key.isdecimal() and int(key[:9]) < len(value):
        return value[int(key)]
    return Opaque(key)


def _unescaped(literal: str) -> str:
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


def _parts(value: Value, of: str) -> Value:
    """Return what `Object.entries`, `values` or `keys` gives."""
    if not isinstance(value, dict):
        return Opaque(f"Object.{of}")
    if of == "entries":
        return [[key, item] for key, item in value.items()]
    return list(value.values() if of == "values" else value)


def _parsed(value: Value) -> Value:
    """Return what `JSON.parse` gives."""
    if not isinstance(value, str):
        return Opaque("JSON.parse")
    try:
        return _of_json(json.loads(value))
    except (ValueError, RecursionError):
        return Opaque("JSON.parse")


def _of_json(value: object) -> Value:
    if isinstance(value, dict):
        return {str(key): _of_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_of_json(item) for item in value[:_MOST_ITEMS]]
    return value if isinstance(value, str) else str(value)


def _joined(between: str, values: Iterable[Value]) -> Value:
    """Return values as one text, unless it is too long."""
    pieces, length = list[str](), 0
    for value in values:
        pieces.append(_as_text(value))
        length += len(pieces[-1]) + len(between)
        if length > _LONGEST_JOINED:
            return Opaque("...")
    return between.join(pieces)


def _as_text(value: Value) -> str:
    """Return a value as part of a text."""
    if isinstance(value, Opaque):
        return f"${{{value.code}}}"
    return value if isinstance(value, str) else "${...}"
