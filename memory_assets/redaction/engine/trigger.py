"""One pattern that Hyperscan looks for, and what its report says."""

from __future__ import annotations

from typing import NamedTuple

ASSIGNED, ANCHORED, COOKIE, ASKING = "assigned", "anchored", "cookie", "asking"
ALSO_WORD, VENDOR = "also-word", "vendor"


class Trigger(NamedTuple):
    """One pattern. `rule` is the anchored rule's number, `back` how many bytes before the
    reported end its place begins, `slack` how many later at most."""

    source: bytes
    kind: str = ""
    back: int = 0
    slack: int = 0
    rule: int = 0
    once: bool = False
    """Whether its first match in a text says all."""
    is_token: bool = False
    """Whether it counts only where `may_be_token` says so."""
