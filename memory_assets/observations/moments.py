"""A moment: the facts of one observation before its text is composed."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory_assets.models import RedactedRecord, Turn
from memory_assets.observations.types import Type
from memory_assets.redacted_text import RedactedText


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing worth remembering. `anchor` is the record that completed it, `began` the one
    it began with; `turns` are those it comes from, in order; `records` those whose files it read
    and modified."""

    type: Type
    anchor: RedactedRecord
    began: RedactedRecord
    turns: tuple[Turn, ...]
    title: RedactedText
    narrative: list[RedactedText]
    facts: list[RedactedText] = field(default_factory=list)
    concepts: list[RedactedText] = field(default_factory=list)
    records: tuple[RedactedRecord, ...] = ()
