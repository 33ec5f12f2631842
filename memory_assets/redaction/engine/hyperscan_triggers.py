"""Triggers found by Hyperscan (Vectorscan): patterns as automata, many at once.

The ASCII copy of the text is scanned in block mode without start of match: a report says where a
pattern ends, and the candidate position is computed from that. Patterns that are found by literals
and those that need an automaton of their own are in separate databases, which together are faster
than one. Small databases classify short parts of the text.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from memory_assets.redaction.engine.hyperscan_runs import Reports, RunClues, left_edge
from memory_assets.redaction.engine.pattern_cache import Databases, code_digest, kept, kept_path
from memory_assets.redaction.engine.token_runs import SHORTEST_RUN
from memory_assets.redaction.engine.trigger_patterns import (
    anchored_triggers,
    asking_triggers,
    assignment_triggers,
    joint_trigger,
    keyword_triggers,
    mention_triggers,
    run_trigger,
    table_triggers,
    token_triggers,
)
from memory_assets.redaction.engine.triggers import (
    ADDRESS,
    ANCHORED,
    ASKING,
    ASSIGNED,
    BEYOND_ASCII,
    COOKIE,
    JOINED,
    LABEL,
    MENTION,
    NO_CLUES,
    SHAPED,
    TABLE,
    TOKENS,
    Clues,
    Trigger,
)
from memory_assets.redaction.rules.anchored.table import AnchoredRule
from memory_assets.redaction.rules.formats import Template
from memory_assets.redaction.rules.judging.names import KEYWORDS

_GROUPS = ("places", "runs", "joints", "keywords", "contexts", "shapes")
_LONGEST_KEYWORD = max(map(len, KEYWORDS))
_RUN = re.compile(rb"[A-Za-z0-9_\-]{%d,}" % SHORTEST_RUN)
_POSITIONS = (COOKIE, MENTION, SHAPED, LABEL, ADDRESS, TABLE)
"""The other kinds of positions, in the order of the fields of `Clues`."""
_SLACK = 64
"""Bytes behind a reported position in which the run begins in which a token may be."""
_TOKEN_CHARACTERS = re.compile(rb"[A-Za-z0-9_\-]*")


class HyperscanTriggers:
    """Finds candidate positions with Hyperscan. Pure, and callable from several threads."""

    def __init__(
        self,
        templates: Iterable[Template],
        anchored: Sequence[AnchoredRule],
        cache: Path | None = None,
    ) -> None:
        """Load the databases from `cache`, or compile them.

        Raises:
            ImportError: Hyperscan is not installed.
        """
        templates = tuple(templates)
        self._rules = tuple(anchored)
        self._triggers = _kept_triggers(templates, self._rules, cache)
        self._foreign = tuple(
            (rule.pattern, Trigger(b"", ANCHORED, len(BEYOND_ASCII), rules=(number,)))
            for number, rule in enumerate(self._rules)
            if rule.anchor == BEYOND_ASCII
        )
        self._asks = tuple(trigger.asks for trigger in self._triggers if trigger.kind == ASKING)
        self._keywords = keyword_triggers()
        self._run_clues = RunClues(templates)
        groups: tuple[Sequence[Trigger], ...] = (
            self._triggers,
            (run_trigger(),),
            (joint_trigger(),),
            self._keywords,
            self._run_clues.contexts,
            self._run_clues.shapes,
        )
        patterns = ([(trigger.source, trigger.once) for trigger in group] for group in groups)
        self._databases = Databases(dict(zip(_GROUPS, patterns, strict=True)), cache)
        self.digest = self._databases.digest()
        """A hash of the patterns as they are compiled."""
        self._local = threading.local()

    def find(self, text: str) -> Clues:
        """Return the clues of `text`."""
        scans = getattr(self._local, "scans", None)
        if scans is None:  # the first time in this thread
            scans = self._local.scans = [_scan_function(self._databases, name) for name in _GROUPS]
        places, runs, joints, keywords, contexts, shapes = scans
        data = text.encode() if text.isascii() else text.encode("ascii", "replace")
        asks = 0
        line_ends: list[int] = []
        if "\n" in text:
            reports = joints(data)
            if reports:
                ends = (data.rfind(b"\n", 0, end - 1) for end, _ in reports)
                line_ends = list(dict.fromkeys(ends))
                reports.clear()
                asks |= JOINED
        reports = places(data)
        ends = runs(data)
        run_ends: dict[int, tuple[int, int]] = {}
        structure: list[tuple[int, Trigger]] = []
        if BEYOND_ASCII in data and not text.isascii():
            for pattern, trigger in self._foreign:
                structure += (
                    (word.start() + trigger.back, trigger) for word in pattern.finditer(text)
                )
        if reports:
            asks |= self._sort_reports(data, reports, structure, run_ends)
        if ends:
            asks |= self._run_clues.find(data, ends, run_ends, contexts, shapes)
            ends.clear()
        if not (structure or run_ends):
            return Clues(asks=asks, joints=line_ends) if asks else NO_CLUES
        found_runs = [(start, *run_ends[start]) for start in sorted(run_ends)] if run_ends else ()
        if not structure:
            return Clues(runs=found_runs, asks=asks, joints=line_ends)
        clues = self._clues(data, structure, keywords)
        return clues._replace(runs=found_runs, asks=asks, joints=line_ends)

    def _sort_reports(
        self,
        data: bytes,
        reports: Reports,
        structure: list[tuple[int, Trigger]],
        run_ends: dict[int, tuple[int, int]],
    ) -> int:
        """Sort reports: structural positions into `structure`, runs that may be tokens into
        `run_ends`; return the flags of further searches (`Clues.asks`)."""
        asks = 0
        tokens: list[tuple[int, Trigger]] = []
        triggers, first = self._triggers, len(self._asks)
        reports.sort()
        for end, number in reports:
            if number < first:
                asks |= self._asks[number]
                continue
            trigger = triggers[number]
            if not trigger.kind:
                tokens.append((end, trigger))
            else:
                structure.append((end, trigger))
        reports.clear()
        if tokens:
            _add_token_runs(data, tokens, run_ends)
        return asks

    def _clues(
        self,
        data: bytes,
        reports: Iterable[tuple[int, Trigger]],
        keyword_scan: Callable[[bytes], Reports],
    ) -> Clues:
        """Return the positions of keywords, anchored rules and all else that reports are of."""
        keywords: list[int] = []
        anchored: dict[tuple[int, int], None] = {}
        positions: dict[str, dict[int, None]] = {kind: {} for kind in _POSITIONS}
        searched = last_keyword = -1
        for end, trigger in reports:
            begin = end - trigger.back
            if trigger.kind == ASSIGNED:
                begin = max(begin, searched, 0)
                hits = keyword_scan(data[begin:end])
                for stop, keyword in hits:
                    position = begin + stop - self._keywords[keyword].back
                    if position > last_keyword:
                        keywords.append(position)
                        last_keyword = position
                hits.clear()
                searched = end - _LONGEST_KEYWORD
            elif trigger.kind == ANCHORED:
                if trigger.back == len(self._rules[trigger.rules[0]].anchor):
                    for number in trigger.rules:
                        anchored[number, begin] = None
                    continue
                begin = max(begin, 0)
                window = data[begin:end].lower()
                for number in trigger.rules:
                    anchor = self._rules[number].anchor
                    position = window.find(anchor)
                    while position >= 0:
                        anchored[number, begin + position] = None
                        position = window.find(anchor, position + 1)
            else:
                if trigger.kind == TABLE:
                    insert = data[max(begin, 0) : end].lower().rfind(b"insert")
                    begin = begin + insert if insert >= 0 else data.rfind(b"\n", 0, end) + 1
                positions[trigger.kind][begin] = None
        cookies, mentions, shaped, labels, addresses, tables = map(list, positions.values())
        return Clues(keywords, list(anchored), cookies, mentions, shaped, labels, addresses, tables)


def _kept_triggers(
    templates: tuple[Template, ...], anchored: tuple[AnchoredRule, ...], cache: Path | None
) -> tuple[Trigger, ...]:
    """Return the triggers of candidate positions, those that call for views first; cached on disk,
    because deriving them from the rules takes 0.1 s."""
    digest = code_digest()
    if cache is None or not digest:
        return _triggers(templates, anchored)
    rules = [(rule.anchor, rule.source, rule.lead) for rule in anchored]
    path = kept_path(cache, "triggers", repr((digest, templates, rules)), ".json")
    stored = kept(path, lambda: _triggers_to_json(_triggers(templates, anchored)))
    return tuple(
        Trigger(source.encode("latin-1"), kind, back, tuple(rules), *further_fields)
        for source, kind, back, rules, *further_fields in json.loads(stored)
    )


def _triggers(
    templates: tuple[Template, ...], anchored: tuple[AnchoredRule, ...]
) -> tuple[Trigger, ...]:
    return (
        *asking_triggers(),
        *assignment_triggers(),
        *anchored_triggers(anchored),
        *mention_triggers(),
        *table_triggers(),
        *token_triggers(templates),
    )


def _triggers_to_json(triggers: Sequence[Trigger]) -> bytes:
    rows = [(trigger.source.decode("latin-1"), *trigger[1:]) for trigger in triggers]
    return json.dumps(rows).encode()


def _scan_function(databases: Databases, name: str) -> Callable[[bytes], Reports]:
    """Return the function that scans with a database. All its calls return the same list, which the
    caller must clear if it is not empty."""
    reports: Reports = []
    append = reports.append
    scan = databases.scanner(name)

    def report(number: int, _start: int, end: int, _flags: int, _context: Any) -> None:
        append((end, number))

    def scanned(data: bytes) -> Reports:
        scan(data, report)
        return reports

    return scanned


def _add_token_runs(
    data: bytes, reports: Iterable[tuple[int, Trigger]], run_ends: dict[int, tuple[int, int]]
) -> None:
    """Add to `run_ends` the runs in which, or directly after which, a token may begin."""
    first = seen = 0
    for end, trigger in reports:
        begin = max(end - trigger.back, 0)
        if first <= begin and end + _SLACK + SHORTEST_RUN <= seen:
            continue  # within one run, as most are of a million in a long one
        low = seen if begin < seen else left_edge(data, begin)
        for run in _RUN.finditer(data, low, end + _SLACK + SHORTEST_RUN):
            start, stop = run.span()
            if start in run_ends:
                continue
            whole = _TOKEN_CHARACTERS.match(data, stop)
            stop = whole.end() if whole else stop
            run_ends[start] = (stop, TOKENS)
            first, seen = start, stop
