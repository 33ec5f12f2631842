"""`friction`: errors that occurred in several sessions, and how they were resolved.

The summaries have at most 20 errors of each session. These choose the sessions to read; the errors
themselves, and what resolved them, are taken from the records of those sessions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from memory_assets.recall.names import listed_projects
from memory_assets.recall.rows import one_line
from memory_assets.recall.sessions.records import calls_and_prompts, whole_session
from memory_assets.requests.questions import FrictionRequest
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.failures import Run, all_runs
from memory_assets.session_analysis.files import touched_files
from memory_assets.session_analysis.shell import (
    LOOKING_GIT,
    SEARCHERS,
    VIEWERS,
    Segment,
    display_text,
)
from memory_assets.stores.lake.schemas import SESSION_SUMMARIES

if TYPE_CHECKING:
    from memory_assets.recall.searchable import Searchable

_MOST_LISTED = 5
_COMMAND_LIMIT = 160
_LISTING_PROGRAMS = {"ls", "find", "tree", "pwd", "which"}
_QUOTES = re.compile(r"[\"'`‘’“”]")
_PATH = re.compile(r"(?:[a-z]:\\|[~.]{0,2}[/\\]|\w[\w.-]*/)[\w./\\@+~-]*")
_NUMBER = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{7,}\b|<redacted[^>\n]*>|(?<![a-z\d])\d+")
"""What differs in lines of one error; not the number of a code, as in TS2322."""
_BLANKS = re.compile(r"[\s.:;,…]+")
_FEWEST_WORDS = 2
_WORD = re.compile(r"[a-z]{2,}")
_COMMON_WORDS = frozenset(
    {"build", "error", "errors", "exit", "fail", "failed", "failure", "test", "tests"}
)
"""Words that do not distinguish errors."""
_SKIPPING_OPTIONS = frozenset({"--no-gpg-sign", "--no-verify"})
"""Options with which a command skips the check that failed."""


@dataclass(frozen=True)
class _MetError:
    """An error as one session met it; `ending` is None if it did not end there."""

    key: str
    error: str
    command: str
    project: str
    session_id: str
    turn_id: str
    time: str
    ending: _Ending | None


@dataclass(frozen=True)
class _Ending:
    """How a failure ended: by the first later run that covers it and worked, with its `command`,
    those between the last failure and that (`ran`), and the files `changed` meanwhile."""

    session_id: str
    turn_id: str
    command: str
    ran: list[str]
    changed: list[str]


def error_key(line: str) -> str:
    """Return what is the same in lines of one error: paths, numbers, ids and what was redacted
    differ. "" if too little is left to tell errors apart."""
    line = _QUOTES.sub("", line.lower())
    line = _BLANKS.sub(" ", _NUMBER.sub("0", _PATH.sub("/", line))).strip()
    telling = [word for word in _WORD.findall(line) if word not in _COMMON_WORDS]
    return line if len(telling) >= _FEWEST_WORDS else ""


def friction(memory: Searchable, request: FrictionRequest) -> dict[str, Any]:
    """Return the errors of `request.sessions` sessions or more, those of most sessions and then the
    newest first, each with its sessions, and with how it was resolved where it was.

    Raises:
        ConfigurationError, UnknownName: the project is not known, or not unique.
    """
    projects = memory.projects_with_worktrees(request.project)
    met: dict[str, list[_MetError]] = {}
    for project, session_id in _sessions_with_shared_errors(memory, projects, request.sessions):
        session = whole_session(memory, project, session_id, calls_and_prompts)
        for error in _last_failures(session) if session is not None else ():
            met.setdefault(error.key, []).append(error)
    shared = [
        sorted(group, key=lambda error: error.time, reverse=True)
        for group in met.values()
        if len(group) >= request.sessions
    ]
    shared.sort(key=lambda group: (len(group), group[0].time), reverse=True)
    return {
        "project": listed_projects(projects),
        "errors": [_group_as_json(group) for group in shared[: request.n]],
    }


def _group_as_json(group: Sequence[_MetError]) -> dict[str, Any]:
    newest = group[0]
    endings = [asdict(error.ending) for error in group if error.ending is not None]
    return {
        "error": newest.error,
        "command": newest.command,
        "sessions": len(group),
        "ended": len(endings),
        "last": newest.time or None,
        "projects": list(dict.fromkeys(error.project for error in group)),
        "turns": [error.turn_id for error in group],
        "endings": endings[:_MOST_LISTED],
    }


def _sessions_with_shared_errors(
    memory: Searchable, projects: Sequence[str] | None, least: int
) -> list[tuple[str, str]]:
    """Return project and id of the sessions with an error that at least `least` summaries have."""
    keys: dict[tuple[str, str], set[str]] = {}
    columns = ["session_id", "errors"]

    def with_errors(rows: Any) -> Any:
        return pc.indices_nonzero(pc.greater(pc.list_value_length(rows["errors"]), pa.scalar(0)))

    for name in projects or memory.lake.projects(SESSION_SUMMARIES):
        for rows in memory.lake.select(SESSION_SUMMARIES, name, columns, with_errors, columns):
            for row in rows.to_pylist():
                texts = [str(error["text"]) for error in row["errors"]]
                keys[name, row["session_id"]] = {key for text in texts for key in _tail_keys(text)}
    counts = Counter(key for keys_of_session in keys.values() for key in keys_of_session)
    return [
        session
        for session, keys_of_session in keys.items()
        if any(counts[key] >= least for key in keys_of_session)
    ]


def _tail_keys(text: str) -> Iterator[str]:
    """Yield the keys that an error of a summary can have: it is a command, a colon and the error's
    line, and either may hold colons."""
    parts = text.split(": ")
    for at in range(1, len(parts)):
        if key := error_key(": ".join(parts[at:])):
            yield key


def _last_failures(session: SessionTurns) -> Iterator[_MetError]:
    """Yield the errors of a session, each once, as it was met last."""
    runs = all_runs(session)
    last: dict[str, int] = {}
    for place, run in enumerate(runs):
        if run.failed and (key := error_key(run.head)):
            last[key] = place
    for key, place in last.items():
        run = runs[place]
        at = run.record.timestamp
        yield _MetError(
            key,
            one_line(run.head),
            one_line(run.command),
            session.project,
            session.session_id,
            run.turn.id,
            at.isoformat() if at is not None else "",
            _ending(session, runs, place),
        )


def _ending(session: SessionTurns, runs: Sequence[Run], place: int) -> _Ending | None:
    """Return how the failure of a run ended, None if it did not."""
    failed, later = runs[place], runs[place + 1 :]
    success = next((run for run in later if not run.failed and run.covers(failed)), None)
    if success is None or _skips_checks(success, failed):
        return None
    between = later[: later.index(success)]
    ran = [
        str(display_text(run.segment))
        for run in between
        if not run.failed and run.segment is not None and not _is_read_only(run.segment)
    ]
    worked = str(display_text(success.segment)) if success.segment is not None else success.key[0]
    positions = {(row.agent_id, row.seq): at for at, row in enumerate(session.records)}
    first, end = (positions[run.record.agent_id, run.record.seq] for run in (failed, success))
    changed = touched_files(session, session.records[first:end]).modified
    return _Ending(
        session.session_id,
        success.turn.id,
        command=one_line(worked, _COMMAND_LIMIT),
        ran=list(dict.fromkeys(ran))[-_MOST_LISTED:],
        changed=[str(path) for path in changed[:_MOST_LISTED]],
    )


def _skips_checks(success: Run, failed: Run) -> bool:
    words = [run.segment.words if run.segment is not None else () for run in (success, failed)]
    return not _SKIPPING_OPTIONS.isdisjoint(set(words[0]) - set(words[1]))


def _is_read_only(segment: Segment) -> bool:
    if segment.program == "git":
        return segment.words[1:2] == () or segment.words[1] in LOOKING_GIT
    return segment.program in VIEWERS | SEARCHERS | _LISTING_PROGRAMS
