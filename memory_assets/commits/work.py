"""The commits, pull requests and written lines in a session's own records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from memory_assets.models import RedactedRecord, Turn
from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.commits import (
    MadeCommit,
    commits_made_by,
    commits_printed_in,
    makes_commits,
)
from memory_assets.session_analysis.files import patched_paths, tool_kind
from memory_assets.session_analysis.phrases import distinct
from memory_assets.session_analysis.session import Calls
from memory_assets.session_analysis.shell import segments

_PULL_REQUEST = re.compile(r"https://[\w.-]+/[\w.-]+/[\w.-]+/pull/\d+")
_MERGED = re.compile(r"(?:Merged|Squashed and merged|Rebased and merged) pull request (\S*#\d+)")
_SESSION_TRAILER = re.compile(r"^[ \t]*[\w-]*Session(?:-Id)?: *(\S{8,200})\s*$", re.M | re.I)
_NEW_TEXT = re.compile(r"^(?:new_string|new_str|content|file_text|contents):[ \n]", re.MULTILINE)
_AFTER_NEW_TEXT = re.compile(r"\nreplace_all: \w+\s*$")
_EIGHT_LETTERS = re.compile(r"(?:[^\W_][\W_]*){8}")
MOST_LINES = 60_000


@dataclass(frozen=True, slots=True)
class OwnCommit:
    """A commit that a call of the session printed; the call ran from `began` to `ended`. `certain`:
    its command was a `git commit`; else only git can confirm the commit."""

    turn: Turn
    made: MadeCommit
    began: datetime | None
    ended: datetime | None
    certain: bool


@dataclass(frozen=True, slots=True)
class OwnPullRequest:
    """A pull request that the session opened, merged, or is linked to by its agent."""

    turn: Turn
    address: RedactedText
    timestamp: datetime | None
    opened: bool


@dataclass(frozen=True, slots=True)
class Written:
    """Lines, stripped, that a call wrote into a file; `path` as in the call."""

    turn: Turn
    path: RedactedText
    cwd: RedactedText
    at: datetime | None
    lines: frozenset[str]


@dataclass(slots=True)
class SessionWork:
    """Commits, pull requests and lines in the session's order. Trailers may name the session
    by any of `names`."""

    session: SessionTurns
    names: set[str]
    commits: list[OwnCommit] = field(default_factory=list)
    pull_requests: list[OwnPullRequest] = field(default_factory=list)
    written: list[Written] = field(default_factory=list)

    @property
    def first_at(self) -> datetime | None:
        """The time of the session's first write, commit or pull request; None if unknown."""
        times = [write.at for write in self.written]
        times += [commit.began for commit in self.commits]
        times += [pull_request.timestamp for pull_request in self.pull_requests]
        return min((time for time in times if time is not None), default=None)


def session_work(session: SessionTurns) -> SessionWork:
    """Return the session's work on repositories, from its own records."""
    work = SessionWork(session, {session.session_id})
    calls = Calls()
    began: dict[str, datetime | None] = {}
    for turn in session.turns:
        for record in turn.records:
            command = calls.ended(record)
            if record.kind == "tool_use":
                began[record.tool_use_id] = record.timestamp
                if record.tool_use_id not in session.failed_calls:
                    work.written += _written_lines(turn, record)
            elif record.kind == "tool_result":
                start = began.get(record.tool_use_id, record.timestamp)
                work.commits += _own_commits(turn, record, command, start)
                work.pull_requests += _own_pull_requests(turn, record, command)
                if makes_commits(command):
                    work.names.update(trailer_names(command))
            elif record.subtype == "pr-link" and record.text:
                work.pull_requests.append(_linked_request(turn, record))
    linked = {pull_request.address for pull_request in work.pull_requests}
    for record in session.records:  # those before the first turn, or after an empty one
        if record.subtype == "pr-link" and record.text and record.text not in linked:
            linked.add(record.text)
            work.pull_requests += [_linked_request(turn, record) for turn in session.turns[-1:]]
    return work


def trailer_names(message: str) -> set[str]:
    """Return the session names in the `...-Session: ` trailers of a message: each value, and
    its last part if it is an address."""
    values = {trailer.strip("\"'") for trailer in _SESSION_TRAILER.findall(message)}
    return values | {value.rstrip("/").rpartition("/")[2] for value in values if "/" in value}


def _own_commits(
    turn: Turn, record: RedactedRecord, command: RedactedText, began: datetime | None
) -> Iterator[OwnCommit]:
    commits = commits_made_by(record, command)
    certain = bool(commits)
    if not commits and command and not record.is_error:
        commits = commits_printed_in(record.text)  # a script may have committed; git will tell
    for commit in commits:
        yield OwnCommit(turn, commit, began, record.timestamp, certain)


def _own_pull_requests(
    turn: Turn, record: RedactedRecord, command: RedactedText
) -> Iterator[OwnPullRequest]:
    opens = record.tool_name.endswith("create_pull_request")  # of GitHub's server for agents
    if record.is_error or not (opens or "gh pr" in command):
        return
    verbs = {
        word
        for segment in segments(command)
        if segment.program == "gh" and "pr" in segment.words[1:3]
        for word in segment.words[1:5]
    }
    if opens or "create" in verbs:
        addresses = _PULL_REQUEST.findall(record.text)
        if addresses:
            at = record.text.rfind(addresses[-1])
            address = record.text.cut(at, at + len(addresses[-1]))
            yield OwnPullRequest(turn, address, record.timestamp, opened=True)
    elif "merge" in verbs and (merged := _MERGED.search(record.text)):
        address = record.text.cut(*merged.span(1))
        yield OwnPullRequest(turn, address, record.timestamp, opened=True)


def _linked_request(turn: Turn, record: RedactedRecord) -> OwnPullRequest:
    return OwnPullRequest(turn, record.text, record.timestamp, opened=False)


def _written_lines(turn: Turn, record: RedactedRecord) -> Iterator[Written]:
    kind = tool_kind(record)
    if kind == "write":
        paths = record.paths or patched_paths(record.text)
        lines = _new_lines(record.text)
    elif kind == "shell":
        commands = segments(record.command) if "<<" in record.command else ()  # here-documents
        targets = (command.writes for command in commands if command.writes)
        paths = (*patched_paths(record.command), *targets)
        lines = _telling_lines(record.command.split("\n")[1:])
    else:
        return
    for path in distinct(paths):
        if lines:
            yield Written(turn, path, record.cwd, record.timestamp, lines)


def _new_lines(text: str) -> frozenset[str]:
    """Return the lines that a file tool writes, without those that it replaces."""
    if "*** Begin Patch" in text or "*** Update File" in text or "*** Add File" in text:
        return _telling_lines(line[1:] for line in text.split("\n") if line.startswith("+"))
    starts = list(_NEW_TEXT.finditer(text))
    if not starts:
        return _telling_lines(text.replace("\\n", "\n").split("\n"))
    end = _AFTER_NEW_TEXT.search(text)
    return _telling_lines(text[starts[-1].end() : end.start() if end else None].split("\n"))


def _telling_lines(lines: Iterable[str]) -> frozenset[str]:
    """Return the distinctive lines, stripped, at most `MOST_LINES`."""
    kept: set[str] = set()
    for bare in filter(None, map(telling_line, lines)):
        kept.add(bare)
        if len(kept) >= MOST_LINES:
            break
    return frozenset(kept)


def telling_line(line: str) -> str:
    """Return the line without surrounding white space and a patch's `+`; "" if it is not
    distinctive (a brace, an `else`, a blank line)."""
    bare = line.strip().removeprefix("+").strip()
    return bare if _EIGHT_LETTERS.search(bare) else ""
