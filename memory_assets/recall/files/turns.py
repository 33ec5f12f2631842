"""The turns that changed a file, and the sessions behind a commit made after they were
ingested, both from the tool calls of the sessions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_assets.chunking import file_matches
from memory_assets.commits import Repository, RepositoryCommit, attribute, session_work
from memory_assets.errors import GitFailed
from memory_assets.paths import on_this_machine
from memory_assets.recall.rows import iso, rows_of
from memory_assets.recall.sessions.records import whole_session
from memory_assets.recall.sessions.session import session_title
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TURN_CHUNKS
from memory_assets.tool_names import kind_of_tool

if TYPE_CHECKING:
    from memory_assets.stores.stores import Stores

_COLUMNS = ["turn_id", "turn_index", "part", "session_id", "project", "project_root", "agent"]
_COLUMNS += ["timestamp", "files", "first_seq", "last_seq"]
_MOST_SESSIONS = 6
_MOST_FILES = 12
_CLOCK = timedelta(minutes=5)


@dataclass(frozen=True)
class ChangedBy:
    """A turn that changed the file. `here` is True if its project is in the repository of the file;
    otherwise only the end of the path is equal."""

    turn_id: str
    session_id: str
    project: str
    agent: str
    timestamp: str | None
    title: str
    path: str
    here: bool


def turns_that_changed(
    memory: Stores, path: str, repository: Repository | None, most: int
) -> list[ChangedBy]:
    """Return the turns that wrote `path` (relative to the repository's root), newest first: turns
    of projects in this repository, or, if there are none, of other projects that wrote a path with
    this end."""
    lake = memory.lake
    mine = projects_in(lake, repository)
    turns = list(touching_turns(lake, mine, [path]))
    if not turns and "/" in path.strip("/"):
        turns = list(touching_turns(lake, lake.projects(TURN_CHUNKS), [path]))
    changes = [
        ChangedBy(
            **{name: row[name] for name in ("turn_id", "session_id", "project", "agent")},
            timestamp=iso(row["timestamp"]),
            title=session_title(lake, row["project"], row["session_id"]),
            path=written,
            here=row["project"] in mine,
        )
        for row in turns
        if (written := _written(lake, row, path))
    ]
    changes.sort(key=lambda one: one.timestamp or "", reverse=True)
    return changes[:most]


def touching_turns(
    lake: Lake, projects: Sequence[str], paths: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield one row for each turn of these projects that read or wrote a path which can be one of
    `paths`."""
    for project in projects:
        seen: set[str] = set()
        for row in lake.read_partition(TURN_CHUNKS, project, _COLUMNS).to_pylist():
            touches = any(file_matches(one, path) for one in row["files"] for path in paths)
            if touches and row["turn_id"] not in seen:
                seen.add(row["turn_id"])
                yield row


def projects_in(lake: Lake, repository: Repository | None) -> list[str]:
    """Return the projects whose root is in the repository on this machine."""
    if repository is None:
        return []
    inside = []
    for project in lake.projects(TURN_CHUNKS):
        sessions = lake.sessions(TURN_CHUNKS, project)[:1]
        rows = [lake.read(TURN_CHUNKS, project, one, ["project_root"]) for one in sessions]
        roots = {str(root) for table in rows for root in table["project_root"].to_pylist()}
        if any(_inside(root, repository.root) for root in roots if root):
            inside.append(project)
    return inside


def _inside(root: str, repository: Path) -> bool:
    path = on_this_machine(root)
    real = path.resolve() if os.path.exists(path) else path  # noqa: PTH110
    return real == repository or repository in real.parents


def _written(lake: Lake, row: dict[str, Any], path: str) -> str:
    """Return the path that the turn wrote, as its call has it; "" if it only read the file."""
    columns = ["kind", "tool_name", "paths", "seq", "agent_id", "cwd", "project_root"]
    for call in rows_of(lake, REDACTED_RECORDS, row["project"], row["session_id"], columns):
        if call["kind"] != "tool_use" or kind_of_tool(call["tool_name"]) != "write":
            continue
        if call["agent_id"] is None and not row["first_seq"] <= call["seq"] <= row["last_seq"]:
            continue
        for one in call["paths"]:
            if file_matches(one, path):
                return str(one)
    return ""


def attribute_new_commit(
    memory: Stores, commit: RepositoryCommit, repository: Repository, around: timedelta
) -> list[dict[str, Any]]:
    """Return the attributions of one commit, as rows of session_commits: to sessions that touched
    its files at most `around` before it was written."""
    attributions = []
    for project, session_id in _sessions(memory, commit, repository, around):
        session = whole_session(memory, project, session_id)
        if session is None:
            continue
        try:
            claims = attribute(session_work(session), repository)
        except GitFailed:
            continue
        attributions += [
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
    return attributions


def _sessions(
    memory: Stores, commit: RepositoryCommit, repository: Repository, around: timedelta
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
