"""Extend a finding to the whole value that it is a part of: no part of a secret stays beside its
tag."""

from __future__ import annotations

import re

from memory_assets.redaction.rules.judging.likelihood import evidence

_REST = re.compile(r"[^\s\"'`<>,;(){}\[\]|\\&@]{1,400}")
"""What follows a finding up to the end of the value, unless that is the host of a URL."""
_SIGNS = re.compile(r"[!?#$%^*+=~]{1,8}(?=[\s\"'`<>,;)}\]|\\&]|$)")
_HEAD = re.compile(r"[\w.+~$%^!*\-]{1,64}(?=[\s\"'`(=:,;]|$)")
_NUMBERS = re.compile(r":[0-9/]{1,40}/[0-9]{1,20}(?=[\s\"'`=])")
"""What precedes a finding, read backwards: characters of tokens, or `7/982/892:`."""
_BITS = 12
"""Bits of evidence that the rest of a value is drawn, too."""


def whole_value(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range of the value of which `start` to `end` was found to be a secret.

    Signs at its end belong to it, and what is joined to it and looks drawn.
    """
    rest = _REST.match(text, end)
    if rest is not None:
        signs = _SIGNS.match(text, end)
        if signs is not None:
            end = signs.end()
        elif evidence(rest.group()) >= _BITS:
            end = rest.end()
    before = text[max(start - 65, 0) : start][::-1]
    head = _HEAD.match(before) or _NUMBERS.match(before)
    if head is not None and (head.group()[0] == ":" or evidence(head.group()) >= _BITS):
        start -= head.end()
    return start, end
