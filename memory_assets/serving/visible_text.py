"""Make text visible before it leaves the memory, and unable to close its frame.

All that is served passes here: MCP and HTTP answers, their errors, and the command line's output.
Stored text is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_UNSEEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, without newline and tab
    "\u00ad\u034f\u061c"  # soft hyphen, grapheme joiner, Arabic letter mark
    "\u115f\u1160\u3164\uffa0"  # Hangul fillers
    "\u17b4\u17b5\u180b-\u180f"  # Khmer vowels without a shape, Mongolian selectors
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # joiners, separators, direction marks
    "\ufe00-\ufe0f\ufeff\ufff0-\ufffb"  # variation selectors, byte order mark, annotations
    "\ud800-\udfff"  # halves of a character, which no UTF-8 can hold
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # shorthand and musical format controls
    "\U00013430-\U00013455"  # Egyptian format controls
    "\U000e0000-\U000e0fff"  # tags, more variation selectors
    "]+"
)
"""Characters without a shape: Unicode's controls, format characters and default-ignorable ones.
Marks that enclose a number in Arabic and Syriac have a shape and stay."""
_LINES = re.compile("\r\n|[\u0085\u2028\u2029]")
_MARK = re.compile(r"(?i)(<\s*/?\s*)recalled-memory")


def visible(text: str) -> str:
    """Return text without invisible characters and with marks of a frame altered."""
    if not text.isascii():
        text = _LINES.sub("\n", text)
    return str(_MARK.sub(r"\1recalled_memory", _UNSEEN.sub("", text)))


def visible_payload(value: Any) -> Any:
    """Return a JSON value whose texts and keys are all visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return _visible_items(value)
    if isinstance(value, list | tuple):
        return [visible_payload(each) for each in value]
    return value


def _visible_items(given: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the items of a mapping with visible keys; a key that would equal an earlier one has
    its invisible characters escaped."""
    shown: dict[Any, Any] = {}
    for key, value in given.items():
        name = visible(key) if isinstance(key, str) else key
        if name in shown:
            name = visible(str(key).encode("ascii", "backslashreplace").decode())
        shown[name] = visible_payload(value)
    return shown
