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
from itertools import islice, product
from typing import TYPE_CHECKING, NamedTuple

from memory_assets.transcripts.codex import javascript as js
from memory_assets.transcripts.fields import names as words

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_CALLS = 200
"""Calls taken from one script, those that a loop makes included."""
_LONGEST = 500_000
"""Characters of a script that are looked at."""
_LONGEST_JOINED = 200_000
_MOST_ITEMS = 10_000
_DEEPEST = 30
_BUDGET = 8_000_000
"""Characters that the values of one passage may have; beyond, values are not known. What takes
time or memory is counted in characters too, so that one figure bounds both."""
_PER_NODE = 100
_PER_MEMBER = 16
_PER_JSON = 8
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_CALLS_TOOLS = re.compile(r"\btools\s*(?:\.|\[|\?\.)|\}\s*=\s*tools\b")
_OF_EACH = words("map forEach flatMap filter some every")
_KEEPS_TEXT = words("trim trimStart trimEnd toString")
_WRAPPERS = words("await_expression parenthesized_expression")
_DEFAULTS = words("assignment_pattern object_assignment_pattern")


class Opaque(NamedTuple):
    """A value that is not known: the code that makes it."""

    code: str


_MISSING = Opaque("undefined")

Value = str | list["Value"] | dict[str, "Value"] | Opaque


class ToolCall(NamedTuple):
    """A call in a script: the tool's name and its first argument."""

    name: str
    argument: Value


class _Choice(NamedTuple):
    """What a name stands for in a loop: a value for each pass of the group."""

    group: int
    values: tuple[Value, ...]


def calls_tools(text: str) -> bool:
    """Return whether a text is code that calls tools, or may be."""
    return "tools" in text and _CALLS_TOOLS.search(text) is not None


def tool_calls(script: str) -> list[ToolCall]:
    """Return the calls of tools in a script, in the order of the text, at most `MOST_CALLS`."""
    source = script[:_LONGEST].encode(errors="replace")
    root = js.parsed(source)
    reading = _Reading(source, {}, {})
    reading.walk(root)
    if reading.functions:  # calls of local functions say what their parameters are
        reading = _Reading(source, reading.functions, reading.given)
        reading.walk(root)
    return reading.calls[:MOST_CALLS]


def literals(script: str) -> Iterator[str]:
    """Yield the text of each literal of a script that holds no code."""
    for node in js.nodes(js.parsed(script[:_LONGEST].encode(errors="replace"))):
        if node.type == "string" or (node.type == "template_string" and not js.code_in(node)):
            yield js.literal(node)


class _Reading:
    """One passage through a script, in the order of its text; `given` are the arguments of the
    local functions' calls, as a passage before it saw them."""

    def __init__(
        self,
        source: bytes,
        functions: dict[str, list[js.Pattern]],
        given: dict[str, list[list[Value]]],
    ) -> None:
        self._source = source
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
        self._left = _BUDGET
        self._defaults = set[int]()
        """Where the defaults stand that calls or declarations have taken in."""

    def walk(self, root: Node) -> None:
        """Take in names, loops and calls."""
        for node in js.nodes(root):
            if len(self.calls) >= MOST_CALLS:
                return
            if node.type == "variable_declarator":
                self._assign(js.part(node, "name"), js.part(node, "value"))
            elif node.type == "assignment_expression":
                self._assign(js.part(node, "left"), js.part(node, "right"))
            elif node.type in _DEFAULTS:
                default = js.part(node, "right")
                if default is not None and default.start_byte not in self._defaults:
                    self._assign(js.part(node, "left"), default)
            elif node.type == "function_declaration":
                self._function(js.text(js.part(node, "name")), node)
            elif node.type == "for_in_statement" and js.text(js.part(node, "operator")) == "of":
                values = self._elements(js.part(node, "right"))
                self._bind(js.pattern_of(js.part(node, "left")), values, self._next_group())
            elif node.type == "call_expression":
                self._call(node)

    # --- what names stand for ----------------------------------------------------------

    def _assign(self, target: Node | None, value: Node | None) -> None:
        name = js.name_of(target)
        if name and js.kind(value) in js.FUNCTIONS:
            self._function(name, value)
        elif name:
            if js.name_of(value) in self._tools:
                self._tools.add(name)
            known = self._value(value)
            if not isinstance(known, Opaque) or name not in self._names:
                self._names[name] = known
        elif js.name_of(value) in self._tools:
            self._aliases |= {name: tool for tool, name, _ in js.pattern_of(target).names}
        elif js.kind(target) in ("object_pattern", "array_pattern"):
            self._bind(js.pattern_of(target), [self._value(value)], self._next_group())

    def _function(self, name: str, function: Node | None) -> None:
        self.functions[name] = js.parameters_of(function)
        calls = self._given_before.get(name, [])
        group = self._next_group()
        for place, pattern in enumerate(self.functions[name]):
            values = [call[place] if place < len(call) else _MISSING for call in calls]
            self._bind(pattern, values, group)

    def _next_group(self) -> int:
        self._groups += 1
        return self._groups

    def _bind(self, pattern: js.Pattern, values: Sequence[Value], group: int) -> None:
        """Let the names of a pattern stand for a value in each pass of a loop."""
        if not values or not self._spend(len(pattern.names) * len(values) * _PER_MEMBER):
            return
        values = self._or_default(values, pattern.default, group)
        for key, name, default in pattern.names:
            parts = [_member(value, key) for value in values] if key else values
            self._names[name] = _Choice(group, tuple(self._or_default(parts, default, group)))

    def _or_default(
        self, values: Sequence[Value], default: Node | None, group: int
    ) -> Sequence[Value]:
        """Return values with the default, as it is in their pass, where they are missing."""
        if default is None or default.type in js.FUNCTIONS or js.name_of(default) in self._tools:
            return values
        self._defaults.add(default.start_byte)
        present = list[Value]()
        for place, value in enumerate(values):
            self._choice = {group: place}
            present.append(self._value(default) if value == _MISSING else value)
        self._choice = {}
        return present

    def _elements(self, node: Node | None) -> list[Value]:
        value = self._value(node)
        return value[:MOST_CALLS] if isinstance(value, list) else []

    # --- calls -------------------------------------------------------------------------

    def _call(self, call: Node) -> None:
        function, arguments = js.part(call, "function"), js.part(call, "arguments")
        name = js.name_of(function)
        if tool := self._aliases.get(name, "") if name else self._tool(function):
            self._record(tool, arguments)
        elif name in self.functions:
            given = self.given.setdefault(name, [])
            if len(given) < MOST_CALLS:
                given.append([self._value(item) for item in self._inside(arguments)[:_DEEPEST]])
        elif (
            js.text(js.part(function, "property")) in _OF_EACH
            and (passed := js.items(arguments))
            and passed[0].type in js.FUNCTIONS
        ):
            values = self._elements(js.part(function, "object"))
            places: list[Value] = [str(number) for number in range(len(values))]
            group = self._next_group()
            for pattern, of_each in zip(
                js.parameters_of(passed[0]), (values, places), strict=False
            ):
                self._bind(pattern, of_each, group)

    def _tool(self, function: Node | None) -> str:
        """Return the name of the tool that a member is, or ""."""
        if js.name_of(js.part(function, "object")) not in self._tools:
            return ""
        index, name = js.part(function, "index"), js.text(js.part(function, "property"))
        return js.literal(index) if index is not None else name

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
        return self._value(items[0]) if (items := self._inside(arguments)) else Opaque("")

    # --- values ------------------------------------------------------------------------

    def _spend(self, cost: int) -> bool:
        """Take a cost from the budget; return whether there was as much."""
        self._left -= cost
        return self._left >= 0

    def _inside(self, node: Node | None) -> list[Node]:
        """Return the elements of a list, if the budget has room for them."""
        affordable = node is not None and self._spend(node.named_child_count * _PER_MEMBER)
        return js.items(node) if affordable else []

    def _opaque(self, node: Node) -> Opaque:
        start = node.start_byte
        code = self._source[start : min(node.end_byte, start + 1_600)].decode(errors="replace")
        return Opaque(" ".join(code[:400].split())[:200])

    def _value(self, node: Node | None) -> Value:
        while js.kind(node) in _WRAPPERS and (inside := self._inside(node)):
            node = inside[0]
        if node is None or self._depth > _DEEPEST or not self._spend(_PER_NODE):
            return Opaque("")
        self._depth += 1
        try:
            return self._known(node)
        finally:
            self._depth -= 1

    def _known(self, node: Node) -> Value:
        value: Value | None = None
        if node.type == "string":
            value = js.literal(node)
            self._spend(len(value))
        elif node.type == "number":
            value = js.text(node)
        elif node.type == "template_string":
            value = self._filled(node, raw=False)
        elif node.type in ("identifier", "shorthand_property_identifier"):
            value = self._named(js.text(node))
        elif node.type == "array":
            value = self._list(node)
        elif node.type == "object":
            value = self._object(node)
        elif node.type == "binary_expression":
            value = self._sum(node)
        elif node.type == "member_expression":
            value = _member(
                self._value(js.part(node, "object")), js.text(js.part(node, "property"))
            )
        elif node.type == "subscript_expression":
            key = self._value(js.part(node, "index"))
            value = _member(
                self._value(js.part(node, "object")), key if isinstance(key, str) else ""
            )
        elif node.type == "call_expression":
            value = self._result(node)
        if value is None or isinstance(value, Opaque) or self._left < 0:
            return self._opaque(node)
        return value

    def _named(self, name: str) -> Value | None:
        known = self._names.get(name)
        if not isinstance(known, _Choice):
            return known
        self._met.setdefault(known.group, len(known.values))
        at = self._choice.get(known.group, 0)
        return known.values[at] if at < len(known.values) else None

    def _filled(self, template: Node, *, raw: bool) -> Value:
        """Return a template's text, with what its code stands for where that is known."""
        parts, at = list[Value](), template.start_byte + 1
        if not self._spend(template.end_byte - at):
            return Opaque("...")
        for code in [*js.code_in(template), None]:
            end = code.start_byte if code is not None else template.end_byte - 1
            said = self._source[at:end].decode(errors="replace")
            parts.append(said if raw else js.unescaped(said))
            if code is not None:
                parts.append(self._first(code))
                at = code.end_byte
        return self._joined("", parts)

    def _sum(self, node: Node) -> Value | None:
        """Return a sum in which a text is known."""
        parts = list[Value]()
        left: Node | None = node
        while left is not None and left.type == "binary_expression":
            if js.text(js.part(left, "operator")) != "+":
                return None
            parts.append(self._value(js.part(left, "right")))
            left = js.part(left, "left")
        parts.append(self._value(left))
        return self._joined("", reversed(parts)) if any(isinstance(p, str) for p in parts) else None

    def _list(self, node: Node) -> list[Value]:
        elements = list[Value]()
        for item in self._inside(node)[:_MOST_ITEMS]:
            spread = item.type == "spread_element"
            value = self._first(item) if spread else self._value(item)
            if not spread or not isinstance(value, list):
                elements.append(value)
            elif self._spend(len(value) * _PER_MEMBER):
                elements += value
            del elements[_MOST_ITEMS:]
        return elements

    def _object(self, node: Node) -> dict[str, Value]:
        members = dict[str, Value]()
        for item in self._inside(node):
            if item.type == "spread_element":
                value = self._first(item)
                if isinstance(value, dict) and self._spend(len(value) * _PER_MEMBER):
                    members |= value
            elif item.type == "pair":
                members[js.key_of(js.part(item, "key"))] = self._value(js.part(item, "value"))
            elif item.type == "shorthand_property_identifier":
                members[js.text(item)] = self._value(item)
        return members

    def _result(self, call: Node) -> Value | None:
        """Return what a call gives: of `Object.entries`, `JSON.parse`, `join` and the like."""
        function, arguments = js.part(call, "function"), js.part(call, "arguments")
        method, of = js.text(js.part(function, "property")), js.part(function, "object")
        if (
            js.name_of(of) == "String"
            and method == "raw"
            and js.kind(arguments) == "template_string"
        ):
            return self._filled(arguments, raw=True) if arguments is not None else None
        if js.name_of(of) == "Object":
            value = self._first(arguments)
            counted = isinstance(value, dict) and self._spend(len(value) * _PER_MEMBER * 4)
            return _parts(value, method) if counted else None
        if js.name_of(of) == "JSON" and method == "parse":
            value = self._first(arguments)
            counted = isinstance(value, str) and self._spend(len(value) * _PER_JSON)
            return _parsed(value) if counted else None
        value = self._value(of)
        if method == "join" and isinstance(value, list):
            between = self._first(arguments)
            return self._joined(between if isinstance(between, str) else ",", value)
        if method == "concat" and isinstance(value, str):
            added = map(self._value, self._inside(arguments)[:_DEEPEST])
            return self._joined("", [value, *added])
        return value if method in _KEEPS_TEXT and isinstance(value, str) else None

    def _joined(self, between: str, values: Iterable[Value]) -> Value:
        """Return values as one text, unless it is too long."""
        pieces, length = list[str](), 0
        for value in values:
            pieces.append(_as_text(value))
            added = len(pieces[-1]) + len(between)
            length += added
            if not self._spend(added + _PER_MEMBER) or length > _LONGEST_JOINED:
                return Opaque("...")
        return between.join(pieces)


def _member(value: Value, key: str) -> Value:
    if isinstance(value, dict):
        return value.get(key, _MISSING)
    if isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
        return value[int(key)]
    return _MISSING


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


def _as_text(value: Value) -> str:
    """Return a value as part of a text."""
    if isinstance(value, Opaque):
        return f"${{{value.code}}}"
    return value if isinstance(value, str) else "${...}"
