"""Attribute a commit that was made, or rewritten, after its sessions were ingested."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from memory_assets.chunking import build_turns
from memory_assets.commits import Repository, RepositoryCommit, attribute, session_work
from memory_assets.errors import GitFailed, NotFound
from memory_assets.recall.file_turns import projects_in, touching_turns
from memory_assets.session_analysis import SessionTurns, session_turns
from memory_assets.stores.lake.lake import rows_from_arrow
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

if TYPE_CHECKING:
    from memory_assets.recall.memory import Memory

_MOST_SESSIONS = 6
_MOST_FILES = 12
_CLOCK = timedelta(minutes=5)


def attribute_new_commit(
    memory: Memory, commit: RepositoryCommit, repository: Repository, around: timedelta
) -> list[dict[str, Any]]:
    """Return the attributions of one commit, as rows of session_commits: to sessions that touched
    its files at most `around` before it was written."""
    found = []
    for project, session_id in _sessions(memory, commit, repository, around):
        session = _session(memory, project, session_id)
        if session is None:
            continue
        try:
            claims = attribute(session_work(session), repository)
        except GitFailed:
            continue
        found += [
            {
                "commit": claim.sha,
                "project": project,
                "session_id": session_id,
                "agent": session.agent,
                "turn_id": claim.turn.id,
                "evidence": str(claim.evidence),
                "score": claim.score,
                "verified": True,
                "subject": claim.subject,
                "pull_request": claim.pull_request,
                "timestamp": claim.timestamp,
                "committed_at": commit.committed_at,
            }
            for claim in claims
            if claim.sha == commit.sha
        ]
    return found


def _sessions(
    memory: Memory, commit: RepositoryCommit, repository: Repository, around: timedelta
) -> list[tuple[str, str]]:
    """Return the sessions of this repository that touched the commit's files in time, latest
    first."""
    latest: dict[tuple[str, str], datetime] = {}
    projects = projects_in(memory.lake, repository)
    for row in touching_turns(memory.lake, projects, commit.files[:_MOST_FILES]):
        at: datetime | None = row["timestamp"]
        if at and commit.authored_at - around <= at <= commit.authored_at + _CLOCK:
            key = (row["project"], row["session_id"])
            latest[key] = max(at, latest.get(key, at))
    return sorted(latest, key=lambda key: latest[key], reverse=True)[:_MOST_SESSIONS]


def _session(memory: Memory, project: str, session_id: str) -> SessionTurns | None:
    try:
        rows = memory.lake.read(REDACTED_RECORDS, project, session_id)
    except NotFound:
        return None
    made = memory.catalog.products.of_project(REDACTED_RECORDS.name, project).get(session_id)
    copied = made.facts.get("copied_prompts", 0) if made is not None else 0
    records = rows_from_arrow(REDACTED_RECORDS, rows)
    return session_turns(records, build_turns(records, first_index=copied)) if records else None
