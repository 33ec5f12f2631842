"""What the redactor reports: the positions of secrets and the tags that replaced them, never a
secret."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from memory_assets.models import RedactedRecord
from memory_assets.redacted_text import RedactedText
from memory_assets.redaction.settings import PERSONAL_KINDS


class Finding(NamedTuple):
    """One secret: `start`/`end` are character offsets in the *input* text.

    `rule` is the name of the rule, `tag` the text that replaced it. `field` is the attribute of
    `Record` that it was found in ("text", "cwd", ..., "paths[0]"), or "project_root"; "" where a
    text alone was redacted.
    """

    rule: str
    start: int
    end: int
    tag: str
    field: str = ""


class Redaction(NamedTuple):
    """The redacted text and its findings.

    `findings` are the secrets, `personal` the personal data; each is in order, and no two overlap.
    """

    text: RedactedText
    findings: tuple[Finding, ...]
    personal: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        return f"Redaction(findings={self.findings!r}, personal={self.personal!r})"


@dataclass(frozen=True, slots=True)
class RecordRedaction:
    """A redacted record and the findings in its fields, field by field in order."""

    record: RedactedRecord = field(repr=False)
    findings: tuple[Finding, ...]
    personal: tuple[Finding, ...] = ()


def secret_and_personal(
    findings: Iterable[Finding],
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the secrets among findings, and the personal data."""
    parts: tuple[list[Finding], list[Finding]] = ([], [])
    for finding in findings:
        parts[finding.rule in PERSONAL_KINDS].append(finding)
    return tuple(parts[0]), tuple(parts[1])
