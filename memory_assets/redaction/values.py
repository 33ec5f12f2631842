"""What a value looks like: a placeholder, a reference to a secret, or a secret.

Pure judgements on one string each; they are given the value only, without its quotes.
"""

from __future__ import annotations

import re

from memory_assets.redaction.wordlist import words

_STAND_INS = words(
    "none null nil undefined true false yes no on off void any never unknown string str text bool"
    " boolean int integer number float bytes object optional required default empty enabled"
    " disabled hidden masked secret password passwd passphrase pass token tokens key apikey"
    " api-key api_key access-token access_token credential credentials auth bearer basic oauth"
    " oauth2 user username admin root test testing foo foobar bar baz value plaintext encrypted"
    " hashed private public session cookie jwt file env input prompt not-set not_set n/a tbd"
    " missing invalid expired valid local dev prod production staging"
)
"""Words that are given in place of a secret, or say what it is."""

_PLACEHOLDER = re.compile(
    r"""(?ix)
      ^ (?: <.{0,200}> | \[.{0,200}\] | \{.{0,200}\} | %[sdr(].{0,60} | __\w{1,60}__ | @\w{1,60}@ )$
    | ^ <redacted | \[?redacted | [.]{3} | [•*…]{3} | x{5} | \#\{ | <%
    | change_?-?me | replace_?-?(?:me|with|this) | place_?-?holder
    | (?<![A-Za-z0-9])(?:your|my|an?|the)[-_ ] | ^(?-i:(?:your|my)[A-Z])
    | ^example | example$ | example[-_. ] | [-_. ]example | dummy | fake | sample
    | _here$ | -here$ | ^insert | ^todo | ^fixme
    | ^(?:STAND_INS)$
    """.replace("STAND_INS", "|".join(_STAND_INS))
)
_REFERENCE = re.compile(
    r"""(?x)
      ^ \$\(? [A-Za-z_({] | ^\$\{ | \$\{\{? | ^%[A-Za-z_]\w*% | \{\{ | ^\$env: | ^@[A-Za-z_]
    | process\.env | os\.environ | getenv | import\.meta | (?:^|[^A-Za-z])env(?:iron)?[.\[(]
    | ^(?:op|vault|ref\+|secretsmanager|ssm|keyvault|aws-sm|gcp|file|env|arn|https?|data|sops)\+?:
    | ^secrets?\. | ^var\. | ^data\. | ^local\. | ^module\. | ^!
    """
)
_DOTTED_NAME = re.compile(r"^[A-Za-z_$@][\w$]{0,60}(?:(?:\??\.|->|::)[A-Za-z_$][\w$]{0,60}){1,8}$")
_LETTERS = re.compile(r"^[A-Za-z_$][A-Za-z_$]*$")
_UUID = re.compile(r"^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$")
_HEX = re.compile(r"^(?:0x)?[0-9A-Fa-f]+$")
_PIECE = re.compile(r"[A-Za-z0-9]+")
_FRAGMENT = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_WORDS = re.compile(r"^[A-Za-z]{2,}(?:[-_ .][A-Za-z]{2,})+$")
_DIGEST = re.compile(r"^(?:sha\d{1,3}|md5|h1|blake\w{0,4}|xxh\w{0,4})[-:_=]", re.IGNORECASE)
_AGENT_ID = re.compile(
    r"^(?:toolu|msg|req|call|resp|chatcmpl|fp|srvtoolu|rs|fc|run|thread|asst|batch|file|cmpl|gen|ig"
    r"|session|turn|agent|wf|evt|step|ctc|item)_[A-Za-z0-9]"
    r"|^(?:chatcmpl|gen|cmpl|file|agent|rollout)-"
)
_FILE_NAME = re.compile(
    r"\.[A-Za-z]{1,5}$|^[.~]?/|^[A-Za-z]:\\|^(?![^/]*[+=])[\w.@-]+/[\w.@-]+(?:/|$)"
)


def is_placeholder(value: str) -> bool:
    """Return whether `value` stands for a secret without being one."""
    return len(set(value)) <= 3 or _PLACEHOLDER.search(value) is not None


def is_reference(value: str) -> bool:
    """Return whether `value` says where a secret is to be had (`${X}`, `os.environ[...]`)."""
    return _REFERENCE.search(value) is not None


def is_code(value: str) -> bool:
    """Return whether unquoted `value` reads as a name in code rather than as data."""
    return _LETTERS.match(value) is not None or _DOTTED_NAME.match(value) is not None


def is_identifier_of_something(value: str) -> bool:
    """Return whether `value` is a digest, an agent's own id or a path: never a secret."""
    return (
        _DIGEST.match(value) is not None
        or _AGENT_ID.match(value) is not None
        or _FILE_NAME.search(value) is not None
    )


def is_uuid(value: str) -> bool:
    """Return whether `value` is a UUID."""
    return _UUID.match(value) is not None


def is_hex(value: str) -> bool:
    """Return whether `value` is nothing but hexadecimal digits."""
    return _HEX.match(value) is not None and not value.isdigit()


def is_random(value: str, least: int = 12) -> bool:
    """Return whether `value` looks drawn by a machine: its characters change class often.

    Random base62 falls into stretches of digits, lower and upper case of two characters
    on average, random hex likewise; identifiers and prose into stretches of five or six.
    """
    for piece in _PIECE.findall(value):
        if len(piece) < least:
            continue
        fragments = len(_FRAGMENT.findall(piece))
        if fragments >= 4 and len(piece) <= fragments * (3.0 if _has_digit(piece) else 2.4):
            return True
    return False


def _has_digit(value: str) -> bool:
    return any(character.isdigit() for character in value)


def is_words(value: str) -> bool:
    """Return whether `value` is words joined by hyphens, underscores, dots or spaces."""
    return _WORDS.match(value) is not None


def is_dense(value: str) -> bool:
    """Return whether `value` is one long word of letters with digits inside it."""
    digits = sum(character.isdigit() for character in value)
    if not value.isalnum() or digits == len(value):
        return False
    inner = value.rstrip("0123456789")
    inside = sum(character.isdigit() for character in inner)
    return (len(value) >= 20 and digits >= 4) or (len(value) >= 24 and inside >= 2)


def is_mixed(value: str) -> bool:
    """Return whether `value` mixes letters with digits or symbols, as passwords do."""
    letters = sum(character.isalpha() for character in value)
    digits = sum(character.isdigit() for character in value)
    symbols = len(value) - letters - digits
    return letters >= 1 and (digits >= 1 or symbols >= 1)


def is_plausible_token(body: str) -> bool:
    """Return whether the part of a token after its vendor's prefix is not a stand-in."""
    if len(set(body)) < 5 or body.endswith("EXAMPLE"):
        return False
    if "xxxxx" in body.lower() or "ABCDEFGHIJKLMNOPQRSTUVWXYZ" in body[:26]:
        return False
    if body.isalnum():
        return True
    return _has_digit(body) or is_random(body)


def pattern_sources() -> tuple[str, ...]:
    """Return everything here that changes what is found, for the ruleset's version."""
    patterns = (_PLACEHOLDER, _REFERENCE, _DOTTED_NAME, _DIGEST, _AGENT_ID, _FILE_NAME, _FRAGMENT)
    return tuple(pattern.pattern for pattern in patterns)
