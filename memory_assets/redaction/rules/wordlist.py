"""Word lists written as text, so that a list of a hundred words stays readable."""

from __future__ import annotations


def words(listing: str) -> tuple[str, ...]:
    """Return the words of `listing`, in order."""
    return tuple(listing.split())


def word_set(listing: str) -> frozenset[str]:
    """Return the words of `listing` as a set."""
    return frozenset(listing.split())
