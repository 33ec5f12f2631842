"""The commands of a tool that worked in earlier sessions, and what failed before them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from memory_assets.recall.names import listed_projects
from memory_assets.recall.rows import UNTIMED, iso_time, one_line
from memory_assets.recall.sessions.records import calls_and_prompts, whole_session
from memory_assets.requests.questions import HowRequest
from memory_assets.session_analysis.failures import Run, all_runs
from memory_assets.session_analysis.session import POLLING
from memory_assets.session_analysis.shell import Segment, display_text, form_of, segments
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

if TYPE_CHECKING:
    from memory_assets.recall.searchable import Searchable

MOST_SESSIONS = 200
"""Most sessions read for one answer, the newest first: 7 ms of CPU each."""
_MOST_FAILURES = 3
_ERROR_CHARACTERS = 160
_ID = re.compile(
    r"(?<![\w-])(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,64}"
    r"|\d{9,})(?![\w-])"
)
_KEYWORD = re.compile(r"\A(?:(?:if|while|then|do|else|!)\s+)+")
_LINE_CONTINUATION = re.compile(r"\\\r?\n")


@dataclass(frozen=True)
class Failure:
    """A run of the tool that failed, with the line that tells why."""

    command: str
    error: str
    turn_id: str
    time: str | None


@dataclass
class Worked:
    """A command that worked: its last form, of how many `variants` in arguments alone, how often
    and in how many sessions; `before` are failures of the same tool that it came after, the latest
    first."""

    project: str
    command: str
    times: int = 0
    sessions: int = 0
    variants: int = 1
    last: str | None = None
    turn_id: str = ""
    before: list[Failure] = field(default_factory=list)


def successful_runs(memory: Searchable, request: HowRequest) -> dict[str, Any]:
    """Return the commands of a tool that worked, most used and then newest first, those of one
    project together; what failed and did not work later in its session (`failed`, newest first);
    and how many sessions were read, of how many that name the tool.

    Raises:
        ConfigurationError, UnknownName: the project is not known, or not unique.
    """
    projects = memory.projects_with_worktrees(request.project)
    words = request.tool.split()
    mentioning = _sessions_naming(memory, words, projects)
    needed = partial(_mask_needed, words)
    worked: dict[tuple[str, str], Worked] = {}
    variants: dict[tuple[str, str], set[str]] = {}
    failed: list[Failure] = []
    for _, of_project, session_id in mentioning[:MOST_SESSIONS]:
        session = whole_session(memory, of_project, session_id, needed)
        runs = list(_runs_of(words, all_runs(session))) if session is not None else []
        for tool_run in runs:
            if not tool_run.run.failed:
                variants.setdefault((of_project, tool_run.form), set()).add(tool_run.command)
        for form, of_session in _commands_that_worked(of_project, runs).items():
            known = worked.setdefault((of_project, form), of_session)
            if known is not of_session:  # of an older session than those before
                known.times += of_session.times
                known.sessions += 1
                known.before += of_session.before
        failed += _last_failures(runs)
    for key, command in worked.items():
        command.before = _without_repeats(command.before)[:_MOST_FAILURES]
        command.variants = len(variants[key])
    best = sorted(worked.values(), key=lambda use: (use.sessions, use.last or ""), reverse=True)[
        : request.n
    ]
    order = list(dict.fromkeys(usage.project for usage in best))
    best.sort(key=lambda use: order.index(use.project))
    failed.sort(key=lambda use: use.time or "", reverse=True)
    return {
        "tool": request.tool,
        "project": listed_projects(projects),
        "commands": [asdict(usage) for usage in best],
        "failed": [asdict(failure) for failure in _without_repeats(failed)[: request.n]],
        "sessions": min(len(mentioning), MOST_SESSIONS),
        "sessions_in_all": len(mentioning),
    }


def _sessions_naming(
    memory: Searchable, words: Sequence[str], projects: Sequence[str] | None
) -> list[tuple[datetime, str, str]]:
    """Return time, project and id of the sessions with a call that may be of the tool, because its
    command has all the words, newest first; without sessions that a check holds back."""
    held = memory.catalog.quarantine.held_by_checks()
    timed = []
    columns = ["session_id", "timestamp"]

    def naming(rows: Any) -> Any:
        return pc.indices_nonzero(_mentions_tool(rows, words))

    for name in projects or memory.lake.projects(REDACTED_RECORDS):
        for rows in memory.lake.select(
            REDACTED_RECORDS, name, ["command", "tool_name"], naming, columns
        ):
            times = rows.group_by("session_id").aggregate([("timestamp", "max")])
            for row in times.to_pylist():
                timed.append((row["timestamp_max"] or UNTIMED, name, row["session_id"]))
    newest = {
        (name, session): at for at, name, session in sorted(timed) if (name, session) not in held
    }
    return sorted(((at, *session) for session, at in newest.items()), reverse=True)


def _mentions_tool(rows: Any, words: Sequence[str]) -> Any:
    """Return a mask of the rows whose command has all words, the first one as a program has its
    name (`git-sync` and `~/git/app` are no git), or whose tool has the first one."""
    program = rf"(?:^|[^\w.-]){re.escape(words[0])}(?:\.\w{{3}})?(?:$|[^\w./\\-])"
    mask = pc.match_substring_regex(rows["command"], program)
    for word in words[1:]:
        mask = pc.and_(mask, pc.match_substring(rows["command"], word))
    return pc.or_(mask, pc.match_substring(rows["tool_name"], words[0], ignore_case=True))


def _mask_needed(words: Sequence[str], rows: Any) -> Any:
    """Return a mask of the rows in which runs of a tool are found: of calls only the tool's, as
    what they returned is (it has the command, too), but also Codex's polls of what still ran; and
    what is said, which turns are made of."""
    silent = pc.equal(rows["command"], pa.scalar(""))
    result = pc.equal(rows["kind"], pa.scalar("tool_result"))
    is_call = pc.or_(pc.invert(silent), pc.not_equal(rows["tool_name"], pa.scalar("")))
    kept = pc.or_(pc.and_(_mentions_tool(rows, words), pc.or_(silent, result)), pc.invert(is_call))
    if pc.index(rows["agent"], "codex").as_py() >= 0:
        waiting = pc.is_in(rows["tool_name"], pa.array(sorted(POLLING)))
        polls = pc.or_(waiting, pc.match_substring(rows["text"], "write_stdin("))
        kept = pc.or_(kept, pc.and_(silent, polls))
    spawning = pc.not_equal(rows["spawned_agent_id"], pa.scalar(""))
    return pc.and_(calls_and_prompts(rows), pc.or_(kept, spawning))


@dataclass(frozen=True)
class _ToolRun:
    """A run of the tool: as it is shown, and its form, by which runs count as the same command."""

    run: Run
    command: str
    form: str
    verb: str

    @property
    def time(self) -> str | None:
        return iso_time(self.run.record.timestamp)

    @property
    def failure(self) -> Failure:
        error = one_line(self.run.head, _ERROR_CHARACTERS) or "failed"
        return Failure(self.command, error, self.run.turn.id, self.time)


def _runs_of(words: Sequence[str], runs: Iterable[Run]) -> Iterator[_ToolRun]:
    """Yield the runs of a tool. A line of several commands is one of the tool if it succeeded and
    has such a command, or if it failed and such a command decided that."""
    for run in runs:
        if run.segment is None:
            name = str(run.record.tool_name)
            if words[0].lower() in (name.lower(), name.lower().rsplit("__", 1)[-1]):
                yield _ToolRun(run, one_line(run.key[0]), name, name)
            continue
        parts = [run.segment] if run.failed else [run.segment, *segments(run.record.command)]
        part = next((part for part in parts if _is_command_of(part, words)), None)
        if part is not None:
            verb = next((str(word) for word in part.arguments), "")
            yield _ToolRun(run, _command(part), form_of(part), f"{part.program} {verb}")


def _command(segment: Segment) -> str:
    """Return a command on one line, whose lines a backslash continues; what names one commit, run
    or container would tell nobody how the tool is used."""
    text = segment.text.sub(_LINE_CONTINUATION, " ").trimmed().sub(_KEYWORD, "")
    line = str(display_text(replace(segment, text=text)))
    return _ID.sub("<commit>" if segment.program == "git" else "<id>", line)


def _is_command_of(segment: Segment, words: Sequence[str]) -> bool:
    """Return True for a command of the program with these options, and these verbs before other
    arguments; the value of an option may stand before the verbs, as in `git -C app push`."""
    verbs = [word for word in words[1:] if not word.startswith("-")]
    given = [str(word) for word in segment.arguments]
    first = segment.words[1:2]
    begins = (0, 1) if first and first[0].startswith("-") else (0,)
    return (
        segment.program == words[0]
        and set(words[1:]) - set(verbs) <= {*segment.words}
        and any(given[at : at + len(verbs)] == verbs for at in begins)
    )


def _commands_that_worked(project: str, runs: Sequence[_ToolRun]) -> dict[str, Worked]:
    """Return the commands that worked in one session by form, with what had failed before."""
    worked: dict[str, Worked] = {}
    open_failures: dict[str, list[Failure]] = {}
    for tool_run in runs:
        if tool_run.run.failed:
            open_failures.setdefault(tool_run.verb, []).insert(0, tool_run.failure)
            continue
        command = worked.setdefault(tool_run.form, Worked(project, tool_run.command, sessions=1))
        command.times += 1
        command.command, command.last, command.turn_id = (
            tool_run.command,
            tool_run.time,
            tool_run.run.turn.id,
        )
        command.before = [*open_failures.pop(tool_run.verb, []), *command.before]
    return worked


def _last_failures(runs: Sequence[_ToolRun]) -> Iterator[Failure]:
    last = {run.verb: run for run in runs}
    yield from (tool_run.failure for tool_run in last.values() if tool_run.run.failed)


def _without_repeats(failures: Iterable[Failure]) -> list[Failure]:
    """Return the failures without those that repeat the command and error of an earlier one."""
    distinct: dict[tuple[str, str], Failure] = {}
    for failure in failures:
        distinct.setdefault((failure.command, failure.error), failure)
    return list(distinct.values())
