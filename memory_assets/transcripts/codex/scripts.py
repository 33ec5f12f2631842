"""The tool calls in the JavaScript of Codex's code mode: `tools.exec_command({cmd: "..."})`.

tree-sitter parses the script, and `_Reading` goes through it once in the order in which it would
run, as far as that can be told: what it knows are literals (strings, templates, arrays, objects,
`+`, `join`), the names they were given, lists that are looped over and local functions. Conditions
are not decided: both branches are read, and a loop of an unknown number of passes once. Whatever
else stands in a text remains as `${...}`. Code that is not understood gives no call, and never an
error.
"""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
_DEEPEST = 100
_DEEPEST_BLOCK = 50
"""Levels of code within code, calls of functions included: Python's stack is limited. What lies
deeper is gone through at the end; of a block as a whole, so that its names are known in it."""
_STEPS = 100_000
"""Pieces of code that are gone through, each as often as it runs; beyond, each about once."""
_BUDGET = 8_000_000
"""Characters that the values of one script may have; beyond, values are not known. A member of a
value counts as so many characters:"""
_PER_MEMBER = 16
_PER_JSON = 8
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_CALLS_TOOLS = re.compile(r"\btools\s*(?:\.|\[|\?\.)|\}\s*=\s*tools\b")
_OF_EACH = words("map forEach flatMap filter some every")
_KEEPS_TEXT = words("trim trimStart trimEnd toString")
_WRAPPERS = words("await_expression parenthesized_expression")
_DEFAULTS = words("assignment_pattern object_assignment_pattern")
_BLOCKS = words("statement_block else_clause")


class Opaque(NamedTuple):
    """A value that is not known: the code that makes it."""

    code: str


@dataclass(frozen=True)
class _Tool:
    """A tool; the object that has them all is one without a name."""

    name: str


class _Place(NamedTuple):
    """What is known where code stands."""

    names: ChainMap[str, Value]
    inside: frozenset[int]
    """Where the functions begin that are being gone through."""
    is_again: bool
    """Whether one of them called itself: what it does then counts where it differs."""


@dataclass(frozen=True, eq=False, repr=False)
class _Function:
    """A function of the script, and the place where it stands."""

    node: Node
    place: _Place


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
    reading.read(js.parsed(source))
    return reading.calls[:MOST_CALLS]


def literals(script: str) -> Iterator[str]:
    """Yield the text of each literal of a script that holds no code."""
    for node in js.nodes(js.parsed(script[:_LONGEST].encode(errors="replace"))):
        if node.type in ("string", "template_string"):
            yield js.literal(node)


class _Reading:
    """One passage through a script."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self.calls: list[ToolCall] = []
        self._place = _Place(ChainMap(), frozenset(), is_again=False)
        self._functions: list[_Function] = []
        """Functions that were met."""
        self._entered = set[int]()
        """Where those begin that were called."""
        self._again = set[int]()
        """Where calls end by which a function called itself."""
        self._later: list[tuple[Node | None, _Place]] = []
        """Code that is still to be gone through."""
        self._depth = 0
        self._steps = _STEPS
        self._left = _BUDGET

    def read(self, root: Node) -> None:
        """Take in the calls of a script."""
        self._later.append((root, self._place))
        self._go_on()
        for function in self._functions:  # more may be met meanwhile
            if function.node.start_byte not in self._entered:
                self._enter(function, [], function.node)
                self._go_on()

    def _go_on(self) -> None:
        """Go through the code that was left for later."""
        around = self._place
        for code, place in self._later:  # more may be left meanwhile
            self._place = place
            self._value(code)
        self._later.clear()
        self._place = around

    def _value(self, node: Node | None) -> Value:
        """Go through a piece of code; return the value that it has."""
        while js.kind(node) in _WRAPPERS and (inside := js.items(node)):
            node = inside[0]
        self._steps -= 1
        if node is None or len(self.calls) >= MOST_CALLS:
            return Opaque("")
        value: Value | None = None
        if self._depth > (_DEEPEST_BLOCK if node.type in _BLOCKS else _DEEPEST):
            self._later.append((node, self._place))
        else:
            self._depth += 1
            value = self._known(node)
            self._depth -= 1
        is_known = self._left >= 0 or isinstance(value, _Tool | _Function)
        if value is None or isinstance(value, Opaque) or not is_known:
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
            return _TOOLS if name == "tools" else self._place.names.get(name)
        if kind == "array":
            return self._list(node)
        if kind == "object":
            return self._object(node)
        if kind == "binary_expression":
            return self._sum(node)
        if kind in ("member_expression", "subscript_expression"):
            return _member(self._value(js.part(node, "object")), self._key(node))
        if kind == "call_expression":
            return self._called(node)
        if kind in js.FUNCTIONS:
            self._functions.append(_Function(node, self._place))
            return self._functions[-1]
        if kind == "variable_declarator":
            self._assign(js.part(node, "name"), js.part(node, "value"), declares=True)
        elif kind == "assignment_expression":
            self._assign(js.part(node, "left"), js.part(node, "right"), declares=False)
        elif kind == "for_in_statement" and js.text(js.part(node, "operator")) == "of":
            values = self._value(js.part(node, "right"))
            declares = js.part(node, "kind") is not None
            for value in self._passes(values) if isinstance(values, list) else [_MISSING]:
                self._bind(js.part(node, "left"), value, declares=declares)
                self._value(js.part(node, "body"))
        else:
            for child in js.items(node):
                if child.type == "function_declaration":  # it may be called above where it stands
                    function = _Function(child, self._place)
                    self._place.names[js.text(js.part(child, "name"))] = function
            for child in js.items(node):
                self._value(child)
        return None

    # --- names -------------------------------------------------------------------------

    def _assign(self, target: Node | None, code: Node | None, *, declares: bool) -> None:
        value, name = self._value(code), js.name_of(target)
        known = self._place.names.maps[0] if declares else self._place.names
        if not isinstance(value, Opaque) or name not in known:
            self._bind(target, value, declares=declares)

    def _bind(self, target: Node | None, value: Value, *, declares: bool = True) -> None:
        """Let a name stand for a value, or the names in a pattern for its parts: the name of this
        function, or without `declares` of the one around it that has it."""
        if target is None or self._depth > _DEEPEST:
            return
        self._depth += 1
        if target.type in _DEFAULTS:
            if value == _MISSING and (default := js.part(target, "right")) is not None:
                value = self._value(default)
            self._bind(js.part(target, "left"), value, declares=declares)
        elif name := js.name_of(target):
            scopes = self._place.names.maps
            having = scopes[:1] if declares else [*filter(lambda s: name in s, scopes), scopes[-1]]
            having[0][name] = value
        for key, part in js.parts_of(target):
            self._bind(part, _member(value, key), declares=declares)
        self._depth -= 1

    def _enter(self, function: _Function, given: Sequence[Value], call: Node) -> None:
        """Go through a function with these arguments. If it calls itself, that is left for later,
        once for each such call: how often it is made is not known."""
        start, body = function.node.start_byte, js.part(function.node, "body")
        around, inside = self._place, self._place.inside | function.place.inside
        is_again = start in inside
        if call.end_byte in self._again if is_again else self._is_spent(start):
            return
        self._entered.add(start)
        self._again |= {call.end_byte} if is_again else set()
        self._place = _Place(
            function.place.names.new_child(), inside | {start}, is_again or around.is_again
        )
        for place, parameter in enumerate(js.parameters_of(function.node)):
            self._bind(parameter, given[place] if place < len(given) else _MISSING)
        if is_again:
            self._later.append((body, self._place))
        else:
            self._value(body)
        self._place = around

    def _is_spent(self, start: int) -> bool:
        """Return whether a function was gone through and there is no time to do so again."""
        return self._steps < 0 and start in self._entered

    def _passes(self, values: list[Value]) -> list[Value]:
        """Return the values for which a loop over them is gone through."""
        return values[: MOST_CALLS if self._steps >= 0 else 1]

    # --- calls -------------------------------------------------------------------------

    def _called(self, call: Node) -> Value | None:
        function, arguments = js.part(call, "function"), js.part(call, "arguments")
        of, method = js.part(function, "object"), js.text(js.part(function, "property"))
        if js.kind(arguments) == "template_string" and arguments is not None:
            is_raw = (js.name_of(of), method) == ("String", "raw")
            return self._filled(arguments, raw=True) if is_raw else None
        whole = self._value(of)
        called = self._value(function) if of is None else _member(whole, self._key(function))
        given = [self._value(item) for item in js.items(arguments)]
        if isinstance(called, _Tool):
            made = ToolCall(called.name, given[0] if given else Opaque(""))
            if not self._place.is_again or not _is_among(self.calls, made):
                self.calls.append(made)
        elif isinstance(called, _Function):
            self._enter(called, given, call)
        elif method in _OF_EACH and isinstance(whole, list) and given:
            for place, item in enumerate(self._passes(whole)):
                self._run(given[:1], [item, str(place)], call)
        else:
            self._run(given, [], call)
            return self._made(js.name_of(of), whole, method, given)
        return None

    def _run(self, passed: Sequence[Value], given: Sequence[Value], call: Node) -> None:
        """Go through those of the values that are functions, which something else calls."""
        for one in passed:
            if isinstance(one, _Function):
                self._enter(one, given, call)

    def _made(self, of: str, whole: Value, method: str, given: Sequence[Value]) -> Value | None:
        """Return what a call makes: `Object.entries`, `JSON.parse`, `join` and the like."""
        first = given[0] if given else Opaque("")
        if of == "Object" and isinstance(first, dict):
            if not self._spend(len(first) * _PER_MEMBER * 4):
                return None
            if method == "entries":
                return [[key, item] for key, item in first.items()]
            return list(first.values() if method == "values" else first)
        if of == "JSON" and method == "parse" and isinstance(first, str):
            return _parsed(first) if self._spend(len(first) * _PER_JSON) else None
        if method == "join" and isinstance(whole, list):
            return self._joined(first if isinstance(first, str) else ",", whole)
        if method == "concat" and isinstance(whole, str):
            return self._joined("", [whole, *given])
        return whole if method in _KEEPS_TEXT and isinstance(whole, str) else None

    # --- values ------------------------------------------------------------------------

    def _spend(self, cost: int) -> bool:
        """Take characters from the budget; return whether there were as many."""
        self._left -= cost
        return self._left >= 0

    def _key(self, member: Node | None) -> str:
        """Return the key of a member."""
        index = js.part(member, "index")
        key = js.text(js.part(member, "property")) if index is None else self._value(index)
        return key if isinstance(key, str) else ""

    def _filled(self, template: Node, *, raw: bool) -> Value:
        """Return a template's text, with what its code stands for where that is known."""
        parts, at = list[Value](), template.start_byte + 1
        for code in [*js.code_in(template), None]:
            end = code.start_byte if code is not None else template.end_byte - 1
            said = self._source[at:end].decode(errors="replace")
            parts.append(said if raw else js.unescaped(said))
            if code is not None:
                parts += map(self._value, js.items(code)[:1])
                at = code.end_byte
        return self._joined("", parts)

    def _sum(self, node: Node) -> Value | None:
        """Return a sum in which a text is known."""
        parts, is_sum = list[Value](), True
        left: Node | None = node
        while left is not None and left.type == "binary_expression":
            is_sum = is_sum and js.text(js.part(left, "operator")) == "+"
            parts.append(self._value(js.part(left, "right")))
            left = js.part(left, "left")
        parts.append(self._value(left))
        is_text = is_sum and any(isinstance(part, str) for part in parts)
        return self._joined("", reversed(parts)) if is_text else None

    def _list(self, node: Node) -> list[Value]:
        elements = list[Value]()
        for item in js.items(node):
            spread = item.type == "spread_element"
            value = self._value(js.items(item)[0] if spread and js.items(item) else item)
            values = value if spread and isinstance(value, list) else [value]
            if self._spend(len(values) * _PER_MEMBER):
                elements += values
        return elements

    def _object(self, node: Node) -> dict[str, Value]:
        members = dict[str, Value]()
        for item in js.items(node):
            if item.type == "pair":
                members[js.key_of(js.part(item, "key"))] = self._value(js.part(item, "value"))
            elif item.type == "shorthand_property_identifier":
                members[js.text(item)] = self._value(item)
            else:
                inside = [self._value(one) for one in js.items(item)]
                value = inside[0] if item.type == "spread_element" and inside else None
                if isinstance(value, dict) and self._spend(len(value) * _PER_MEMBER):
                    members |= value
        return members

    def _joined(self, between: str, values: Iterable[Value]) -> Value:
        """Return values as one text, unless it is too long."""
        pieces, length = list[str](), 0
        for value in values:
            code = value.code if isinstance(value, Opaque) else "..."
            pieces.append(value if isinstance(value, str) else f"${{{code}}}")
            added = len(pieces[-1]) + len(between)
            length += added
            if not self._spend(added + _PER_MEMBER) or length > _LONGEST_JOINED:
                return Opaque("...")
        return between.join(pieces)


def _is_among(calls: Sequence[ToolCall], made: ToolCall) -> bool:
    try:
        return made in calls
    except RecursionError:  # lists in lists, as deep as the script built them
        return True


def _member(value: Value, key: str) -> Value:
    if value == _TOOLS and key:
        return _Tool(key)
    if isinstance(value, dict):
        return value.get(key, _MISSING)
    if isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
        return value[int(key)]
    return _MISSING


def _parsed(text: str) -> Value | None:
    """Return what `JSON.parse` gives."""
    try:
        return _of_json(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _of_json(value: object) -> Value:
    if isinstance(value, dict):
        return {str(key): _of_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_of_json(item) for item in value]
    return value if isinstance(value, str) else str(value)
