"""Find the sentences in which a user asks to remember something ("from now on")."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MOST_CHARACTERS = 1_500
"""Characters of a message; longer ones are mostly pasted."""
_FEWEST_WORDS = 4
_MOST_WORDS = 40
_OPENING = r"^(?:(?:please|also|and|but|so|ok(?:ay)?|btw|oh),? )*"
_FROM_NOW = r"(?:from now on|going forward|in (?:the )?future),? (?:please,? )?"
_TELLS = (
    r"(?!(?:mind|worry|bother|happy|glad|an?|the|in|on|i|is|are|was|were|had?|has|have|got|gets?|been"
    r"|seen|saw|happens|works|fails|returns|there|\w+ing|\w+ed)\b)"
)
"""Before a word that is no verb in the imperative, but tells how something is or was."""
_SAID = tuple(
    (kind, confidence, re.compile(_OPENING + pattern, re.IGNORECASE))
    for kind, confidence, pattern in (
        ("fact", 0.95, r"(?:remember|keep in mind|note for (?:the )?future)(?::| that) "),
        ("preference", 0.9, rf"(?:{_FROM_NOW}|(?:make|be) sure to )?(?:always|never) {_TELLS}\w+ "),
        (
            "preference",
            0.9,
            rf"(?:{_FROM_NOW}|(?:as a (?:general )?rule|by default), ){_TELLS}\w+ ",
        ),
        ("preference", 0.9, rf"(?:don't|do not) ever {_TELLS}\w+ "),
        ("preference", 0.9, r"i (?:never|always|don't ever|do not ever) want "),
        ("preference", 0.9, r"i want (?:you|us) to (?:always|never) (?!have\b)"),
        ("preference", 0.9, r"i (?:always |strongly |generally |usually |much )?prefer (?!not\b)"),
        ("decision", 0.85, r"we(?:'ve| have)? (?:decided|agreed) (?:to|on|that|against) "),
        (
            "project",
            0.85,
            r"(?:in this (?:project|repo),? )?we use \S+(?: \S+)? (?:for|as|to|with) ",
        ),
        ("project", 0.85, r"[\w/ .-]{3,60} (?:must|should) (?:always|never) (?!have\b)"),
    )
)
_LEANS = re.compile(
    r"\b(?:this|these|those|it|its|they|them|he|she|here|there|above|below|now|today|tomorrow|"
    r"yesterday|again|still|just|another|same|earlier|so far|that one|for now|currently|"
    r"maybe|perhaps|might|could|would|not sure|i think|i guess)\b|^\W*(?:if|when|why|how)\b"
    r"|\b(?:to|for|of|about|with|like|do|is|was|see|and) that\b",
    re.IGNORECASE,
)
"""Words of a sentence that holds for the moment only: it refers to another one, or is unsure."""
_LASTS = re.compile(r"\bin this (?:project|repo)\b|\bfrom now on\b", re.IGNORECASE)
"""Phrases with "this" or "now" that hold for longer; `_LEANS` does not see them."""


@dataclass(frozen=True)
class Promotable:
    """The type of a sentence as a memory, and the confidence, 0 to 1."""

    type: str
    confidence: float


def is_typed(message: str) -> bool:
    """Return True if a message is short enough to have been typed rather than pasted."""
    return len(message) <= _MOST_CHARACTERS


def promotable(sentence: str) -> Promotable | None:
    """Return the type and confidence of a sentence as a memory; None if it does not state something
    that lasts, or cannot be understood by itself."""
    trimmed = sentence.strip()
    if trimmed.endswith("?") or not _FEWEST_WORDS <= len(trimmed.split()) <= _MOST_WORDS:
        return None
    plain = trimmed.replace("’", "'")
    if _LEANS.search(_LASTS.sub("", plain)):
        return None
    for kind, confidence, pattern in _SAID:
        if pattern.search(plain):
            return Promotable(kind, confidence)
    return None
