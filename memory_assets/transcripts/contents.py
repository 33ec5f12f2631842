"""The content of a record in comparable form: a copy has an equal id and equal content.

Forks and resumes copy a record with its uuid and rewrite its envelope (session, directory,
version, time); some write a text as a list with one block. They keep every value that a
reader takes text from, so only these values are compared.
"""

from __future__ import annotations

from typing import Any

import orjson

_BLOCKS = ("message", "content", "summary", "output", "item", "review_output")
"""Fields whose value is a text, or blocks that hold one."""
_VALUES = (
    "text",
    "thinking",
    "name",
    "input",
    "arguments",
    "action",
    "command",
    "prompt",
    "plan",
    "planContent",
    "filename",
    "planFilePath",
    "thread_name",
    "overall_explanation",
    "errorMessage",
)
_DEEPEST = 20


def content_bytes(content: Any) -> bytes:
    """Return the texts of an object, or of a part of one, as bytes that are equal for copies."""
    said = _said(content, _DEEPEST)
    try:
        return orjson.dumps(said, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError):  # numbers and depths that orjson refuses
        return repr(said).encode("utf-8", "surrogatepass")


def _said(value: Any, deepest: int) -> list[Any]:
    if isinstance(value, str):
        return [value]
    if deepest == 0:
        return [value]
    if isinstance(value, list | tuple):
        return [piece for item in value for piece in _said(item, deepest - 1)]
    if not isinstance(value, dict):
        return []
    pieces: list[Any] = []
    for name in _BLOCKS:
        if name in value:
            pieces += _said(value[name], deepest - 1)
    return pieces + [value[name] for name in _VALUES if name in value]
