"""Hyperscan patterns for assignments, derived from `rules/assignments.py`.

Each pattern matches wherever `find_assignment` finds a secret (and elsewhere too). There are as
many as cost no more time than one would: rare forms have patterns of their own, so that those of
frequent forms can be precise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from memory_assets.redaction.engine.byte_patterns import (
    CannotWiden,
    Node,
    Widened,
    is_branch,
    is_group,
    parse,
    widen,
    width,
)
from memory_assets.redaction.engine.triggers import ASSIGNED, Trigger
from memory_assets.redaction.rules import assignments
from memory_assets.redaction.rules.judging.names import (
    CHOSEN_TOKENS,
    KEYWORDS,
    NUMBERS,
    PASSWORDS,
    SPEAKING,
)

_KEYWORD = "(?i:" + "|".join(keyword.decode() for keyword in KEYWORDS) + ")"
_NAME = r"[\w.\-?]"
_NO_VALUE = r"""\s"'`<>,;(){}\[\]|\\&"""
"""Characters that do not occur in an unquoted value, as the inside of a character class."""
_BARE = f"[^{_NO_VALUE}]"
_BARE_NO_DIGIT = f"[^{_NO_VALUE}0-9]"
_QUOTE = (
    r"(?:\[\]byte\(|(?:un|from)hex\(|\s*string\([0-9]+\) "
    r"|(?:new )?[A-Z][\w?]*(?:(?:::|\.)[\w?]+)?\(|[rRbBfFuUN@]{0,2})"
    r"""(?:\\{0,3}["'`]|&quot;)"""
)
"""Repeats are not counted: counted ones take 1.6 times as long to be compiled, and a longer match
is a place more to look at."""
_QUOTED_VALUE = f"{_QUOTE}[^\\n]{{4}}"
_AT_QUOTE = r"""\\{0,3}["'`]"""
_VALUE_AT_QUOTE = f"{_AT_QUOTE}[^\\n]{{4}}"
"""A value after `call`, `pair`, `serial` or `typed`, which `assignments.py` looks ahead from at the
quote itself: with all that may precede other quotes they take several times as long to be
compiled."""
_WORD_VALUE = "|".join(
    (
        _QUOTED_VALUE,
        r"[A-Za-z\-]{3}[ \t]",
        *(f"[0-9]{{{digits}}}{_BARE_NO_DIGIT}{_BARE}{{{3 - digits}}}" for digits in (1, 2)),
        f"{_BARE_NO_DIGIT}{_BARE}{{3}}",
        "[0-9]{3}",
        "[A-Za-z0-9]{1,3}[,;|&'\"`][A-Za-z0-9?]",
    )
)
_ANY_VALUE = f"{_QUOTED_VALUE}|{_BARE}{{4}}"
"""The shortest values that `assignments.py` accepts as secrets: four characters, quoted or unquoted
(unquoted not only digits), up to three before a dividing sign, or a scheme of three letters before
a blank."""
_BEGINNING = 3
"""How many letters of a scheme are looked for: with all of them the patterns take twice as long to
be compiled."""
_LONGEST_NAME = 60
_LONGEST_VALUE = 72
_PLAIN_KEYWORD = 8
TOKEN_START = 8
"""The number of characters of a token's value before the reported end."""
_NO_WORD = re.compile(
    rb"\S{0,40}?[0-9A-Z?]|\S{40}|\S*?[a-z]{16}|[b\"']{0,2}[a-z]+[-_.][a-z]+[-_.][a-z]"
)
"""How a value begins that may be a token: `assignments._is_token` finds nothing among
lower-case letters and signs, but for what sixteen letters or three words may be."""


def may_be_token(data: bytes, end: int) -> bool:
    """Return True if the value that began `TOKEN_START` bytes before `end` may be a token, and not
    a word."""
    return _NO_WORD.match(data, end - TOKEN_START) is not None


def assignment_triggers() -> tuple[Trigger, ...]:
    """Return the triggers of what begins at a keyword: assignments, flags, blocks.

    A report of a trigger with `is_token` counts only if `may_be_token` is true as well.
    """
    triggers = [
        Trigger(rb"PRIVATE KEY", ASSIGNED, 3),
        Trigger(rb":[ \t]{0,4}[\"']?(?i:secret)[\"' \t,]{0,20}(?:[\r\n]|\z)", ASSIGNED, 40),
        Trigger(rb"[:(][A-Za-z0-9_.\-]{2,60} ['\"]", ASSIGNED, 64),
        Trigger(rb"#define[ \t]{1,8}[A-Za-z0-9_.\-]{2,60}[ \t]{1,8}['\"]", ASSIGNED, 70),
        Trigger(rb"(?i:passw(?:or)?d|pass|pwd?|psk)[ \t]{1,8}['\"]", ASSIGNED, 24),
    ]
    try:
        return (*triggers, *_after_names())
    except CannotWiden:
        return (*triggers, Trigger(_KEYWORD.encode(), ASSIGNED, _PLAIN_KEYWORD))


def _after_names() -> Iterator[Trigger]:
    """Yield the triggers of a telling name followed by a value.

    Raises:
        CannotWiden: `assignments.py` has a construct that has no counterpart here.
    """
    beginnings = sorted({scheme[:_BEGINNING] for scheme in assignments.SCHEMES})
    scheme = rf"(?:{'|'.join(map(_any_case, beginnings))})[A-Za-z0-9\-?]*[ \t]{{1,4}}\S{{4}}"
    called = rf"[\"'`]{_NAME}*"  # not from `(` on: Vectorscan overlooks that pair of characters
    token = f"{_QUOTE}\\S{{{TOKEN_START}}}|[^\\s\"'`]{{{TOKEN_START}}}"
    for before, listed, group, value in (
        ("", PASSWORDS | CHOSEN_TOKENS | {"secret", "psk", "shared"}, "", _WORD_VALUE),
        ("", NUMBERS, "", f"(?:{_QUOTE})?[0-9]{{3}}"),
        *((f"-{_NAME}*", NUMBERS, group, "[0-9]{4}") for group in ("item", "space")),
        ("", NUMBERS, "typed", f"{_AT_QUOTE}[0-9]{{3}}"),
        ("", SPEAKING - PASSWORDS, "", token),
        ("", SPEAKING - PASSWORDS, "", f"(?:{_QUOTE})?{scheme}"),
        (called, SPEAKING, "pair", _VALUE_AT_QUOTE),
        *(
            ("", half, group, value)  # Vectorscan scans for all words at once ten times as slowly
            for group, value in (
                ("call", _VALUE_AT_QUOTE),
                ("typed", _VALUE_AT_QUOTE),
                ("xml", _ANY_VALUE),
            )
            for half in (PASSWORDS, SPEAKING - PASSWORDS)
        ),
        ("", SPEAKING, "label", _ANY_VALUE),
        ("", SPEAKING, "serial", _VALUE_AT_QUOTE),
        (f"-{_NAME}*", SPEAKING, "pair", _VALUE_AT_QUOTE),
        (f"-{_NAME}*", SPEAKING, "item", _WORD_VALUE),
        (f"-{_NAME}*", SPEAKING, "space", _WORD_VALUE),
    ):
        after = _after_keyword(group)
        source = f"{before}{_name(listed)}{after.source}(?:{value})"
        back = len(max(listed, key=len)) + _LONGEST_NAME + after.most + _LONGEST_VALUE
        yield Trigger(source.encode(), ASSIGNED, back, is_token=value is token)
    named = rf"[\s\x1c-\x1f?](?:value|default)[ \t]{{0,8}}[:=][ \t]{{0,8}}(?:{_WORD_VALUE})"
    back = _LONGEST_NAME + _after_keyword("named").most + _LONGEST_VALUE
    yield Trigger(named.encode(), ASSIGNED, back)


def _any_case(word: str) -> str:
    """Return the pattern of a word in any case; a question mark stands for letters outside ASCII
    that are the same but for case (`ſ`, the Kelvin sign, dotted i)."""
    return "".join(f"[{c}{c.upper()}{'?' * (c in 'iks')}]" for c in word)


def _name(listed: frozenset[str]) -> str:
    """Return the pattern of a name, starting at one of the words."""
    shortest = sorted(w for w in listed if not any(w != o and w.endswith(o) for o in listed))
    lower = "|".join(f"[{word[0]}{word[0].upper()}]{word[1:]}" for word in shortest)
    upper = "|".join(shortest).upper()
    return (
        f"(?:(?:{lower})(?:[A-Z0-9_.\\-?]{_NAME}*)?"
        f"|(?:{upper})(?:[a-z0-9_.\\-?]{_NAME}*|[A-Z][a-z]{_NAME}*)?)"
    )


def _after_keyword(group: str) -> Widened:
    """Return the pattern between a name and its value, from those alternatives of `assignments.py`
    that begin with this name's group (or with none: "")."""
    nodes, flags, groups = parse(assignments._AFTER)
    names = {number: name for name, number in groups.items()}
    if not nodes or nodes[0][1][0] != groups.get("name"):
        raise CannotWiden("a name was expected first")

    def kept(nodes: Sequence[Node]) -> list[Node]:
        result: list[Node] = []
        for code, value in nodes:
            if is_branch(code):
                value = (value[0], [b for b in value[1] if _leading(b, names) == group])
            elif is_group(code) and len(value[3]) == 1:
                value = (*value[:3], kept(value[3]))
            result.append((code, value))
        return result

    rest = kept(nodes[1:])
    return Widened(widen(rest, flags), width(rest))


def _leading(nodes: Sequence[Node], names: Mapping[int, str]) -> str:
    code, value = nodes[0]
    return names.get(value[0], "") if is_group(code) else ""
