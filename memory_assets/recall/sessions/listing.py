"""The list of sessions, newest first: title, length, files and commits of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memory_assets.chunking import touched_by
from memory_assets.recall.names import listed_projects, resolve_session, short_id
from memory_assets.recall.pins import pin_key, pins_by_session
from memory_assets.recall.rows import (
    UNTIMED,
    answering_models,
    goes_on_within,
    rows_of,
    with_iso_times,
)
from memory_assets.recall.sessions.usage import session_usage
from memory_assets.requests.questions import SessionsRequest
from memory_assets.stores.catalog.session_counts import (
    SessionCounts,
    counted_sessions,
    sessions_of_persons,
)
from memory_assets.stores.lake.schemas import (
    REDACTED_RECORDS,
    SESSION_SUMMARIES,
    TURN_CHUNKS,
    USER_PROMPTS,
)
from memory_assets.stores.under_way import ingest_under_way

if TYPE_CHECKING:
    from memory_assets.recall.searchable import Searchable

_SUMMARY_COLUMNS = [
    *("session_id", "project", "project_root", "agent", "title", "started_at", "ended_at"),
    *("duration_seconds", "turns", "prompts", "git_branch", "commits"),
    *("files_read", "files_modified"),
]
_Span = tuple[str, str, datetime | None, datetime | None]
"""Project, id, beginning and end of a session."""


def list_sessions(memory: Searchable, request: SessionsRequest) -> dict[str, Any]:
    """Return the sessions that pass the filters, the one that ended last first, as the JSON of
    `memory sessions`: `total`, of which `sessions` has the first `request.n`; the numbers of those
    left out because a program started them (`machine`) or a person hid them (`hidden`); and
    `in_memory`, the counts of all sessions of the memory or of the requested projects.

    Raises:
        ConfigurationError, UnknownName: the project is not known, or not unique.
    """
    projects = memory.projects_with_worktrees(request.project)
    if request.session is not None:
        project, session_id = resolve_session(memory, request.session)
        projects = [project]
        request = replace(request, session=session_id, machine=True, hidden=True)
    pinned = pins_by_session(memory)
    sessions = counted_sessions(memory.catalog, projects)
    agents = {(session.project, session.session_id): session.agent for session in sessions}
    rows = _rows(memory, projects, agents, with_files=request.file is not None)
    matching = [row for row in rows if _matches(row, request)]
    matching = [row for row in matching if not request.pinned or _pin_key(row) in pinned]
    hidden = frozenset() if request.hidden else memory.hidden.all()
    passing = [row for row in matching if (row["project"], row["session_id"]) not in hidden]
    of_persons = {
        (session.project, session.session_id) for session in sessions if session.whose == "persons"
    }
    listed = passing
    if not request.machine:
        listed = [row for row in passing if (row["project"], row["session_id"]) in of_persons]
    of_programs = len(passing) - len(listed)
    listed.sort(key=lambda row: (row["ended_at"] or UNTIMED, row["session_id"]), reverse=True)
    return {
        "project": listed_projects(projects),
        "total": len(listed),
        "machine": of_programs,
        "hidden": len(matching) - len(passing),
        "in_memory": asdict(SessionCounts.of(sessions)),
        "ingest": str(ingest_under_way(memory.data_dir) or ""),
        "sessions": [
            {**_session_as_json(memory, row), "pinned": pinned.get(_pin_key(row), [])}
            for row in listed[: request.n]
        ],
    }


def _pin_key(row: Mapping[str, Any]) -> tuple[str, str]:
    return pin_key(row["project"], row["session_id"])


def newest_sessions(memory: Searchable, most: int) -> tuple[list[dict[str, Any]], int]:
    """Return the sessions that ended last of those that the list has without filters (project, id,
    title and end of each), and how many it has. Only these are read, and again when the catalogue
    has changed: pages ask every ten seconds."""
    from memory_assets.recall.search.search import state_of

    state = (most, memory.hidden.all(), state_of(memory.catalog))
    known: tuple[object, tuple[list[dict[str, Any]], int]] | None
    known = memory.opened.get("newest_sessions")
    if known is None or known[0] != state:
        known = memory.opened["newest_sessions"] = state, _read_newest(memory, most)
    return known[1]


def _read_newest(memory: Searchable, most: int) -> tuple[list[dict[str, Any]], int]:
    spans = memory.catalog.products.spans()
    spans = sorted(spans, key=lambda span: (span[3] or "", span[1]), reverse=True)
    of_persons = sessions_of_persons(memory.catalog) - memory.hidden.all()
    listed = [span for span in spans if span[:2] in of_persons]
    newest = [(*span[:2], _parse_moment(span[2]), _parse_moment(span[3])) for span in listed[:most]]
    return [with_iso_times(_summary_row(memory, span)) for span in newest], len(listed)


def _rows(
    memory: Searchable,
    projects: Sequence[str] | None,
    agents: Mapping[tuple[str, str], str],
    *,
    with_files: bool,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each session that has turns, with the columns that filters need: project, id,
    agent, beginning and end, and `with_files` the files that it touched."""
    summarized: dict[str, dict[str, dict[str, Any]]] = {}
    columns = ["session_id", "project", "agent", "started_at", "ended_at"]
    columns += ["files_read", "files_modified"] if with_files else []
    spans = (
        span for project in projects or (None,) for span in memory.catalog.products.spans(project)
    )
    for project, session_id, first, last in spans:
        if project not in summarized:
            rows = memory.lake.unordered(SESSION_SUMMARIES, project, columns)
            summarized[project] = {row["session_id"]: row for row in rows}
        times = _parse_moment(first), _parse_moment(last)
        if (summary := summarized[project].get(session_id)) is not None:
            yield summary
        elif with_files:
            yield _row_from_turns(memory, (project, session_id, *times))
        else:
            agent = agents.get((project, session_id), "")
            yield dict(zip(columns, (session_id, project, agent, *times), strict=True))


def _parse_moment(time: str | None) -> datetime | None:
    return datetime.fromisoformat(time) if time else None


def _summary_row(memory: Searchable, span: _Span) -> dict[str, Any]:
    """Return the summary row of a session, made from its turns if it has no summary."""
    rows = rows_of(memory.lake, SESSION_SUMMARIES, *span[:2], _SUMMARY_COLUMNS)
    return rows[0] if rows else _row_from_turns(memory, span)


def _row_from_turns(memory: Searchable, span: _Span) -> dict[str, Any]:
    """Return the summary row of a session that has no summary, from its turns."""
    project, session_id, started, ended = span
    columns = ["turn_id", "agent", "project_root", "files", "role", "text"]
    turns = rows_of(memory.lake, TURN_CHUNKS, project, session_id, columns)
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
        "prompts": len({prompt["turn_id"] for prompt in prompts}),
        "git_branch": "",
        "commits": (),
        "files_read": files,
        "files_modified": (),
    }


def _matches(row: Mapping[str, Any], request: SessionsRequest) -> bool:
    if request.session not in (None, row["session_id"]):
        return False
    if request.agent is not None and row["agent"] != request.agent:
        return False
    if not goes_on_within(row, request.since, request.until):
        return False
    if request.file is None:
        return True
    return bool(touched_by((*row["files_modified"], *row["files_read"]), request.file))


def _session_as_json(memory: Searchable, listed: Mapping[str, Any]) -> dict[str, Any]:
    session_id = listed["session_id"]
    times = listed["started_at"], listed["ended_at"]
    row = _summary_row(memory, (listed["project"], session_id, *times))
    records = rows_of(memory.lake, REDACTED_RECORDS, row["project"], session_id, ["model"])
    described = with_iso_times(row) | {
        "short_id": short_id(memory, session_id),
        "models": answering_models(record["model"] for record in records),
        "usage": session_usage(memory.lake, row["project"], session_id),
        "commits": list(row["commits"]),
        "files_modified": list(row["files_modified"]),
    }
    del described["files_read"]
    return described
