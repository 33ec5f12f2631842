"""Classify long runs of token characters with a digit in them, by Hyperscan."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from memory_assets.redaction.engine.token_runs import (
    MASK,
    PREFIXED_BODY,
    SLUG,
    TOKEN_BYTES,
    may_be_shape,
)
from memory_assets.redaction.engine.trigger_patterns import (
    begins_word,
    context_triggers,
    shape_triggers,
)
from memory_assets.redaction.engine.triggers import BLOB, ENCODED, NAMED, TOKENS, VENDOR, VENDORED
from memory_assets.redaction.rules.formats import Template
from memory_assets.redaction.rules.mentioned.tokens import (
    ASSIGNED_RUN,
    HEX_RUN,
    LONGEST_BEFORE_RUN,
    QUOTES,
    SHORTEST_QUOTED,
)
from memory_assets.redaction.views.decodings import (
    BLOB_START,
    HEX_TEXT,
    LONGEST_WHOLE,
    SHORTEST_BLOB,
    TEXT_IN_BASE64,
)

Reports = list[tuple[int, int]]
"""(end, number) of each pattern that Hyperscan matched."""

_CONTEXT = 160
"""Bytes before a run that may hold its name or vendor: 96 before a value, which begins at most 64
before the run."""
_SHAPE_BEFORE = 96
"""Bytes before a run that may belong to a token's shape."""
_NEAR = 64
"""Bytes in which the start of a run is looked for first."""
_JOINTS = frozenset(b":!.")
_PART_ENDS = (b".", b":")
"""Bytes after a run that join the parts of a token."""
_SLUG_RUN = re.compile(SLUG.encode())
_BLOB_START = re.compile(BLOB_START.pattern.encode())
_BASE64_BYTES = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/"
_BASE64 = re.compile(rb"[A-Za-z0-9+/]*")
_BLOB = re.compile(TEXT_IN_BASE64.pattern.encode())
_PREFIXED_BODY = re.compile(PREFIXED_BODY.encode())
_HEX_TEXT = re.compile(HEX_TEXT.encode())
_LONG_PIECE = re.compile(rb"[A-Za-z0-9]{%d}" % SHORTEST_BLOB)


class RunClues:
    """Classifies runs: each may be a token, a named value, or base64."""

    def __init__(self, templates: Iterable[Template]) -> None:
        templates = tuple(templates)
        self.contexts = context_triggers()
        self.shapes = shape_triggers(templates)
        """Triggers of words before a run, and of shapes around it."""
        self._shape_after = max((len(t.sample) for t in templates), default=0) + _SHAPE_BEFORE

    def find(
        self,
        data: bytes,
        ends: Reports,
        run_ends: dict[int, tuple[int, int]],
        contexts: Callable[[bytes], Reports],
        shapes: Callable[[bytes], Reports],
    ) -> int:
        """Add the runs that may be more than a name with a number in it to `run_ends`; return
        `ENCODED` if base64 around one of them decodes to text, else 0.

        `contexts` and `shapes` scan for the triggers of these names.
        """
        asks = decoded = 0
        for reported_end, _ in ends:
            end = reported_end if MASK[data[reported_end - 1]] else reported_end - 1
            start = left_edge(data, end)
            length = end - start
            flags = 0
            if _SLUG_RUN.fullmatch(data, start, end) is None:
                before = data[start - _CONTEXT if start > _CONTEXT else 0 : start]
                reports = contexts(before)
                if reports:
                    flags = self._flags_of_context(before, reports)
                if (
                    not flags
                    and length > 19
                    and _PREFIXED_BODY.search(data, start and start - 1, end)
                ):
                    flags = NAMED
                if not flags and length >= SHORTEST_QUOTED and _is_apart(data, start, end):
                    flags = NAMED
                if length >= SHORTEST_BLOB and _LONG_PIECE.search(data, start, end) is not None:
                    if _BLOB_START.match(data, start):
                        flags |= BLOB
                    if start >= decoded:
                        begin, decoded = _base64_around(data, start, end)
                        if _BLOB.search(data, begin, decoded) is not None:
                            asks = ENCODED
                    asks = asks or ENCODED * (_HEX_TEXT.search(data, start, end) is not None)
            after = data[end : end + 1]
            if may_be_shape(data[start - 1 : start], after, length):
                window_start = max(start - _SHAPE_BEFORE, 0)
                in_parts = (start and data[start - 1] in _JOINTS) or after in _PART_ENDS
                window_end = end + self._shape_after if in_parts else end
                reports = shapes(data[window_start:window_end])
                if reports:
                    reports.clear()
                    flags |= TOKENS
            if flags:
                run_ends[start] = (end, flags | run_ends[start][1] if start in run_ends else flags)
        return asks

    def _flags_of_context(self, before: bytes, reports: Reports) -> int:
        """Return the flags that the words before a run set."""
        flags = flags_beside_name = 0
        for stop, number in reports:
            trigger = self.contexts[number]
            if not trigger.kind:
                flags |= NAMED
            elif not begins_word(before, stop - trigger.back):
                continue
            elif trigger.kind is VENDOR:
                flags = NAMED | VENDORED
                break
            else:
                flags_beside_name = VENDORED
        reports.clear()
        return flags | flags_beside_name if flags else 0


def _is_apart(data: bytes, start: int, end: int) -> bool:
    """Return True if a run is in quotes, or assigned to an environment variable, and is no hash."""
    if data[start - 1 : start] not in QUOTES and not ASSIGNED_RUN.search(
        data, max(start - LONGEST_BEFORE_RUN, 0), start
    ):
        return False
    return data[start - 2 : start] == b" '" or HEX_RUN.fullmatch(data, start, end) is None


def _base64_around(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return the range of base64 around a run, with at most `LONGEST_WHOLE` bytes before it."""
    after = _BASE64.match(data, end)
    floor = max(start - LONGEST_WHOLE, 0)
    begin = floor + len(data[floor:start].rstrip(_BASE64_BYTES))
    return begin, after.end() if after else end


def left_edge(data: bytes, position: int) -> int:
    """Return the start of the run of token characters that ends at `position`."""
    size = _NEAR
    while True:
        begin = position - size if position > size else 0
        kept = len(data[begin:position].rstrip(TOKEN_BYTES))
        if kept or not begin:
            return begin + kept
        size *= 4
