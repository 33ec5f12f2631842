"""The entries of redaction_audit: one for each tag that took a secret's place in a record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from memory_assets.models import AppliedRedaction, RedactedRecord
from memory_assets.pipeline.redact.stored_rows import REDACTED_FIELDS
from memory_assets.redaction.edits import FILE_CONTENTS

_ANY_TAG = re.compile(
    r"<redacted:(?P<rule>[a-z0-9-]{1,60})(?::[0-9a-f]{12})?>|<redacted-file-contents-of-\d+-bytes>"
)
"""Present tags, and those without a digest that the first version wrote."""


def audit_entry(
    record: RedactedRecord, field: str, rule: str, tag: str, span: tuple[int, int] | None = None
) -> AppliedRedaction:
    """Return the audit entry of a tag in a field of a record; `span` is the replaced range."""
    start, end = span or (None, None)
    return AppliedRedaction(
        project=record.project,
        agent=record.agent,
        session_id=record.session_id,
        agent_id=record.agent_id,
        seq=record.seq,
        record_uuid=record.record_uuid,
        field=field,
        rule=rule,
        start=start,
        end=end,
        length=span and span[1] - span[0],
        tag=tag,
        ruleset_version=record.ruleset_version,
        engine_version=record.ruleset_version.rpartition("-")[0],
    )


def audit_entries_of_tags(record: RedactedRecord) -> Iterator[AppliedRedaction]:
    """Yield an audit entry for each tag in a record that was redacted before there was an
    audit."""
    for name in REDACTED_FIELDS:
        value = getattr(record, name)
        for place, text in _named_texts(name, value):
            for tag in _ANY_TAG.finditer(text):
                yield audit_entry(record, place, tag["rule"] or FILE_CONTENTS, tag.group())


def _named_texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, tuple):
        yield from ((f"{name}[{number}]", item) for number, item in enumerate(value))
    else:
        yield name, value
