"""What a record says, for telling a copy from another record that bears the same id.

Forks and resumes copy a record under its uuid and rewrite what surrounds it (session,
directory, version, time), and some write a text as a list with one block. What they keep
is every value that a reader takes text from: these are compared, and nothing else.
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
    """Return what stands for the texts of an object or a part of one; equal for copies."""
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
