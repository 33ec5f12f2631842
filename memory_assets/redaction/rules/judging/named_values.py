"""Judge the value of a name that can only be the name of a secret.

Such a value may look like anything, so only exceptions are judged: placeholders, descriptions of
the secret or of where it is, and code. Assignments, labels, tables, settings, elements and options
share this judgement.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache

from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated
from memory_assets.redaction.rules.judging.phrases import (
    is_function,
    is_listed,
    is_said,
    is_technical,
    is_type,
)
from memory_assets.word_lists import word_set


class Place(IntEnum):
    """Places of a value; the higher, the less likely is anything but a secret."""

    LITERAL = 0
    """In quotes, in code and in files of labels."""
    LINE = 1
    """All that a line has behind a name and a sign."""
    ALONE = 2
    """Hardly anything else can stand here: a variable of the environment."""
    ARGUMENT = 3
    """The quoted value of an option."""
    ELEMENT = 4
    """Nothing else can stand here: all of an element."""


_SHORTEST = 4
_LONGEST = 200
_LETTERS = re.compile(r"[^\W\d_]+")
_HUMPS = re.compile(r"[^\W\d_a-zß-ÿ]?[a-zß-ÿ]+|[^\W\d_]+")
_STANDS_FOR = re.compile(
    r"(?i)[<\[{(*].*[>\])}*]|[-=~*•.…_#?]+|-.*|\w+\(.*|.*\)|.*[({]|.*://.*|.*(?:\.\.\.|…)"
    r"|(?:(?:your|my|the|a|an|new|old|some|no|this|that|any|sha|aes|utf|md)[-_ ]?)?\d{0,3}"
    r"|v?\d{1,4}(?:\.\d{1,4})+|[-+]?\d{1,6}(?:\.\d+)?(?:[a-z]{1,2}|%)?"
    r"|\d{4}-\d\d-\d\d.*|\d\d:\d\d.*|.*([^\W_])\1{7}.*|change_?-?(?:me|it)\W?\d*|replace_?-?me|.*x{4}.*|@\w+|wpa\d?.*|[^\W\d_]+[?:]"
    r"|[/~.][\w./-]+|\w+(?:/[\w.-]+)+|[A-Za-z]:|[\w-]+\.(?:txt|key|pem|json|ya?ml|env|conf|cfg|ini|py|[jt]sx?"
    r"|go|rs|java|cs|php|rb|sh|md|html?|xml|toml|log|pdf|docx?|crt|cer|p12|pfx|jks|kdbx?|gpg|asc)"
    r"|(?:optional|list|dict|union|set|tuple|sequence|option|vec)\[.*\]"
    r"|[a-z_$][\w$]*(?:(?:\.|->|::|\?\.)[a-z_$][\w$]*)+|%\w|\$.*|&\w+|\*\w+|!\w+.*"
)
"""What is written in place of a secret, where the secret is, and amounts."""
_ESCAPED = re.compile(r"\\(?=[\"'$!`\\])")
_FILLED = re.compile(r"\{[A-Za-z_][\w.()\[\]]{0,60}\}|\$[{(]|%[sd]|\{\d?\}|#\{|\\u[0-9a-fA-F]{4}")
"""What code fills in."""
_NUMBER = re.compile(r"\d{4,20}")
_PIN = re.compile(r"\d{4,10}|\d{3}[ -]\d{3}|\d{3,8}-?[A-Z#*]|[#*]\d[\d#*]{2,8}")
_COUNTED = "01234567890123"
OF_PROGRAMS = word_set(
    "1023 1024 2048 4096 8192 3000 3306 5000 5432 6379 8000 8080 8443 8888 9000 9090"
)
"""Sizes and ports."""
_SIZES = frozenset(("1024", "2048", "4096", "8192"))
"""Lengths of keys and passwords."""
_LABEL = re.compile(
    r"(?i)pas+[wps]|psw|pass?(?:o|wo)r[dt]|passe?$|pwd|kennw|kenn?ort|contrase|contrasin|senha"
    r"|wachtw|l.senord|adgang|salasa|has[lł]|hesl|gesl|lozink|parol|şifre|sifre|jelsz|m.t kh|sandi"
    r"|palavra|clave|codigo|código|\bcode|kode\b|tunnus|lykilor|pasahitz|cyfrin|pasvort|fjal|slapta|secret|token|credential|geheim"
    r"|auth|login|user|accounts?\b|mima|pincode|\bpin\b|\bkey"
    r"|парол|лозинк|код|密|口令|パス|暗証|비밀|비번|암호|סיסמ|κωδικ|συνθημα|كلمة|رمز|รหัส|पास|গোপন"
)
"""Words for passwords and what goes with them: of labels, of fields, and of names in code."""
_OF_THINGS = word_set(
    "field label input form page box prompt view model hash manager service provider handler store"
    " vault keychain keyring keeper request response controller component factory builder helper"
    " util config settings schema dto entity repository client server middleware strategy guard"
    " validator generator encoder hasher policy rule check test spec mock stub fixture api http"
    " value string text type name none null undefined nil empty blank missing unset notset object"
    " weak strong short long wrong bad right good same different other another first second hidden"
    " visible masked plain clear salted hashed bcrypt argon scrypt pbkdf sha changed unchanged"
    " accepted rejected failed denied granted success error ok okay done pending skipped redacted"
    " removed stripped omitted filtered protected encrypted decrypted placeholder example sample"
    " demo dummy fake lorem ipsum foobar whatever something anything nothing somewhere above below"
    " here there see ask tbd todo unknown private public internal external manual automatic auto"
    " interactive disabled enabled required optional default yes no true false on off reset forgot"
    " requires needs takes means works doesnt fails exist exists"
    " welcome hello sorry permission authentication connected"
    " buffer bytes char varchar integer boolean number array list dict map optional maybe option"
)
"""Words for kinds and states of a password, and for parts of programs."""
_OF_MESSAGES = re.compile(
    r"(?i)[.!?:;,]$|\b(?:must|least|most|required?|enter|please|invalid|wrong|incorrect|match(?:es)?"
    r"|characters?|fields?|forgot|confirm|cannot|can't|don't|doesn't|quotes?|should|optional|default"
    r"|with|from|your|see|ask|use|same as|instead|stored|set|change[ds]?|reset|show|hide"
    r"|length|strength|minimum|maximum|muss|bitte|siehe|wird|wurde|werden|nicht|votre|veuillez|doit|debe|introduzca"
    r"|seu|sua|deve|inserisci|uw|moet|voer|och|eller|ditt|din)\b"
)
_PHRASE_WORD = re.compile(r"[\dA-Za-zÀ-ɏ_'’&+#!$%@*-]{1,24}[!?]?")
_FEW_WORDS = re.compile(r"[a-z]{2,12}(?: [a-z]{3,12}){2,5}")
_SIGN = re.compile(r"\w[!#$%&+*@]")
_MOST_WORDS = 9
_DRAWN = 12
"""Bits of evidence that a value with braces in it must have."""


@lru_cache(maxsize=4_096)
def is_named_secret(value: str, place: Place) -> bool:
    """Return True if `value`, without quotes, in this place after a name for passwords, is a secret
    and no placeholder."""
    if not _SHORTEST <= len(value) <= _LONGEST or not any(map(str.isalnum, value)):
        return False
    value = _ESCAPED.sub("", value)
    if " " in value:
        if place is Place.ARGUMENT and _FEW_WORDS.fullmatch(value):
            return not (_OF_MESSAGES.search(value) or _LABEL.search(value))
        return is_passphrase(value, quoted=place in (Place.LITERAL, Place.ARGUMENT))
    if any(map(str.isspace, value)) or not value.isprintable():
        return False
    is_long_number = _NUMBER.fullmatch(value) and len(set(value)) > 1 and value not in _SIZES
    if _STANDS_FOR.fullmatch(value) and not is_long_number:
        return False
    if (
        values.is_placeholder(value)
        or values.is_reference(value)
        or (_FILLED.search(value) and not is_generated(value, _DRAWN))
    ):
        return False
    if values.is_identifier_of_something(value) and not values.is_random(value):
        return False
    pieces = [piece.lower() for piece in _LETTERS.findall(value)]
    if not pieces:
        return values.has_digit(value)
    if is_technical(value):
        return False
    if place >= Place.ALONE:
        return not (value.isalpha() and value.lower() in values.STAND_IN_WORDS) and (
            place is Place.ELEMENT
            or values.has_digit(value)
            or _LABEL.search(value) is None
            or len(_HUMPS.findall(value)) == 1
        )
    return not is_name(value)


def is_number(value: str) -> bool:
    """Return True if `value`, behind a name for numbers, is a PIN."""
    return (
        _PIN.fullmatch(value) is not None
        and len(set(value)) > 1
        and (value not in _COUNTED and value not in OF_PROGRAMS)
    )


def is_name(value: str) -> bool:
    """Return True if `value` is what labels, messages and names in code are made of."""
    humps = [hump.lower() for hump in _HUMPS.findall(value)]
    are_common = [is_said(hump) or hump in _OF_THINGS for hump in humps]
    if all(are_common):
        return True
    if value.count("-") > 2 and 2 * sum(are_common) >= len(are_common) and _LABEL.search(value):
        return True
    if values.has_digit(value) or not value.replace("-", "").replace("_", "").isalpha():
        return False
    if len(humps) == 1:
        return _LABEL.search(value) is not None
    if is_type(humps[-1]) and value[0].islower():
        return True
    if "-" in value and "_" not in value and not any(map(str.isupper, value)):
        return _LABEL.search(value) is not None and 2 * sum(are_common) >= len(are_common)
    if "_" in value:
        mostly_common = are_common[-1] or 2 * sum(are_common) > len(are_common)
    else:
        mostly_common = are_common[0]
    return mostly_common or _LABEL.search(value) is not None or value.isupper()


def is_passphrase(value: str, *, quoted: bool) -> bool:
    """Return True if `value`, of several words, is a passphrase and no message or label."""
    words = value.split(" ")
    if not 2 <= len(words) <= _MOST_WORDS or _OF_MESSAGES.search(value) or _LABEL.search(value):
        return False
    if not all(map(_PHRASE_WORD.fullmatch, words)) or values.is_reference(value):
        return False
    own = sum(not (is_listed(word) or is_function(word)) for word in words)
    drawn = values.has_digit(value) or _SIGN.search(value) is not None
    return 5 * own >= (2 if quoted else 3) * len(words) and own + drawn > 1
