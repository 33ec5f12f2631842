"""Composed text, redacted once more.

Two harmless texts may stand next to each other in a telling way (a program's name, then
another command's `-p value`), or a cut may go through a tag. What is composed is therefore
redacted again before it is written; a text that has come to rest costs one scan.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from memory_assets.chunking import content_hash
from memory_assets.models import Chunk, Prompt, RedactedRecord, Summary
from memory_assets.redacted_text import RedactedText
from memory_assets.redaction import Redactor

Row = TypeVar("Row", Chunk, Prompt, Summary)

_TEXTS: dict[type, tuple[str, ...]] = {
    Chunk: ("text", "tools_used", "files", "commands", "errors"),
    Prompt: ("text",),
    Summary: (
        "title",
        "request",
        "investigated",
        "learned",
        "completed",
        "next_steps",
        "notes",
        "files_read",
        "files_modified",
        "commands",
        "errors",
        "commits",
        "text",
    ),
}
"""The fields that are composed or cut, not copied from a record."""


def settled(redactor: Redactor, row: Row) -> Row:
    """Return the row with every composed field at rest under the redactor."""
    changed: dict[str, Any] = {}
    for name in _TEXTS[type(row)]:
        before = getattr(row, name)
        after = _settled_value(redactor, before)
        if after != before:
            changed[name] = after
    if "text" in changed:
        changed["content_hash"] = content_hash(changed["text"])
    return replace(row, **changed) if changed else row


def settled_record(redactor: Redactor, record: RedactedRecord) -> RedactedRecord:
    """Return a record of the lake under the rules of today, when its source is gone."""
    if record.ruleset_version == redactor.ruleset_version:
        return record
    names = ("project_root", "text", "tool_name", "paths", "command", "cwd", "git_branch")
    values = {name: _settled_value(redactor, getattr(record, name)) for name in names}
    found = sum(values[name] != getattr(record, name) for name in names)
    return replace(
        record,
        **values,
        redactions=record.redactions + found,
        ruleset_version=redactor.ruleset_version,
    )


def _settled_value(redactor: Redactor, value: Any) -> Any:
    if isinstance(value, RedactedText):
        return redactor.redact(value).text
    if isinstance(value, tuple):
        return tuple(_settled_value(redactor, item) for item in value)
    return replace(value, text=_settled_value(redactor, value.text))
