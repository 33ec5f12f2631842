"""Claims on commits, with evidence: its grades, strongest first, and how far each can be
trusted; which claim is kept if several sessions claim one commit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeVar

from memory_assets.commits.repository import RepositoryCommit
from memory_assets.models import Turn
from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis.phrases import EMPTY

ATTRIBUTION_VERSION = "commits-8"
"""Changes whenever the same session and repository would give other claims."""


class Evidence(StrEnum):
    """Why a commit is claimed for a session."""

    BY_HAND = "by-hand"
    """A human said so: `memory link`."""
    BY_HAND_UNCHECKED = "by-hand-unchecked"
    """A human said so of a commit that git does not have: `memory link --force`."""
    TRAILER = "trailer"
    """The commit's message names the session."""
    PRINTED = "printed"
    """Git printed the SHA in answer to the session's own `git commit`."""
    SAME_CHANGE = "same-change"
    """It repeats a commit of the session (rebase, amend, squash, cherry-pick): the same patch
    id, or the same author time and subject."""
    PULL_REQUEST = "pull-request"
    """It merges a pull request that the session opened or merged."""
    TIME_AND_FILES = "time-and-files"
    """Most of the lines it adds were written by the session before, into the same files."""


SCORES = {
    Evidence.BY_HAND: 1.0,
    Evidence.BY_HAND_UNCHECKED: 0.9,
    Evidence.TRAILER: 0.99,
    Evidence.PRINTED: 0.95,
    Evidence.SAME_CHANGE: 0.9,
    Evidence.PULL_REQUEST: 0.8,
    Evidence.TIME_AND_FILES: 0.6,
}
"""Scores where nothing more is known. A printed SHA that git confirms has `CONFIRMED`; lines
and files rise with the share of lines found, to `MOST_BY_LINES`."""
IN_WORDS = {
    Evidence.BY_HAND: "linked by hand",
    Evidence.BY_HAND_UNCHECKED: "linked by hand, unknown to git",
    Evidence.TRAILER: "its message names the session",
    Evidence.PRINTED: "committed in the session",
    Evidence.SAME_CHANGE: "repeats a commit of the session",
    Evidence.PULL_REQUEST: "of a pull request of the session",
    Evidence.TIME_AND_FILES: "its lines were written in the session",
}
"""The evidence as a person is told it, who does not know the grades of docs/commits.md."""
SURE = 0.9
"""From this score on a commit is a session's without a word of doubt (docs/commits.md)."""
CONFIRMED = 0.98
OPENED_HERE = 0.95
"""Score of a pull request itself (not of the commit that merged it) that the session opened."""
MOST_BY_LINES = 0.85
CLOCK = timedelta(seconds=3)
"""How far the clocks of git (whole seconds) and of the transcript may be apart."""


def strength(evidence: str) -> int:
    """Return the rank of a grade, 0 the strongest."""
    return list(Evidence).index(Evidence(evidence))


@dataclass(frozen=True, slots=True)
class Claim:
    """One commit of the session or, if `sha` is "", one pull request.

    `known` is git's own commit, if git was asked and has it, and is NOT redacted; `subject`,
    `branch` and `pull_request` come from the session and are redacted.
    """

    turn: Turn
    sha: str
    evidence: Evidence
    score: float
    timestamp: datetime | None
    subject: RedactedText = EMPTY
    branch: RedactedText = EMPTY
    pull_request: RedactedText = EMPTY
    from_commit: str = ""
    replaced_by: str = ""
    known: RepositoryCommit | None = None


_Row = TypeVar("_Row")


def uncontested(claims: Iterable[tuple[str, str, _Row]]) -> list[_Row]:
    """Return the rows of claims, given with commit ("" for a pull request) and evidence, without
    those by time and files on a commit that is another's by better evidence: who typed the lines
    first need not be who committed them."""
    ranked = [(commit, strength(evidence), row) for commit, evidence, row in claims]
    weakest = strength(Evidence.TIME_AND_FILES)
    proven = {commit for commit, rank, _ in ranked if rank < weakest} - {""}
    return [row for commit, rank, row in ranked if rank < weakest or commit not in proven]
