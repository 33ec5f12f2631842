"""A claim: a commit or pull request of a session, with evidence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memory_assets.commits.evidence import Evidence
from memory_assets.commits.repository import RepositoryCommit
from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis.phrases import EMPTY


@dataclass(frozen=True, slots=True)
class Claim:
    """One commit of the session or, if `sha` is "", one pull request.

    `known` is git's own commit, if git was asked and has it, and is NOT redacted; `subject`,
    `branch` and `pull_request` come from the session and are redacted.
    """

    turn: int
    turn_id: str
    sha: str
    evidence: Evidence
    score: float
    timestamp: datetime | None
    subject: RedactedText = EMPTY
    branch: RedactedText = EMPTY
    pull_request: RedactedText = EMPTY
    from_commit: str = ""
    known: RepositoryCommit | None = None
