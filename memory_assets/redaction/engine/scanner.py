"""The scanner: returns the secret ranges of a text.

Triggers search an ASCII copy of the text (of equal length, so that positions agree) for keywords,
anchors and long runs of token characters. Patterns are tried at those positions only, and each
looks at a bounded range. Hyperscan and the standard library lead to equal findings: Hyperscan only
leaves out positions at which no rule can match.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from memory_assets.errors import RedactionUnavailable
from memory_assets.paths import user_cache_dir
from memory_assets.redaction.engine.token_runs import TokenFormat, TokenIndex, find_named
from memory_assets.redaction.engine.triggers import (
    BLOB,
    NAMED,
    NO_CLUES,
    TOKENS,
    VENDORED,
    Clues,
    PlainTriggers,
)
from memory_assets.redaction.rules import blocks
from memory_assets.redaction.rules.addresses.find import find_in_address
from memory_assets.redaction.rules.anchored.table import (
    COMMAND_ENDS,
    DATABASE,
    PASSWORD_COMMANDS,
    AnchoredRule,
)
from memory_assets.redaction.rules.assignments import RULES as ASSIGNMENT_RULES
from memory_assets.redaction.rules.assignments import find_assignment
from memory_assets.redaction.rules.judging.likelihood import evidence
from memory_assets.redaction.rules.judging.written import BY_A_NAME, is_identifier, secret_parts
from memory_assets.redaction.rules.mentioned.in_sentences import find_hinted, find_in_sentences
from memory_assets.redaction.rules.mentioned.labelled import find_labelled
from memory_assets.redaction.rules.mentioned.passwords import find_mentions
from memory_assets.redaction.rules.mentioned.value_first import find_value_first
from memory_assets.redaction.rules.tables import find_cells
from memory_assets.redaction.settings import ENGINES
from memory_assets.redaction.time_budget import Deadline, check_budget
from memory_assets.redaction.views.decodings import BLOB_START
from memory_assets.word_lists import words

_TAG = re.compile(r"[\"'\\]{0,4}<redacted[:-]")
_DIGIT = re.compile(r"[0-9]")
_SHORTEST = 6
_FIELDS_OF_VIEWS = Clues._fields.index("asks")
"""Index of the first field of `Clues` that is about views; those before it are candidates."""
_LONGEST_NAMED = 2_000
_BLOB = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_MOST_COMPARED = 1_000_000_000
"""Characters compared when a text is searched for further occurrences of its secrets: about a
second."""
_LONGEST_BLOB = 8_000
_LONGEST_WRITTEN = 1_000
"""Characters of a value that may be a sentence; longer values are blocks, such as keys."""
TIMED_OUT = "timed-out"
UNSETTLED = "unsettled"
WITHHELD = frozenset((TIMED_OUT, UNSETTLED))
"""Rules of texts withheld whole: redaction took too long, or every pass found something new."""
_ENDING_BY_ITSELF = frozenset(("url-password", "encoded-secret", "kubernetes-secret"))
_EXTENSIBLE = ("-password", "-secret", "prefixed-token")
"""Ends of the names of rules whose findings may be a part of a value. Formats define their end, and
findings of the other rules stand next to text of another kind."""
_SECONDS = 4.0
_SECONDS_PER_CHARACTER = 1e-5
"""Limits of the CPU time for confirming: a thousand times what it takes normally."""
_BY_NAME = (
    *ASSIGNMENT_RULES.values(),
    *words("authorization-header header-value host-login named-secret prefixed-token url-parts"),
    *words(
        "mentioned-password mentioned-secret blank-separated printed-secret table-cell"
        " listed-secret"
    ),
)
_BY_SURROUNDINGS = words(
    "bearer-token url-step url-token url-password curl-user command-password cookie"
    " kubernetes-secret encoded-secret"
)
_RANKS = dict.fromkeys(_BY_NAME, 0) | dict.fromkeys(_BY_SURROUNDINGS, 1)
_OF_RESOURCE = re.compile(r"(?<!\w)urn:[\w-]+:[^\s\"']*$")
"""The beginning of a resource's name (RFC 8141), in which words for secrets tell its kind."""
_LONGEST_NAME = 200
_RANKS |= dict.fromkeys(("mentioned-password", "labelled-password"), -1)
_RANK_OF_FORMATS = 2
"""The rank of a rule by how specific it is: a name alone, surroundings, a format."""


_Place = TypeVar("_Place")
_Found = TypeVar("_Found")


class _OutOfOwnTime(Exception):
    """Confirming took longer than is allowed for a text of this length."""


class Span(NamedTuple):
    """A range of a text, and the rule that found it."""

    start: int
    end: int
    rule: str


class Scanner:
    """All rules, compiled. `scan` is pure and may be called from several threads."""

    def __init__(
        self,
        formats: Iterable[TokenFormat],
        anchored: Iterable[AnchoredRule],
        find: Callable[[str], Clues] | None = None,
        clock: Callable[[], float] = time.thread_time,
        digest: str = "",
    ) -> None:
        """Index the rules. `find` returns the clues of a text and is thread-safe (None: that of the
        standard library); `clock` returns the seconds spent; `digest` is a hash of the patterns
        that `find` has compiled."""
        self._tokens = TokenIndex(formats)
        self._rules = tuple(anchored)
        self._find = find or PlainTriggers(self._rules).find
        self._clock = clock
        self.digest = digest

    def scan(self, text: str) -> list[Span]:
        """Return the secret ranges in order, merged if they overlap.

        If confirmation takes too long, one span covers the whole text.
        """
        return self.confirm(text, self.look(text))

    def look(self, text: str) -> Clues:
        """Return the positions in `text` at which some rule may apply, and the views and searches
        it needs; `NO_CLUES` if there are none."""
        return self._find(text) if len(text) >= _SHORTEST else NO_CLUES

    def confirm(self, text: str, clues: Clues) -> list[Span]:
        """Return the secret ranges of `text`, given its clues from `look`."""
        if not any(clues[:_FIELDS_OF_VIEWS]):
            return []
        deadline = Deadline(_SECONDS + len(text) * _SECONDS_PER_CHARACTER, self._clock)
        try:
            spans = [
                part
                for span in self._find_spans(text, clues, deadline)
                if not _TAG.match(text, span.start)
                for part in _without_written_parts(text, span)
            ]
            _check_time(deadline)
        except _OutOfOwnTime:
            return [Span(0, len(text), TIMED_OUT)]
        if not spans:
            return spans
        return merge(_with_repetitions(text, [_extended(text, span) for span in merge(spans)]))

    def _find_spans(self, text: str, clues: Clues, deadline: Deadline) -> Iterator[Span]:
        """Yield the findings of all rules at their candidate positions, unmerged."""
        if clues.keywords:
            yield from self._scan_keywords(text, _within_deadline(deadline, clues.keywords))
        if clues.anchored:
            yield from self._scan_anchored(text, _within_deadline(deadline, clues.anchored))
        if clues.cookies:
            for value in _found_at(text, clues.cookies, blocks.find_cookies):
                yield Span(*value, "cookie")
        listed = 0
        for position in _within_deadline(deadline, clues.mentions):
            if _OF_RESOURCE.search(text, max(position - _LONGEST_NAME, 0), position) is not None:
                continue
            for mention in find_mentions(text, position, listed):
                listed = max(listed, mention[1])
                yield Span(*mention, "mentioned-password")
            for mention in find_in_sentences(text, position):
                yield Span(*mention, "mentioned-password")
            value_first = find_value_first(text, position)
            if value_first is not None:
                yield Span(*value_first, "mentioned-secret")
        for mention in find_hinted(text, _within_deadline(deadline, clues.shaped)):
            yield Span(*mention, "mentioned-password")
        for position in _within_deadline(deadline, (*clues.mentions, *clues.labels)):
            for password in find_labelled(text, position):
                yield Span(*password, "labelled-password")
        if clues.addresses:
            addresses = _within_deadline(deadline, clues.addresses)
            for secret in _found_at(text, addresses, find_in_address):
                yield Span(*secret)
        if clues.tables:
            tables = _within_deadline(deadline, clues.tables)
            for cell in _found_at(text, tables, find_cells):
                yield Span(*cell, "table-cell")
        if clues.runs:
            yield from self._scan_runs(text, _within_deadline(deadline, clues.runs))

    def _scan_keywords(self, text: str, positions: Iterable[int]) -> Iterator[Span]:
        done = manifest_end = 0
        for position in positions:
            if position < done:
                continue
            if text.startswith("KEY", position):
                block = blocks.find_private_key(text, position)
                if block is not None:
                    yield Span(*block, "private-key")
                    done = block[1]
                    continue
            if text[position] in "sS" and position >= manifest_end:
                entries, manifest_end = blocks.find_kubernetes_secret(text, position)
                for entry in entries:
                    yield Span(*entry, "kubernetes-secret")
            assignment = find_assignment(text, position)
            if assignment is not None:
                done, start, end, rule = assignment
                if rule:
                    yield Span(start, end, rule)

    def _scan_anchored(self, text: str, places: Iterable[tuple[int, int]]) -> Iterator[Span]:
        for number, position in places:
            rule = self._rules[number]
            match = rule.pattern.match(text, max(position - rule.lead, 0))
            if match is None:
                continue
            if rule.inside is not None:
                for secret in rule.inside(text, match):
                    yield Span(*secret, rule.name)
                continue
            if not rule.accept(match["secret"]):
                continue
            if rule.name == "command-password" and not _is_password_command(text, position):
                continue
            yield Span(*match.span("secret"), rule.name)

    def _scan_runs(self, text: str, runs: Iterable[tuple[int, int, int]]) -> Iterator[Span]:
        blob_end = 0
        for start, end, flags in runs:
            has_digit = _DIGIT.search(text, start, end) is not None
            tokens = self._tokens.find(text, start, end, has_digit) if flags & TOKENS else ()
            if tokens:
                for token in tokens:
                    yield Span(*token)
            elif flags & NAMED and has_digit and end - start <= _LONGEST_NAMED:
                named = find_named(text, start, end, bool(flags & VENDORED))
                if named is not None:
                    yield Span(*named)
            if flags & BLOB and has_digit and start >= blob_end and BLOB_START.match(text, start):
                blob = _BLOB.match(text, start)
                blob_end = blob.end() if blob else start
                if blob and self._hides_secret(blob.group()):
                    yield Span(start, blob_end, "encoded-secret")

    def _hides_secret(self, blob: str) -> bool:
        """Return True if base64 `blob` decodes to readable text that contains a secret."""
        if len(blob) > _LONGEST_BLOB:
            return False
        try:
            decoded = base64.b64decode(blob[: len(blob) // 4 * 4 or None]).decode("ascii")
        except ValueError:
            return False
        plain = decoded.replace("\n", "").replace("\t", "")
        return plain.isprintable() and bool(self.scan(decoded))


def load_scanner(
    formats: Iterable[TokenFormat],
    anchored: Sequence[AnchoredRule],
    engine: str = "auto",
    cache: Path | None = None,
) -> Scanner:
    """Return a scanner over the rules; its findings do not depend on `engine`.

    `engine`: `hyperscan`, `re`, or `auto` for the first that is installed. `cache`: where
    compiled patterns are kept (None: the user's cache directory).

    Raises:
        RedactionUnavailable: Hyperscan is asked for and not installed, or does not load;
            or the engine is unknown.
    """
    formats = tuple(formats)
    if engine not in ENGINES:
        raise RedactionUnavailable(f"unknown redaction engine {engine!r}")
    if engine == "re" or (engine == "auto" and find_spec("hyperscan") is None):
        return Scanner(formats, anchored)
    from memory_assets.redaction.engine.hyperscan_triggers import HyperscanTriggers

    templates = [template for token_format in formats for template in token_format.templates]
    try:
        triggers = HyperscanTriggers(templates, anchored, cache or user_cache_dir())
    except ImportError as error:
        if engine == "auto":
            return Scanner(formats, anchored)
        raise RedactionUnavailable(f"Hyperscan cannot be loaded: {error}") from None
    return Scanner(formats, anchored, triggers.find, digest=triggers.digest)


def _found_at(
    text: str,
    positions: Iterable[int],
    find: Callable[[str, int], tuple[Iterable[_Found], int]],
) -> Iterator[_Found]:
    """Yield what `find` finds at the positions, each of which is behind the end of what it looked
    at before."""
    done = 0
    for position in positions:
        if position >= done:
            found, done = find(text, position)
            yield from found


def _without_written_parts(text: str, span: Span) -> Iterator[Span]:
    """Yield the parts of a finding that are neither sentences nor identifiers."""
    start, end, rule = span
    if rule in BY_A_NAME and is_identifier(text[start:end]):
        return
    if end - start > _LONGEST_WRITTEN:
        yield span
        return
    for part in secret_parts(text, start, end, "password" in rule):
        yield Span(*part, rule)


def _extended(text: str, span: Span) -> Span:
    """Return `span`, extended to the whole value if its rule may find a part of one."""
    if span.rule in _ENDING_BY_ITSELF or not span.rule.endswith(_EXTENSIBLE):
        return span
    return Span(*whole_value(text, span.start, span.end), span.rule)


def _with_repetitions(text: str, spans: list[Span]) -> list[Span]:
    """Return `spans` and every other occurrence of a found value."""
    long_enough = (span for span in sorted(spans) if span.end - span.start >= 12)
    seen = {text[span.start : span.end]: span.rule for span in long_enough}
    occurrences = list(spans)
    affordable = max(_MOST_COMPARED // len(text), 64)
    for value, rule in islice(seen.items(), affordable):
        position = text.find(value)
        while position >= 0:
            if not text.startswith("<redacted:", position - 10):
                occurrences.append(Span(position, position + len(value), rule))
            position = text.find(value, position + len(value))
    return occurrences


def _is_password_command(text: str, position: int) -> bool:
    """Return True if the simple command at `position` names one of the programs before it, and no
    database follows."""
    begin = max(position - 200, 0)
    start = max(text.rfind(end, begin, position) for end in COMMAND_ENDS)
    program = PASSWORD_COMMANDS.search(text, max(start + 1, begin), position + 1)
    return program is not None and not (program["asks"] and DATABASE.match(text, position))


def _within_deadline(deadline: Deadline, places: Iterable[_Place]) -> Iterator[_Place]:
    """Yield the places; check the deadline at every sixteenth.

    Raises:
        _OutOfOwnTime, OutOfTime: a time limit is exceeded.
    """
    for number, place in enumerate(places, 1):
        if not number % 16:
            _check_time(deadline)
        yield place


def _check_time(deadline: Deadline) -> None:
    check_budget()
    if deadline.is_over():
        raise _OutOfOwnTime


def merge(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, overlapping ones joined under the most specific rule.

    A format is more specific than surroundings, and these are more specific than a name. Of two
    equally specific rules that of the longer span is kept.
    """
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            previous = merged[-1]
            more_specific = max(previous, span, key=_specificity)
            merged[-1] = Span(previous.start, max(previous.end, span.end), more_specific.rule)
        else:
            merged.append(span)
    return merged


def _specificity(span: Span) -> tuple[int, int]:
    return _RANKS.get(span.rule, _RANK_OF_FORMATS), span.end - span.start


_REST = re.compile(r"[^\s\"'`<>,;(){}\[\]|\\&@]{1,400}")
"""Text between a finding and the end of the value, unless that is the host of a URL."""
_SIGNS = re.compile(r"[!?#$%^*+=~]{1,8}(?=[\s\"'`<>,;)}\]|\\&]|$)")
_HEAD = re.compile(r"[\w.+~$%^!*\-]{1,64}(?=[\s\"'`(=:,;]|$)")
_NUMBERS = re.compile(r":[0-9/]{1,40}/[0-9]{1,20}(?=[\s\"'`=])")
"""Text before a finding, reversed: characters of tokens, or `7/982/892:`."""
_EMPHASIS = re.compile(r"(?<![\w*~])(?P<mark>\*{1,3}|~~)(?![\s*~])(?:(?!(?P=mark))[^\n])*\Z")
"""Markdown that is open where a value begins."""
_MARKED_LINE = 120
_BITS = 12
"""Bits of evidence from which the rest of a value counts as random, too."""


def whole_value(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range of the whole value around a secret found from `start` to `end`.

    It includes signs at the end, except the end of Markdown's emphasis, and text directly before or
    after it that looks random.
    """
    rest = _REST.match(text, end)
    if rest is not None:
        signs = _SIGNS.match(text, end)
        if signs is not None:
            end = signs.end()
        elif evidence(rest.group()) >= _BITS:
            end = rest.end()
    before = text[max(start - 65, 0) : start][::-1]
    head = _HEAD.match(before) or _NUMBERS.match(before)
    if head is not None and (head.group()[0] == ":" or evidence(head.group()) >= _BITS):
        start -= head.end()
    if text[end - 1] in "*~":
        opened = _EMPHASIS.search(text[max(start - _MARKED_LINE, 0) : start])
        if opened is not None and text.endswith(opened["mark"], start, end):
            end -= len(opened["mark"])
    return start, end
