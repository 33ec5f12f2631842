"""The other questions that can be asked of a memory, with the limits of their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, replace
from datetime import datetime
from typing import Any, Literal, Self, get_args

from memory_assets.paths import KNOWN_AGENTS
from memory_assets.requests.arguments import Arguments, Door, argument, declared, one_of
from memory_assets.requests.times import REACH, TIME, Reach, parse_reach, require_order

UsageGroup = Literal["model", "project", "agent", "session", "day"]
ItemKind = Literal["prompts", "turns", "observations", "commits", "summaries"]
ITEM_KINDS: tuple[ItemKind, ...] = get_args(ItemKind)
MAX_IDS = 20
MAX_SESSIONS = 1_000
"""Most sessions of one list."""
SESSION = "A session id, its beginning, or the id of one of its rows."
FULL: dict[str, Any] = {
    "description": "Do not fold long lists on a terminal.",
    "names": {"http": None, "mcp": None},
}
ASIDE: dict[str, Any] = {"names": {"mcp": None}}
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
    project: str | None = argument(None, "Only this project.", max_length=1_000)
    detail: Literal["index", "full"] = argument(
        "index",
        "Print whole texts instead of one line each.",
        flag=("full", "full"),
        aliases=("format",),
    )

    @classmethod
    def given(cls, door: Door, values: Mapping[str, Any], **defaults: Any) -> Self:
        """Return the request; `before` without an anchor counts from now."""
        asked = super().given(door, values, **defaults)
        before = next(spec for spec in declared(cls) if spec.name == "before")
        names = {before.name_at(door), *before.aliases}
        is_back = any(value is not None for name, value in values.items() if name in names)
        return replace(asked, anchor="now", after=0) if is_back and not asked.anchor else asked


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
    pager: bool = argument(True, "Whether a terminal gets it in $PAGER.", names={"http": None})
    workspace: str | None = argument(
        None, "The id is a path in this workspace, which its name or a path says.", max_length=1_000
    )


@dataclass(frozen=True)
class SessionRequest(Arguments):
    """A request for a session's summary and the list of what happened in it."""

    answers = ("session_id", "project", "summary", "turns")

    session: str = argument(
        MISSING,
        SESSION,
        names={"http": "id"},
        aliases=("session_id",),
        min_length=1,
        max_length=500,
    )
    full: bool = argument(False, **FULL)


@dataclass(frozen=True)
class SessionsRequest(Arguments):
    """A request for the list of sessions, the one that ended last first. A session passes `since`
    and `until` if it was going on between them."""

    answers = ("project", "total", "machine", "hidden", "in_memory", "ingest", "sessions")

    project: str | None = argument(
        None, "Only this project; `.` for the current directory's.", max_length=1_000
    )
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
    pinned: bool = argument(False, "Only sessions that are pinned, or turns of which are.", **ASIDE)
    hidden: bool = argument(False, "Also hidden sessions.", **ASIDE)
    session: str | None = argument(
        None, "Only this one, whatever it is.", names={"cli": None, "http": None, "mcp": None}
    )
    n: int = argument(
        20, "Number of sessions.", names={"cli": "-n"}, aliases=("limit",), ge=1, le=MAX_SESSIONS
    )

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
    project: str | None = argument(
        None, "Only this project; `.` for the current directory's.", max_length=1_000
    )
    agent: str | None = argument(None, "Only this agent.", wire=one_of(KNOWN_AGENTS) | None)
    since: datetime | None = argument(
        None, "Begun from here on: 7d, yesterday, last monday or a date; local time.", **TIME
    )
    until: datetime | None = argument(
        None, "Begun before this: 7d, yesterday, last monday or a date; local time.", **TIME
    )

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


@dataclass(frozen=True)
class BlameRequest(Arguments):
    """A request for the sessions behind code; relative paths are of the current directory."""

    target: str = argument(MISSING, "A file or its name, FILE:LINE, or a commit.", max_length=5_000)
    full: bool = argument(False, **FULL)


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

    session: str = argument(MISSING, SESSION, aliases=("session_id",), min_length=1, max_length=500)
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
