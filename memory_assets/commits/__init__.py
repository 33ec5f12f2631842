"""The commits and pull requests of a session, with evidence.

Belongs here: commits and pull requests in the session's records (`session_work`), the
repository if it is on disk (`Repository`, read only), and the claims that follow from both
(`attribute`). Does not: reading transcripts, redacting, storing, or answering questions.
Nothing is claimed without proof. docs/commits.md has the grades of evidence and their
measured errors.
"""

from memory_assets.commits.attribution import (
    ATTRIBUTION_VERSION,
    SCORES,
    Claim,
    Evidence,
    attribute,
    without_contested_guesses,
)
from memory_assets.commits.repository import Repository, RepositoryCommit
from memory_assets.commits.work import SessionWork, session_work

__all__ = [
    "ATTRIBUTION_VERSION",
    "SCORES",
    "Claim",
    "Evidence",
    "Repository",
    "RepositoryCommit",
    "SessionWork",
    "attribute",
    "session_work",
    "without_contested_guesses",
]
