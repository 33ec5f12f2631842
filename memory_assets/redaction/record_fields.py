"""The text fields of a record by name, and the findings in them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any

from memory_assets.models import RedactedRecord
from memory_assets.redacted_text import RedactedText
from memory_assets.redaction.edits import WayBack
from memory_assets.redaction.findings import Finding, RecordFinding, RecordRedaction, Redaction

LONG_FIELDS = ("text", "command", "project_root")
SHORT_FIELDS = ("tool_name", "cwd", "git_branch", "subtype", "model", "agent_version")
_PATHS = "paths["


def in_fields(parts: Iterable[tuple[str, tuple[Finding, ...]]]) -> tuple[RecordFinding, ...]:
    """Return findings together with the names of their fields."""
    return tuple(
        [RecordFinding(name, *finding) for name, findings in parts for finding in findings]
    )


def texts_of(record: RedactedRecord) -> dict[str, str]:
    """Return every text of a record by its field's name."""
    texts = {name: getattr(record, name) for name in (*LONG_FIELDS, *SHORT_FIELDS)}
    texts.update((f"{_PATHS}{number}]", path) for number, path in enumerate(record.paths))
    return texts


def redacted_again(first: RecordRedaction, again: Mapping[str, Redaction]) -> RecordRedaction:
    """Return a record after some of its redacted fields were redacted again; its findings are
    positions in the texts before the first redaction."""
    changes: dict[str, Any] = {}
    paths: list[RedactedText] = list(first.record.paths)
    for name, part in again.items():
        if name.startswith(_PATHS):
            paths[int(name[len(_PATHS) : -1])] = part.text
        else:
            text = part.text
            changes[name] = (
                text if isinstance(getattr(first.record, name), RedactedText) else str(text)
            )
    findings: list[tuple[str, tuple[Finding, ...]]] = []
    personal: list[tuple[str, tuple[Finding, ...]]] = []
    for name in texts_of(first.record):
        secret = _of_field(first.findings, name)
        private = _of_field(first.personal, name)
        if name in again:
            secret, private = _combined(secret, private, again[name])
        findings.append((name, secret))
        personal.append((name, private))
    found = in_fields(findings)
    record = replace(first.record, **changes, paths=tuple(paths), redactions=len(found))
    return RecordRedaction(record, found, in_fields(personal))


def _of_field(findings: Iterable[RecordFinding], name: str) -> tuple[Finding, ...]:
    return tuple(Finding(*finding[1:]) for finding in findings if finding.field == name)


_place = attrgetter("start")


def _combined(
    secret: tuple[Finding, ...], private: tuple[Finding, ...], again: Redaction
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the secrets and the personal data of both redactions of one text, without those of the
    first that the second one covers."""
    way_back = WayBack(sorted((*secret, *private), key=_place))
    moved_secret = [_moved(finding, way_back) for finding in again.findings]
    moved_private = [_moved(finding, way_back) for finding in again.personal]
    new = sorted([*moved_secret, *moved_private], key=_place)
    return (
        tuple(sorted([*_outside(secret, new), *moved_secret], key=_place)),
        tuple(sorted([*_outside(private, new), *moved_private], key=_place)),
    )


def _moved(finding: Finding, way_back: WayBack) -> Finding:
    start, end = way_back.original(finding.start, finding.end)
    return finding._replace(start=start, end=end)


def _outside(old: tuple[Finding, ...], new: list[Finding]) -> list[Finding]:
    """Return the findings of `old` that overlap none of `new`, which is in order."""
    starts = [finding.start for finding in new]
    kept: list[Finding] = []
    for finding in old:
        place = bisect_left(starts, finding.end)
        if not place or new[place - 1].end <= finding.start:
            kept.append(finding)
    return kept
