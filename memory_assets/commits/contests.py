"""Decide which claims are kept if several sessions claim one commit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from memory_assets.commits.evidence import Evidence, strength


class Claimed(Protocol):
    """The facts of a claim that are compared."""

    @property
    def commit(self) -> str:
        """The commit's SHA, "" for a pull request."""

    @property
    def evidence(self) -> str:
        """The grade."""


_Row = TypeVar("_Row", bound=Claimed)


def uncontested(rows: Iterable[_Row]) -> list[_Row]:
    """Return the claims, without those by time and files on a commit that is another's by
    better evidence: who typed the lines first need not be who committed them."""
    kept = list(rows)
    best: dict[str, int] = {}
    for row in kept:
        best[row.commit] = min(best.get(row.commit, 99), strength(row.evidence))
    weakest = strength(Evidence.TIME_AND_FILES)
    return [
        row
        for row in kept
        if not row.commit or strength(row.evidence) < weakest or best[row.commit] == weakest
    ]
