"""Redacting composed text again before it is written.

Two harmless texts may reveal a secret next to each other (a program's name, then another
command's `-p value`), or a cut may split a tag. Text without findings costs one scan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar

from memory_assets.chunking import content_hash
from memory_assets.models import AppliedRedaction, Record, RedactedRecord
from memory_assets.redacted_text import RedactedText
from memory_assets.redaction import Redactor, SessionRedactor
from memory_assets.stores.lake.lake import redacted_columns

Row = TypeVar("Row", bound=Any)

_COPIED = frozenset({"project_root", "git_branch"})
"""Columns that are copied from a record unchanged; other text is composed or cut."""

_TEXTS_OF_A_RECORD = frozenset({"text", "tool_name", "paths", "command", "cwd", "git_branch"})
_ANY_TAG = re.compile(
    r"<redacted:(?P<rule>[a-z0-9-]{1,60})(?::[0-9a-f]{12})?>|<redacted-file-contents-of-\d+-bytes>"
)
"""Present tags, and those without a digest that the first version wrote."""
FILE_CONTENTS = "file-contents"


def redact_composed(redactor: Redactor | SessionRedactor, row: Row) -> Row:
    """Return a row with its composed text redacted until the redactor finds nothing more."""
    changed: dict[str, Any] = {}
    model: type = type(row)
    for name in _composed(model):
        before = getattr(row, name)
        after = _redact_value(redactor, before, row.session_id)
        if after != before:
            changed[name] = after
    if "text" in changed:
        changed["content_hash"] = content_hash(changed["text"])
    return replace(row, **changed) if changed else row


@cache
def _composed(model: type) -> tuple[str, ...]:
    return tuple(name for name in redacted_columns(model) if name not in _COPIED)


def as_unredacted(record: RedactedRecord) -> Record:
    """Return a record of the lake as an unredacted record, to be redacted under the present
    rules when its source file is deleted."""
    values: dict[str, Any] = {
        field.name: getattr(record, field.name)
        for field in fields(Record)
        if field.name not in _TEXTS_OF_A_RECORD and field.name != "content"
    }
    return Record(
        **values,
        text=str(record.text),
        tool_name=str(record.tool_name),
        paths=tuple(str(path) for path in record.paths),
        command=str(record.command),
        cwd=str(record.cwd),
        git_branch=str(record.git_branch),
    )


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
    for name in sorted(_TEXTS_OF_A_RECORD):
        value = getattr(record, name)
        for place, text in _named_texts(name, value):
            for tag in _ANY_TAG.finditer(text):
                yield audit_entry(record, place, tag["rule"] or FILE_CONTENTS, tag.group())


def _named_texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, tuple):
        yield from ((f"{name}[{number}]", item) for number, item in enumerate(value))
    else:
        yield name, value


def _redact_value(redactor: Redactor | SessionRedactor, value: Any, session_id: str) -> Any:
    if isinstance(value, RedactedText):
        return redactor.redact(value, session_id=session_id).text
    if isinstance(value, tuple):
        return tuple(_redact_value(redactor, item, session_id) for item in value)
    return replace(value, text=_redact_value(redactor, value.text, session_id))
