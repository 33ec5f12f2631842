"""Composed text, redacted once more.

Two harmless texts may stand next to each other in a telling way (a program's name, then
another command's `-p value`), or a cut may go through a tag. What is composed is therefore
redacted again before it is written; a text that has come to rest costs one scan.
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
"""Texts of a row that are copied from a record as they are; the others are composed or cut."""

_TEXTS_OF_A_RECORD = frozenset({"text", "tool_name", "paths", "command", "cwd", "git_branch"})
_ANY_TAG = re.compile(
    r"<redacted:(?P<rule>[a-z0-9-]{1,60})(?::[0-9a-f]{12})?>|<redacted-file-contents-of-\d+-bytes>"
)
"""Tags of today, and those without a digest that the first version wrote."""
FILE_CONTENTS = "file-contents"


def redact_composed(redactor: Redactor | SessionRedactor, row: Row) -> Row:
    """Return a row of a table with every composed field at rest under the redactor: all free
    text but what is copied."""
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


def as_read(record: RedactedRecord) -> Record:
    """Return a record of the lake as if it had just been read, to be redacted under the
    rules of today: its source is gone, and this is all there is of it."""
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


def traces_of_tags(record: RedactedRecord) -> Iterator[AppliedRedaction]:
    """Yield what the tags in a record tell of its redactions, when no audit does: it was
    redacted before there was one, and its source is gone."""
    for name in sorted(_TEXTS_OF_A_RECORD):
        value = getattr(record, name)
        for place, text in _named(name, value):
            for tag in _ANY_TAG.finditer(text):
                yield AppliedRedaction(
                    project=record.project,
                    agent=record.agent,
                    session_id=record.session_id,
                    agent_id=record.agent_id,
                    seq=record.seq,
                    record_uuid=record.record_uuid,
                    field=place,
                    rule=tag["rule"] or FILE_CONTENTS,
                    start=None,
                    end=None,
                    length=None,
                    tag=tag.group(),
                    ruleset_version=record.ruleset_version,
                    engine_version=record.ruleset_version.rpartition("-")[0],
                )


def _named(name: str, value: Any) -> Iterator[tuple[str, str]]:
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
