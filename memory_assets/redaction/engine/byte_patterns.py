"""Regular expressions over text, widened to ones over its ASCII copy for Hyperscan.

Whatever the original matches, the widened pattern matches at the same place of the copy,
in which each character beyond ASCII is a `?`. Assertions are dropped, classes of
characters written out as bytes, and long repeats are not counted. What cannot be widened
raises `CannotWiden`: the caller falls back on a plainer trigger.

Source of what Hyperscan supports: intel.github.io/hyperscan/dev-reference/compilation.html
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

_parser: Any = importlib.import_module("re._parser")
_codes: Any = importlib.import_module("re._constants")
_compiler: Any = importlib.import_module("re._compiler")

_BEYOND_ASCII = "\u00e9\u00c9\u0663\u00a0\u2014\u0131\u212a\u017f\u0130"
"""A small and a capital letter, a digit, a space, a sign; and those that match i, k or s without
case."""
_NUMBER = re.compile(r"\d+")
_MATCHED: dict[str, frozenset[int]] = {}
"""Bytes that a node matches, by node and flags, as computed before."""
_STAND_IN = ord("?")
_COUNTED = 20
"""The longest repeat whose upper bound is kept. An automaton has a state for each repetition that
it counts: without those of longer ones Hyperscan compiles in a third of the time."""
_REPEATS = frozenset({_codes.MAX_REPEAT, _codes.MIN_REPEAT, _codes.POSSESSIVE_REPEAT})
_ASSERTIONS = frozenset({_codes.ASSERT, _codes.ASSERT_NOT, _codes.AT})
_SINGLE = frozenset({_codes.LITERAL, _codes.NOT_LITERAL, _codes.ANY, _codes.IN})
Node = tuple[Any, Any]


class CannotWiden(ValueError):
    """A construct of a regular expression that has no counterpart over bytes."""


class Widened(NamedTuple):
    """A pattern over bytes, and the largest number of bytes that the original can match."""

    source: str
    most: int


def widened(pattern: re.Pattern[str]) -> Widened:
    """Return a pattern that matches wherever `pattern` does, and ends at its shortest match.

    Raises:
        CannotWiden: a construct is unknown.
    """
    tree = _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    shortest = _shortest(_resolved(tree, {}))
    return Widened(_widened(shortest, tree.state.flags), _sum_of_widths(shortest))


def _resolved(nodes: Iterable[Node], groups: dict[int, Node]) -> list[Node]:
    """Return the nodes, a reference to a group replaced by the group."""
    resolved: list[Node] = []
    for code, value in nodes:
        if code is _codes.GROUPREF and value in groups:
            code, value = groups[value]
        elif code is _codes.SUBPATTERN:
            value = (*value[:3], _resolved(value[3], groups))
            if value[0] is not None:
                groups[value[0]] = (code, value)
        elif code is _codes.BRANCH:
            value = (value[0], [_resolved(branch, groups) for branch in value[1]])
        elif code in _REPEATS:
            value = (*value[:2], _resolved(value[2], groups))
        resolved.append((code, value))
    return resolved


def _shortest(nodes: list[Node]) -> list[Node]:
    """Return the nodes with the last of them repeated as rarely as possible."""
    kept = list(nodes)
    while kept and (
        kept[-1][0] in _ASSERTIONS or (kept[-1][0] in _REPEATS and kept[-1][1][0] == 0)
    ):
        kept.pop()
    if not kept:
        return kept
    code, value = kept[-1]
    if code is _codes.SUBPATTERN:
        value = (*value[:3], _shortest(value[3]))
    elif code is _codes.BRANCH:
        value = (value[0], [_shortest(branch) for branch in value[1]])
    elif code in _REPEATS:
        inside = _shortest(value[2]) if value[0] == 1 else value[2]
        value = (value[0], value[0], inside)
    kept[-1] = (code, value)
    return kept


def _sum_of_widths(nodes: Iterable[Node]) -> int:
    """Return the largest number of characters that the nodes can match."""
    return sum(map(_width, nodes))


def _width(node: Node) -> int:
    code, value = node
    if code in _SINGLE:
        return 1
    if code is _codes.SUBPATTERN:
        return _sum_of_widths(value[3])
    if code is _codes.ATOMIC_GROUP:
        return _sum_of_widths(value)
    if code is _codes.BRANCH:
        return max(map(_sum_of_widths, value[1]))
    if code in _REPEATS:
        return int(value[1]) * _sum_of_widths(value[2])
    return 0


def _widened(nodes: Iterable[Node], flags: int) -> str:
    """Return the source of a pattern that matches wherever the nodes do.

    Raises:
        CannotWiden: a construct is unknown.
    """
    return "".join(_widen(code, value, flags) for code, value in nodes)


def _widen(code: Any, value: Any, flags: int) -> str:
    if code in _SINGLE:
        return _char_class(_characters(code, value, flags))
    if code in _ASSERTIONS:
        return ""
    if code is _codes.SUBPATTERN:
        _, add, drop, nodes = value
        return f"(?:{_widened(nodes, (flags | add) & ~drop)})"
    if code is _codes.ATOMIC_GROUP:
        return f"(?:{_widened(value, flags)})"
    if code is _codes.BRANCH:
        return "(?:" + "|".join(_widened(nodes, flags) for nodes in value[1]) + ")"
    if code in _REPEATS:
        least, most, nodes = value
        inside = _widened(nodes, flags)
        return inside and f"(?:{inside}){_count(least, most)}"
    raise CannotWiden(str(code))


def _characters(code: Any, value: Any, flags: int) -> frozenset[int]:
    """Return the bytes of the ASCII copy at which the node, which matches one character, can match:
    it is tried on all of ASCII and on characters beyond."""
    key = f"{code} {value} {flags}"
    if key not in _MATCHED:
        node = _parser.SubPattern(_parser.State(), [(code, value)])
        matches = _compiler.compile(node, flags | re.DOTALL).match
        written = map(int, _NUMBER.findall(key))
        beyond = [chr(code) for code in written if 127 < code <= sys.maxunicode]
        matched = {byte for byte in range(128) if matches(chr(byte))}
        _MATCHED[key] = frozenset(
            matched | {_STAND_IN} if any(map(matches, (*_BEYOND_ASCII, *beyond))) else matched
        )
    return _MATCHED[key]


def _char_class(codes: Iterable[int]) -> str:
    """Return a character class of exactly these bytes.

    Raises:
        CannotWiden: there are none.
    """
    listed = sorted(set(codes))
    if not listed:
        raise CannotWiden("an empty class")
    parts: list[str] = []
    start = previous = listed[0]
    for code in [*listed[1:], 999]:
        if code != previous + 1:
            parts.append(f"\\x{start:02x}" + (f"-\\x{previous:02x}" if previous > start else ""))
            start = code
        previous = code
    return parts[0] if len(listed) == 1 else f"[{''.join(parts)}]"


def _count(least: int, most: Any) -> str:
    if most is _codes.MAXREPEAT or most > max(least, _COUNTED):
        return f"{{{least},}}"
    return f"{{{least},{most}}}" if least != most else f"{{{least}}}"
