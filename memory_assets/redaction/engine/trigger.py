"""One pattern that Hyperscan searches for, and how to read its reports."""

from __future__ import annotations

from typing import NamedTuple

ASSIGNED, ANCHORED, COOKIE, ASKING = "assigned", "anchored", "cookie", "asking"
ALSO_WORD, VENDOR = "also-word", "vendor"


class Trigger(NamedTuple):
    """One pattern. `rule` is the anchored rule's number, `back` the number of bytes from the
    reported end back to the candidate position, `slack` how much later that position may be."""

    source: bytes
    kind: str = ""
    back: int = 0
    slack: int = 0
    rule: int = 0
    once: bool = False
    """True if only its first match in a text is needed."""
    is_token: bool = False
    """True if a report counts only if `may_be_token` is true."""
