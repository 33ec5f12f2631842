"""The other questions that can be asked of a memory, with the limits of their arguments, and what
leads from there to doing something: resuming, restoring, exporting, forgetting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, replace
from datetime import datetime
from typing import Any, Literal, Self, get_args

from memory_assets.errors import BadArgument, ConfigurationError
from memory_assets.paths import KNOWN_AGENTS
from memory_assets.requests.arguments import (
    COUNT,
    NOT_OVER_MCP,
    PAGER,
    PROJECT,
    SESSION,
    Arguments,
    Interface,
    argument,
    declared,
    one_of,
)
from memory_assets.requests.times import (
    AGO,
    REACH,
    TIME,
    Reach,
    parse_reach,
    parse_time,
    require_order,
)

UsageGroup = Literal["model", "project", "agent", "session", "day"]
ItemKind = Literal["prompts", "turns", "observations", "commits", "summaries"]
ITEM_KINDS: tuple[ItemKind, ...] = get_args(ItemKind)
MAX_IDS = 20
MAX_SESSIONS = 1_000
"""Most sessions of one list."""
FULL: dict[str, Any] = {
    "description": "Do not fold long lists on a terminal.",
    "names": {"http": None, "mcp": None},
}
_OUTPUT: dict[str, Any] = {
    "description": "Write it to this file.",
    "names": {"http": None},
    "max_length": 5_000,
}
_FORCE: dict[str, Any] = {
    "description": "With --output: also over a file that exists.",
    "names": {"http": None},
}
_SESSION: dict[str, Any] = {"aliases": ("session_id",), "min_length": 1, "max_length": 500}
_SPAN: dict[str, Any] = {"wire": int | str, "reads": parse_reach, "max_length": 8, "pattern": REACH}


@dataclass(frozen=True)
class TimelineRequest(Arguments):
    """A request for what happened around `anchor`; without one, on the newest day with something.
    `before` and `after` are counts of items (0-50) or lengths of time. `scope` is the anchor's
    project (the default), its session, or all projects (the default for a time without a
    project)."""

    answers = ("anchor", "sessions")

    anchor: str | None = argument(
        None,
        "An id, a session, a commit, a file path or a time; else the newest day, or before now.",
        names={"cli": "anchor"},
        hint="id, session, commit, file path or time",
        min_length=1,
        max_length=1_000,
    )
    before: Reach = argument(
        10,
        "A number of items before the anchor (0-50), or a time: 30m, 2h, 3d.",
        hint="count (0-50) or 2h, 3d",
        aliases=("depth_before",),
        **_SPAN,
    )
    after: Reach = argument(
        10,
        "A number of items after the anchor (0-50), or a time: 30m, 2h, 3d.",
        aliases=("depth_after",),
        **_SPAN,
    )
    kinds: tuple[ItemKind, ...] | None = argument(
        None, "Only these kinds.", names={"cli": "--kind"}, min_length=1
    )
    scope: Literal["project", "session", "all"] | None = argument(
        None, "The anchor's session, its project, or all projects."
    )
    project: str | None = argument(None, **PROJECT)
    detail: Literal["index", "full"] = argument(
        "index",
        "Print whole texts instead of one line each.",
        flag=("full", "full"),
        aliases=("format",),
    )
    pager: bool = argument(True, **PAGER)

    @classmethod
    def from_values(cls, interface: Interface, values: Mapping[str, Any], **defaults: Any) -> Self:
        """Return the request; `before` without an anchor counts from now."""
        request = super().from_values(interface, values, **defaults)
        before = next(spec for spec in declared(cls) if spec.name == "before")
        names = {before.name_at(interface), *before.aliases}
        is_back = any(value is not None for name, value in values.items() if name in names)
        return (
            replace(request, anchor="now", after=0) if is_back and not request.anchor else request
        )


@dataclass(frozen=True)
class ShowRequest(Arguments):
    """A request for a turn, observation, commit or summary in full, with `around` turns before and
    after. `records` asks for every record of the turns behind it, in pages; those of subagents are
    folded unless `subagents`."""

    answers = ("id", "rows")

    id: str = argument(
        MISSING,
        "The id of a turn, prompt, summary, observation, commit or session.",
        min_length=1,
        max_length=500,
    )
    around: int = argument(0, "Also print this many turns before and after.", ge=0, le=50)
    records: bool = argument(False, "Print every record: tool output, edits as diffs.")
    subagents: bool = argument(False, "With --records: also those of subagents.")
    page: int = argument(1, "With --records: the page to print.", ge=1, le=10_000)
    full: bool = argument(False, **FULL)
    workspace: str | None = argument(
        None, "The id is a path in this workspace, which its name or a path says.", max_length=1_000
    )
    pager: bool = argument(True, **PAGER)

    def check_together(self) -> None:
        """Raise `ConfigurationError` for what only records have, without records."""
        if not self.records and (self.subagents or self.page > 1):
            raise ConfigurationError("subagents and page are of records; ask for records, too")


@dataclass(frozen=True)
class SessionRequest(Arguments):
    """A request for a session's summary and the list of what happened in it."""

    answers = ("session_id", "project", "summary", "turns")

    session: str = argument(MISSING, SESSION, names={"http": "id"}, **_SESSION)
    full: bool = argument(False, **FULL)
    pager: bool = argument(True, **PAGER)


@dataclass(frozen=True)
class SessionsRequest(Arguments):
    """A request for the list of sessions, the one that ended last first. A session passes `since`
    and `until` if it was going on between them."""

    answers = ("project", "total", "machine", "hidden", "in_memory", "ingest", "sessions")

    project: str | None = argument(None, **PROJECT)
    agent: str | None = argument(None, "Only this agent.", wire=one_of(KNOWN_AGENTS) | None)
    since: datetime | None = argument(
        None, "Not ended before this: 7d, yesterday, last monday or a date; local time.", **TIME
    )
    until: datetime | None = argument(
        None, "Begun before this: 7d, yesterday, last monday or a date; local time.", **TIME
    )
    file: str | None = argument(
        None, "Only sessions that read or changed this file or directory.", max_length=1_000
    )
    machine: bool = argument(False, "Also sessions in which no person asked for anything.")
    pinned: bool = argument(
        False, "Only sessions that are pinned, or turns of which are.", **NOT_OVER_MCP
    )
    hidden: bool = argument(False, "Also hidden sessions.", **NOT_OVER_MCP)
    session: str | None = argument(
        None, "Only this one, whatever it is.", names={"cli": None, "http": None, "mcp": None}
    )
    n: int = argument(20, "Number of sessions.", le=MAX_SESSIONS, **COUNT)
    pager: bool = argument(True, **PAGER)

    def check_together(self) -> None:
        """Raise `ConfigurationError` for a time range that holds no time."""
        require_order(self.since, self.until)


@dataclass(frozen=True)
class UsageRequest(Arguments):
    """A request for the tokens, the price and the time of turns that began between `since` and
    `until`."""

    answers = (
        *("project", "by", "prices_of", "sessions", "tokens", "input_tokens", "output_tokens"),
        *("cache_read_tokens", "cache_write_tokens", "answers", "seconds", "dollars"),
        *("unpriced", "without_usage", "groups"),
    )

    by: UsageGroup = argument("model", "What is added up: model, project, agent, session or day.")
    project: str | None = argument(None, **PROJECT)
    agent: str | None = argument(None, "Only this agent.", wire=one_of(KNOWN_AGENTS) | None)
    since: datetime | None = argument(
        None, "Begun from here on: 7d, yesterday, last monday or a date; local time.", **TIME
    )
    until: datetime | None = argument(
        None, "Begun before this: 7d, yesterday, last monday or a date; local time.", **TIME
    )
    pager: bool = argument(True, **PAGER)

    def check_together(self) -> None:
        """Raise `ConfigurationError` for a time range that holds no time."""
        require_order(self.since, self.until)


@dataclass(frozen=True)
class AuditRequest(Arguments):
    """A request for the origin of what has an id, or for the sessions that contain a tag."""

    id: str = argument(
        MISSING, "An id as `memory search` prints it, or a redaction tag.", max_length=500
    )
    full: bool = argument(False, **FULL)
    pager: bool = argument(True, **PAGER)


@dataclass(frozen=True)
class BlameRequest(Arguments):
    """A request for the sessions behind code; relative paths are of the current directory."""

    target: str = argument(MISSING, "A file or its name, FILE:LINE, or a commit.", max_length=5_000)
    full: bool = argument(False, **FULL)
    pager: bool = argument(True, **PAGER)


@dataclass(frozen=True)
class GetRequest(Arguments):
    """A request for full texts by ids, in pages; with `records`, of every record of their turns."""

    answers = ("items", "page", "pages")

    ids: tuple[str, ...] = argument(
        MISSING, "Ids from other tools.", min_length=1, max_length=MAX_IDS
    )
    page: int = argument(1, "", ge=1)
    records: bool = argument(
        False,
        "Every record of the turns: tool output, edits as diffs.",
        hint="all tool output and diffs",
    )
    subagents: bool = argument(False, "With records: also those of subagents.")


@dataclass(frozen=True)
class LinkRequest(Arguments):
    """A request to link a session to a commit."""

    answers = ("session_id", "commit", "subject", "evidence")

    session: str = argument(MISSING, SESSION, **_SESSION)
    commit: str = argument(
        MISSING,
        "A hash or another revision of the repository you are in.",
        aliases=("commit_sha",),
        max_length=200,
        pattern=r"^[^\s-]\S*$",
    )
    force: bool = argument(
        False,
        "Link a hash that no repository on this machine has; the evidence says so.",
        names={"mcp": None},
    )


@dataclass(frozen=True)
class UnlinkRequest(Arguments):
    """A request to remove the link between a session and a commit that a human set."""

    session: str = argument(MISSING, SESSION, min_length=1, max_length=500)
    commit: str = argument(
        MISSING, "The hash of the link, or its beginning.", max_length=200, pattern=r"^[^\s-]\S*$"
    )


@dataclass(frozen=True)
class StatusRequest(Arguments):
    """A request for the contents of the memory; it has no arguments."""

    answers = ("coverage",)


MAX_LISTED = 100
"""Most commands or errors of one answer."""


@dataclass(frozen=True)
class ResumeRequest(Arguments):
    """A request for the command with which a session's own agent resumes it: of `session`, or of
    the `last` one that ended in `project`, by default the current directory's, or in any where it
    is none."""

    answers = ("session_id", "agent", "directory", "command", "missing")

    session: str | None = argument(
        None,
        SESSION,
        names={"http": "id", "cli": "session"},
        aliases=("session_id",),
        max_length=500,
    )
    last: bool = argument(False, "The last session of this directory's project, or of all.")
    project: str | None = argument(None, "With --last: of this project.", max_length=1_000)
    run: bool = argument(False, "Run the command, instead of printing it.", names={"http": None})

    def check_together(self) -> None:
        """Raise `ConfigurationError` unless one session is named, by its id or as the last."""
        if (self.session is not None) == self.last:
            raise ConfigurationError("give a session's id or --last: one of them")
        if self.project is not None and not self.last:
            raise ConfigurationError("a project goes with --last")


@dataclass(frozen=True)
class HowRequest(Arguments):
    """A request for the commands of a tool that worked, and for what failed before them."""

    answers = ("tool", "commands", "failed", "sessions")

    tool: str = argument(
        MISSING,
        "A program with the words that follow, such as git push, or an agent's tool.",
        hint="program, as in git push",
        min_length=1,
        max_length=200,
    )
    project: str | None = argument(None, **PROJECT)
    n: int = argument(10, "Number of commands.", le=MAX_LISTED, **COUNT)
    pager: bool = argument(True, **PAGER)

    def check_together(self) -> None:
        """Raise `ConfigurationError` for a name of blanks alone."""
        if not self.tool.strip():
            raise ConfigurationError("tool: is blank; give a program, as in git push")


@dataclass(frozen=True)
class FrictionRequest(Arguments):
    """A request for the errors that were met in several sessions, and for what ended them."""

    answers = ("errors",)

    project: str | None = argument(None, **PROJECT)
    sessions: int = argument(
        3, "Only errors met in so many sessions or more.", names={"mcp": None}, ge=2, le=1_000
    )
    n: int = argument(10, "Number of errors.", le=MAX_LISTED, **COUNT)
    full: bool = argument(False, **FULL)
    pager: bool = argument(True, **PAGER)


@dataclass(frozen=True)
class RestoreRequest(Arguments):
    """A request for the contents of a file, as sessions read and wrote it, after the last event
    that is not later than `at`, or that is of `session`."""

    answers = ("file", "text", "complete", "missing")

    file: str = argument(
        MISSING, "A file's path, the end of it, or its name.", min_length=1, max_length=5_000
    )
    at: datetime | None = argument(
        None,
        "As it was then: 7d, yesterday, last monday or a date; local time.",
        wire=str,
        reads=parse_time,
        max_length=40,
        pattern=AGO,
    )
    session: str | None = argument(
        None, "As this session left it.", aliases=("session_id",), max_length=500
    )
    output: str | None = argument(None, **_OUTPUT)
    force: bool = argument(False, **_FORCE)

    def check_together(self) -> None:
        """Raise `ConfigurationError` for a time and a session at once."""
        if self.at is not None and self.session is not None:
            raise ConfigurationError("give a time or a session, not both")


Verb = Literal["sessions", "blame", "restore", "how", "friction", "usage"]


@dataclass(frozen=True)
class AskRequest(Arguments):
    """A request for one of several answers that MCP has a single tool for: the definitions of all
    tools are in each conversation. `target` is what the verb is about."""

    verb: Verb = argument(MISSING, "What to ask for.")
    target: str | None = argument(
        None,
        "A file; for blame also FILE:LINE or a commit; for how a program, as in git push.",
        hint="file, FILE:LINE, commit; how: git push",
        max_length=5_000,
    )
    project: str | None = argument(None, **PROJECT)
    session: str | None = argument(None, "As this session left the file.", max_length=500)
    since: datetime | None = argument(None, "Not ended before this.", **TIME)
    until: datetime | None = argument(None, "Before this; of a file, as it was then.", **TIME)
    n: int | None = argument(None, "How many.", ge=1, le=MAX_LISTED)
    sessions: int | None = argument(
        None, "Of errors: those met in so many sessions or more.", ge=2, le=1_000
    )

    def meant(self, defaults: Mapping[str, Mapping[str, object]]) -> Arguments:
        """Return the request that it stands for, with an interface's own `defaults`, by verb and
        field.

        Raises:
            BadArgument: the verb needs another argument, or does not take one that is given.
        """
        request, names = _VERBS[self.verb]
        given = {
            name: value
            for name in ("target", "project", "session", "since", "until", "n", "sessions")
            if (value := getattr(self, name)) is not None
        }
        if self.verb in _NEEDS and "target" not in given:
            raise BadArgument(f"is missing; give {_NEEDS[self.verb]}", "target")
        for name in given:
            if name not in names:
                takes = ", ".join(names)
                raise BadArgument(f"{self.verb} does not take it; it takes {takes}", name)
        fields = {names[name]: value for name, value in given.items()}
        return request(**{**defaults.get(self.verb, {}), **fields})


_VERBS: Mapping[Verb, tuple[type[Arguments], Mapping[str, str]]] = {
    "sessions": (
        SessionsRequest,
        {"target": "file", **{name: name for name in ("project", "since", "until", "n")}},
    ),
    "blame": (BlameRequest, {"target": "target"}),
    "restore": (RestoreRequest, {"target": "file", "session": "session", "until": "at"}),
    "how": (HowRequest, {"target": "tool", "project": "project", "n": "n"}),
    "friction": (FrictionRequest, {name: name for name in ("project", "n", "sessions")}),
    "usage": (UsageRequest, {name: name for name in ("project", "since", "until")}),
}
"""The request of each verb, and the field of each argument that it takes."""
_NEEDS: Mapping[Verb, str] = {
    "blame": "a file, FILE:LINE or a commit",
    "restore": "a file",
    "how": "a program, as in git push",
}
"""The verbs that need a target, and what it is."""


ExportFormat = Literal["csv", "json", "markdown", "html"]


@dataclass(frozen=True)
class ExportRequest(Arguments):
    """A request for sessions as a file for other programs: the list of them (`csv`, `json`), or all
    that is said and done in them (`markdown`, `html`)."""

    format: ExportFormat = argument(
        "csv",
        "The list of sessions, or (markdown, html) all of what they say.",
        names={"mcp": None},
    )
    session: str | None = argument(
        None, f"Only one: {SESSION}", names={"cli": "session"}, max_length=500
    )
    project: str | None = argument(None, **PROJECT)
    agent: str | None = argument(None, "Only this agent.", wire=one_of(KNOWN_AGENTS) | None)
    since: datetime | None = argument(None, "Not ended before this.", **TIME)
    until: datetime | None = argument(None, "Begun before this.", **TIME)
    output: str | None = argument(None, **_OUTPUT)
    force: bool = argument(False, **_FORCE)

    @property
    def sessions(self) -> SessionsRequest:
        """The request for the sessions that are meant."""
        names = ("session", "project", "agent", "since", "until")
        return SessionsRequest(n=MAX_SESSIONS, **{name: getattr(self, name) for name in names})


@dataclass(frozen=True)
class ForgetRequest(Arguments):
    """A request to delete the sessions, documents of workspaces, or memories of agents that match
    all arguments given."""

    session: str | None = argument(
        None,
        f"{SESSION[:-1]}; or a memory's id.",
        names={"cli": "session"},
        max_length=500,
    )
    project: str | None = argument(
        None, "All present sessions of this project; later ones are ingested."
    )
    containing_tag: str | None = argument(
        None, "Sessions that contain this redaction tag, given whole or by its digest."
    )
    containing: bool = argument(
        False,
        "Sessions that hold a text, such as a secret that redaction missed; it is asked for, or"
        " read from standard input.",
    )
    cut: bool = argument(
        False, "With --containing: take that text out of all that is kept; the sessions stay."
    )
    before: datetime | None = argument(
        None, "Sessions that ended before this: 90d, 12w or a date.", wire=str, reads=parse_time
    )
    workspace: str | None = argument(
        None, "Documents of this workspace; `memory index ROOT` takes it in again.", max_length=500
    )
    file: str | None = argument(
        None, "Documents whose path fits this pattern: docs/*.md. They stay out.", max_length=1_000
    )
    conversation: str | None = argument(
        None, "A conversation that an agent appended, and its memories.", max_length=200
    )
    exclude: bool = argument(False, "With --project: never read it again, whatever comes.")
    yes: bool = argument(False, "Do not ask for confirmation.")
    dry_run: bool = argument(False, "Only list what would be removed.")

    def check_together(self) -> None:
        """Raise `ConfigurationError` for an exclusion without a project, a cut of less than
        everything, or if nothing says what is forgotten."""
        if self.exclude and self.project is None:
            raise ConfigurationError("--exclude needs --project: say which one is never read")
        choices = (self.session, self.project, self.containing_tag, self.before, self.workspace)
        chosen = any((*choices, self.file, self.conversation))
        if self.cut and (chosen or not self.containing):
            raise ConfigurationError(
                "--cut needs --containing, and no session, project or other choice: the text goes"
                " wherever it stands"
            )
        if not chosen and not self.containing:
            raise ConfigurationError(
                "say what to forget: a session, --project, --workspace, --file, --conversation, "
                "--containing-tag, --containing or --before"
            )
