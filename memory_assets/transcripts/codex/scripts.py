"""The tool calls in the JavaScript of Codex's code mode: `tools.exec_command({cmd: "..."})`.

Nothing is run. The reader knows literals (strings in all three quotes, arrays, objects, `+`,
`join`), the names they were given, lists that are looped over and local functions that are called
with literals; whatever else stands in a text remains as `${...}`. Code that it does not
understand gives no call, and never an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, product
from typing import NamedTuple

from memory_assets.transcripts.fields import names as words
from memory_assets.transcripts.lines import clean_text

MOST_CALLS = 200
"""Calls taken from one script, those that a loop makes included."""
_LONGEST = 2_000_000
"""Characters of a script that are looked at."""
_LONGEST_JOINED = 200_000
_MOST_ITEMS = 10_000
_DEEPEST = 30
_CALLS_TOOLS = re.compile(r"\btools\s*(?:\.|\[|\?\.)|\}\s*=\s*tools\b")
_TOKEN = re.compile(
    r"(?P<space>\s++|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+')"
    r"|(?P<name>[^\W\d]\w*+(?:\$\w*+)*+|\$[\w$]*+)|(?P<number>\d[\w.]*+)"
    r"|(?P<mark>=>|\.\.\.|\?\?|\?\.|[=!]==?|&&|\|\||.)",
    re.DOTALL,
)
_REGEX = re.compile(r"/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*+\])++/\w*+")
_BEFORE_REGEX = words("( , = : [ ! & | ? { } ; => && || return")
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*+", re.DOTALL)
_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "", "\n": ""}
_SIMPLE["\r\n"] = ""
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_OF_EACH = words("map forEach flatMap filter some every")
_KEEPS_TEXT = words("trim trimStart trimEnd toString")
_DECLARES = words("const let var")


class Opaque(NamedTuple):
    """A value that is not known: the code that makes it."""

    code: str


Value = str | list["Value"] | dict[str, "Value"] | Opaque


class ToolCall(NamedTuple):
    """A call in a script: the tool's name and its first argument."""

    name: str
    argument: Value


class _Token(NamedTuple):
    kind: str
    text: str
    parts: tuple[str | _Code, ...] = ()
    """Of a template: its texts and the code between."""


@dataclass(slots=True)
class _Code:
    """Tokens, and for each bracket that opens where its partner is, both ways."""

    tokens: list[_Token]
    partner: dict[int, int] = field(default_factory=dict)

    def mark(self, at: int) -> str:
        """Return the mark or name at a position, "" beyond the end or for a literal."""
        token = self.tokens[at] if 0 <= at < len(self.tokens) else None
        return token.text if token is not None and token.kind in ("mark", "name") else ""

    def name(self, at: int) -> str:
        token = self.tokens[at] if 0 <= at < len(self.tokens) else None
        return token.text if token is not None and token.kind == "name" else ""

    def source(self, start: int, end: int) -> str:
        return " ".join(token.text for token in self.tokens[start : min(end, start + 20)])[:200]


class _Choice(NamedTuple):
    """What a name stands for in a loop: a value for each pass of the group."""

    group: int
    values: tuple[Value, ...]


def calls_tools(text: str) -> bool:
    """Return whether a text is code that calls tools, or may be."""
    return "tools" in text and _CALLS_TOOLS.search(text) is not None


def tool_calls(script: str) -> list[ToolCall]:
    """Return the calls of tools in a script, in the order of the text, at most `MOST_CALLS`."""
    code, _ = _lexed(script[:_LONGEST], 0, 0)
    reading = _Reading()
    reading.walk(code)
    if reading.functions:  # calls of local functions say what their parameters are
        reading = _Reading(reading.functions, reading.given)
        reading.walk(code)
    return reading.calls[:MOST_CALLS]


def literals(value: str) -> Iterator[str]:
    """Yield the text of each literal of a script that holds no code."""
    code, _ = _lexed(value[:_LONGEST], 0, 0)
    for token in code.tokens:
        if token.kind == "string" or (token.kind == "template" and len(token.parts) == 1):
            yield token.text


def _lexed(text: str, at: int, depth: int) -> tuple[_Code, int]:
    """Return the tokens of a text from `at`, up to the `}` that ends a template's code."""
    tokens: list[_Token] = []
    code, opened = _Code(tokens), list[int]()
    last = ""
    while at < len(text):
        if text[at] == "`" and depth < _DEEPEST:
            token, at = _template(text, at + 1, depth, raw=last == "raw")
        elif text[at] == "/" and last in _BEFORE_REGEX | {""} and (m := _REGEX.match(text, at)):
            token, at = _Token("regex", m.group()), m.end()
        else:
            lexeme = _TOKEN.match(text, at)
            if lexeme is None:
                break
            at, kind = lexeme.end(), lexeme.lastgroup or ""
            if kind == "space":
                continue
            token = _Token(kind, lexeme.group())
            if kind == "string":
                token = _Token(kind, _unescaped(lexeme.group()[1:-1]))
        if token.kind == "mark" and token.text in _PAIRS:
            opened.append(len(tokens))
        elif token.kind == "mark" and token.text in ")]}":
            if opened and _PAIRS[tokens[opened[-1]].text] == token.text:
                code.partner[opened[-1]] = len(tokens)
                code.partner[len(tokens)] = opened.pop()
            elif depth and not opened and token.text == "}":
                return code, at
        tokens.append(token)
        last = token.text if token.kind in ("mark", "name") else "literal"
    return code, at


def _template(text: str, at: int, depth: int, *, raw: bool) -> tuple[_Token, int]:
    """Return a template string whose text begins at `at`, and where it ends."""
    parts: list[str | _Code] = []
    while True:
        piece = _TEMPLATE.match(text, at)
        said = piece.group() if piece else ""
        at += len(said)
        parts.append(said if raw else _unescaped(said))
        if text[at : at + 2] != "${":
            break
        inner, at = _lexed(text, at + 2, depth + 1)
        parts.append(inner)
    shown = "".join(
        part if isinstance(part, str) else "${" + part.source(0, len(part.tokens)) + "}"
        for part in parts
    )
    return _Token("template", shown, tuple(parts)), at + 1


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


class _Reading:
    """One passage through a script, in the order of its text."""

    def __init__(
        self,
        functions: dict[str, list[list[str]]] | None = None,
        given: dict[str, list[list[Value]]] | None = None,
    ) -> None:
        self.calls: list[ToolCall] = []
        self.functions: dict[str, list[list[str]]] = dict(functions or {})
        """Local functions: the names in each of their parameters."""
        self.given: dict[str, list[list[Value]]] = {}
        """The arguments of their calls."""
        self._given_before = given or {}
        self._names: dict[str, Value | _Choice] = {}
        self._aliases: dict[str, str] = {}
        self._tools = {"tools"}
        self._groups = 0
        self._choice: dict[int, int] = {}
        self._met: dict[int, int] = {}
        self._depth = 0

    def walk(self, code: _Code) -> None:
        """Take in names, loops and calls."""
        for at, token in enumerate(code.tokens):
            if len(self.calls) >= MOST_CALLS:
                return
            for part in token.parts:
                if isinstance(part, _Code):
                    self.walk(part)
            if token.kind == "name":
                self._at_name(code, at, token.text)
            elif token.text in ("}", "]") and code.mark(at + 1) == "=":
                self._destructure(code, at)

    def _at_name(self, code: _Code, at: int, name: str) -> None:
        after, before = code.mark(at + 1), code.mark(at - 1)
        if name in self._tools and before not in (".", "?."):
            self._tool_call(code, at)
        elif name == "function" and after and code.mark(at + 2) == "(":
            self._function(after, self._parameters(code, at + 2))
        elif after == "=" and before not in (".", "?."):
            self._assign(code, at, name)
        elif name == "of" and (opens := self._pattern_before(code, at)):
            self._bind(opens, self._items(self._value(code, at + 1)[0]))
        elif name in _OF_EACH and before in (".", "?.") and after == "(":
            self._loop(code, at)
        elif after == "(" and before not in (".", "?.", "function"):
            if name in self._aliases:
                self._record(self._aliases[name], code, at + 1)
            elif name in self.functions:
                self.given.setdefault(name, []).append(self._arguments(code, at + 1))

    # --- what names stand for ----------------------------------------------------------

    def _assign(self, code: _Code, at: int, name: str) -> None:
        begin = at + 2 + (code.mark(at + 2) == "async")
        if code.mark(begin) == "function" or self._arrow_after(code, begin):
            opening = begin + (code.mark(begin) == "function")
            self._function(name, self._parameters(code, opening))
            return
        if code.name(at + 2) in self._tools and code.mark(at + 3) not in (".", "[", "?."):
            self._tools.add(name)
        value, _ = self._value(code, at + 2)
        if not isinstance(value, Opaque) or name not in self._names:
            self._names[name] = value

    def _arrow_after(self, code: _Code, at: int) -> bool:
        end = code.partner.get(at, at) if code.mark(at) == "(" else at
        return code.mark(end + 1) == "=>"

    def _function(self, name: str, parameters: list[list[str]]) -> None:
        self.functions[name] = parameters
        calls = self._given_before.get(name, [])
        self._groups += 1
        for place, names in enumerate(parameters):
            values = [call[place] if place < len(call) else Opaque("") for call in calls]
            self._bind(names, values, self._groups)

    def _parameters(self, code: _Code, at: int) -> list[list[str]]:
        """Return the names of each parameter of a function whose parameters begin at `at`."""
        if code.mark(at) != "(":
            return [[code.name(at)]]
        end, parameters = code.partner.get(at, at), list[list[str]]()
        at += 1
        while at < end:
            names, at = self._pattern(code, at)
            parameters.append(names)
            while at < end and code.mark(at) != ",":
                at = code.partner.get(at, at) + 1 if code.mark(at) in _PAIRS else at + 1
            at += 1
        return parameters

    def _pattern(self, code: _Code, at: int) -> tuple[list[str], int]:
        """Return the names of a parameter, in an array's with "[" before, in an object's with
        "{", and where it ends."""
        kind = code.mark(at)
        end = code.partner.get(at)
        if kind not in ("[", "{") or end is None:
            return [code.name(at)], at + 1
        names = [kind]
        for place in range(at + 1, end):
            starts = code.mark(place - 1) in (kind, ",")
            if name := code.name(place) if starts else "":
                renamed = code.name(place + 2) if code.mark(place + 1) == ":" else ""
                names.append(f"{name}:{renamed or name}")
        return names, end + 1

    def _pattern_before(self, code: _Code, at: int) -> list[str]:
        """Return the pattern of `for (const <pattern> of`, whose `of` is at `at`."""
        begin = code.partner.get(at - 1, at - 1)
        if code.mark(begin - 1) not in _DECLARES:
            return []
        return self._pattern(code, begin)[0]

    def _loop(self, code: _Code, at: int) -> None:
        """Bind the parameters of `<list>.map((x, i) => ...`, whose `map` is at `at`."""
        begin = at + 2 + (code.mark(at + 2) == "async")
        if not self._arrow_after(code, begin):
            return
        values = self._items(self._value(code, self._start(code, at - 2), until=at - 1)[0])
        places: list[Value] = [str(number) for number in range(len(values))]
        self._groups += 1
        for names, of_each in zip(self._parameters(code, begin), (values, places), strict=False):
            self._bind(names, of_each, self._groups)

    def _start(self, code: _Code, at: int) -> int:
        """Return where the expression begins that ends at `at`: `[...]`, `x.y`, `f(...)`."""
        while True:
            at = code.partner.get(at, at)
            if code.mark(at) in ("(", "[") and code.name(at - 1):
                at -= 1
            if code.mark(at - 1) not in (".", "?."):
                return at
            at -= 2

    def _items(self, value: Value) -> list[Value]:
        return value[:MOST_CALLS] if isinstance(value, list) else []

    def _bind(self, names: list[str], values: list[Value], group: int = 0) -> None:
        """Let the names of a pattern stand for a value in each pass of a loop."""
        if not group:
            self._groups += 1
            group = self._groups
        if not values:
            return
        if names[0] not in ("[", "{"):
            self._names[names[0]] = _Choice(group, tuple(values))
            return
        for place, pair in enumerate(names[1:]):
            key, _, name = pair.partition(":")
            inner = [
                self._member(value, str(place) if names[0] == "[" else key) for value in values
            ]
            self._names[name] = _Choice(group, tuple(inner))

    def _member(self, value: Value, key: str) -> Value:
        if isinstance(value, dict):
            return value.get(key, Opaque(key))
        if isinstance(value, list) and key.isdecimal() and int(key[:9]) < len(value):
            return value[int(key)]
        return Opaque(key)

    def _destructure(self, code: _Code, at: int) -> None:
        """Note `const {exec_command: run} = tools`, whose `}` is at `at`, or parts of a value."""
        opening = code.partner.get(at, at)
        if code.mark(opening - 1) not in _DECLARES:
            return
        names, _ = self._pattern(code, opening)
        if code.name(at + 2) == "tools":
            self._aliases |= {name: tool for tool, _, name in (n.partition(":") for n in names[1:])}
        else:
            self._bind(names, [self._value(code, at + 2)[0]])

    # --- calls -------------------------------------------------------------------------

    def _tool_call(self, code: _Code, at: int) -> None:
        if code.mark(at + 1) in (".", "?."):
            name, opening = code.name(at + 2), at + 3
        elif code.mark(at + 1) == "[" and code.mark(at + 3) == "]":
            name, opening = code.tokens[at + 2].text, at + 4
        else:
            return
        if code.mark(opening) == "?.":
            opening += 1
        if name and code.mark(opening) == "(":
            self._record(name, code, opening)

    def _record(self, name: str, code: _Code, opening: int) -> None:
        """Take in a call whose arguments begin at `opening`, once for each pass of its loops."""
        self._met, self._choice = {}, {}
        first = self._first(code, opening)
        groups = self._met
        if not groups:
            self.calls.append(ToolCall(name, first))
            return
        passes = product(*(range(length) for length in groups.values()))
        for chosen in islice(passes, MOST_CALLS):
            self._choice = dict(zip(groups, chosen, strict=True))
            self.calls.append(ToolCall(name, self._first(code, opening)))
        self._choice = {}

    def _first(self, code: _Code, opening: int) -> Value:
        if code.mark(opening + 1) == ")":
            return Opaque("")
        return self._value(code, opening + 1)[0]

    def _arguments(self, code: _Code, opening: int) -> list[Value]:
        end, at, values = code.partner.get(opening, opening), opening + 1, list[Value]()
        while at < end and len(values) < _DEEPEST:
            value, at = self._value(code, at)
            values.append(value)
            at = self._after_comma(code, at, end)
        return values

    def _after_comma(self, code: _Code, at: int, end: int) -> int:
        """Return where the next item of a list begins; what stands before its comma is skipped."""
        while at < end and code.mark(at) != ",":
            at = code.partner.get(at, at) + 1 if code.mark(at) in _PAIRS else at + 1
        return at + 1

    # --- values ------------------------------------------------------------------------

    def _value(self, code: _Code, at: int, until: int = -1) -> tuple[Value, int]:
        """Return the value of the expression at `at`, and where it ends."""
        start = at
        self._depth += 1
        value, at = self._term(code, at, until)
        joined: list[Value] = [value]
        while code.mark(at) == "+" and (until < 0 or at < until):
            value, at = self._term(code, at + 1, until)
            joined.append(value)
        self._depth -= 1
        if len(joined) == 1:
            return joined[0], at
        if all(isinstance(part, Opaque | list | dict) for part in joined):
            return Opaque(code.source(start, at)), at
        return _joined("", joined), at

    def _term(self, code: _Code, at: int, until: int) -> tuple[Value, int]:
        while code.mark(at) in ("await", "new"):
            at += 1
        if at >= len(code.tokens) or self._depth > _DEEPEST:
            return Opaque(""), at + 1
        token, start = code.tokens[at], at
        value: Value = Opaque(token.text)
        if token.kind in ("string", "number"):
            value = token.text
        elif token.kind == "template":
            value = self._filled(token)
        elif token.kind == "name":
            value = self._named(token.text)
            if token.text == "String" and code.mark(at + 2) == "raw":
                at += 3
                raw = at < len(code.tokens) and code.tokens[at].kind == "template"
                value = self._filled(code.tokens[at]) if raw else value
            elif token.text == "Object" and code.mark(at + 3) == "(" and at + 3 in code.partner:
                value = _parts(self._first(code, at + 3), code.name(at + 2))
                at = code.partner[at + 3]
            elif token.text == "JSON" and code.name(at + 2) == "parse" and at + 3 in code.partner:
                value = _parsed(self._first(code, at + 3))
                at = code.partner[at + 3]
        elif token.text in _PAIRS and at in code.partner:
            end = code.partner[at]
            if token.text == "(":
                value = self._value(code, at + 1)[0]
            elif token.text == "[":
                value = self._list(code, at, end)
            else:
                value = self._object(code, at, end)
            at = end
        return self._postfix(code, value, start, at + 1, until)

    def _postfix(
        self, code: _Code, value: Value, start: int, at: int, until: int
    ) -> tuple[Value, int]:
        """Apply `.name`, `[0]`, `.join(...)` and the like to a value."""
        while until < 0 or at < until:
            mark = code.mark(at)
            if mark in (".", "?.") and (name := code.name(at + 1)):
                opening = at + 2
                if code.mark(opening) != "(":
                    value, at = self._member(value, name), at + 2
                elif (end := code.partner.get(opening)) is None:
                    break
                else:
                    value, at = self._method(code, value, name, opening), end + 1
            elif mark == "[" and at in code.partner:
                key = code.tokens[at + 1].text if code.partner[at] == at + 2 else ""
                value, at = self._member(value, key), code.partner[at] + 1
            elif mark == "(" and at in code.partner:
                value, at = Opaque(""), code.partner[at] + 1
            else:
                break
            if isinstance(value, Opaque):
                value = Opaque(code.source(start, at))
        return value, at

    def _method(self, code: _Code, value: Value, name: str, opening: int) -> Value:
        if name == "join" and isinstance(value, list):
            between = self._first(code, opening)
            return _joined(between if isinstance(between, str) else ",", value)
        if name == "concat" and isinstance(value, str):
            return _joined("", [value, *self._arguments(code, opening)])
        return value if name in _KEEPS_TEXT and isinstance(value, str) else Opaque(name)

    def _named(self, name: str) -> Value:
        known = self._names.get(name, Opaque(name))
        if not isinstance(known, _Choice):
            return known
        self._met.setdefault(known.group, len(known.values))
        at = self._choice.get(known.group, 0)
        return known.values[at] if at < len(known.values) else Opaque(name)

    def _filled(self, token: _Token) -> Value:
        """Return a template's text, with what its code stands for where that is known."""
        parts = (part if isinstance(part, str) else self._value(part, 0)[0] for part in token.parts)
        return _joined("", parts)

    def _list(self, code: _Code, at: int, end: int) -> list[Value]:
        elements, at = list[Value](), at + 1
        while at < end and len(elements) < _MOST_ITEMS:
            spread = code.mark(at) == "..."
            value, at = self._value(code, at + spread)
            elements += value if spread and isinstance(value, list) else [value]
            at = self._after_comma(code, at, end)
        return elements[:_MOST_ITEMS]

    def _object(self, code: _Code, at: int, end: int) -> dict[str, Value]:
        members, at = dict[str, Value](), at + 1
        while at < end:
            key = code.tokens[at]
            if code.mark(at) == "...":
                value, at = self._value(code, at + 1)
                members |= value if isinstance(value, dict) else {}
            elif code.mark(at + 1) == ":":
                members[key.text], at = self._value(code, at + 2)
            elif key.kind == "name":
                members[key.text] = self._named(key.text)
            at = self._after_comma(code, at, end)
        return members


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
