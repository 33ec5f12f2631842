"""`RedactedText`: the only text that the lake, the pipeline's embedder and the stores accept.

There are four ways to obtain it: `Redactor.redact`, reading a store of redacted text,
`compose` from literal templates and other redacted texts, and the methods that take parts of one.
`require_redacted` refuses a plain `str` at run time.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import LiteralString

FRAME_OPENING = "<recalled-memory v1"
FRAME_CLOSING = "</recalled-memory"
"""How the marks around recalled text begin; in each answer a number follows, the same in both
(none in answers of version 0.1)."""


class RedactedText(str):
    """Text that was redacted. It cannot be built from a plain `str`."""

    __slots__ = ()

    def __new__(cls, *_: object) -> RedactedText:
        """Refuse: raises `TypeError` always."""
        raise TypeError("RedactedText comes from Redactor.redact, not from a constructor")

    def cut(self, start: int, end: int | None = None) -> RedactedText:
        """Return the characters from `start` to `end`, still redacted."""
        return seal(self[start:end])

    def lines(self) -> list[RedactedText]:
        """Return what stands between line feeds."""
        return [seal(line) for line in self.split("\n")]

    def trimmed(self) -> RedactedText:
        """Return the text without white space at its ends."""
        return seal(self.strip())

    def squeezed(self) -> RedactedText:
        """Return the text with every run of white space as one blank, none at the ends."""
        return seal(" ".join(self.split()))

    def sub(self, pattern: re.Pattern[str], template: LiteralString) -> RedactedText:
        """Return the text with each match replaced by a literal template, which may name the
        match's groups, as `re.sub` does it."""
        return seal(pattern.sub(template, self))

    def __reduce__(self) -> tuple[object, ...]:
        return (seal, (str(self),))


def seal(text: str) -> RedactedText:
    """Mark `text` as redacted. Only `redaction/`, this module and what reads a store may call this
    (`test_layering.py` enforces it)."""
    return str.__new__(RedactedText, text)


def compose(template: LiteralString, *parts: RedactedText) -> RedactedText:
    """Fill the `{}`s of a literal template with redacted parts."""
    require_redacted(parts)
    return seal(template.format(*parts))


def join(separator: LiteralString, parts: Iterable[RedactedText]) -> RedactedText:
    """Join redacted parts with a literal separator."""
    kept = tuple(parts)
    require_redacted(kept)
    return seal(separator.join(kept))


def require_redacted(texts: Iterable[object]) -> None:
    """Raise `TypeError` if any of `texts` has not been redacted.

    The error names the type, never the text.
    """
    for text in texts:
        if not isinstance(text, RedactedText):
            raise TypeError(f"expected RedactedText, got {type(text).__name__}")


def content_hash(text: str, context: str = "", embedded: int | None = None) -> str:
    """Return the sha256 in hex of a text, of the context that it is embedded with, and of how many
    of its characters are embedded if that is not all: what is equal shares one vector."""
    hashed = f"{context}\0{text}" if context else text
    if embedded is not None and embedded < len(text):
        hashed = f"{embedded}\0{hashed}"
    return hashlib.sha256(hashed.encode("utf-8", "surrogatepass")).hexdigest()
