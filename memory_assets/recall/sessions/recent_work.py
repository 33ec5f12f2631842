"""The context that an agent gets of a project before it begins: the last sessions, their open ends,
the user's standing instructions, and checks that still failed.

Everything is taken from the tables; no model judges anything. A line is worth its tokens only if it
is true, so each kind of line has the narrowest rule that finds most of it, and what a later session
may have resolved is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from memory_assets.errors import NotFound
from memory_assets.recall.names import short_id, with_worktrees, worktrees_of
from memory_assets.recall.rows import UNTIMED, iso_time, one_line, rows_of
from memory_assets.redacted_text import RedactedText, join
from memory_assets.session_analysis.open_ends import open_ends, standing_instructions
from memory_assets.stores.catalog.session_counts import sessions_of_persons
from memory_assets.stores.lake.rows import texts_of
from memory_assets.stores.lake.schemas import (
    REDACTED_RECORDS,
    SESSION_COMMITS,
    SESSION_SUMMARIES,
    USER_PROMPTS,
)
from memory_assets.stores.stores import Stores

_SUMMARIES_READ = 12
"""Newest sessions whose summaries are read."""
_SESSIONS_READ = 30
"""Newest sessions whose prompts are searched for instructions."""
_MOST_SESSIONS = 3
_MOST_INSTRUCTIONS = 3
_MOST_OPEN_ENDS = 3
_FEWEST_PROMPTS = 3
"""Prompts of a session without a result that gets a line if no session has a result."""
_MOST_ENDS_A_SESSION = 2
"""Open ends of one session."""
_TITLE_LIMIT = 90
"""Characters of a title."""
_DONE_LIMIT = 130
"""Characters of what was done."""
_QUOTED_LIMIT = 200
"""Characters of what is quoted."""
_SHORTEST = 20
"""Characters of a sentence that tells what was done."""
_FEWEST_CALLS = 3
"""Calls of a session from which on its report is of work."""
_LAST_TURNS = 2
_MOST_TYPED = 2_000
"""Characters of a prompt from which on it is pasted rather than typed."""
_PULL_REQUEST = re.compile(r"https?://[^/\s]+/(\S+?)/(?:-/)?(?:pulls?|merge_requests)/(\d+)\S*")
"""The address of a pull request: whose it is, and its number."""
_PUSH = re.compile(
    r"\bgit(?:\s+-[cC]\s+(?!-)\S+|\s+(?!-[cC]\s)--?\w\S*)*\s+push\b|\b(?:gh\s+pr|glab\s+mr)\s+create\b"
    r"|\bjj\s+git\s+push\b|\bgt\s+(?:submit|ss|stack\s+submit)\b|\bsl\s+(?:push|pr\s+submit)\b"
    r"|\bspr\s+(?:diff|update)\b|\bghstack\b"
)
"""Commands that push, of Git, GitHub, GitLab, Jujutsu, Graphite, Sapling and tools for stacks."""
_PUSHING_TOOLS = ("create_pull_request", "push_files", "create_merge_request")
_MAY_PUSH = re.compile(
    r"(?:^|[;&|\n][ \t]{0,40})(?:[\w./:-]+ ){1,3}(?:push|submit|publish|release|ship|land|sync)\b"
)
"""Commands after which nobody can say that nothing was pushed (`make release`)."""
_PLAN = "Open in the plan: "
"""What a summary puts before the open items of the agent's plan."""
_CHECKING = re.compile(r"\b(?:tests?|pytest|build|lint|check|typecheck|tsc|make|cargo|vet)\b")
_ALL_PASS = re.compile(
    r"\b(?:tests?|suite|checks?|build|lint\w*|everything|all)\b[^.]{0,40}\b(?:pass|green|clean)",
    re.IGNORECASE,
)
_SHARED_BRANCHES = {"", "HEAD", "main", "master", "develop", "trunk"}
"""Branches that sessions on different things share."""
_WORD = re.compile(r"[^\W\d_]{5,}|\w*[_\d]\w*")
_STEM = 6
"""Letters in which forms of a word are alike."""
_WORDS_IN_COMMON = 2
"""Words of an open end that a later session has where it may have resolved it."""
_MORE = "More: `memory show ID` or get(ids=[ID]), `memory sessions --project .`"
_SENTENCE_ENDS = (*".?!…",)


@dataclass(frozen=True)
class _Line:
    """A line, its heading, and its place below that."""

    heading: str
    text: str
    place: int


_SESSIONS_HEADING = "Last sessions of this project:"
_OPEN_HEADING = "Left open, in the words of then:"
_FAILING_HEADING = "Failed when it was tried last:"
_INSTRUCTIONS_HEADING = "The user asked once and for all:"
_HEADINGS = (_SESSIONS_HEADING, _OPEN_HEADING, _FAILING_HEADING, _INSTRUCTIONS_HEADING)


@dataclass
class _SessionEnd:
    """How a session ended: the agent's last message, if it ended with one, the moments of its
    successful pushes, whether another command may have pushed, and whether all of it is on record
    and no command has to do with commits."""

    closing: RedactedText | None
    pushes: list[datetime]
    may_have_pushed: bool
    committed_nothing: bool


class _Session:
    """One session with its summary's row; its records are read when they are needed."""

    def __init__(self, stores: Stores, row: Mapping[str, Any]) -> None:
        self.stores = stores
        self.row = row
        self.key = str(row["project"]), str(row["session_id"])
        self.files = {str(path) for path in row["files_modified"]}

    @cached_property
    def short(self) -> str:
        """The beginning of its id that no other session has."""
        return short_id(self.stores, self.key[1])

    @cached_property
    def commits(self) -> list[dict[str, Any]]:
        """The rows of its commits and pull requests, the last one last."""
        rows = rows_of(self.stores.lake, SESSION_COMMITS, *self.key)
        return sorted(rows, key=lambda row: row["timestamp"] or UNTIMED)

    @cached_property
    def branch(self) -> str:
        """The branch of its last commit where that is known, else the one it began on; of a pull
        request that is not the main one."""
        began = str(self.row["git_branch"])
        if not self.row["commits"]:
            return began
        if branches := [row["branch"] for row in self.commits if row["branch"]]:
            return str(branches[-1])
        has_pull_request = any(row["pull_request"] for row in self.commits)
        return "" if has_pull_request and began in _SHARED_BRANCHES else began

    @cached_property
    def last_turn(self) -> str:
        """The short id of its last turn with a prompt."""
        rows = rows_of(self.stores.lake, USER_PROMPTS, *self.key, ["turn_index"])
        return f"{self.short}:{max((row['turn_index'] for row in rows), default=0)}"

    @cached_property
    def ended(self) -> _SessionEnd:
        """How it ended."""
        return _read_session_end(self.stores, *self.key)

    @cached_property
    def words(self) -> set[str]:
        """The stems of the longer words of its request and its results."""
        said = (self.row[name] for name in ("title", "request", "completed"))
        return _word_stems(" ".join([*map(str, said), *map(str, self.row["commits"])]))

    @property
    def did_something(self) -> bool:
        """Whether anything came of it."""
        worked = self.row["completed"] and self.row["tool_calls"] >= _FEWEST_CALLS
        return bool(self.row["commits"] or self.files or worked)

    @property
    def has_topic(self) -> bool:
        """Whether its title is worth a line though nothing came of it."""
        return self.row["prompts"] >= _FEWEST_PROMPTS and len(self.row["title"]) >= _SHORTEST

    def goes_on_with(self, earlier: _Session) -> bool:
        """Whether it has the branch or a file of an earlier session, and so may have resolved the
        open ends of that."""
        if self.branch == earlier.branch and self.branch not in _SHARED_BRANCHES:
            return True
        return bool(self.files & earlier.files)

    def is_about(self, left: str) -> bool:
        """Whether it has words of an open end of another session."""
        return len(_word_stems(left) & self.words) >= _WORDS_IN_COMMON


def recent_work(
    stores: Stores,
    projects: Sequence[str],
    fits: Callable[[Sequence[str]], bool] = lambda lines: True,
    message: str = "",
) -> list[str]:
    """Return lines on the last sessions of projects and of their working trees, as many as fit;
    none if there are no sessions with a person's prompt. Lines with words of the latest message are
    kept before others."""
    sessions = _newest_sessions(stores, with_worktrees(stores.catalog, projects))
    lines = list(_lines_in_turn(stores, sessions))
    if message:
        from memory_assets.keywords import indexed_terms, query_terms

        needed = {term for term, weight in query_terms(message).items() if weight == 1}
        lines.sort(key=lambda line: needed.isdisjoint(indexed_terms(line.text)))
    chosen: list[_Line] = []
    for line in lines:
        if fits(_with_headings([*chosen, line])):
            chosen.append(line)
    return _with_headings(chosen) if chosen else []


def _with_headings(lines: Sequence[_Line]) -> list[str]:
    by_heading: dict[str, list[str]] = {heading: [] for heading in _HEADINGS}
    for line in sorted(lines, key=lambda line: line.place):
        by_heading[line.heading].append(line.text)
    return [*(x for head, own in by_heading.items() if own for x in (head, *own)), _MORE]


def _lines_in_turn(stores: Stores, sessions: Sequence[_Session]) -> Iterator[_Line]:
    """Yield the lines of each kind in turn, of each kind the newest first."""
    worthwhile = [
        session
        for session in sessions
        if session.did_something or (session is sessions[0] and session.has_topic)
    ]
    worthwhile = worthwhile or [session for session in sessions if session.has_topic]
    kinds = {
        _SESSIONS_HEADING: (
            _session_line(session, sessions) for session in worthwhile[:_MOST_SESSIONS]
        ),
        _OPEN_HEADING: _open_end_lines(sessions),
        _FAILING_HEADING: _failing_checks(sessions),
        _INSTRUCTIONS_HEADING: _instructions(stores, sessions),
    }
    place = 0
    while kinds:
        for heading, texts in list(kinds.items()):
            if text := next(texts, ""):
                yield _Line(heading, text, place)
            else:
                del kinds[heading]
        place += 1


def _newest_sessions(stores: Stores, names: Sequence[str]) -> list[_Session]:
    """Return the newest sessions of these projects in which a person asked for something and that
    nobody hid, the last one first."""
    of_persons = sessions_of_persons(stores.catalog, names)
    hidden = stores.hidden.all()
    spans = [
        span
        for name in names
        for span in stores.catalog.products.spans(name)
        if span[:2] in of_persons and span[:2] not in hidden
    ]
    spans.sort(key=lambda span: (span[3] or "", span[1]), reverse=True)
    sessions: list[_Session] = []
    for name, session_id, *_ in spans[:_SESSIONS_READ]:
        if len(sessions) == _SUMMARIES_READ:
            break
        for row in rows_of(stores.lake, SESSION_SUMMARIES, name, session_id):
            sessions.append(_Session(stores, row))
    sessions.sort(key=lambda session: session.row["ended_at"] or UNTIMED, reverse=True)
    return sessions


def _session_line(session: _Session, sessions: Sequence[_Session]) -> str:
    """Return the line of a session: its topic and its result."""
    row = session.row
    parts = [_topic(row)]
    if row["commits"]:
        parts.append(_commit_line(session, sessions))
    else:
        if done := _completed_sentence(session):
            parts.append(done)
        if session.files:
            parts.append(_changed_files(session, sessions))
    if addresses := [row["pull_request"] for row in session.commits if row["pull_request"]]:
        parts.append("Pull request " + _PULL_REQUEST.sub(r"\1#\2", addresses[-1]))
    place = f" {session.branch}" if session.branch else ""
    said = " ".join(part if part.endswith(_SENTENCE_ENDS) else f"{part}." for part in parts if part)
    return f"- {_date_of(row)}{place} [{session.short}]: {said}"


def _topic(row: Mapping[str, Any]) -> str:
    """Return the title, or the request if the title is a commit's subject, which is shown too."""
    title = one_line(row["title"], _TITLE_LIMIT)
    if not any(str(commit).endswith(str(row["title"])) for commit in row["commits"]):
        return title
    request = str(row["request"])
    if request.startswith("/"):  # a command of the agent
        request = request.partition(" Then: ")[2]
    return one_line(request, _TITLE_LIMIT) or title


def _completed_sentence(session: _Session) -> str:
    """Return the sentence of what was completed that shares most words with what was asked, lists
    of files left out; one that fits whole is preferred. Of a session that changed nothing it has to
    share one: its report may be on what it read."""
    row = session.row
    words = _word_stems(f"{row['title']} {row['request']}")
    sentences = [
        sentence
        for sentence in re.split(r"(?<=[.!])\s+(?=[A-Z])", row["completed"])
        if len(sentence) >= _SHORTEST and sentence[0].isupper() and sentence[:8] != "Changed "
    ]
    fitting = [sentence for sentence in sentences if len(sentence) <= _DONE_LIMIT]
    best = max(fitting or sentences, key=lambda text: len(words & _word_stems(text)), default="")
    return one_line(best, _DONE_LIMIT) if session.files or words & _word_stems(best) else ""


def _changed_files(session: _Session, sessions: Sequence[_Session]) -> str:
    """Return the files that a session changed, and that it committed nothing where its commands
    show that, and no later session changed or committed any of them."""
    names = _short_names(session.row["files_modified"])
    more = f" and {len(names) - 3} more" if len(names) > 4 else ""
    shown = ", ".join(names[: 3 if more else 4])
    later = sessions[: sessions.index(session)]
    untouched = not any(newer.files & session.files or newer.row["commits"] for newer in later)
    is_open = untouched and session.ended.committed_nothing
    return f"Changed {shown}{more}{' (no commit in it)' if is_open else ''}"


def _short_names(paths: Sequence[str]) -> list[str]:
    """Return the names of files, with their directories where several have the same."""
    parts = [re.split(r"[/\\]", path) for path in paths]
    names = Counter(part[-1] for part in parts)
    return ["/".join(part[-1:] if names[part[-1]] == 1 else part[-2:]) for part in parts]


def _commit_line(session: _Session, sessions: Sequence[_Session]) -> str:
    """Return how many commits a session made, the last one's subject, and whether they were pushed
    in it, or by a later session on its branch, where the records tell."""
    # Rows that an earlier version made do not say what was replaced.
    named = [row for row in session.commits if row["subject"] and row["commit"]]
    timed = [row for row in named if row["timestamp"] and not row.get("replaced_by")]
    count = len(session.row["commits"])
    many = f"{count} commits, the last" if count > 1 else "Commit"
    if not timed:
        subject = str(session.row["commits"][-1]).partition(" ")[2]
        return f'{many} "{one_line(subject, _TITLE_LIMIT)}"'
    last = timed[-1]
    later = sessions[: sessions.index(session)]
    state = ""
    if any(at >= last["timestamp"] for at in session.ended.pushes):
        state = "pushed"
    elif session.branch and any(
        newer.branch == session.branch and newer.ended.pushes for newer in later
    ):
        state = "pushed later"
    elif session.ended.closing is not None and not session.ended.may_have_pushed:
        state = "not pushed in it"  # else its record may break off before
    return f'{many} "{one_line(last["subject"], _TITLE_LIMIT)}"{f" ({state})" if state else ""}'


def left_open(stores: Stores, projects: Sequence[str]) -> list[dict[str, Any]]:
    """Return what the newest sessions of each project and of its working trees left open and no
    later one of them may have resolved: `project`, the quoted `text`, when the session `ended_at`,
    and the short id of its last `turn`."""
    return [
        {
            "project": project,
            "text": text,
            "ended_at": iso_time(session.row["ended_at"]),
            "turn": session.last_turn,
        }
        for project, names in worktrees_of(stores.catalog, projects).items()
        for session, text in _open_ends(_newest_sessions(stores, names))
    ]


def _open_end_lines(sessions: Sequence[_Session]) -> Iterator[str]:
    """Yield a line for each open end."""
    for session, text in _open_ends(sessions):
        yield f"- {_date_of(session.row)} {text} [{session.last_turn}]"


def _open_ends(sessions: Sequence[_Session]) -> Iterator[tuple[_Session, str]]:
    """Yield the open ends of the newest sessions that no later one may have resolved."""
    count = 0
    for place, session in enumerate(sessions[: 2 * _MOST_SESSIONS]):
        later = sessions[:place]
        if count == _MOST_OPEN_ENDS or any(newer.goes_on_with(session) for newer in later):
            continue
        left = [end for end in _ends_of(session) if not any(newer.is_about(end) for newer in later)]
        for text in left[:_MOST_ENDS_A_SESSION][: _MOST_OPEN_ENDS - count]:
            count += 1
            yield session, one_line(text, _QUOTED_LIMIT)


def _ends_of(session: _Session) -> list[str]:
    """Return what the last message of a session left open, quoted; of one that broke off, the open
    items of the agent's plan."""
    if session.ended.closing is not None:
        return [f'"{text}"' for text in open_ends(session.ended.closing)]
    _, mark, plan = str(session.row["next_steps"]).rpartition(_PLAN)
    return [f"in the plan: {plan}"] if mark and not session.ended.pushes else []


def _failing_checks(sessions: Sequence[_Session]) -> Iterator[str]:
    """Yield the last test, build or check that was tried again and still failed in the last turns
    of the last session; not where a commit came after it, or its last message says that all pass.
    """
    for session in sessions[:1]:
        if session.ended.closing and _ALL_PASS.search(session.ended.closing):
            continue
        from_turn = max([row["turn_index"] + 1 for row in session.commits], default=0)
        from_turn = max(from_turn, session.row["turns"] - _LAST_TURNS)
        for error in reversed(session.row["errors"]):
            command = str(error["text"]).partition(": ")[0]
            turn = int(error["turn_id"].rpartition("::")[2])
            is_open = error["outcome"] == "unresolved" and turn >= from_turn
            if is_open and _CHECKING.search(command):
                met = f"{session.short}:{turn}"
                yield f"- {_date_of(session.row)} {one_line(error['text'], _QUOTED_LIMIT)} [{met}]"
                break


def _instructions(stores: Stores, sessions: Sequence[_Session]) -> Iterator[str]:
    """Yield the user's instructions for all sessions, the newest first."""
    seen: set[str] = set()
    count = 0
    for session in sessions:
        columns = ["turn_id", "turn_index", "timestamp", "text"]
        prompts: dict[int, list[dict[str, Any]]] = {}
        for row in rows_of(stores.lake, USER_PROMPTS, *session.key, columns):
            prompts.setdefault(row["turn_index"], []).append(row)
        for turn in sorted(prompts, reverse=True):
            text = "\n".join(row["text"] for row in prompts[turn])
            if len(text) > _MOST_TYPED:
                continue
            for words in standing_instructions(text):
                if words.lower() in seen:
                    continue
                seen.add(words.lower())
                at = prompts[turn][0]["timestamp"]
                when = f"{at.astimezone():%Y-%m-%d} " if at else ""
                yield f'- {when}"{words}" [{session.short}:{turn}]'
                count += 1
                if count == _MOST_INSTRUCTIONS:
                    return


def _read_session_end(stores: Stores, project: str, session_id: str) -> _SessionEnd:
    """Return how a session ended, by its records; those of subagents count for commands alone."""
    columns = ["kind", "agent_id", "tool_name", "command", "timestamp", "tool_use_id"]
    columns += ["is_error", "text"]
    try:
        rows = stores.lake.read(REDACTED_RECORDS, project, session_id, columns)
    except NotFound:
        return _SessionEnd(None, [], may_have_pushed=False, committed_nothing=False)
    records = rows.drop_columns(["text"]).to_pylist()
    calls: set[str] = set()
    pushes: list[datetime] = []
    closing_places: list[int] = []
    commands = [record["command"] for record in records if record["kind"] == "tool_use"]
    for place, record in enumerate(records):
        kind, call, at = record["kind"], record["tool_use_id"], record["timestamp"] or UNTIMED
        if kind == "tool_use" and _pushes(record):
            calls.add(call)
        elif kind == "tool_result" and call in calls and not record["is_error"]:
            pushes.append(at)
        if record["agent_id"] is not None:
            continue
        if kind == "assistant_text":
            closing_places.append(place)
        elif kind in ("prompt", "tool_use", "tool_result"):
            closing_places = []
    # Arrow's `take` would load its library of functions, which takes as long as all the rest.
    closing = [text for place in closing_places for text in texts_of(rows.slice(place, 1))]
    is_known = bool(closing_places) and any(commands)
    return _SessionEnd(
        join("\n\n", closing) if closing else None,
        pushes,
        any(_MAY_PUSH.search(command or "") and not _PUSH.search(command) for command in commands),
        is_known and not any("commit" in (command or "") for command in commands),
    )


def _pushes(call: Mapping[str, Any]) -> bool:
    tool = str(call["tool_name"] or "")
    return tool.endswith(_PUSHING_TOOLS) or bool(_PUSH.search(call["command"] or ""))


def _word_stems(text: str) -> set[str]:
    """Return the longer words of a text and names of code, in lower case, cut to their stems."""
    return {word.lower()[:_STEM] for word in _WORD.findall(text)}


def _date_of(row: Mapping[str, Any]) -> str:
    return f"{row['ended_at'].astimezone():%Y-%m-%d}" if row["ended_at"] else "no date"
