"""What an agent should know of a project before it begins: its last sessions, what they left open,
what the person asked for once and for all, and what failed when it was tried last.

Everything is taken from the tables; nothing is judged by a model. A line is worth its tokens only
if it is true, so each kind of line has the narrowest rule that finds most of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from memory_assets.errors import NotFound
from memory_assets.recall.names import short_id
from memory_assets.recall.rows import rows_of
from memory_assets.recall.sessions.session import one_line
from memory_assets.stores.lake.schemas import (
    REDACTED_RECORDS,
    SESSION_COMMITS,
    SESSION_SUMMARIES,
    USER_PROMPTS,
)
from memory_assets.stores.stores import Stores

_SESSIONS, _INSTRUCTIONS = 3, 3
_TITLE, _PART, _LEFT = 90, 130, 220
"""Characters of a title, of what was done, and of what was left."""
_TYPED = 2_000
"""Characters of a prompt from which on it is pasted rather than typed."""
_PULL_REQUEST = re.compile(r"Pull request: (\S+?)[.,]?(?:\s|$)")
_PUSH = re.compile(r"\bgit(?:\s+-[cC]\s+\S+|\s+--?\w\S*)*\s+push\b|\bgh\s+pr\s+create\b")
_CHECKING = re.compile(r"\b(?:tests?|pytest|build|lint|check|typecheck|tsc|make|cargo|vet)\b")
_SENTENCE = re.compile(r"(?<=[.!?\n;])\s+|\n")
_ONCE_AND_FOR_ALL = re.compile(
    r"(?:^|[,;:(]\s*)(?:[-*•]\s*)?(?:please\s+|but\s+|and\s+)?(?:always|never|prefer)\s+"
    r"(?!\w+(?:ed|s)\b)[a-z]"
    r"|\b(?:from now on|going forward)\b",
    re.IGNORECASE,
)
_LONGEST_INSTRUCTION = 160
_LEFT_OPEN = re.compile(
    r"^Open in the plan|\b(?:next(?: steps?| action)?[:,]?\s+(?!to\b)|waiting|remaining|remains|"
    r"outstanding|pending|not yet|to-?do\b|left to do|still (?:needs? to|open|to do)|manual\b|"
    r"(?:would|do) you (?:like|want)|want me to|should I|shall I|you(?:'ll| will)? need to)",
    re.IGNORECASE,
)
"""What a line of next steps has that names work; a report of what is done has none of it."""
_REPORTED = re.compile(r"\b(?:has|have) been \w+ed\b|\bbut now\b")
_MORE = "More: `memory sessions --project .`, `memory summarize ID`."
_FIRST = datetime.min.replace(tzinfo=UTC)


def recent_work(
    stores: Stores, project: str, fits: Callable[[Sequence[str]], bool] = lambda lines: True
) -> list[str]:
    """Return lines on the last sessions of a project, of fewer sessions until they fit; none if
    there are no sessions in which anything was done."""
    try:
        rows = stores.lake.read_partition(SESSION_SUMMARIES, project).to_pylist()
    except NotFound:
        return []
    rows.sort(key=lambda row: row["ended_at"] or _FIRST, reverse=True)
    rows = [row for row in rows if row["prompts"]]  # the others are of programs
    worth = [row for row in rows if _done(row) or row["next_steps"] or row["learned"]]
    sessions = list(_session_lines(stores, worth[:_SESSIONS]))
    rest: list[str] = []
    if failing := next(iter(_failing(stores, rows[:1])), None):
        rest += ["Failed when it was tried last:", failing]
    if instructions := list(_instructions(stores, project)):
        rest += ["The user asked once and for all:", *instructions]
    for count in range(len(sessions), -1, -1):
        told = ["Last sessions in this project:", *sessions[:count]] if count else []
        if (lines := [*told, *rest]) and fits([*lines, _MORE]):
            return [*lines, _MORE]
    return []


def _done(row: Mapping[str, Any]) -> bool:
    return bool(row["commits"] or row["completed"] or row["files_modified"])


def _session_lines(stores: Stores, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    branches: set[str] = set()
    for row in rows:
        branch = str(row["git_branch"])
        parts = [_asked(row)]
        if row["commits"]:
            parts.append(_committed(stores, row))
        elif row["completed"]:
            parts.append(f"Done: {one_line(row['completed'], _PART)}")
        elif row["learned"]:
            parts.append(f"Found: {one_line(row['learned'], _PART)}")
        if address := _PULL_REQUEST.search(row["notes"]):
            parts.append(f"Pull request {address[1]}")
        left = str(row["next_steps"])
        is_open = _LEFT_OPEN.search(left) and not _REPORTED.search(left)
        if is_open and branch not in branches:  # a later session may have settled it
            parts.append(f"Left: {one_line(left, _LEFT)}")
        branches.add(branch)
        place = f", {branch}" if branch else ""
        said = " ".join(part if part[-1] in ".?!…" else f"{part}." for part in parts if part)
        yield f"- {_day(row)}{place}: {said} [{_short(stores, row)}]"


def _asked(row: Mapping[str, Any]) -> str:
    """Return the title, or what was asked where that is the subject of a commit, which is told."""
    title = one_line(row["title"], _TITLE)
    is_subject = any(str(commit).endswith(str(row["title"])) for commit in row["commits"])
    return one_line(row["request"], _TITLE) or title if is_subject else title


def _committed(stores: Stores, row: Mapping[str, Any]) -> str:
    """Return how many commits a session made, the last one's subject, and whether they were pushed
    in it, where its records tell."""
    key = row["project"], row["session_id"]
    columns = ["subject", "timestamp"]
    commits = rows_of(stores.lake, SESSION_COMMITS, *key, columns)
    timed = [each for each in commits if each["timestamp"] and each["subject"]]
    count = len(row["commits"])
    many = f"{count} commits, the last" if count > 1 else "Commit"
    if not timed:
        subject = str(row["commits"][-1]).partition(" ")[2]
        return f'{many} "{one_line(subject, _TITLE)}"'
    last = max(timed, key=lambda each: each["timestamp"])
    pushed = "pushed" if _pushed_since(stores, key, last["timestamp"]) else "not pushed in it"
    return f'{many} "{one_line(last["subject"], _TITLE)}" ({pushed})'


def _pushed_since(stores: Stores, key: tuple[str, str], moment: datetime) -> bool:
    columns = ["kind", "command", "timestamp", "tool_use_id", "is_error"]
    pushes: set[str] = set()
    for record in rows_of(stores.lake, REDACTED_RECORDS, *key, columns):
        if record["kind"] == "tool_use" and _PUSH.search(record["command"] or ""):
            pushes.add(record["tool_use_id"])
        elif record["kind"] == "tool_result" and record["tool_use_id"] in pushes:
            at = record["timestamp"]
            if at is not None and at >= moment and not record["is_error"]:
                return True
    return False


def _failing(stores: Stores, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the last tests, builds and checks that were tried again and still failed."""
    for row in rows:
        for error in reversed(row["errors"]):
            command = str(error["text"]).partition(": ")[0]
            if error["outcome"] == "unresolved" and _CHECKING.search(command):
                yield f"- {one_line(error['text'], _LEFT)} [{_short(stores, row)}]"


def _instructions(stores: Stores, project: str) -> Iterator[str]:
    """Yield what the person said is always or never to be done, the newest first."""
    columns = ["session_id", "turn_id", "timestamp", "text"]
    prompts = stores.lake.read_partition(USER_PROMPTS, project, columns).to_pylist()
    prompts.sort(key=lambda row: row["timestamp"] or _FIRST, reverse=True)
    lengths: Counter[str] = Counter()  # a long prompt has a row for each passage
    for prompt in prompts:
        lengths[prompt["turn_id"]] += len(prompt["text"])
    said: dict[str, str] = {}
    for prompt in prompts:
        if lengths[prompt["turn_id"]] > _TYPED:
            continue
        for sentence in _SENTENCE.split(prompt["text"]):
            words = " ".join(sentence.split()).strip("-*• ")
            if len(words) > _LONGEST_INSTRUCTION or words.endswith("?"):
                continue
            if _ONCE_AND_FOR_ALL.search(words) and words.lower() not in said:
                when = f"{prompt['timestamp']:%Y-%m-%d}, " if prompt["timestamp"] else ""
                said[words.lower()] = f'- "{words}" [{when}{_short(stores, prompt)}]'
    yield from list(said.values())[:_INSTRUCTIONS]


def _day(row: Mapping[str, Any]) -> str:
    return f"{row['ended_at'].astimezone():%Y-%m-%d}" if row["ended_at"] else "no date"


def _short(stores: Stores, row: Mapping[str, Any]) -> str:
    return short_id(stores, row["session_id"])
