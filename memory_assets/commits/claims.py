"""A claim: a commit that a session stands behind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memory_assets.commits.evidence import Evidence
from memory_assets.commits.repository import RepositoryCommit
from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis.phrases import EMPTY


@dataclass(frozen=True, slots=True)
class Claim:
    """One commit (or, `sha` "", one pull request) that the session stands behind.

    `known` is what git has of it, if git was asked and has it. NOT redacted where it comes
    from git; `subject`, `branch` and `pull_request` come from the session and are.
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
