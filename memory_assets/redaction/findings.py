"""What the redactor reports: where a secret stood and what replaced it, never the secret."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory_assets.redacted_text import RedactedText


@dataclass(frozen=True, slots=True)
class Finding:
    """One secret: `start`/`end` are character offsets in the *input* text.

    `rule` names the row of the rule table, `tag` is what stands in its place.
    """

    rule: str
    start: int
    end: int
    tag: str


@dataclass(frozen=True, slots=True)
class Redaction:
    """The redacted text and, in order and without overlap, what was taken out of it."""

    text: RedactedText = field(repr=False)
    findings: tuple[Finding, ...]
