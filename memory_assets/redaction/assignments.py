"""Finds values that are given to names which speak of secrets, in every common syntax.

`KEY=value` (env, shell, INI), `key: value` (YAML, headers), `"key": "value"` (JSON, also
escaped), `key = "value"` and `key: str = "value"` (code, TOML), `f("key", "value")`,
`--key value`, `<key>value</key>`, `<add key="..." value="..."/>`, `name: KEY` over
`value: ...`. Only the value is reported. The scan starts from keyword positions that
the caller found; each step from there looks at a bounded stretch of text.
"""

from __future__ import annotations

import base64
import re
from typing import NamedTuple

from memory_assets.redaction import values
from memory_assets.redaction.names import NameKind, name_kind

RULES = {NameKind.PASSWORD: "assigned-password", NameKind.TOKEN: "assigned-secret"}

_NAME_BEFORE = re.compile(r"[\w.\-]{0,48}")
_AFTER = re.compile(
    r"""(?x)
    (?P<name> [\w.\-]{2,60} )
    (?P<close> \\{0,3} ["'`]? [\])]{0,2} )
    (?:
        (?P<typed> : [ \t]* [A-Za-z][\w.\[\]<>|?\ ]{0,40} = [ \t]* (?=["'`]) )
      | [ \t]{0,24} (?P<sep> :{0,3}= (?:>|={0,2}) | [?.+|]= | !={1,2} | : | =>? ) [ \t]{0,24}
      | (?P<pair> [ \t]{0,8} , \s{0,24} (?=\\{0,3}["'`]) )
      | (?P<xml> > \s{0,24} )
      | (?P<named> \s{1,24} (?:value|default) [ \t]{0,8} [:=] [ \t]{0,8}
                 | [ ]\{\s{1,24} default [ ]{0,8} = [ ]{0,8} )
      | (?P<space> [ \t]{1,8} )
    )
    """
)
_QUOTE = re.compile(r"[rRbBfFuU@]{0,2}(\\{0,3}[\"'`]|&quot;)")
_SCHEME = re.compile(
    r"(?i)(?:bearer|basic|token|apikey|api-key|key|digest|negotiate)[ \t]{1,4}(?=\S)"
)
_BARE = re.compile(r"[^\s\"'`<>,;(){}\[\]|\\&]{1,2000}")
_INTERPOLATED = re.compile(r"\{[A-Za-z_][\w.()\[\]]{0,60}\}|\$[{(]|%[sd]|<[\w -]{1,60}>")
_CALL_BEFORE = re.compile(r"\(\s{0,4}\\{0,3}[\"'`]$")
_WEAK_NAMES = frozenset({"key", "keys", "auth", "pass", "token", "tokens", "secrets"})
_LONGEST_VALUE = 4_000
_LONG_VALUE = 128


class Assignment(NamedTuple):
    """What was seen at a keyword: the secret's span, if it is one, and where to go on."""

    resume: int
    start: int = 0
    end: int = 0
    rule: str = ""


def find_assignment(text: str, position: int) -> Assignment | None:
    """Return the secret assigned to the name around `position`; None if nothing is assigned.

    `resume` passes over further keywords of the same name, and over a long value that is
    no secret: looking at it again from every keyword inside would be quadratic.
    """
    after = _AFTER.match(text, position)
    if after is None:
        return None
    before = _NAME_BEFORE.match(text[max(position - 49, 0) : position][::-1])
    head = before.group()[::-1] if before is not None else ""
    first, name = position - len(head), head + after["name"]
    if not _is_assignment(text, first, name, after):
        return None
    kind = name_kind(name.strip(".-"))
    if kind < NameKind.TOKEN:
        return None
    span = _value_span(text, after.end())
    if span is None:
        return None
    start, end, quoted = span
    value = text[start:end]
    is_long = not quoted and end - start > _LONG_VALUE
    passed = Assignment(end if is_long else after.end())
    if not _is_secret(value, kind, quoted, text[end : end + 1]) and not (
        _is_basic_credential(text, start, value) or _is_query_value(text, first, value)
    ):
        return passed
    if name.lower() in _WEAK_NAMES and not _is_weakly_named(text, position, value, quoted):
        return passed
    return Assignment(end, start, end, RULES[kind])


def _is_assignment(text: str, first: int, name: str, after: re.Match[str]) -> bool:
    """Return whether the separator after `name`, which begins at `first`, assigns."""
    if text.startswith("<redacted:", first - 10):
        return False  # a tag's own name
    if after["space"] is not None:
        return _is_flag(name, text, first)
    if after["pair"] is not None:
        return _CALL_BEFORE.search(text[max(first - 8, 0) : first]) is not None
    return not (after["sep"] == ":" and name.startswith("--"))  # a CSS variable


def _is_query_value(text: str, first: int, value: str) -> bool:
    """Return whether a URL's query holds a value that mixes letters and digits."""
    in_query = text[first - 1 : first] in ("?", "&")
    return in_query and len(value) >= 8 and values.is_random(value, 6)


def _is_basic_credential(text: str, start: int, value: str) -> bool:
    """Return whether `Basic` stands before a value that decodes to `user:password`, as in
    RFC 7617."""
    if text[start - 6 : start - 1].lower() != "basic":
        return False
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except ValueError:
        return False


def _is_weakly_named(text: str, position: int, value: str, quoted: bool) -> bool:
    """Return whether a bare `key:` or Go's `--- PASS:` is nevertheless given a secret."""
    if text[max(position - 7, 0) : position].lower() in ("public ", "pubkey "):
        return False
    if not quoted and text.startswith(("pass", "Pass", "PASS"), position):
        return False
    return "-" not in value or (quoted and values.is_random(value))


def _is_flag(name: str, text: str, start: int) -> bool:
    """Return whether a name followed by a space is a command-line flag or SQL's PASSWORD."""
    if name.startswith("-"):
        return start == 0 or text[start - 1] in " \t\n\"'[(,`"
    return name in ("PASSWORD", "password") and text[start + len(name) :][:2] in (" '", ' "')


def _value_span(text: str, start: int) -> tuple[int, int, bool] | None:
    """Return where the value stands, without quotes and scheme, and whether it is quoted."""
    quote = _QUOTE.match(text, start)
    if quote is not None:
        opening = quote.end()
        end = _closing(text, opening, quote[1])
        if end is not None:
            scheme = _SCHEME.match(text, opening, end)
            return (scheme.end() if scheme else opening), end, True
        start = opening
    scheme = _SCHEME.match(text, start)
    if scheme is not None:
        start = scheme.end()
    bare = _BARE.match(text, start)
    if bare is None:
        return None
    return start, start + len(bare.group().rstrip(".:")), False


def _closing(text: str, opening: int, quote: str) -> int | None:
    """Return where the quoted value ends, or None if it does not on this line."""
    limit = opening + _LONGEST_VALUE
    line_end = text.find("\n", opening, limit)
    limit = limit if line_end < 0 else line_end
    end = text.find(quote, opening, limit)
    while end > opening and len(quote) == 1 and text[end - 1] == "\\":
        end = text.find(quote, end + 1, limit)
    return end if end >= 0 else None


def _is_secret(value: str, kind: NameKind, quoted: bool, following: str) -> bool:
    """Return whether `value` is one that a name of this kind would keep secret."""
    if len(value) < (4 if kind is NameKind.PASSWORD else 8):
        return False
    if values.is_placeholder(value) or values.is_reference(value):
        return False
    if quoted and _INTERPOLATED.search(value) and not values.is_random(value, 16):
        return False
    if kind is NameKind.PASSWORD:
        return _is_password(value, quoted, following)
    return _is_token(value, quoted, following)


def _is_password(value: str, quoted: bool, following: str) -> bool:
    if any(character.isspace() for character in value):
        return False
    if quoted:
        if value.isalpha():
            return len(value) >= 6 and (value.islower() or value.isupper())
        if values.is_code(value) or values.is_words(value):
            return False
        return not values.is_identifier_of_something(value) or values.is_random(value)
    if following in ("(", "[", "{") or values.is_code(value):
        return False
    if values.is_identifier_of_something(value) and not values.is_random(value):
        return False
    return len(value) >= 5 and values.is_mixed(value)


def _is_token(value: str, quoted: bool, following: str) -> bool:
    if values.is_identifier_of_something(value):
        return False
    if not quoted and (following in ("(", "[") or ":/" in value):
        return False
    if any(character.isspace() for character in value):
        return False
    if values.is_uuid(value) or values.is_random(value, 10) or values.is_dense(value):
        return True
    if values.is_hex(value) and len(value) >= 16:
        return True
    symbols = {character for character in value if not character.isalnum()}
    return (
        value.isascii()
        and len(symbols) >= 4
        and len(value) >= 12
        and any(c.isdigit() for c in value)
    )
