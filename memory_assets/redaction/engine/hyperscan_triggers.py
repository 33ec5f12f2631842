"""Triggers found by Hyperscan (Vectorscan): patterns as automata, many at once.

Scanned in block mode over the ASCII copy of the text, without start of match: a report
says where a pattern ends, and the place to look at is found from there. Small databases
answer questions about short stretches: cheaper than asking them of the whole text.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from memory_assets.redaction.engine.pattern_cache import Databases
from memory_assets.redaction.engine.token_runs import SHORTEST_RUN, SLUG, may_be_shape
from memory_assets.redaction.engine.trigger_patterns import (
    ANCHORED,
    ASSIGNED,
    VENDOR,
    Trigger,
    anchored_triggers,
    asking_triggers,
    assignment_triggers,
    begins_word,
    context_triggers,
    joint_trigger,
    keyword_triggers,
    run_trigger,
    shape_triggers,
    token_triggers,
)
from memory_assets.redaction.engine.triggers import (
    BLOB,
    BLOB_START,
    ENCODED,
    HOMES,
    HOMES_FIRST,
    JOINED,
    NAMED,
    NO_CLUES,
    TOKENS,
    VENDORED,
    Clues,
)
from memory_assets.redaction.readings.decodings import LONGEST_WHOLE, SHORTEST_BLOB, ascii_in_base64
from memory_assets.redaction.rules.anchored import AnchoredRule
from memory_assets.redaction.rules.formats import Template
from memory_assets.redaction.rules.names import KEYWORDS

_LONGEST_KEYWORD = max(map(len, KEYWORDS))
_TOKEN_BYTES = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"
_IS_TOKEN = bytes(byte in _TOKEN_BYTES for byte in range(256))
_RUN = re.compile(rb"[A-Za-z0-9_\-]{%d,}" % SHORTEST_RUN)
_TOKEN_CHARACTERS = re.compile(rb"[A-Za-z0-9_\-]*")
_PREFIXED_BODY = re.compile(rb"[_\-.][A-Za-z0-9]{20}")
"""What every token of `prefixed.py` holds."""
_CONTEXT = 160
"""How far before a run its name or vendor begins, at most: 96 before a value that begins
at most 64 before the run."""
_SHAPE_BEFORE = 96
_BLOB_START = re.compile(BLOB_START.pattern.encode())
_SLUG_RUN = re.compile(SLUG.encode())
_BASE64_BYTES = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/"
_BASE64 = re.compile(rb"[A-Za-z0-9+/]*")
_ALNUM = re.compile(rb"[A-Za-z0-9]{%d}" % SHORTEST_BLOB)
_BLOB = re.compile(ascii_in_base64().pattern.encode())
_ONLY_JOINED = Clues(asks=JOINED)


class HyperscanTriggers:
    """The places that Hyperscan finds worth looking at. Pure, and callable from several
    threads."""

    def __init__(
        self,
        templates: Iterable[Template],
        anchored: Sequence[AnchoredRule],
        cache: Path | None = None,
        on_compile: Callable[[], None] | None = None,
    ) -> None:
        """Load the databases from `cache`, or compile them.

        Raises:
            ImportError: Hyperscan is not installed.
        """
        templates = tuple(templates)
        self._rules = tuple(anchored)
        asking = asking_triggers()
        self._run = len(asking)
        self._homes = sum(trigger.rule == HOMES for trigger in asking)
        self._asks = tuple(trigger.rule for trigger in asking)
        self._triggers = (
            *asking,
            run_trigger(),
            *assignment_triggers(),
            *anchored_triggers(self._rules),
            *token_triggers(templates),
        )
        self._keywords = keyword_triggers()
        self._shape_after = max((len(t.sample) for t in templates), default=0) + _SHAPE_BEFORE
        self._contexts = contexts = context_triggers()
        self._first_vendor = next(n for n, t in enumerate(contexts) if t.kind is VENDOR)
        groups = {
            "places": self._triggers,
            "keywords": self._keywords,
            "contexts": contexts,
            "shapes": shape_triggers(templates),
            "joints": (joint_trigger(),),
        }
        self._databases = Databases(
            {name: [(t.source, t.once) for t in group] for name, group in groups.items()},
            cache,
            on_compile,
        )
        self._local = threading.local()

    def find(self, text: str, homes_first: bool = False) -> Clues:
        """Return the clues of `text`, or just `HOMES_FIRST` where that is allowed and so."""
        try:
            scans = self._local.scans
        except AttributeError:
            scans = self._local.scans = _Scans(self._databases)
        data = text.encode("ascii", "replace")
        reports: list[tuple[int, int]] = scans.places.reports
        scans.places.scan(data, scans.places.report)
        if homes_first and reports:
            for _, number in reports:
                if number < self._homes:
                    reports.clear()
                    return HOMES_FIRST
        asks = 0
        if b"\n" in data:
            scans.joints.scan(data, scans.joints.report)
            if scans.joints.reports:
                scans.joints.reports.clear()
                asks = JOINED
        if not reports:
            return _ONLY_JOINED if asks else NO_CLUES
        structure: list[tuple[int, Trigger]] = []
        tokens: list[tuple[int, Trigger]] = []
        runs: list[int] = []
        run = self._run
        reports.sort()
        for end, number in reports:
            if number < run:
                asks |= self._asks[number]
            elif number == run:
                runs.append(end)
            else:
                trigger = self._triggers[number]
                (structure if trigger.kind else tokens).append((end, trigger))
        reports.clear()
        keywords: list[int] = []
        anchored: list[tuple[int, int]] = []
        cookies: list[int] = []
        if structure:
            keywords, anchored, cookies = self._structured(data, structure, scans.keywords)
        found: dict[int, tuple[int, int]] = {}
        if tokens:
            _token_runs(data, tokens, found)
        if runs:
            asks |= self._digit_runs(data, runs, found, scans)
        if not (keywords or anchored or cookies or found):
            return Clues(asks=asks) if asks else NO_CLUES
        places = [(start, *found[start]) for start in sorted(found)] if found else ()
        return Clues(keywords, anchored, cookies, places, asks)

    def _structured(
        self, data: bytes, reports: Iterable[tuple[int, Trigger]], keyword_scan: _Scan
    ) -> tuple[list[int], list[tuple[int, int]], list[int]]:
        """Return the places of keywords, anchored rules and cookies."""
        keywords: list[int] = []
        anchored: dict[tuple[int, int], None] = {}
        cookies: list[int] = []
        searched = last = -1
        for end, trigger in reports:
            begin = end - trigger.back
            if trigger.kind is ASSIGNED:
                begin = max(begin, searched, 0)
                keyword_scan.scan(data[begin:end], keyword_scan.report)
                for stop, keyword in keyword_scan.reports:
                    position = begin + stop - self._keywords[keyword].back
                    if position > last:
                        keywords.append(position)
                        last = position
                keyword_scan.reports.clear()
                searched = end - _LONGEST_KEYWORD
            elif trigger.kind is ANCHORED:
                self._anchors_within(data, max(begin, 0), end, trigger.rule, anchored)
            else:
                cookies.append(begin)
        return keywords, list(anchored), cookies

    def _anchors_within(
        self, data: bytes, begin: int, end: int, number: int, anchored: dict[tuple[int, int], None]
    ) -> None:
        """Add where the rule's anchor stands between `begin` and `end`."""
        anchor = self._rules[number].anchor
        window = data[begin:end].lower()
        position = window.find(anchor)
        while position >= 0:
            anchored[number, begin + position] = None
            position = window.find(anchor, position + 1)

    def _digit_runs(
        self, data: bytes, ends: list[int], found: dict[int, tuple[int, int]], scans: _Scans
    ) -> int:
        """Add the runs with digits that may be more than a name with a number in it; return
        `ENCODED` if some stretch of base64 around them reads as text, else 0."""
        asks = decoded = 0
        contexts, shapes = scans.contexts, scans.shapes
        for reported in ends:
            end = reported if _IS_TOKEN[data[reported - 1]] else reported - 1
            start = left_edge(data, end)
            length = end - start
            what = 0
            if _SLUG_RUN.fullmatch(data, start, end) is None:
                before = data[start - _CONTEXT if start > _CONTEXT else 0 : start]
                contexts.scan(before, contexts.report)
            if contexts.reports:
                for stop, number in contexts.reports:
                    if number < self._first_vendor:
                        what |= NAMED
                    elif begins_word(before, stop - self._contexts[number].back):
                        what = NAMED | VENDORED
                        break
                contexts.reports.clear()
            if (
                not what
                and length > 19
                and _PREFIXED_BODY.search(data, start - 1 if start else 0, end)
            ):
                what = NAMED
            if length > 23:
                if _BLOB_START.match(data, start):
                    what |= BLOB
                if start >= decoded and _ALNUM.search(data, start, end) is not None:
                    begin, decoded = _base64_around(data, start, end)
                    if _BLOB.search(data, begin, decoded) is not None:
                        asks = ENCODED
            if may_be_shape(data[start - 1 : start], data[end : end + 1], length):
                around = data[max(start - _SHAPE_BEFORE, 0) : end + self._shape_after]
                shapes.scan(around, shapes.report)
                if shapes.reports:
                    shapes.reports.clear()
                    what |= TOKENS
            if what:
                found[start] = (end, what | found[start][1] if start in found else what)
        return asks


class _Scan:
    """A database's scan function, and the (end, pattern) it reports."""

    __slots__ = ("report", "reports", "scan")

    def __init__(self, databases: Databases, name: str) -> None:
        reports: list[tuple[int, int]] = []
        append = reports.append

        def report(number: int, _start: int, end: int, _flags: int, _context: Any) -> None:
            append((end, number))

        self.scan = databases.scanner(name)
        self.report = report
        self.reports = reports


class _Scans:
    """What one thread scans with."""

    __slots__ = ("contexts", "joints", "keywords", "places", "shapes")

    def __init__(self, databases: Databases) -> None:
        self.places = _Scan(databases, "places")
        self.keywords = _Scan(databases, "keywords")
        self.contexts = _Scan(databases, "contexts")
        self.shapes = _Scan(databases, "shapes")
        self.joints = _Scan(databases, "joints")


def _token_runs(
    data: bytes, reports: Iterable[tuple[int, Trigger]], found: dict[int, tuple[int, int]]
) -> None:
    """Add the runs in or just behind which a token may begin."""
    seen = 0
    for end, trigger in reports:
        begin = max(end - trigger.back, 0)
        low = seen if begin < seen else left_edge(data, begin)
        for run in _RUN.finditer(data, low, end + trigger.slack + SHORTEST_RUN):
            start, stop = run.span()
            if start in found:
                continue
            whole = _TOKEN_CHARACTERS.match(data, stop)
            stop = whole.end() if whole else stop
            found[start] = (stop, TOKENS)
            seen = stop


def _base64_around(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return where the base64 that a run stands in begins, as far as matters, and ends."""
    after = _BASE64.match(data, end)
    floor = max(start - LONGEST_WHOLE, 0)
    begin = floor + len(data[floor:start].rstrip(_BASE64_BYTES))
    return begin, after.end() if after else end


def left_edge(data: bytes, position: int) -> int:
    """Return where the run of token characters that reaches up to `position` begins."""
    size = 64
    while True:
        begin = position - size if position > size else 0
        kept = len(data[begin:position].rstrip(_TOKEN_BYTES))
        if kept or not begin:
            return begin + kept
        size *= 4
