"""The tool calls in the JavaScript of Codex's code mode: `tools.exec_command({cmd: "..."})`.

tree-sitter parses the script, and `_Reading` goes through it once in the order in which it would
run, as far as that can be told: what it knows are literals (strings, templates, arrays, objects,
`...`, `+`, `join`), the names they were given, lists that are looped over and local functions.
Conditions are not decided: both branches are read, and a loop of an unknown number of passes once.
What a function assigns stays in it.
Whatever else stands in a text remains as `${...}`. Code that is not understood, lies deeper than
`_DEEPEST`, or comes after `_MOST_WORK`, gives no call, and never an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memory_assets.transcripts.codex import javascript as js
from memory_assets.word_lists import word_set

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_CALLS = 200
"""Calls taken from one script, those that a loop makes included."""
_LONGEST = 500_000
"""Characters of a script that are looked at."""
_DEEPEST = 100
"""Levels of code within code, calls of functions included: Python's stack is limited."""
_MOST_WORK = 4_000_000
"""What a script may cost: a piece of code that is gone through, each as often as it runs, a member
of a value and a text that is joined count as `_PIECE` characters, and those of the text itself."""
_PIECE = 32
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_CALLS_TOOLS = re.compile(r"\btools\s*(?:\.|\[|\?\.)|\}\s*=\s*tools\b")
_OF_EACH = word_set("map forEach flatMap filter some every")
_KEEPS_TEXT = word_set("trim trimStart trimEnd toString")
_WRAPPERS = word_set("await_expression parenthesized_expression")


class Opaque(NamedTuple):
    """A value that is not known: the code that makes it."""

    code: str


@dataclass(frozen=True)
class _Tool:
    """A tool; the object that has them all is one without a name."""

    name: str


@dataclass(frozen=True, eq=False, repr=False)
class _Function:
    """A function of the script, and the names that are known where it stands."""

    node: Node
    names: dict[str, Value]


_MISSING = Opaque("undefined")
_TOOLS = _Tool("")

Value = str | list["Value"] | dict[str, "Value"] | Opaque | _Tool | _Function


class ToolCall(NamedTuple):
    """A call in a script: the tool's name and its first argument."""

    name: str
    argument: Value


def calls_tools(text: str) -> bool:
    """Return whether a text is code that calls tools, or may be."""
    return "tools" in text and _CALLS_TOOLS.search(text) is not None


def tool_calls(script: str) -> list[ToolCall]:
    """Return the calls of tools in a script, in the order in which they are made, at most
    `MOST_CALLS`; those of functions that nothing calls come last."""
    source = script[:_LONGEST].encode(errors="replace")
    reading = _Reading(source)
    reading.read(js.parse(source))
    return reading.calls[:MOST_CALLS]


def literals(script: str) -> Iterator[str]:
    """Yield the text of each literal of a script that holds no code."""
    for node in js.nodes(js.parse(script[:_LONGEST].encode(errors="replace"))):
        if node.type in ("string", "template_string"):
            yield js.literal(node)


class _Enough(Exception):
    """A script has cost as much as one may, or made as many calls."""


class _Reading:
    """One passage through a script."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self.calls: list[ToolCall] = []
        self._names: dict[str, Value] = {}
        self._functions: list[_Function] = []
        """Functions that were met."""
        self._entered = set[int]()
        """Where those begin that were called."""
        self._inside = set[int]()
        """Where those begin that are being gone through."""
        self._depth = 0
        self._left = _MOST_WORK

    def read(self, root: Node) -> None:
        """Take in the calls of a script."""
        try:
            self._value(root)
            for function in self._functions:  # more may be met meanwhile
                if function.node.start_byte not in self._entered:
                    self._enter(function, [])
        except _Enough:
            pass

    def _spend(self, characters: int = 0) -> None:
        self._left -= _PIECE + characters
        if self._left < 0 or len(self.calls) >= MOST_CALLS:
            raise _Enough

    def _value(self, node: Node | None) -> Value:
        """Go through a piece of code; return the value that it has."""
        self._spend()
        while js.node_type(node) in _WRAPPERS and (inside := js.items(node)):
            node = inside[0]
        if node is None:
            return Opaque("")
        value: Value | None = None
        if self._depth < _DEEPEST:
            self._depth += 1
            value = self._known(node)
            self._depth -= 1
        if value is None or isinstance(value, Opaque):
            start = node.start_byte
            code = self._source[start : min(node.end_byte, start + 1_600)].decode(errors="replace")
            return Opaque(" ".join(code[:400].split())[:200])
        return value

    def _known(self, node: Node) -> Value | None:
        kind = node.type
        if kind == "string":
            return self._joined("", [js.literal(node)])
        if kind == "number":
            return js.text(node)
        if kind == "template_string":
            return self._filled(node, raw=False)
        if kind in ("identifier", "shorthand_property_identifier"):
            name = js.text(node)
            return _TOOLS if name == "tools" else self._names.get(name)
        if kind == "array":
            return self._list(node)
        if kind == "object":
            return self._object(node)
        if kind == "binary_expression":
            return self._sum(node)
        if kind in ("member_expression", "subscript_expression"):
            return _member(self._value(js.named_child(node, "object")), self._key(node))
        if kind == "call_expression":
            return self._called(node)
        if kind in js.FUNCTIONS:
            self._functions.append(_Function(node, self._names))
            return self._functions[-1]
        if kind == "variable_declarator":
            self._bind(js.named_child(node, "name"), self._value(js.named_child(node, "value")))
        elif kind == "assignment_expression":
            target, value = js.named_child(node, "left"), self._value(js.named_child(node, "right"))
            if not isinstance(value, Opaque) or js.name_of(target) not in self._names:
                self._bind(target, value)
        elif kind == "for_in_statement" and js.text(js.named_child(node, "operator")) == "of":
            values = self._value(js.named_child(node, "right"))
            for value in values if isinstance(values, list) else [_MISSING]:
                self._bind(js.named_child(node, "left"), value)
                self._value(js.named_child(node, "body"))
        else:
            for child in js.items(node):
                if child.type == "function_declaration":  # it may be called above where it stands
                    function = _Function(child, self._names)
                    self._names[js.text(js.named_child(child, "name"))] = function
            for child in js.items(node):
                self._value(child)
        return None

    # --- names -------------------------------------------------------------------------

    def _bind(self, target: Node | None, value: Value) -> None:
        """Let a name stand for a value, or the names in a pattern for its parts."""
        if target is None or self._depth > _DEEPEST:
            return
        self._spend()
        self._depth += 1
        if name := js.name_of(target):
            self._names[name] = value
        for key, part in js.parts_of(target):
            self._bind(part, _member(value, key))
        self._depth -= 1

    def _enter(self, function: _Function, given: Sequence[Value]) -> None:
        """Go through a function with these arguments, unless it calls itself: how often it does so
        is not known."""
        start = function.node.start_byte
        if start in self._inside:
            return
        self._entered.add(start)
        self._inside.add(start)
        around, self._names = self._names, dict(function.names)
        for place, parameter in enumerate(js.parameters_of(function.node)):
            self._bind(parameter, given[place] if place < len(given) else _MISSING)
        self._value(js.named_child(function.node, "body"))
        self._names = around
        self._inside.remove(start)

    # --- calls -------------------------------------------------------------------------

    def _called(self, call: Node) -> Value | None:
        function, arguments = js.named_child(call, "function"), js.named_child(call, "arguments")
        of, method = (
            js.named_child(function, "object"),
            js.text(js.named_child(function, "property")),
        )
        if js.node_type(arguments) == "template_string" and arguments is not None:
            is_raw = (js.name_of(of), method) == ("String", "raw")
            return self._filled(arguments, raw=True) if is_raw else None
        whole = self._value(of)
        called = self._value(function) if of is None else _member(whole, self._key(function))
        given = [self._value(item) for item in js.items(arguments)]
        if isinstance(called, _Tool):
            self.calls.append(ToolCall(called.name, given[0] if given else Opaque("")))
        elif isinstance(called, _Function):
            self._enter(called, given)
        elif method in _OF_EACH and isinstance(whole, list):
            for place, item in enumerate(whole):
                self._run(given[:1], [item, str(place)])
        else:
            self._run(given, [])
            return self._made(js.name_of(of), whole, method, given)
        return None

    def _run(self, passed: Sequence[Value], given: Sequence[Value]) -> None:
        """Go through those of the values that are functions, which something else calls."""
        for one in passed:
            if isinstance(one, _Function):
                self._enter(one, given)

    def _made(self, of: str, whole: Value, method: str, given: Sequence[Value]) -> Value | None:
        """Return what a call makes: `Object.entries`, `join` and the like."""
        first = given[0] if given else _MISSING
        if of == "Object" and isinstance(first, dict):
            self._spend(len(first) * _PIECE)
            if method == "entries":
                return [[key, item] for key, item in first.items()]
            return list(first.values() if method == "values" else first)
        if method == "join" and isinstance(whole, list):
            return self._joined(first if isinstance(first, str) else ",", whole)
        return whole if method in _KEEPS_TEXT and isinstance(whole, str) else None

    # --- values ------------------------------------------------------------------------

    def _key(self, member: Node | None) -> str:
        """Return the key of a member."""
        index = js.named_child(member, "index")
        key = js.text(js.named_child(member, "property")) if index is None else self._value(index)
        return key if isinstance(key, str) else ""

    def _filled(self, template: Node, *, raw: bool) -> Value:
        """Return a template's text, with the values of its expressions where they are known."""
        parts, at = list[Value](), template.start_byte + 1
        for code in [*js.code_in(template), None]:
            end = code.start_byte if code is not None else template.end_byte - 1
            source_text = self._source[at:end].decode(errors="replace")
            parts.append(source_text if raw else js.unescaped(source_text))
            if code is not None:
                parts += map(self._value, js.items(code)[:1])
                at = code.end_byte
        return self._joined("", parts)

    def _sum(self, node: Node) -> Value | None:
        """Return a sum in which a text is known."""
        parts, is_sum = list[Value](), True
        left: Node | None = node
        while left is not None and left.type == "binary_expression":
            is_sum = is_sum and js.text(js.named_child(left, "operator")) == "+"
            parts.append(self._value(js.named_child(left, "right")))
            left = js.named_child(left, "left")
        parts.append(self._value(left))
        is_text = is_sum and any(isinstance(part, str) for part in parts)
        return self._joined("", reversed(parts)) if is_text else None

    def _object(self, node: Node) -> dict[str, Value]:
        members = dict[str, Value]()
        for item in js.items(node):
            if item.type == "pair":
                members[js.key_of(js.named_child(item, "key"))] = self._value(
                    js.named_child(item, "value")
                )
            elif item.type == "shorthand_property_identifier":
                members[js.text(item)] = self._value(item)
            else:  # code that may call a tool
                value = self._spread(item)
                members |= value if isinstance(value, dict) else {}
        return members

    def _list(self, node: Node) -> list[Value]:
        elements = list[Value]()
        for item in js.items(node):
            value = self._spread(item)
            if item.type == "spread_element" and isinstance(value, list):
                elements += value
            else:
                elements.append(value)
        return elements

    def _spread(self, item: Node) -> Value:
        """Go through a piece of a list or object; return its value, of `...value` all of it."""
        inside = js.items(item) if item.type == "spread_element" else ()
        value = self._value(inside[0] if inside else item)
        if inside and isinstance(value, dict | list):
            self._spend(len(value) * _PIECE)
        return value

    def _joined(self, between: str, values: Iterable[Value]) -> str:
        """Return values as one text."""
        pieces = list[str]()
        for value in values:
            code = value.code if isinstance(value, Opaque) else "..."
            pieces.append(value if isinstance(value, str) else f"${{{code}}}")
            self._spend(len(pieces[-1]) + len(between))
        return between.join(pieces)


def _member(value: Value, key: str) -> Value:
    if value == _TOOLS and key:
        return _Tool(key)
    if isinstance(value, dict):
        return value.get(key, _MISSING)
    if isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
        return value[int(key)]
    return _MISSING
