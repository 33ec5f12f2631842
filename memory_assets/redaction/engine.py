"""The scan: one text in, the spans that are secret out.

Stdlib `re` only. Everything starts from cheap searches over an ASCII copy of the text
(same length, so positions agree): keywords, anchors and long runs of token characters.
Patterns are tried at those positions only, and each looks at a bounded stretch.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from memory_assets.redaction import blocks
from memory_assets.redaction.anchored import COMMAND_ENDS, PASSWORD_COMMANDS, AnchoredRule
from memory_assets.redaction.assignments import RULES as ASSIGNMENT_RULES
from memory_assets.redaction.assignments import find_assignment
from memory_assets.redaction.names import KEYWORDS
from memory_assets.redaction.token_runs import MASK, RUNS, TokenFormat, TokenIndex, find_named
from memory_assets.redaction.wordlist import words

_TAG = re.compile(r"[\"'\\]{0,4}<redacted[:-]")
_DIGIT = re.compile(r"[0-9]")
_LONGEST_NAMED = 2_000
_BLOB = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_MOST_COMPARED = 1_000_000_000
"""Characters compared, at most, to find a text's secrets in the rest of it: a second's work."""
_LONGEST_BLOB = 8_000
_BY_NAME = (*ASSIGNMENT_RULES.values(), "named-secret")
_BY_SURROUNDINGS = words(
    "bearer-token url-token url-password curl-user command-password cookie kubernetes-secret"
    " encoded-secret"
)
_TELLING = dict.fromkeys(_BY_NAME, 0) | dict.fromkeys(_BY_SURROUNDINGS, 1)
_MOST_TELLING = 2
"""How much a rule says about what it found: a name alone, its surroundings, its format."""


class Span(NamedTuple):
    """A stretch of text that a rule found."""

    start: int
    end: int
    rule: str


class Scanner:
    """All rules, compiled. `scan` is pure and may be called from several threads."""

    def __init__(self, formats: Iterable[TokenFormat], anchored: Iterable[AnchoredRule]) -> None:
        self._tokens = TokenIndex(formats)
        by_anchor: dict[bytes, list[AnchoredRule]] = {}
        for rule in anchored:
            by_anchor.setdefault(rule.anchor, []).append(rule)
        self._anchors = tuple((anchor, tuple(rules)) for anchor, rules in by_anchor.items())

    def scan(self, text: str) -> list[Span]:
        """Return the secret stretches in order, merged where they overlap."""
        if len(text) < 6:
            return []
        ascii_text = text.encode("ascii", "replace")
        lower = ascii_text.lower()
        found = [*self._keywords(text, lower), *self._anchored(text, lower)]
        found.extend(self._runs(text, ascii_text))
        found = [span for span in found if not _TAG.match(text, span.start)]
        return merge(_repeated(text, found)) if found else found

    def _keywords(self, text: str, lower: bytes) -> Iterator[Span]:
        hits: list[int] = []
        for keyword in KEYWORDS:
            position = lower.find(keyword)
            while position >= 0:
                hits.append(position)
                position = lower.find(keyword, position + 3)
        done = manifest_end = 0
        for position in sorted(hits):
            if position < done:
                continue
            if text.startswith("KEY", position):
                block = blocks.find_private_key(text, position)
                if block is not None:
                    yield Span(*block, "private-key")
                    done = block[1]
                    continue
            if position >= manifest_end and lower.startswith(b"secret", position):
                entries, manifest_end = blocks.find_kubernetes_secret(text, position)
                for entry in entries:
                    yield Span(*entry, "kubernetes-secret")
            assignment = find_assignment(text, position)
            if assignment is not None:
                done, start, end, rule = assignment
                if rule:
                    yield Span(start, end, rule)

    def _anchored(self, text: str, lower: bytes) -> Iterator[Span]:
        for anchor, rules in self._anchors:
            position = lower.find(anchor)
            while position >= 0:
                for rule in rules:
                    match = rule.pattern.match(text, max(position - rule.lead, 0))
                    if match is None or not rule.accept(match["secret"]):
                        continue
                    if rule.name == "command-password" and not _is_password_command(text, position):
                        continue
                    yield Span(*match.span("secret"), rule.name)
                position = lower.find(anchor, position + len(anchor))
        position = lower.find(b"cookie")
        while position >= 0:
            cookies, jar_end = blocks.find_cookies(text, position)
            for value in cookies:
                yield Span(*value, "cookie")
            position = lower.find(b"cookie", max(position + 6, jar_end))

    def _runs(self, text: str, ascii_text: bytes) -> Iterator[Span]:
        blob_end = 0
        for run in RUNS.finditer(ascii_text.translate(MASK)):
            start, end = run.span()
            has_digit = _DIGIT.search(text, start, end) is not None
            tokens = self._tokens.find(text, start, end, has_digit)
            if tokens:
                for token in tokens:
                    yield Span(*token)
            elif has_digit and end - start <= _LONGEST_NAMED:
                named = find_named(text, start, end)
                if named is not None:
                    yield Span(*named, "named-secret")
            if has_digit and start >= blob_end and (blob := _BLOB.match(text, start)):
                blob_end = blob.end()
                if self._hides_secret(blob.group()):
                    yield Span(blob.start(), blob_end, "encoded-secret")

    def _hides_secret(self, blob: str) -> bool:
        """Return whether base64 `blob` is readable text that holds a secret."""
        if len(blob) > _LONGEST_BLOB:
            return False
        try:
            decoded = base64.b64decode(blob[: len(blob) // 4 * 4 or None]).decode("ascii")
        except ValueError:
            return False
        plain = decoded.replace("\n", "").replace("\t", "")
        return plain.isprintable() and bool(self.scan(decoded))


def _repeated(text: str, found: list[Span]) -> list[Span]:
    """Return `found` and every other place where a found value stands bare."""
    seen = {text[span.start : span.end]: span.rule for span in found if span.end - span.start >= 12}
    everywhere = list(found)
    affordable = max(_MOST_COMPARED // len(text), 64)
    for value, rule in islice(seen.items(), affordable):
        position = text.find(value)
        while position >= 0:
            if not text.startswith("<redacted:", position - 10):
                everywhere.append(Span(position, position + len(value), rule))
            position = text.find(value, position + len(value))
    return everywhere


def _is_password_command(text: str, position: int) -> bool:
    """Whether the same simple command names, before the position, a program of these."""
    start = max(text.rfind(end, 0, position) for end in COMMAND_ENDS)
    return PASSWORD_COMMANDS.search(text, max(start + 1, position - 200), position + 1) is not None


def merge(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, overlapping ones joined under the most telling rule.

    A format tells more than surroundings, these more than a name; among equals the longer
    span names the whole.
    """
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            telling = max(last, span, key=_weight)
            merged[-1] = Span(last.start, max(last.end, span.end), telling.rule)
        else:
            merged.append(span)
    return merged


def _weight(span: Span) -> tuple[int, int]:
    return _TELLING.get(span.rule, _MOST_TELLING), span.end - span.start
