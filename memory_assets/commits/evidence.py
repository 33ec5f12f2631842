"""The grades of evidence, strongest first, and how far each can be trusted."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

ATTRIBUTION_VERSION = "commits-1"
"""Changes whenever the same session and repository would give other claims."""


class Evidence(StrEnum):
    """Why a commit is claimed for a session."""

    BY_HAND = "by-hand"
    """A human said so: `memory link`."""
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


GRADES = tuple(Evidence)
SCORES = {
    Evidence.BY_HAND: 1.0,
    Evidence.TRAILER: 0.99,
    Evidence.PRINTED: 0.95,
    Evidence.SAME_CHANGE: 0.9,
    Evidence.PULL_REQUEST: 0.8,
    Evidence.TIME_AND_FILES: 0.6,
}
"""Scores where nothing more is known. A printed SHA that git confirms has `CONFIRMED`; lines
and files rise with the share of lines found, to `MOST_BY_LINES`."""
CONFIRMED = 0.98
OPENED_HERE = 0.95
"""Score of a pull request itself (not of the commit that merged it) that the session opened."""
MOST_BY_LINES = 0.85
CLOCK = timedelta(seconds=3)
"""How far the clocks of git (whole seconds) and of the transcript may be apart."""


def strength(evidence: str) -> int:
    """Return the rank of a grade, 0 the strongest."""
    return GRADES.index(Evidence(evidence))
