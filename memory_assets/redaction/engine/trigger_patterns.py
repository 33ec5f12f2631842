"""Hyperscan patterns, derived from the rules.

Every pattern matches wherever its rule finds something (and elsewhere too; the rule itself
confirms). Patterns report where they end; the widths say how far before that the candidate position
may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memory_assets.redaction.engine.byte_patterns import CannotWiden, widened
from memory_assets.redaction.engine.token_runs import SHORTEST_RUN
from memory_assets.redaction.engine.triggers import (
    ADDRESS,
    ADDRESSES,
    AFTER_A_WORD,
    ALSO_WORD,
    ANCHORED,
    ASKING,
    ASSIGNED,
    BEYOND_ASCII,
    COLOURED,
    CONTINUED,
    COOKIE,
    ENCODED,
    ENTITIES,
    ESCAPED,
    HEX,
    LABEL,
    MENTION,
    PERCENT,
    PRINTABLE,
    SHAPED,
    TABLE,
    VENDOR,
    Trigger,
)
from memory_assets.redaction.rules.anchored.table import AnchoredRule
from memory_assets.redaction.rules.formats import Template
from memory_assets.redaction.rules.judging.names import (
    ALSO_WORDS,
    CHOSEN_TOKENS,
    KEYLIKE,
    KEYWORDS,
    SPEAKING,
    VENDORS,
)
from memory_assets.redaction.rules.mentioned.hinted import TRIGGERS as HINTED
from memory_assets.redaction.rules.mentioned.in_sentences import KEYWORDS as IN_SENTENCES
from memory_assets.redaction.rules.mentioned.labelled import KEYWORDS as LABELS
from memory_assets.redaction.rules.mentioned.passwords import KEYWORDS as MENTIONED
from memory_assets.redaction.rules.mentioned.value_first import ENCODER, LINKED, NOUNS
from memory_assets.redaction.rules.tables import COLUMN
from memory_assets.redaction.rules.token_formats.contextual import CONTEXT_FORMATS
from memory_assets.redaction.views import decodings
from memory_assets.word_lists import words

_FURTHEST_ANCHOR = 2_000
_FREQUENT = words(
    "_hooks _tok /hook access add addr api assw auth backup bearer cat code config conn connection"
    " console dashboard demo echo email enable env env. environ export field grafana host http id"
    ' id: it\'s jwt keep key key: label login machine name name" name: name= name=" need otp pass'
    " passw pat pin prod put router secr secret security server sessionid set ssh staging switch"
    " title /token token try turn type uid use used user users uses using variable vpn wallet want"
    " with"
)
"""Anchors that occur 15 times in a megabyte of sessions or more, but for those of the dearest
patterns. To look for all others that are words alone, 700 places in a megabyte, takes a third less
to compile than to look for their patterns, and no more to scan."""
_WORD = re.compile("[a-z]{2}")
_COLUMNS = words("secret token key auth cred jwt bearer pat dsn sas webhook pin psk puk code")
"""Words, besides those for passwords, of which every telling column's name contains one."""


_NAME = r"[A-Za-z0-9_.\-?]*"
_SPACE = r"[\s\x1c-\x1f?]"
_CLOSE = r"""\\{0,3}(?:["'`]|&quot;|\*\*)?(?:\[[0-9?]{0,4}\]|:protected|:private)?[\])]{0,2}"""
_SIGN_AFTER_NAME = r"[ \t]*(?::{0,3}=[=>]{0,2}|[?.+|!]{1,2}={1,2}|<-|:|- )[ \t]*"
_NEXT_LINE = rf"""\\?\r?\n[ \t]+["']|{_SPACE}*string\("""
_ANY_VALUE = rf"(?:[^\s\\]|\\[^\r\n]|{_NEXT_LINE})"
_TOKEN_VALUE = rf"""(?:\S{{8}}|[A-Za-z\-]{{3,}}[ \t]+\S|\\*["'`][^\r\n]{{8}}|{_NEXT_LINE})"""
"""A value, and one of a name for tokens, which has eight characters or more."""
_OF_TOKENS = words("token key auth cred")
"""Keywords of names whose values have eight characters or more."""
_ASSIGNED = (
    (rf"""[ \t]*,{_SPACE}*\\*["'`]|;s:|(?:\(|[ \t]*\{{)[ \t]*["'`]|[ \t]+["']""", 130),
    (rf"""</| \{{{_SPACE}|{_SPACE}+(?:value|default)[ \t]*[:=]""", 130),
    (r"""(?: [A-Za-z0-9_:.?\-]{1,30}=["'][^"'<>]*["'])*>""", 400),
)
"""What stands between a name and its value wherever `find_assignment` finds a secret, and the most
bytes from the name's keyword to the end of it. Several patterns, because the bytes before the end
of each are searched for keywords."""
_AFTER_FLAG = r"[ \t]+\S|[ \t]*\r?\n[ \t]*-[ \t]"


def assignment_triggers() -> tuple[Trigger, ...]:
    """Return the triggers of what begins at a keyword: assignments, flags, blocks."""
    keyword = f"(?i:{'|'.join(keyword.decode() for keyword in KEYWORDS)})"
    named = f"{keyword}{_NAME}{_CLOSE}"
    others = {*map(bytes.decode, KEYWORDS), *CHOSEN_TOKENS}.difference(_OF_TOKENS)
    rows = (
        (f"(?i:{'|'.join(_OF_TOKENS)}){_NAME}{_CLOSE}{_SIGN_AFTER_NAME}{_TOKEN_VALUE}", 180),
        (f"(?i:{'|'.join(sorted(others))}){_NAME}{_CLOSE}{_SIGN_AFTER_NAME}{_ANY_VALUE}", 170),
        *((f"{named}(?:{after})", most) for after, most in _ASSIGNED),
        (f"-{_NAME}{named}(?:{_AFTER_FLAG})", 130),
    )
    return (
        Trigger(rb"PRIVATE KEY", ASSIGNED, 3),
        Trigger(rb":[ \t]{0,4}[\"']?(?i:secret)[\"' \t,]{0,20}(?:[\r\n]|\z)", ASSIGNED, 40),
        *(Trigger(source.encode(), ASSIGNED, most) for source, most in rows),
    )


def anchored_triggers(rules: Sequence[AnchoredRule]) -> tuple[Trigger, ...]:
    """Return the triggers of the anchored rules, of cookies and of addresses."""
    numbers: dict[tuple[bytes, int], list[int]] = {}
    for number, rule in enumerate(rules):
        if rule.anchor != BEYOND_ASCII:
            numbers.setdefault(_anchored(rule), []).append(number)
    return (
        Trigger(b"(?i:cookie)", COOKIE, len("cookie")),
        Trigger(b"://", ADDRESS, 3),
        *(
            Trigger(source, ANCHORED, back, rules=tuple(alike))
            for (source, back), alike in numbers.items()
        ),
    )


def _anchored(rule: AnchoredRule) -> tuple[bytes, int]:
    """Return the rule's pattern, widened, and the most that it matches; only its anchor if that is
    a rare word or the pattern cannot be widened."""
    pattern, anchor = None, rule.anchor.decode("ascii")
    try:
        if anchor.strip() in _FREQUENT or not _WORD.search(anchor):
            pattern = widened(rule.pattern)
    except CannotWiden:
        pass
    if pattern is None or pattern.most > _FURTHEST_ANCHOR:
        return f"(?i:{re.escape(anchor)})".encode(), len(anchor)
    return pattern.source.encode(), pattern.most


def mention_triggers() -> tuple[Trigger, ...]:
    """Return the triggers of words for passwords, and of nouns that follow their value."""
    triggers = [Trigger(LINKED + b"(?i:" + noun + b")", MENTION, len(noun)) for noun in NOUNS]
    triggers.append(Trigger(ENCODER, MENTION, len("base64")))
    for word, whole in MENTIONED:
        source = b"(?i:" + re.escape(word) + b")"
        if whole:
            source = rb"(?:^|[^A-Za-z])" + source
            triggers.append(Trigger(source + rb"\z", MENTION, len(word)))
            source += AFTER_A_WORD
        triggers.append(Trigger(source, MENTION, len(word) + whole))
    for kind, listed in ((MENTION, IN_SENTENCES), (LABEL, LABELS)):
        for word in listed:
            source = rb"(?:^|[^a-z])(?i:" + re.escape(word) + b")"
            triggers.append(Trigger(source, kind, len(word)))
    shapes = b"|".join(b"(?:" + source + b")" for source in HINTED)
    triggers.append(Trigger(shapes, SHAPED, 1))  # as one, because many cost more to look for
    return tuple(triggers)


def table_triggers() -> tuple[Trigger, ...]:
    """Return the triggers of tables with a telling column: the second hyphen of the line under it,
    or `into`."""
    named = "|".join((*_COLUMNS, *(word.decode().replace("?", "[?]") for word, _ in MENTIONED)))
    named = rf"(?:{named}|pass[ \t]*[|])[^\n]*|[|][ \t]*pass[ \t\r]*"
    ruler = rf"(?i:{named})\n[ \t]*(?:[|+]?[ \t]*:?--|[?]{{4}})"
    return (
        Trigger(ruler.encode(), TABLE, 2),
        Trigger(rb"(?i:insert)\s{1,4}(?i:into)\s", TABLE, 12),
        Trigger(rb"(?:[\n\t,;]\"?|  )" + COLUMN + rb"(?:  |\"?[\t,;\r\n])", TABLE),
        Trigger(rb"^\"?" + COLUMN + rb"(?:  |\"?[\t,;])", TABLE),
    )


def token_triggers(templates: Iterable[Template]) -> tuple[Trigger, ...]:
    """Return the triggers of formats that begin with a literal of two or more characters."""
    return tuple(_token(template) for template in templates if has_literal(template))


def has_literal(template: Template) -> bool:
    """Return True if the format begins with a literal that is long enough to search for."""
    return len(template.prefix) >= 2


_CLASS = re.compile(r"((?:\\.|[^\\\[\]{}])*)(?:(\[[^\]]*\])\{(\d+),(\d+)\})?")
_ENOUGH = 3
_LONG_MIDDLE = 100


def _token(template: Template) -> Trigger:
    """Return the trigger of a format: its literals and character classes up to the first open end
    after a long enough literal, each at its shortest."""
    source, least_width, most_width, literals = "", 0, 0, 0
    for literal, inside, least, most in _CLASS.findall(template.pattern):
        plain = re.sub(r"\\(.)", r"\1", literal)
        source += re.escape(plain)
        literals += sum(c.isalnum() for c in plain)
        least_width += len(plain)
        most_width += len(plain)
        if not inside:
            continue
        is_open = int(most) - int(least) > _LONG_MIDDLE
        enough = literals >= _ENOUGH and (is_open or least_width + int(least) >= SHORTEST_RUN)
        source += inside + (f"{{{least}}}" if enough or is_open else f"{{{least},{most}}}")
        least_width += int(least)
        most_width += int(least) if enough or is_open else int(most)
        if enough or is_open:
            break
    return Trigger(source.encode(), back=most_width)


def shape_triggers(templates: Iterable[Template]) -> tuple[Trigger, ...]:
    """Return the triggers of formats without such a literal: their shortest complete form."""
    return tuple(
        Trigger(re.sub(r"\{(\d+),\d+\}$", r"{\1}", template.pattern).encode())
        for template in templates
        if not has_literal(template)
    )


_PART = r"[A-Za-z0-9+/_\-.~%@#!$^*]"
_SIGN = r"[+/_\-.~%@#!$^*]"
_LINE_END = r"[\\\r]?\n[ \t]*(?:[0-9?]+[?\t:|][ \t]*|[+|>\-][ \t]*)?"
_AFTER_PART = r"[\s\x1c-\x1f\"'`,;)}\]\\?]"
_TOKEN = r"[A-Za-z0-9_\-]"
_LETTER = r"[A-Za-z_\-]"
_NO_TOKEN = r"[^A-Za-z0-9_\-]"


def keyword_triggers() -> tuple[Trigger, ...]:
    """Return triggers of the keywords, to find them in a short range."""
    return tuple(Trigger(b"(?i:" + keyword + b")", ASSIGNED, len(keyword)) for keyword in KEYWORDS)


def asking_triggers() -> tuple[Trigger, ...]:
    """Return the triggers of a view, or of a search for personal data."""
    rows = (
        (COLOURED, rb"\x1b"),
        (ESCAPED, rb"\\(?:[\"\\/nrt]|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})"),
        (PERCENT, rb"%[0-9A-Fa-f]{2}"),
        (HEX, "|".join(decodings.DUMPS).encode()),
        (ENTITIES, decodings.ENTITY.encode()),
        (CONTINUED, rb"\\\r?\n"),
        (ENCODED, rb"(?:[2-7][0-9A-Fa-f] ){9}"),
        (PRINTABLE, decodings.PRINTABLE.encode()),
        (ADDRESSES, rb"@[A-Za-z0-9\-]{1,63}\.[A-Za-z0-9]"),
    )
    return tuple(Trigger(source, ASKING, asks=asks, once=True) for asks, source in rows)


def joint_trigger() -> Trigger:
    """Return the trigger of a line end that may be inside a token (see `sightings.py`): the last
    line end before the reported position."""
    digit = rf"(?:[0-9]|{_SIGN}{_PART}*[0-9]|[A-Za-z][a-z]*(?:[0-9]|[A-Z]{_PART}*[0-9]))"
    drawn = rf"(?:[0-9]|{_SIGN}{_PART}*(?:[0-9]|[a-z][A-Z]|[A-Z][A-Z])|[A-Za-z][a-z]*[A-Z0-9])"
    ways = (
        f"[0-9]{_PART}*{_LINE_END}{drawn}",
        f"(?:[A-Za-z][A-Z]|[+~%@#!$^*]){_PART}*{_LINE_END}{digit}",
    )
    return Trigger(rf"(?:{'|'.join(ways)}){_PART}*=*(?:{_AFTER_PART}|\z)".encode())


def run_trigger() -> Trigger:
    """Return the trigger at the end of each run of at least `SHORTEST_RUN` token characters with a
    digit among them."""
    last = SHORTEST_RUN - 1
    ways = [
        (f"{_LETTER}{{{at}}}" if at else "")
        + "[0-9]"
        + (f"{_TOKEN}{{{last - at},}}" if at < last else f"{_TOKEN}*")
        for at in range(SHORTEST_RUN)
    ]
    ways.append(f"{_LETTER}{{{SHORTEST_RUN},}}[0-9]{_TOKEN}*")
    return Trigger(rf"(?:^|{_NO_TOKEN})(?:{'|'.join(ways)})(?:{_NO_TOKEN}|\z)".encode())


def context_triggers() -> tuple[Trigger, ...]:
    """Return the triggers of words before a named value, in this order: words that make a name a
    telling one, a tag, vendors whose names are also words (which count only next to such a word),
    other vendors. A vendor counts if `begins_word` is true."""
    telling = SPEAKING
    shortest = {w for w in telling if not any(o != w and o in w for o in telling)}
    triggers = [Trigger(b"<redacted")]
    triggers.extend(Trigger(f"[_\\-](?i:{word})".encode()) for word in sorted(KEYLIKE))
    for word in sorted(shortest):
        ends = all(other.endswith(word) for other in telling if word in other)
        edge = "s?(?:[^a-z]|$)" if ends else ""
        triggers.append(Trigger(f"(?i:{re.escape(word)}){edge}".encode()))
    context_words = (word for row in CONTEXT_FORMATS for word in words(row[1]))
    vendors = dict.fromkeys((*VENDORS, *context_words))
    for vendor in sorted(vendors, key=ALSO_WORDS.__contains__, reverse=True):
        kind = ALSO_WORD if vendor in ALSO_WORDS else VENDOR
        triggers.append(Trigger(f"(?i:{re.escape(vendor)})".encode(), kind, len(vendor)))
    return tuple(triggers)


def begins_word(data: bytes, position: int) -> bool:
    """Return True if a vendor's name at `position` is not inside a word."""
    if not position:
        return True
    before, first = data[position - 1 : position], data[position : position + 1]
    return not before.isalpha() or (before.islower() and first.isupper())
