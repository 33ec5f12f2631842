"""Values of a vendor's shape beside the vendor's name: `DATADOG_API_KEY: 3f2b...`.

The rows are `CONTEXT_FORMATS` (in `token_formats/contextual.py`); this module says when
a row applies. For the engine: a row can only apply to a run of token characters that
`find_named` is called for, with one of the row's words in the `REACH` characters before the
value. All words are in `names.VENDORS`, but for those that are also words of prose: these
count only with `key`, `token`, `secret`, `auth`, `password` or `credential` beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from memory_assets.redaction.rules.formats import Template, compile_template
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.names import ALSO_WORDS, VENDOR_END, lower_ascii
from memory_assets.redaction.rules.token_formats.contextual import CONTEXT_FORMATS
from memory_assets.word_lists import words

REACH = 80
"""The largest distance from a value back to its vendor, in characters."""

_WORD_START = re.compile(r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))(?=([A-Za-z].{0,2}))", re.DOTALL)
"""The start of a word, and its first three characters."""
_ASSIGNED = re.compile(
    r"""(?x) [\w.\-\ ]{0,40} [\\"'`\])]{0,5} \s{0,8} (?:[:?]?=>?|:|[,(|>])
        \s{0,8} [\\"'`\[(@]{0,5} (?:[A-Za-z]{4,12}[ ])?"""
)
"""The text from the vendor's word to its value, if the word is in the name that the value is
assigned to."""
_KEY_WORD = re.compile(
    r"(?i)key|token|secret|\bpat\b|auth|passw|credential|\bapi\b|licen[sc]e|login|client"
)
_CERTAIN_KEY_WORD = re.compile(r"(?i)(?:key|tokens?|secrets?|auth|password|credentials?)(?![a-z])")
_VENDOR_END = re.compile(VENDOR_END)
_OTHER_THING = re.compile(
    r"(?i)sha\d*|digest|checksum|integrity|commit|revision|etag|thumbprint|fingerprint|\bhash"
    r"|signature|resolved|redacted|request[-_ ]?id|trace"
    r"|(?:tenant|subscription|group|instance|resource|zone|server|image|volume|network|subnet)"
    r"[-_ ]?id"
)
_LONGEST_WORD = 24
_COUNT = re.compile(r"\{(\d+),(\d+)\}")
_LONGEST = 4_000

Row = tuple[str, tuple[str, ...]]
"""A rule, and the sources of its shapes."""


class ContextIndex:
    """The rows, indexed by the first letters of their words."""

    def __init__(self, rows: Iterable[tuple[str, ...]]) -> None:
        self._entries: list[tuple[range, str, Row, Template]] = []
        for name, context, *sources in rows:
            templates = [compile_template(source) for source in sources]
            row = (name, tuple(template.pattern for template in templates))
            for shape in templates:
                lengths = _lengths(shape)
                self._entries.extend((lengths, word, row, shape) for word in words(context))
        self._by_length: dict[int, _Rows] = {}

    def rule_for(self, text: str, begin: int, value: str) -> str | None:
        """Return the rule whose vendor is named before `value` at `begin` and whose shape `value`
        has; None if no row applies."""
        rows = self._by_length.get(len(value)) or self._of_length(len(value))
        if rows.shapes is None or rows.shapes.fullmatch(value) is None:
            return None
        window = text[max(begin - REACH, 0) : begin]
        starts = [start for start in _WORD_START.finditer(window) if start[1].lower() in rows.heads]
        if not starts or not _is_drawn(value):
            return None
        for start in starts:
            at = start.start()
            word = lower_ascii(window[at : at + _LONGEST_WORD])
            for name, (rule, shapes) in rows.heads[start[1].lower()]:
                if not word.startswith(name) or _any_of(shapes).fullmatch(value) is None:
                    continue
                if _links(name, window[at + len(name) :]):
                    return rule
        return None

    def _of_length(self, length: int) -> _Rows:
        """Return the rows for values of this length, from a cache."""
        fitting = [entry[1:] for entry in self._entries if length in entry[0]]
        rows = self._by_length[min(length, _LONGEST + 1)] = _Rows(fitting)
        return rows


class _Rows:
    """The rows with a shape of one length."""

    def __init__(self, entries: Iterable[tuple[str, Row, Template]]) -> None:
        self.heads: dict[str, dict[tuple[str, Row], None]] = {}
        """By the first three letters of the row's words, in the order of the rows."""
        sources: dict[str, None] = {}
        for word, row, shape in entries:
            sources[shape.pattern] = None
            self.heads.setdefault(word[:3], {})[word, row] = None
        self.shapes = _any_of(tuple(sources)) if sources else None


def _links(vendor: str, between: str) -> bool:
    """Return True if the text between vendor and value allows that they belong together."""
    if between.count("\n") > 2 or _OTHER_THING.search(between) is not None:
        return False
    if between[:1].islower() and _VENDOR_END.match(between) is None:
        return False
    if vendor in ALSO_WORDS:
        return _CERTAIN_KEY_WORD.search(between) is not None
    return (
        _ASSIGNED.fullmatch(between) is not None
        or _KEY_WORD.search(between) is not None
        or (between.isspace() and "\n" not in between)
    )


def _is_drawn(value: str) -> bool:
    """Return True if `value` is no slug: `015-sendgrid-email-otp` has the shape of a key."""
    if not values.is_plausible_token(value):
        return False
    return values.is_uuid(value) or values.is_random(value, 10) or not values.is_slug(value)


def _lengths(shape: Template) -> range:
    """Return the lengths of values that fit some shape."""
    spare = sum(int(most) - int(least) for least, most in _COUNT.findall(shape.pattern))
    return range(len(shape.sample), len(shape.sample) + min(spare, _LONGEST) + 1)


@cache
def _any_of(sources: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{source})" for source in sources))


def samples() -> Iterable[tuple[str, str, str]]:
    """Yield (rule, text, the secret in it) for every template of every row."""
    for name, context, *sources in CONTEXT_FORMATS:
        word = words(context)[0]
        for source in sources:
            secret = compile_template(source).sample
            yield name, f"{word}_api_key = {secret}\n", secret


CONTEXTS = ContextIndex(CONTEXT_FORMATS)
