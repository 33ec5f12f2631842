"""Redacting composed text again before it is written.

Two harmless texts may reveal a secret next to each other (a program's name, then another
command's `-p value`), or a cut may split a tag. Text without findings costs one scan.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from memory_assets.chunking import content_hash
from memory_assets.redacted_text import RedactedText
from memory_assets.redaction import Redactor, SessionRedactor
from memory_assets.stores.lake.lake import redacted_columns

Row = TypeVar("Row", bound=Any)

_COPIED = frozenset({"project_root", "git_branch"})
"""Columns that are copied from a record unchanged; other text is composed or cut."""


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


def _redact_value(redactor: Redactor | SessionRedactor, value: Any, session_id: str) -> Any:
    if isinstance(value, RedactedText):
        return redactor.redact(value, session_id=session_id).text
    if isinstance(value, tuple):
        return tuple(_redact_value(redactor, item, session_id) for item in value)
    return replace(value, text=_redact_value(redactor, value.text, session_id))
