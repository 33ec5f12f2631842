"""Tokens that are mentioned: a generated value behind a name, without the name's being listed.

`acme '8Qd3...'`, `acme token - '...'`, "Here is my API key:" and the value on the next line,
`credentials:` over `bob: ...`. For the engine: `is_mentioned` is asked for whole runs of token
characters with a digit that follow a telling word, and for runs of `SHORTEST_QUOTED` characters or
more that are no `HEX_RUN`, whatever they follow: in quotes, or assigned to a variable of the
environment (`ASSIGNED_RUN`).
"""

from __future__ import annotations

import re

from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated
from memory_assets.redaction.rules.judging.names import (
    KEY_QUALIFIERS,
    NO_SECRET,
    NameKind,
    has_vendor,
    name_kind,
    says_public,
)

QUOTES = b"\"'`"
SHORTEST_QUOTED = 16
LONGEST_BEFORE_RUN = 64
ASSIGNED_RUN = re.compile(rb"[A-Z0-9_]=(?:[\w.~%+/!@?-]*[.~%+/!@?])?\Z")
"""What stands before a run in a value that is assigned to a variable of the environment."""
_VARIABLE = re.compile(r"(?<![\w.$/?&-])[A-Z][A-Z0-9_]{2,47}=$")
_QUOTED_RUN = re.compile(rf"[A-Za-z0-9_\-]{{{SHORTEST_QUOTED},}}")
_LONGEST_QUOTED = 128
HEX_RUN = re.compile(rb"[0-9a-f\-]+|[0-9A-F\-]+")
"""A hash or a UUID."""

_SAID_AFTER = re.compile(
    r"""(?x) [\\"'`*]{0,4} [ \t]{0,8}
        (?: \[ \s{0,16} | -[ \t]{0,24}\n\r?(?=[ \t]{0,4}:) )?
        (?: [-:=>\u2013\u2014\u2026\u2192]{1,3} [ \t]{0,8} )? [\\"'`*\])]{0,3}
        (?P<name> [\w.\-]{1,48} (?: [ ] [\w.\-]{1,24} ){0,2} )"""
)
"""What precedes a value that is mentioned after a name, read backwards: also over the bracket of a
list, or the hyphen of its first entry."""
_ANNOUNCED = re.compile(
    r"(?i)(?-i:(?<![a-zA-Z])|(?<=[a-z])(?=[A-Z]))(?<!public[ _-])(?:(?P<key>keys?)"
    rf"|(?:(?:{'|'.join(sorted(KEY_QUALIFIERS))})[ _-]?key"
    r"|token|secret|credential)s?|password|pat)"
    rf"(?![a-z]){NO_SECRET}[^\n:]{{0,24}}"
    r"(?:(?::| is|=)[ \t]{0,4}(?:\"{3}|'{3}|<<[-~]?\w{1,20}|[|>][-+]?)?)\\?[ \t]{0,4}\r?\n"
    r"[ \t]{0,8}(?:(?:```\w{0,12})?\r?\n[ \t]{0,8}){0,2}"
    r"[>`*\"'│┃›❯|-]{0,3}[ \t]{0,4}$"
)
"""A sentence that ends in a word for secrets, above a line that begins with the value."""
_HEADING = re.compile(
    r"(?i)(?:^|\n)[ \t>*#?▲◆◇●›-]{0,8}(?:[a-z][a-z-]{1,15} ){0,4}"
    r"(?:(?:api|access|secret|private|signing|encryption|master|license) key|token|secret"
    r"|credential)s?[ \t]{0,8}\r?\n(?:[ \t]{0,8}\r?\n)?[ \t]{0,8}[│┃›❯>]?[ \t]{0,4}$"
)
"""A line of at most six words that is a label for the value below it."""
_LISTED = re.compile(
    r"(?:^|\n)[ \t]*(?:[\w.-]{2,40} (?:- )?'[^'\n]{0,60}' ){0,2}[A-Za-z][\w.-]{2,40} (?:- )?'$"
)
"""A line that is nothing but names and values in quotes, up to a value."""
_PARENT = re.compile(
    r"(?i)(?:secrets?|credentials?|tokens?|api_?keys?|auth)[\"']?[ \t]{0,4}[:=]?[ \t]{0,4}[{\[]?"
    r"[ \t]{0,4}\r?\n"
)
"""The line above the names that all belong to secrets."""
_WEAK_NAMES = frozenset(("key", "keys", "auth"))
_QUALIFIED = re.compile(
    r"(?i)\b(?:api|access|secret|auth|master|signing|encryption|private|licen[sc]e|storage)"
    r"[ _-]keys?$"
)
_SOMETHING_ELSE = re.compile(
    r"(?i)(?:^|[^a-z]|(?-i:(?<=[a-z])(?=[A-Z])))(?:ids?|key|ref|refs|node|nonce|cursor|after|etag|sri|version|build|name|title|slug"
    r"|path|file|url|uri|href|src|class|classname|image|data|content|body|text|pattern|regex|example"
    r"|sample|tag|branch|model|message|address|account|wallet|contract|cid|boundary|by|output|input"
    r"|expected|actual|snapshot|chars|alphabet|charset|bin|blob|base64|b64|encoded|iv|salt|challenge"
    r"|verifier|public|grep|echo|cat|import|from|require|[ukp]id|jti|sub|aud|cert\w*|ca|crt|pem|bundle"
    r"|png|jpe?g|gif|svg|font|icon|logo|return|assert\w*|equals?|match|contains?|test|it|seed|uuid|guid"
    r"|index|label|selector|attr\w*|query|state|code|offset|marker|page|checkpoint|snapshot|layer"
    r"|x5[ctu]|s256|crv|kty|urn)\W*$|^[nxy]$"
)
"""Last words of names whose generated values are usually no secrets."""
_PUBLISHED = r"public|publishable|(?:site|domain)[-_ ]verification"
_TO_BE_PUBLISHED = re.compile(f"(?i){_PUBLISHED}")
"""In names of what a vendor gives to be published."""
_NOT_SECRET = re.compile(
    r"(?i)sha\d*|digest|checksum|integrity|commit|revision|etag|uuid|guid|signature|thumbprint"
    rf"|{_PUBLISHED}|hash|csrf|xsrf|_id\b|(?-i:[a-z]I)ds?\b|request|session|trace|fingerprint|\bid\b|redacted"
)
_CERTAIN_BITS = 30
"""Bits of evidence after which a quoted value is a secret unless its name says what else it is."""
_BITS = 20
"""Bits of evidence after which a value with a name that speaks of secrets is one."""
_SHORTEST_HEX = 32
_SHORTEST_VENDORS = 20
_DECORATION = " \t>*`\"'│┃›❯|-"
_PIECE = re.compile(r"[A-Za-z0-9]{8}")
"""Occurs in every value that is judged; searching for it is cheap."""


def is_mentioned(text: str, start: int, begin: int, value: str) -> bool:
    """Return True if `value`, which begins at `begin` around the run at `start`, is generated and
    follows a name that speaks of secrets, or if it is quoted and its name speaks of nothing else.
    """
    if _PIECE.search(value) is None:
        return False
    line = text[max(begin - 96, 0) : begin]
    if line.rstrip(_DECORATION)[-1:] == "\n":
        if _ANNOUNCED.search(line) is not None:
            return values.is_hex(value) or is_generated(value, _BITS)
        if _HEADING.search(line) is not None:
            of_length = values.is_hex(value) and len(value) >= _SHORTEST_HEX
            return of_length or is_generated(value, _BITS)
    named = _SAID_AFTER.match(line[::-1])
    if named is None or named.start("name") == 0:
        return False
    name = named["name"][::-1]
    kind = name_kind(name)
    if (
        "\n" not in line[-8:]
        and has_vendor(name)
        and _TO_BE_PUBLISHED.search(name) is None
        and _is_vendors(value, kind)
    ):
        return True
    if kind is NameKind.VENDOR and name.lower().endswith("key"):
        of_hash = values.is_hex(value.rpartition("-")[2])  # the key of a cache
        return not of_hash and is_generated(value, _CERTAIN_BITS)
    if kind >= NameKind.TOKEN:
        weak = name.lower().split()[-1] in _WEAK_NAMES and not _QUALIFIED.search(name)
        if weak and line.rstrip(" \t")[-1].isalpha():
            return False
        if is_generated(value, _BITS) or values.is_grouped(value):
            return True
        if "\n" in line[-8:] or weak:
            return False
        return values.is_hex(value) and len(value) >= _SHORTEST_HEX
    if kind is NameKind.PLAIN and says_public(name):
        return False
    quoted = line[-1] in "\"'`"
    assigned = not quoted and _VARIABLE.search(line) is not None
    below = line.rfind("\n", 0, len(line) - len(name)) >= 0
    if not (quoted or below or assigned):
        return False
    if _SOMETHING_ELSE.search(name) or _NOT_SECRET.search(name):
        return False
    if quoted and len(value) >= _SHORTEST_VENDORS and has_vendor(name):
        return values.is_hex(value) or values.is_uuid(value) or is_generated(value, _BITS)
    if _LISTED.search(line) is not None:
        return values.is_hex(value) or is_generated(value, _BITS)
    if assigned:
        return len(value) >= _SHORTEST_VENDORS and is_generated(value, _CERTAIN_BITS)
    run = _QUOTED_RUN.match(value) if quoted and begin == start else None
    if run is not None and len(value) <= _LONGEST_QUOTED:
        if HEX_RUN.fullmatch(run[0].encode()) is not None:
            return False
        beside = line.rstrip("\"'`- ")[-1:].isalnum()
        return (beside or len(value) >= _SHORTEST_VENDORS) and is_generated(value, _CERTAIN_BITS)
    return below and is_generated(value, _BITS) and _PARENT.search(line) is not None


def is_something_else(name: str) -> bool:
    """Return True if `name` says what else than a secret its value is."""
    return _SOMETHING_ELSE.search(name) is not None or _NOT_SECRET.search(name) is not None


def is_hash_below_key(before: str, value: str) -> bool:
    """Return True if `value` is a hash or a UUID and the line above it speaks of a key that may be
    a cache's or a record's."""
    if not values.is_hash_or_uuid(value):
        return False
    above = _ANNOUNCED.search(before)
    return above is not None and above["key"] is not None


def _is_vendors(value: str, kind: NameKind) -> bool:
    """Return True if `value`, behind a vendor's name on one line, is a key of this vendor."""
    if kind is NameKind.TOKEN and len(value) >= _SHORTEST_VENDORS:
        return values.is_hex(value) or values.is_grouped(value) or is_generated(value, _BITS)
    return is_generated(value, _CERTAIN_BITS)
