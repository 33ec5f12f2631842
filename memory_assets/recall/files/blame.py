"""`blame`: the sessions and turns behind a commit, a file or a line.

Git names the commits of a file or a line. The sessions of a commit are those that `session_commits`
attributes it to, and those that a user linked. If there are none, the sessions that changed the
commit's files around its time are attributed again, against the present repository. If no session
is proven for any commit of a file, the turns that changed the file are listed instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_assets.chunking import file_matches
from memory_assets.commits import (
    SCORES,
    Evidence,
    Repository,
    RepositoryCommit,
    attribute,
    session_work,
    without_contested_guesses,
)
from memory_assets.commits.attribution import IN_WORDS, SURE
from memory_assets.errors import ConfigurationError, GitFailed, NotFound
from memory_assets.paths import on_this_machine
from memory_assets.recall.files.names import is_absolute, only_file, touched_files
from memory_assets.recall.rows import iso_time, rows_of
from memory_assets.recall.sessions.records import whole_session
from memory_assets.recall.sessions.session import session_title
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import (
    COMMIT_LINKS,
    REDACTED_RECORDS,
    SESSION_COMMITS,
    TURN_CHUNKS,
)
from memory_assets.tool_names import kind_of_tool

if TYPE_CHECKING:
    from memory_assets.stores.stores import Stores

_SHA = re.compile(r"[0-9a-f]{4,40}")
_LINE = re.compile(r"(?P<path>.+):(?P<line>[1-9]\d{0,8})")
_FEWEST_DIGITS = 7
_MOST_COMMITS = 40
_MOST_LIVE = 12
_MOST_TURNS = 20
_BEFORE = timedelta(days=14)
UNPROVEN = "commits without a proven session"
_UNCOMMITTED = "this line is not committed yet"
_LINKED = {
    **dict.fromkeys(("turn_id", "committed_at")),
    **dict.fromkeys(("agent", "subject", "pull_request"), ""),
    "evidence": str(Evidence.BY_HAND),
}
"""Columns of session_commits that a link set by a user may lack, with their defaults."""


def blame(memory: Stores, target: str, directory: Path) -> dict[str, Any]:
    """Return the sessions behind `target`: `PATH`, `PATH:LINE`, or a commit (a SHA of at least
    seven digits, or any revision of the repository that contains `directory`). A path that does
    not exist may be the end of one, or a file's name alone.

    The answer is its JSON (docs/contracts.md): `kind` is "commit", "file" or "line"; `commits` have
    the lines of the file that each was the last to change, and its sessions with the evidence and
    its score, those with the highest score first; `turns` are those that changed the file, newest
    first, if none of its commits has a session; `notes` say what is not known, and why.

    Raises:
        ConfigurationError: it is empty, a SHA that is too short or means several commits, or the
            name of several files.
        NotFound: it is neither a file nor a commit that git or the memory knows.
    """
    target = target.strip()
    if not target:
        raise ConfigurationError("give a file, FILE:LINE or a commit to blame")
    path, line = _path_and_line(target, directory)
    if _exists(path):
        return _blame_file(memory, target, path, line)
    repository = Repository.at(directory)
    if line is None:
        commit = _resolve_commit(memory.lake, target, repository)
        if commit is not None:
            (blamed,) = _commits_with_sessions(memory, {commit: []}, repository)
            unproven = ["no session is proven to stand behind this commit"]
            notes = [] if blamed["sessions"] else unproven
            return _blame_as_json(target, "commit", repository, [blamed], [], notes)
        if _SHA.fullmatch(target):
            raise NotFound(f"no commit {target} in memory or in the repository of this directory")
    inside = target if line is None else target.rpartition(":")[0]
    full = None if is_absolute(inside) else _full_path(memory.lake, inside, repository)
    if full is not None:
        target, path = full if line is None else f"{full}:{line}", _on_disk(full, directory)
        if repository is not None and not _exists(path):
            path = repository.root / full
    return _blame_file(memory, target, path, line)


def proof_in_words(session: Mapping[str, Any]) -> str:
    """Return why a commit is claimed for a session, with a doubt where there is one."""
    sure = "" if session["score"] >= SURE else "probably: "
    return f"{sure}{IN_WORDS.get(session['evidence'], session['evidence'])}"


def _full_path(lake: Lake, name: str, repository: Repository | None) -> str | None:
    """Return the path of the file of this name: in the repository of the current directory, or else
    in memory. None if neither has one.

    Raises:
        ConfigurationError: several files are called so; lists them.
    """
    if repository is not None and (
        full := only_file(name, {path: path for path in repository.files()})
    ):
        return full
    projects = projects_in(lake, repository) or lake.projects(TURN_CHUNKS)
    return only_file(name, touched_files(lake, projects, name))


def _path_and_line(target: str, directory: Path) -> tuple[Path, int | None]:
    whole = _on_disk(target, directory)
    match = _LINE.fullmatch(target)
    if _exists(whole) or match is None:
        return whole, None
    return _on_disk(match["path"], directory), int(match["line"])


def _on_disk(named: str, directory: Path) -> Path:
    """Return the path that is named; where there is none, the one with slashes for a Windows
    path's backslashes."""
    path = directory / on_this_machine(named)
    return path if _exists(path) else directory / on_this_machine(named.replace("\\", "/"))


def _exists(path: Path) -> bool:
    """Return whether a file is there; none is whose name is too long."""
    return os.path.exists(path)  # noqa: PTH110 - which `Path.exists` raises


def _resolve_commit(lake: Lake, target: str, repository: Repository | None) -> str | None:
    """Return the full SHA if git knows it, else the longest one that a session has, else None."""
    if repository is not None:
        commits = repository.resolve(target)
        if len(commits) > 1:
            raise ConfigurationError(f"{target} means {len(commits)} commits; give more digits")
        if commits:
            return commits[0]
    if not _SHA.fullmatch(target) or len(target) < _FEWEST_DIGITS:
        return None
    rows = _claims(lake, repository)
    claimed = {str(row["commit"]) for row in rows if _same_commit(row["commit"], target)}
    longest = max(claimed, key=len, default=None)
    if longest is not None and not all(_same_commit(sha, longest) for sha in claimed):
        raise ConfigurationError(f"{target} means {len(claimed)} commits; give more digits")
    return longest


def _blame_file(memory: Stores, target: str, path: Path, line: int | None) -> dict[str, Any]:
    repository = Repository.at(path.resolve())
    kind = "file" if line is None else "line"
    notes: list[str] = []
    commits: list[dict[str, Any]] = []
    inside = target if line is None else target.rpartition(":")[0]
    if repository is None:
        notes.append("not in a git repository of this machine: only turns that changed it")
    else:
        inside = path.resolve().relative_to(repository.root.resolve()).as_posix()
        try:
            lines = repository.blame(inside, line)
        except GitFailed:
            lines = {}
            notes.append("git knows nothing of it: only turns that changed it")
        if line is not None and not lines and not notes:
            notes.append(_UNCOMMITTED)
        commits = list(_commits_with_sessions(memory, lines, repository))
    unexplained = [commit for commit in commits if not commit["sessions"]]
    if commits and unexplained:
        notes.append(f"{UNPROVEN}: {len(unexplained)} of {len(commits)}")
    turns: list[dict[str, Any]] = []
    if not any(commit["sessions"] for commit in commits):
        turns = _turns_that_changed(memory.lake, inside, repository)
    if not turns and not commits and _UNCOMMITTED not in notes:
        raise NotFound(f"no turn in memory changed {target}, and git has no commit of it")
    return _blame_as_json(target, kind, repository, commits, turns, notes)


def _commits_with_sessions(
    memory: Stores, lines: dict[str, list[int]], repository: Repository | None
) -> Iterator[dict[str, Any]]:
    """Yield the commits, those with most lines first."""
    claims = list(_claims(memory.lake, repository))
    order = sorted(lines, key=lambda sha: (-len(lines[sha]), sha))[:_MOST_COMMITS]
    live = 0
    for sha in order:
        rows = [row for row in claims if _same_commit(row["commit"], sha)]
        rows = [row for row in rows if row["verified"] or _unambiguous(row, sha, repository)]
        commit = repository.commit(sha) if repository is not None else None
        if not rows and commit is not None and repository is not None and live < _MOST_LIVE:
            live += 1
            rows = _attributed_now(memory, commit, repository)
        sessions = [_attributed(memory.lake, row) for row in _uncontested_best(rows)]
        subject = next((str(row["subject"]) for row in rows if row["subject"]), "")
        times = (row["committed_at"] for row in rows if row["committed_at"])
        when = commit.committed_at if commit is not None else next(times, None)
        yield {
            "commit": sha,
            "subject": subject,
            "committed_at": iso_time(when),
            "lines": lines[sha],
            "sessions": sessions,
        }


def _unambiguous(row: dict[str, Any], sha: str, repository: Repository | None) -> bool:
    """Return True if an unverified SHA that a session printed can only be this commit of the
    repository."""
    if repository is None or len(row["commit"]) == 40:
        return True
    return repository.resolve(row["commit"]) in ([sha], [])


def _claims(lake: Lake, repository: Repository | None) -> Iterator[dict[str, Any]]:
    """Yield the rows of session_commits and commit_links: those of the projects in this repository,
    or of all projects if none is in it."""
    projects = projects_in(lake, repository)
    for project in projects or lake.projects(SESSION_COMMITS):
        for row in lake.read_partition(SESSION_COMMITS, project).to_pylist():
            if row["commit"]:
                yield row
    for project in projects or lake.projects(COMMIT_LINKS):
        for session_id in lake.sessions(COMMIT_LINKS, project):
            for row in rows_of(lake, COMMIT_LINKS, project, session_id):
                link = {**_LINKED, "timestamp": row["linked_at"], **row}
                evidence = Evidence(link["evidence"])
                checked = evidence is Evidence.BY_HAND
                yield {**link, "score": SCORES[evidence], "verified": checked}


def _uncontested_best(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the uncontested attributions, one a session, highest score first."""
    standing = without_contested_guesses((row["commit"][:7], row["evidence"], row) for row in rows)
    best: dict[str, dict[str, Any]] = {}
    for row in sorted(standing, key=lambda row: -float(row["score"])):
        best.setdefault(row["session_id"], row)
    return list(best.values())


def _attributed(lake: Lake, row: dict[str, Any]) -> dict[str, Any]:
    names = ("session_id", "project", "agent", "turn_id", "evidence", "score")
    return {
        **{name: row[name] for name in names},
        "title": session_title(lake, row["project"], row["session_id"]),
        "timestamp": iso_time(row["timestamp"]),
        "pull_request": row["pull_request"],
        "commit": row["commit"],
    }


def _same_commit(left: str, right: str) -> bool:
    """Return True if one SHA is the beginning of the other, with at least seven digits."""
    shorter = min(len(left), len(right))
    return shorter >= _FEWEST_DIGITS and left[:shorter] == right[:shorter]


def _blame_as_json(
    target: str,
    kind: str,
    repository: Repository | None,
    commits: list[dict[str, Any]],
    turns: list[dict[str, Any]],
    notes: list[str],
) -> dict[str, Any]:
    root = str(repository.root) if repository is not None else None
    about = {"target": target, "kind": kind, "repository": root}
    return {**about, "commits": commits, "turns": turns, "notes": notes}


_TURN_COLUMNS = ["turn_id", "turn_index", "part", "session_id", "project", "project_root", "agent"]
_TURN_COLUMNS += ["timestamp", "files", "first_seq", "last_seq"]
_MOST_SESSIONS = 6
_MOST_FILES = 12
_CLOCK = timedelta(minutes=5)


def _turns_that_changed(
    lake: Lake, path: str, repository: Repository | None
) -> list[dict[str, Any]]:
    """Return the turns that wrote `path` (relative to the repository's root), newest first: turns
    of projects in this repository, or, if there are none, of other projects that wrote a path with
    this end. `here` is True of the former; of others only the end of the path is equal."""
    projects = projects_in(lake, repository)
    turns = list(touching_turns(lake, projects, [path]))
    if not turns and "/" in path.strip("/"):
        turns = list(touching_turns(lake, lake.projects(TURN_CHUNKS), [path]))
    changes = [
        {
            **{name: row[name] for name in ("turn_id", "session_id", "project", "agent")},
            "timestamp": iso_time(row["timestamp"]),
            "title": session_title(lake, row["project"], row["session_id"]),
            "path": written,
            "here": row["project"] in projects,
        }
        for row in turns
        if (written := _written_path(lake, row, path))
    ]
    changes.sort(key=lambda change: change["timestamp"] or "", reverse=True)
    return changes[:_MOST_TURNS]


def touching_turns(
    lake: Lake, projects: Sequence[str], paths: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield one row for each turn of these projects that read or wrote a path which can be one of
    `paths`."""
    for project in projects:
        seen: set[str] = set()
        for row in lake.read_partition(TURN_CHUNKS, project, _TURN_COLUMNS).to_pylist():
            touches = any(file_matches(file, path) for file in row["files"] for path in paths)
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
        rows = [lake.read(TURN_CHUNKS, project, session, ["project_root"]) for session in sessions]
        roots = {str(root) for table in rows for root in table["project_root"].to_pylist()}
        if any(_is_inside(root, repository.root) for root in roots if root):
            inside.append(project)
    return inside


def _is_inside(root: str, repository: Path) -> bool:
    path = on_this_machine(root)
    real = path.resolve() if os.path.exists(path) else path  # noqa: PTH110
    return real == repository or repository in real.parents


def _written_path(lake: Lake, row: dict[str, Any], path: str) -> str:
    """Return the path that the turn wrote, as its call has it; "" if it only read the file."""
    columns = ["kind", "tool_name", "paths", "seq", "agent_id", "cwd", "project_root"]
    for call in rows_of(lake, REDACTED_RECORDS, row["project"], row["session_id"], columns):
        if call["kind"] != "tool_use" or kind_of_tool(call["tool_name"]) != "write":
            continue
        if call["agent_id"] is None and not row["first_seq"] <= call["seq"] <= row["last_seq"]:
            continue
        for written in call["paths"]:
            if file_matches(written, path):
                return str(written)
    return ""


def _attributed_now(
    memory: Stores, commit: RepositoryCommit, repository: Repository
) -> list[dict[str, Any]]:
    """Return the attributions of one commit, as rows of session_commits: to sessions that touched
    its files at most `_BEFORE` before it was written."""
    attributions = []
    for project, session_id in _sessions_of(memory.lake, commit, repository):
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


def _sessions_of(
    lake: Lake, commit: RepositoryCommit, repository: Repository
) -> list[tuple[str, str]]:
    """Return the sessions of this repository that touched the commit's files in time, latest
    first."""
    latest: dict[tuple[str, str], datetime] = {}
    projects = projects_in(lake, repository)
    for row in touching_turns(lake, projects, commit.files[:_MOST_FILES]):
        at: datetime | None = row["timestamp"]
        if at and commit.authored_at - _BEFORE <= at <= commit.authored_at + _CLOCK:
            key = (row["project"], row["session_id"])
            latest[key] = max(at, latest.get(key, at))
    return sorted(latest, key=lambda key: latest[key], reverse=True)[:_MOST_SESSIONS]
