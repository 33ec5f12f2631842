"""Edits: ranges of a text to replace, and the text after that."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from memory_assets.redaction import known_secrets as known
from memory_assets.redaction.engine.scanner import WITHHELD, Span, merge
from memory_assets.redaction.findings import Finding
from memory_assets.redaction.policy import contents as policy
from memory_assets.redaction.settings import PERSONAL_KINDS
from memory_assets.redaction.tags import Tagger

FILE_CONTENTS = "file-contents"
PRINTED_SECRET = "printed-secret"
"""The rule of a printed secret that its command names."""
KNOWN_SECRET = "known-secret"
"""The rule of a secret recognised by its hash alone. Any other rule that finds it takes precedence,
so that a text is redacted equally before and after its secrets became known."""
FORGOTTEN_TEXT = "forgotten-text"
"""The rule of a text that the owner had removed."""
HOME_DIRECTORY = PERSONAL_KINDS[0]
_PERSONAL = frozenset(PERSONAL_KINDS)


class Edit(NamedTuple):
    """A range to replace. Its tag is derived from `value`: the text of the range, or that text
    unescaped, decoded or joined."""

    start: int
    end: int
    rule: str
    value: str

    def __repr__(self) -> str:
        return f"Edit({self.start}, {self.end}, {self.rule!r})"

    @property
    def is_personal(self) -> bool:
        """True for personal data, False for secrets and file contents."""
        return self.rule in _PERSONAL


_Range = TypeVar("_Range", Edit, Finding)


def outside(ranges: Iterable[_Range], blocking: Sequence[Edit | Finding]) -> list[_Range]:
    """Return the ranges that overlap none of `blocking`, which are in order and disjoint."""
    starts = [block.start for block in blocking]
    kept: list[_Range] = []
    for span in ranges:
        place = bisect_left(starts, span.end)
        if not place or blocking[place - 1].end <= span.start:
            kept.append(span)
    return kept


def merge_edits(text: str, edits: Iterable[Edit]) -> list[Edit]:
    """Return the edits of `text` in order and disjoint.

    Overlapping secrets become one, under the most specific rule; file contents absorb what they
    touch; personal data is dropped where it overlaps either.
    """
    edits = sorted(edits)
    if not edits or (len(edits) == 1 and edits[0].rule == HOME_DIRECTORY):
        return edits
    secret: list[Edit] = []
    personal: list[Edit] = []
    for edit in edits:
        (personal if edit.is_personal else secret).append(edit)
    merged: list[Edit] = []
    for edit in secret:
        if merged and edit.start < merged[-1].end:
            merged[-1] = _join(text, merged[-1], edit)
        else:
            merged.append(edit)
    if not personal:
        return merged
    kept: list[Edit] = []
    for edit in outside(personal, merged):
        if not (kept and kept[-1].end > edit.start):
            kept.append(edit)
    return sorted([*merged, *kept])


def _join(text: str, first: Edit, second: Edit) -> Edit:
    """Return one edit for two secrets or file contents that overlap."""
    start = first.start
    end = max(first.end, second.end)
    if FILE_CONTENTS in (first.rule, second.rule):
        return Edit(start, end, FILE_CONTENTS, "")
    named = [edit for edit in (first, second) if edit.rule != KNOWN_SECRET] or [first]
    rule = merge(Span(edit.start, edit.end, edit.rule) for edit in named)[0].rule
    for edit in (first, second):
        if (edit.start, edit.end) == (start, end):
            return Edit(start, end, rule, edit.value)
    return Edit(start, end, rule, text[start:end])


class Rendered:
    """A text with its edits applied: the new text, and a finding for each edit."""

    def __init__(self, text: str, edits: Sequence[Edit], tagger: Tagger) -> None:
        self.text = text
        self.findings: list[Finding] = []
        if not edits:
            return
        pieces: list[str] = []
        position = 0
        for edit in edits:
            tag = _tag_for(text, edit, tagger)
            pieces += (text[position : edit.start], tag)
            position = edit.end
            self.findings.append(Finding(edit.rule, edit.start, edit.end, tag))
        pieces.append(text[position:])
        self.text = "".join(pieces)

    @cached_property
    def way_back(self) -> WayBack:
        """The mapping from positions in the new text to positions in the old one."""
        return WayBack(self.findings)


class WayBack:
    """Maps positions in a redacted text to positions in the original."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self._findings = findings
        self._starts: list[int] = []
        position = length = 0
        for finding in findings:
            length += finding.start - position
            self._starts.append(length)
            length += len(finding.tag)
            position = finding.end

    def moved(self, span: _Range) -> _Range:
        """Return a finding in the redacted text at its range in the original. A tag that it touches
        counts as the whole range that the tag replaced."""
        start = self._position(span.start, False)
        end = self._position(span.end - 1, True) + 1
        return span._replace(start=start, end=end)

    def _position(self, position: int, is_last: bool) -> int:
        place = bisect_right(self._starts, position) - 1
        if place < 0:
            return position
        finding = self._findings[place]
        past = position - self._starts[place] - len(finding.tag)
        if past >= 0:
            return finding.end + past
        return finding.end - 1 if is_last else finding.start


def _tag_for(text: str, edit: Edit, tagger: Tagger) -> str:
    if edit.rule == FILE_CONTENTS:
        return policy.contents_tag(text[edit.start : edit.end])
    if edit.rule == HOME_DIRECTORY:
        return "~"
    guessable = (
        edit.is_personal or edit.rule in WITHHELD or known.is_guessable(edit.rule, edit.value)
    )
    return tagger.tag(edit.rule, edit.value, guessable=guessable)
