"""The turns that changed a file, from the tool calls of the sessions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_assets.chunking import file_matches
from memory_assets.commits import Repository
from memory_assets.errors import NotFound
from memory_assets.paths import on_this_machine
from memory_assets.recall.timeline.items import session_title
from memory_assets.session_analysis.files import WRITING_TOOLS
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TURN_CHUNKS

if TYPE_CHECKING:
    from memory_assets.recall.memory import Memory

_COLUMNS = ["turn_id", "turn_index", "part", "session_id", "project", "project_root", "agent"]
_COLUMNS += ["timestamp", "files", "first_seq", "last_seq"]


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
    memory: Memory, path: str, repository: Repository | None, most: int
) -> list[ChangedBy]:
    """Return the turns that wrote `path` (relative to the repository's root), newest first: turns
    of projects in this repository, or, if there are none, of other projects that wrote a path with
    this end."""
    lake = memory.lake
    mine = projects_in(lake, repository)
    turns = list(touching_turns(lake, mine, [path]))
    if not turns and "/" in path.strip("/"):
        turns = list(touching_turns(lake, lake.projects(TURN_CHUNKS), [path]))
    found = []
    for row in turns:
        written = _written(lake, row, path)
        if written:
            found.append(_changed_by(lake, row, written, row["project"] in mine))
    found.sort(key=lambda one: one.timestamp or "", reverse=True)
    return found[:most]


def touching_turns(
    lake: Lake, projects: Sequence[str], paths: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield one row for each turn of these projects that read or wrote a path which can be one of
    `paths`."""
    for project in projects:
        seen: set[str] = set()
        for row in lake.read_partition(TURN_CHUNKS, project, _COLUMNS).to_pylist():
            if row["turn_id"] not in seen and _touches(row["files"], paths):
                seen.add(row["turn_id"])
                yield row


def _touches(files: Sequence[str], paths: Sequence[str]) -> bool:
    return any(file_matches(one, path) for one in files for path in paths)


def projects_in(lake: Lake, repository: Repository | None) -> list[str]:
    """Return the projects whose root is in the repository on this machine."""
    if repository is None:
        return []
    found = []
    for project in lake.projects(TURN_CHUNKS):
        sessions = lake.sessions(TURN_CHUNKS, project)[:1]
        rows = [lake.read(TURN_CHUNKS, project, one, ["project_root"]) for one in sessions]
        roots = {str(root) for table in rows for root in table["project_root"].to_pylist()}
        if any(_inside(root, repository.root) for root in roots if root):
            found.append(project)
    return found


def _inside(root: str, repository: Path) -> bool:
    path = on_this_machine(root)
    real = path.resolve() if os.path.exists(path) else path  # noqa: PTH110
    return real == repository or repository in real.parents


def _written(lake: Lake, row: dict[str, Any], path: str) -> str:
    """Return the path that the turn wrote, as its call has it; "" if it only read the file."""
    columns = ["kind", "tool_name", "paths", "seq", "agent_id", "cwd", "project_root"]
    try:
        table = lake.read(REDACTED_RECORDS, row["project"], row["session_id"], columns)
    except NotFound:
        return ""
    for call in table.to_pylist():
        name = call["tool_name"].lower().rsplit("__", 1)[-1].rsplit(".", 1)[-1]
        if call["kind"] != "tool_use" or name not in WRITING_TOOLS:
            continue
        if call["agent_id"] is None and not row["first_seq"] <= call["seq"] <= row["last_seq"]:
            continue
        for one in call["paths"]:
            if file_matches(one, path):
                return str(one)
    return ""


def _changed_by(lake: Lake, row: dict[str, Any], written: str, here: bool) -> ChangedBy:
    moment: datetime | None = row["timestamp"]
    return ChangedBy(
        turn_id=row["turn_id"],
        session_id=row["session_id"],
        project=row["project"],
        agent=row["agent"],
        timestamp=moment.isoformat() if moment is not None else None,
        title=session_title(lake, row["project"], row["session_id"]),
        path=written,
        here=here,
    )
