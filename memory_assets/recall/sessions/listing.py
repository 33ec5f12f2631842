"""The sessions on record, newest first: what each was about, how long it took, what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memory_assets.chunking import touched_by
from memory_assets.recall.names import listed_projects, session_named, short_id
from memory_assets.recall.pins import pins_by_session
from memory_assets.recall.rows import answering_models, asked_by_a_person, plain, rows_of
from memory_assets.recall.sessions.usage import session_usage
from memory_assets.requests.questions import SessionsRequest
from memory_assets.stores.lake.schemas import (
    REDACTED_RECORDS,
    SESSION_SUMMARIES,
    TURN_CHUNKS,
    USER_PROMPTS,
)
from memory_assets.stores.under_way.ingest import under_way

if TYPE_CHECKING:
    from memory_assets.recall.searchable import Searchable

_OF_WHOM = ("request", "by_program")
_SUMMARY_COLUMNS = [
    *("session_id", "project", "project_root", "agent", "title", "started_at", "ended_at"),
    *("duration_seconds", "turns", "prompts", "git_branch", "commits"),
    *("files_read", "files_modified", *_OF_WHOM),
]
_FIRST = datetime.min.replace(tzinfo=UTC)


def list_sessions(memory: Searchable, asked: SessionsRequest) -> dict[str, Any]:
    """Return the sessions that pass the filters, the one that ended last first, as the JSON of
    `memory sessions`: `total`, of which `sessions` has the first `asked.n`; `machine` counts those
    of programs, in which no person asked for anything, that were left out, `hidden` those that a
    person hid.

    Raises:
        ConfigurationError, UnknownName: the project is not known, or not unique.
    """
    projects = memory.projects_with_worktrees(asked.project)
    if asked.session is not None:
        project, session_id = session_named(memory, asked.session)
        of_it = [row for row in _rows(memory, [project]) if row["session_id"] == session_id]
        return _listed(memory, asked, [project], of_it, of_it, of_it)
    every = [row for row in _rows(memory, projects) if _passes(row, asked)]
    if asked.pinned:
        pinned = pins_by_session(memory)
        every = [row for row in every if row["session_id"] in pinned]
    hidden = frozenset() if asked.hidden else memory.hidden.all()
    passing = [row for row in every if (row["project"], row["session_id"]) not in hidden]
    listed = [row for row in passing if asked.machine or asked_by_a_person(row)]
    return _listed(memory, asked, projects, every, passing, listed)


def _listed(
    memory: Searchable,
    asked: SessionsRequest,
    projects: Sequence[str] | None,
    every: Sequence[Any],
    passing: Sequence[Any],
    listed: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return the JSON of a list: of `every` session those that are `passing` are not hidden, and
    those `listed` not of programs, either."""
    pinned, progress = pins_by_session(memory), under_way(memory.data_dir)
    newest = sorted(listed, key=_last_first, reverse=True)[: asked.n]
    return {
        "project": listed_projects(projects),
        "total": len(listed),
        "machine": len(passing) - len(listed),
        "hidden": len(every) - len(passing),
        "ingest": str(progress or ""),
        "sessions": [
            {**_described(memory, row), "pinned": pinned.get(row["session_id"], [])}
            for row in newest
        ],
    }


def _last_first(row: Mapping[str, Any]) -> tuple[datetime, str]:
    return row["ended_at"] or _FIRST, row["session_id"]


def newest_sessions(memory: Searchable, most: int) -> list[dict[str, Any]]:
    """Return the sessions that ended last, of those that the list has without filters: project, id,
    title and end of each. Only these are read."""
    spans = memory.catalog.products.spans()
    spans = sorted(spans, key=lambda span: (span[3] or "", span[1]), reverse=True)
    hidden, newest = memory.hidden.all(), list[dict[str, Any]]()
    for project, session_id, first, last in spans:
        if len(newest) == most:
            break
        if (project, session_id) in hidden:
            continue
        rows = rows_of(memory.lake, SESSION_SUMMARIES, project, session_id, _SUMMARY_COLUMNS)
        row = rows[0] if rows else _of_turns(memory, project, session_id, first, last)
        if asked_by_a_person(row):
            newest.append(plain(row))
    return newest


def _rows(memory: Searchable, projects: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    """Yield the summary of each session that has turns; where it has none, what its turns say."""
    summarized: dict[str, dict[str, dict[str, Any]]] = {}
    spans = (span for each in projects or (None,) for span in memory.catalog.products.spans(each))
    for of_project, session_id, first, last in spans:
        if of_project not in summarized:
            rows = memory.lake.read_partition(SESSION_SUMMARIES, of_project, _SUMMARY_COLUMNS)
            summarized[of_project] = {row["session_id"]: row for row in rows.to_pylist()}
        summary = summarized[of_project].get(session_id)
        yield summary or _of_turns(memory, of_project, session_id, first, last)


def _of_turns(
    memory: Searchable, project: str, session_id: str, first: str | None, last: str | None
) -> dict[str, Any]:
    """Return what is known of a session that nobody says enough in for a summary."""
    columns = ["turn_id", "agent", "project_root", "files", "role", "text"]
    turns = rows_of(memory.lake, TURN_CHUNKS, project, session_id, columns)
    started, ended = (datetime.fromisoformat(time) if time else None for time in (first, last))
    files = tuple(path for turn in turns for path in turn["files"])
    prompts = rows_of(memory.lake, USER_PROMPTS, project, session_id, ["turn_id"])
    return {
        "session_id": session_id,
        "project": project,
        "project_root": turns[0]["project_root"] if turns else "",
        "agent": turns[0]["agent"] if turns else "",
        "title": "",
        "started_at": started,
        "ended_at": ended,
        "duration_seconds": (ended - started).total_seconds() if started and ended else 0.0,
        "turns": len({turn["turn_id"] for turn in turns}),
        "prompts": len({each["turn_id"] for each in prompts}),
        "request": "",
        "by_program": False,
        "git_branch": "",
        "commits": (),
        "files_read": files,
        "files_modified": (),
    }


def _passes(row: Mapping[str, Any], asked: SessionsRequest) -> bool:
    if asked.agent is not None and row["agent"] != asked.agent:
        return False
    if asked.since is not None and (row["ended_at"] or _FIRST) < asked.since:
        return False
    if asked.until is not None and not (row["started_at"] and row["started_at"] < asked.until):
        return False
    if asked.file is None:
        return True
    return bool(touched_by((*row["files_modified"], *row["files_read"]), asked.file))


def _described(memory: Searchable, row: Mapping[str, Any]) -> dict[str, Any]:
    session_id = row["session_id"]
    records = rows_of(memory.lake, REDACTED_RECORDS, row["project"], session_id, ["model"])
    described = plain(row) | {
        "short_id": short_id(memory, session_id),
        "models": answering_models(each["model"] for each in records),
        "usage": session_usage(memory.lake, row["project"], session_id),
        "commits": list(row["commits"]),
        "files_modified": list(row["files_modified"]),
    }
    for name in ("files_read", *_OF_WHOM):
        del described[name]
    return described
