"""The stage of session_commits: the commits that each session made.

Git is asked if the session's repository is on disk; what it prints is redacted before it is
written. Commits may follow after the end of a session, so those of the last days are
attributed again when their repository has changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache

from memory_assets.commits import (
    ATTRIBUTION_VERSION,
    Claim,
    Repository,
    SessionWork,
    attribute,
    session_work,
)
from memory_assets.errors import GitFailed
from memory_assets.models import SessionCommit
from memory_assets.paths import on_this_machine
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.redact_composed import redact_composed
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.tables.derive import DerivedRows, DerivedTable, derive_table
from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis import SessionTurns
from memory_assets.stores.catalog.facts import ProductFacts
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import SESSION_COMMITS

_MOST_FILES = 60
_MOST_DIRECTORIES = 8
_LOOKED_AT_AGAIN = timedelta(days=14)


def attribute_project(components: Components, project: str) -> StageReport:
    """Attribute commits to the sessions whose records or rules changed, and to those of the last
    days whose repository changed; return the report."""
    _repositories_of.cache_clear()  # they may have changed since the last run
    repositories = _repositories_of(components.run_id)

    def outdated(product: Product) -> bool:
        ended, named = product.facts.get("ended"), product.facts.get("repository")
        if not ended or not named:
            return False
        age = components.clock() - datetime.fromisoformat(ended).timestamp()
        if age >= _LOOKED_AT_AGAIN.total_seconds():
            return False
        repository = repositories.at(named)
        return repository is not None and repository.state != product.facts.get("state")

    return derive_table(components, project, ATTRIBUTED, outdated=outdated)


def _commits(components: Components, source: Product) -> DerivedRows:
    session = components.sessions.session(source)
    if session is None:
        return [], {}
    named, repository = _repositories_of(components.run_id).of(session)
    work = session_work(session)
    claims = _claims(work, repository)
    rows = [_row(components, work, claim) for claim in claims]
    facts: ProductFacts = {"ended": _ended(session)}
    if repository is not None:
        facts |= {"repository": str(named), "state": repository.state}
    return rows, facts


class _Repositories:
    """Opens the repositories of a project's sessions, each once."""

    def __init__(self) -> None:
        self._at: dict[str, Repository | None] = {}

    def at(self, name: str) -> Repository | None:
        """Return the repository of a directory that a record names; None if this machine has
        none."""
        if name not in self._at:
            directory = on_this_machine(name)
            known = directory.is_absolute() and os.path.isdir(directory)  # noqa: PTH112
            self._at[name] = Repository.at(directory) if known else None
        return self._at[name]

    def of(self, session: SessionTurns) -> tuple[str, Repository | None]:
        """Return a directory and its repository: the project's root, else the session's first
        working directory in a repository; ("", None) if none is on this machine."""
        named = dict.fromkeys([session.project_root, *(one.cwd for one in session.records)])
        for name in [name for name in named if name][:_MOST_DIRECTORIES]:
            if (repository := self.at(name)) is not None:
                return name, repository
        return "", None


def _claims(work: SessionWork, repository: Repository | None) -> list[Claim]:
    try:
        return attribute(work, repository)
    except GitFailed:
        return attribute(work, None)


def _ended(session: SessionTurns) -> str:
    times = [one.timestamp for one in session.records if one.timestamp is not None]
    return max(times).isoformat() if times else ""


def _row(components: Components, work: SessionWork, claim: Claim) -> SessionCommit:
    session = work.session
    redactor = components.redactor_of(session.session_id)

    def redacted(texts: Iterable[str]) -> list[RedactedText]:
        return [redactor.redact(text, session_id=session.session_id).text for text in texts]

    known = claim.known
    subject = claim.subject
    if known is not None and not subject:
        subject = redacted([known.subject])[0]
    name = claim.sha or claim.pull_request.rpartition("/")[2]
    row = SessionCommit(
        id=f"commit::{session.session_id}::{name}",
        turn_id=claim.turn.id,
        turn_index=claim.turn.turn_index,
        project=session.project,
        project_root=session.project_root,
        agent=session.agent,
        session_id=session.session_id,
        commit=claim.sha,
        subject=subject,
        branch=claim.branch,
        evidence=str(claim.evidence),
        score=claim.score,
        verified=known is not None,
        from_commit=claim.from_commit,
        replaced_by=claim.replaced_by,
        pull_request=claim.pull_request,
        files=tuple(redacted(known.files[:_MOST_FILES])) if known is not None else (),
        timestamp=claim.timestamp,
        committed_at=known.committed_at if known is not None else None,
        attribution_version=ATTRIBUTION_VERSION,
    )
    return redact_composed(redactor, row)


@lru_cache(maxsize=1)
def _repositories_of(run_id: str) -> _Repositories:
    return _Repositories()


ATTRIBUTED = DerivedTable(SESSION_COMMITS, ATTRIBUTION_VERSION, deferrable=True, make=_commits)
