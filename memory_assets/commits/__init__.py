"""Which commits a session stands behind, and by what evidence.

Belongs here: what a session itself says of commits and pull requests (`session_work`), what
git knows of them where the repository is on disk (`Repository`, read only), and the claims
that follow from both (`attribute`). Does not: reading transcripts, redacting, storing, or
answering questions. What isn't proven is not claimed. docs/commits.md gives the grades of
evidence and how often they err.
"""

from memory_assets.commits.attribution import attribute
from memory_assets.commits.claims import Claim
from memory_assets.commits.contests import uncontested
from memory_assets.commits.evidence import ATTRIBUTION_VERSION, Evidence
from memory_assets.commits.repository import Repository, RepositoryCommit
from memory_assets.commits.work import SessionWork, session_work

__all__ = [
    "ATTRIBUTION_VERSION",
    "Claim",
    "Evidence",
    "Repository",
    "RepositoryCommit",
    "SessionWork",
    "attribute",
    "session_work",
    "uncontested",
]
