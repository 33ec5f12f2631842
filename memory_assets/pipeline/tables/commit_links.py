"""Links between sessions and commits that a human sets and removes; no ingest rewrites them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from memory_assets.commits import Evidence, Repository, RepositoryCommit
from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.models import CommitLink
from memory_assets.paths import on_this_machine
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.redact_composed import redact_composed
from memory_assets.session_analysis.phrases import EMPTY
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.lake.rows import rows_from_arrow
from memory_assets.stores.lake.schemas import COMMIT_LINKS

_SHA = re.compile(r"[0-9a-f]{7,40}")


def link_commit(
    components: Components, session_id: str, commit: str, directory: Path, *, force: bool = False
) -> CommitLink:
    """Link a commit to a session because a human says so, and return the link.

    `commit` is a revision of the repository that `directory` is in, or of the session's own. With
    `force`, it may be a SHA that neither has, which the evidence then says.

    Raises:
        NotFound: the session is not in memory, or no repository has the commit.
        ConfigurationError: `commit` can mean several.
    """
    project = _project(components.catalog, session_id)
    repositories = _repositories(components.catalog, project, session_id, directory)
    known = _known_commit(commit, repositories)
    if known is not None:
        redacted = components.redactor_of(session_id).redact(known.subject, session_id=session_id)
        sha, subject, evidence = known.sha, redacted.text, Evidence.BY_HAND
    elif force and _SHA.fullmatch(commit):
        sha, subject, evidence = commit, EMPTY, Evidence.BY_HAND_UNCHECKED
    else:
        raise NotFound(_not_there(commit, repositories))
    link_id = f"link::{session_id}::{sha}"
    link = CommitLink(link_id, project, session_id, sha, datetime.now(UTC), subject, evidence)
    with components.project_lock(project):
        before = links_of(components, project, session_id)
        kept = [one for one in before if not sha.startswith(one.commit)]
        components.lake.write(COMMIT_LINKS, project, session_id, [*kept, link])
    return link


def redact_links(components: Components, project: str, session_id: str) -> None:
    """Take texts that were cut out of a session's links."""
    redactor = components.redactor_of(session_id)
    with components.project_lock(project):
        links = links_of(components, project, session_id)
        redacted = [redact_composed(redactor, link) for link in links]
        components.lake.write(COMMIT_LINKS, project, session_id, redacted)


def unlink_commit(
    components: Components, session_id: str, commit: str, directory: Path
) -> CommitLink:
    """Remove the link between a session and a commit, and return it. `commit` is the link's SHA or
    its beginning, or a revision as `link_commit` takes it.

    Raises:
        NotFound: the session is not in memory, or is not linked to the commit.
        ConfigurationError: `commit` can mean several.
    """
    project = _project(components.catalog, session_id)
    with components.project_lock(project):
        links = links_of(components, project, session_id)
        fitting = [one for one in links if _SHA.fullmatch(commit) and one.commit.startswith(commit)]
        if not fitting:
            known = _known_commit(
                commit, _repositories(components.catalog, project, session_id, directory)
            )
            fitting = [one for one in links if known is not None and one.commit == known.sha]
        if len(fitting) > 1:
            raise ConfigurationError(f"{commit!r} can mean {len(fitting)} links; give more digits")
        if not fitting:
            listed = ", ".join(one.commit[:12] for one in links) or "none"
            raise NotFound(f"{session_id} is not linked to {commit!r}; its links: {listed}")
        if kept := [one for one in links if one not in fitting]:
            components.lake.write(COMMIT_LINKS, project, session_id, kept)
        else:
            components.lake.delete(COMMIT_LINKS, project, session_id)
    return fitting[0]


def links_of(components: Components, project: str, session_id: str) -> list[CommitLink]:
    """Return the links that a human set for a session; those of earlier versions have no subject
    and were not all checked."""
    try:
        arrow = components.lake.read(COMMIT_LINKS, project, session_id)
    except NotFound:
        return []
    for name, value in (("subject", ""), ("evidence", str(Evidence.BY_HAND))):
        if name not in arrow.column_names:
            arrow = arrow.append_column(name, pa.array([value] * len(arrow), type=pa.string()))
    return rows_from_arrow(COMMIT_LINKS, arrow)


def _project(catalog: Catalog, session_id: str) -> str:
    project = catalog.products.project_of(session_id)
    if project is None:
        raise NotFound(f"no session {session_id} in memory; `memory sessions` lists them")
    return project


def _repositories(
    catalog: Catalog, project: str, session_id: str, directory: Path
) -> list[Repository]:
    """Return the repository of a directory, and that of the session's project, where they are on
    this machine."""
    rows = catalog.sources.rows(project)
    roots = {row.facts.get("project_root") for row in rows if row.session_id == session_id}
    own = [on_this_machine(root) for root in sorted(filter(None, roots))]
    candidates = (Repository.at(path) for path in (directory, *own) if path.is_absolute())
    return list({one.root: one for one in candidates if one is not None}.values())


def _known_commit(commit: str, repositories: Sequence[Repository]) -> RepositoryCommit | None:
    """Return the commit from the first repository that has it."""
    for repository in repositories:
        shas = repository.resolve(commit)
        if len(shas) > 1:
            raise ConfigurationError(f"{commit!r} can mean {len(shas)} commits; give more digits")
        if shas:
            return repository.commit(shas[0])
    return None


def _not_there(commit: str, repositories: Sequence[Repository]) -> str:
    where = " or ".join(str(one.root) for one in repositories)
    said = f"no commit {commit!r} in {where}" if where else "no git repository here to look in"
    if not _SHA.fullmatch(commit):
        return said
    return f"{said}; `memory link --force` links a commit that is not on this machine"
