"""`RedactedText`: the only text the lake, the pipeline's embedder and the stores accept.

It can be obtained in four ways: from `Redactor.redact`, by reading the lake (which
holds nothing else), by `compose` from our own words and other redacted texts, or by
`cut`. A plain `str` is refused at run time by `require_redacted`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import LiteralString


class RedactedText(str):
    """Text that has passed the redactor. It cannot be built from a plain `str`."""

    __slots__ = ()

    def __new__(cls, *_: object) -> RedactedText:
        """Refuse: raises `TypeError` always."""
        raise TypeError("RedactedText comes from Redactor.redact, not from a constructor")

    def cut(self, start: int, end: int | None = None) -> RedactedText:
        """Return the characters from `start` to `end`, still redacted."""
        return seal(self[start:end])

    def __reduce__(self) -> tuple[object, ...]:
        return (seal, (str(self),))


def seal(text: str) -> RedactedText:
    """Mark `text` as redacted. Only the redactor and the lake's reader may call this
    (`test_layering.py` enforces it)."""
    return str.__new__(RedactedText, text)


def compose(template: LiteralString, *parts: RedactedText) -> RedactedText:
    """Fill the `{}`s of a template of our own words with redacted parts."""
    require_redacted(parts)
    return seal(template.format(*parts))


def join(separator: LiteralString, parts: Iterable[RedactedText]) -> RedactedText:
    """Join redacted parts with a separator of our own."""
    kept = tuple(parts)
    require_redacted(kept)
    return seal(separator.join(kept))


def require_redacted(texts: Iterable[object]) -> None:
    """Raise `TypeError` if any of `texts` has not passed the redactor.

    The error names the type, never the text.
    """
    for text in texts:
        if not isinstance(text, RedactedText):
            raise TypeError(f"expected RedactedText, got {type(text).__name__}")
