"""Word lists written as text, so that a list of a hundred words stays readable."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable


def words(listing: str) -> tuple[str, ...]:
    """Return the words of `listing`, in order."""
    return tuple(listing.split())


def word_set(listing: str) -> frozenset[str]:
    """Return the words of `listing` as a set."""
    return frozenset(listing.split())


def any_of(listed: Iterable[str]) -> str:
    """Return a pattern that matches the first of the listed words that fits. They are grouped by
    first letter, so that few are tried at each position."""
    rests: dict[str, list[str]] = defaultdict(list)
    for word in listed:
        rests[word[0]].append(re.escape(word[1:]))
    return "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in rests.items())
