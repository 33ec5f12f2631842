"""The questions that lead from what is on record to doing something: resuming a session, using a
tool, avoiding an error, restoring a file, forgetting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from datetime import datetime
from typing import Literal

from memory_assets.errors import BadArgument, ConfigurationError
from memory_assets.paths import KNOWN_AGENTS
from memory_assets.requests.arguments import Arguments, argument, one_of
from memory_assets.requests.questions import (
    FULL,
    MAX_SESSIONS,
    SESSION,
    BlameRequest,
    SessionsRequest,
    UsageRequest,
)
from memory_assets.requests.times import AGO, TIME, parse_time

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
    project: str | None = argument(None, "Only this project.", max_length=1_000)
    n: int = argument(
        10, "Number of commands.", names={"cli": "-n"}, aliases=("limit",), ge=1, le=MAX_LISTED
    )

    def check_together(self) -> None:
        """Raise `ConfigurationError` for a name of blanks alone."""
        if not self.tool.strip():
            raise ConfigurationError("tool: is blank; give a program, as in git push")


@dataclass(frozen=True)
class FrictionRequest(Arguments):
    """A request for the errors that were met in several sessions, and for what ended them."""

    answers = ("errors",)

    project: str | None = argument(None, "Only this project.", max_length=1_000)
    sessions: int = argument(
        3, "Only errors met in so many sessions or more.", names={"mcp": None}, ge=2, le=1_000
    )
    n: int = argument(
        10, "Number of errors.", names={"cli": "-n"}, aliases=("limit",), ge=1, le=MAX_LISTED
    )
    full: bool = argument(False, **FULL)


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
        None,
        "As this session left it.",
        aliases=("session_id",),
        max_length=500,
    )
    output: str | None = argument(
        None, "Write it to this file.", names={"http": None}, max_length=5_000
    )
    force: bool = argument(
        False, "With --output: also over a file that exists.", names={"http": None}
    )

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
    project: str | None = argument(None, "Only this project.", max_length=1_000)
    session: str | None = argument(None, "As this session left the file.", max_length=500)
    since: datetime | None = argument(None, "Not ended before this.", **TIME)
    until: datetime | None = argument(None, "Before this; of a file, as it was then.", **TIME)
    n: int | None = argument(None, "How many.", ge=1, le=MAX_LISTED)

    def meant(self, defaults: Mapping[str, Mapping[str, object]]) -> Arguments:
        """Return the request that it stands for, with an interface's own `defaults`, by verb and
        field.

        Raises:
            BadArgument: the verb needs another argument, or does not take one that is given.
        """
        request, names = _VERBS[self.verb]
        given = {
            name: value
            for name in ("target", "project", "session", "since", "until", "n")
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
    "friction": (FrictionRequest, {"project": "project", "n": "n"}),
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
    project: str | None = argument(
        None, "Only this project; `.` for the current directory's.", max_length=1_000
    )
    agent: str | None = argument(None, "Only this agent.", wire=one_of(KNOWN_AGENTS) | None)
    since: datetime | None = argument(None, "Not ended before this.", **TIME)
    until: datetime | None = argument(None, "Begun before this.", **TIME)
    output: str | None = argument(
        None, "Write it to this file.", names={"http": None}, max_length=5_000
    )
    force: bool = argument(
        False, "With --output: also over a file that exists.", names={"http": None}
    )

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
        """Raise `ConfigurationError` for an exclusion without a project, or a cut of less than
        everything."""
        if self.exclude and self.project is None:
            raise ConfigurationError("--exclude needs --project: say which one is never read")
        choices = (self.session, self.project, self.containing_tag, self.before, self.workspace)
        chosen = any((*choices, self.file, self.conversation))
        if self.cut and (chosen or not self.containing):
            raise ConfigurationError(
                "--cut needs --containing, and no session, project or other choice: the text goes"
                " wherever it stands"
            )
