"""Tokens of vendors that nobody listed: a telling prefix and a long machine-made body.

`acme_live_8Qd3...`, `xyz-v1-...`: vendors have come to mark their tokens so that scanners
can tell them. For the engine: `find_prefixed` is asked for whole runs of token characters
(letters, digits, `_`, `-`) of `SHORTEST` characters or more that hold a digit. It looks at
the run and, for `dp.ct.8Qd3...`, at the dotted words before it. Every token it finds
has `token_runs.PREFIXED_BODY`.
"""

from __future__ import annotations

import re

from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated
from memory_assets.redaction.rules.judging.names import NameKind, name_kind, names_page
from memory_assets.word_lists import word_set

SHORTEST = 24
_LONGEST = 400
_SHORTEST_BODY = 20
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9]{0,15}")
_SECRET_WORDS = word_set(
    "key keys tok token secret sk pk rk pat api live test auth access prod sandbox bearer"
    " apikey sec priv private sdk admin service svc personal oauth refresh cli deploy pw"
)
_CERTAIN = word_set("key keys tok token secret sk rk pat live bearer apikey priv private")
"""Prefix words after which even a hash is a token; with other prefixes it may be a cache key or the
name of a container."""
_SECRET_END = re.compile(r"(?i)(?!compat)\w{1,6}(?:pat|key|tok|token|secret)")
_THINGS = word_set(
    "sha sha1 sha256 sha512 md5 hash digest commit rev tree blob image img layer container"
    " file asset chunk module css style bundle index build cache session agent task run req"
    " request trace span id uuid etag object node page model test user org team project"
    " thread message msg event doc document snapshot checkpoint version branch merge pack"
    " refs ref pr patch diff rollout tmp temp job step stage"
)
_STRONG_BODY = 32
"""Ids with a prefix (`cus_`, `req_`, `toolu_`) have bodies of up to 27 characters."""
_DENSE_BODY = 40
_RESPONSE_IDS = (48, 50)
"""Hex digits in the ids of OpenAI's Responses API (`rs_`, `ws_`, `fc_`, ...)."""


_DOTTED = re.compile(r"(?<![\w+/=~%.:-])[A-Za-z]{1,8}\d{0,2}\.(?:[A-Za-z0-9]{1,12}\.){0,2}$")
_LONGEST_DOTTED = 40


_NAMED = re.compile(
    r"(?P<name>[A-Za-z][\w-]{2,48}(?i:key|token|secret))[_-]"
    r"(?P<value>(?![a-z]{5,}[_-])[A-Za-z0-9][A-Za-z0-9_-]{19,})"
)
"""A name of a secret and its value in one run: `acme-secret-8Qd3...`. Where a word follows, it is
the name of a thing: `acme-secret-rotator-7d9f8b6c5d-x2v9q`."""
_NAMED_BITS = 20
_NAMED_HEX = 32
_TITLE = 2
"""More hyphens than these, and a hash behind them, are those of a page's address."""


_MEMBER = re.compile(r"(?P<name>[A-Za-z]\w{3,40})(?:\"\s?:\s?\"|=)$")
"""The name before a value in JSON, or in an address."""
_PAGE = re.compile(r"(?:[A-Za-z][a-z]*-){2,}[0-9a-f]{32}")
"""The end of a page's address: words of its title, and its id."""


def _last_word(run: str) -> set[str]:
    """Return the word before the id of a page's address, in lower case."""
    return {run.split("-")[-2].lower()}


def find_prefixed(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the token that consists of the run from `start` to `end`, or of a prefix and this
    run."""
    if not SHORTEST <= end - start <= _LONGEST:
        return None
    run = text[start:end]
    if "Boundary" in run:
        return None  # between the parts of a form
    before = text[max(start - 80, 0) : start]
    member = _MEMBER.search(before)
    if values.is_key_of_element(before) or (member is not None and names_page(member["name"])):
        return None
    if before.endswith("/") and _PAGE.fullmatch(run) and not _SECRET_WORDS & _last_word(run):
        return None
    if is_prefixed_token(run):
        return start, end
    named = _NAMED.fullmatch(run)
    if named is not None and _is_named(named["name"], named["value"]):
        return start + named.start("value"), end
    if end - start < _STRONG_BODY or text[start - 1 : start] != "." or text[end : end + 1] == ".":
        return None
    if not (
        run[:20].isalnum()
        and _has_all_classes(run)
        and values.is_random(run)
        and values.is_drawn(run)
    ):
        return None
    head = _DOTTED.search(text[max(start - _LONGEST_DOTTED, 0) : start])
    return None if head is None else (start - (head.end() - head.start()), end)


def is_prefixed_token(run: str) -> bool:
    """Return True if the whole `run` is a prefix and a generated body."""
    if not SHORTEST <= len(run) <= _LONGEST:
        return False
    pieces = run.replace("-", "_").split("_")
    body = max(pieces, key=len)
    before = pieces[: pieces.index(body)]
    if len(body) < _SHORTEST_BODY or not before or not _PREFIX.fullmatch(before[0]):
        return False
    if values.is_identifier_of_something(run):
        return False
    prefix = {piece.lower() for piece in before}
    if before[0] == "pk" and len(before) == 2:
        return False  # a publishable key, such as Stripe's
    telling = bool(prefix & _SECRET_WORDS) and "id" not in prefix
    if values.is_hex(body) and body == body.lower():
        if pieces[-1] != body or len(set(body)) < 8:
            return False
        if (telling and prefix & _CERTAIN) or _SECRET_END.fullmatch(before[-1]):
            return len(body) >= 32 and len(before) <= 4 and not _is_title(before)
        if len(before) != 1 or len(body) in _RESPONSE_IDS:
            return False
        return len(body) >= _DENSE_BODY and not prefix & _THINGS
    if not values.is_plausible_token(body):
        return False
    if _has_all_classes(body) and values.is_random(body):
        return len(body) >= (20 if telling else _STRONG_BODY)
    joined = "".join(pieces[1:])
    if len(joined) < _DENSE_BODY or not values.is_drawn(joined):
        return False
    return len(pieces) == 2 or (len(pieces) <= 6 and _has_all_classes(joined))


def _is_title(before: list[str]) -> bool:
    """Return True if the words before a hash are those of a title, as in links to pages."""
    return len(before) >= 3 and before[-1].isalpha() and before[-1].lower() not in _SECRET_WORDS


def _is_named(name: str, value: str) -> bool:
    """Return True if `value`, joined to a name that ends in a word for secrets, is one."""
    if name_kind(name) < NameKind.TOKEN:
        return False
    return (
        values.is_grouped(value)
        or (values.is_hex(value) and len(value) >= _NAMED_HEX and name.count("-") <= _TITLE)
        or is_generated(value, _NAMED_BITS)
    )


def _has_all_classes(body: str) -> bool:
    return all(any(map(is_class, body)) for is_class in (str.isdigit, str.isupper, str.islower))
