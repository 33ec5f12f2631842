"""The questions that lead from what is on record to doing something: resuming a session, using a
tool, avoiding an error, restoring a file."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from memory_assets.requests.arguments import Arguments, argument
from memory_assets.requests.questions import SESSION

MAX_LISTED = 100
"""Most commands or errors of one answer."""


@dataclass(frozen=True)
class ResumeRequest(Arguments):
    """A request for the command with which a session's own agent resumes it."""

    answers = ("session_id", "agent", "directory", "command", "missing")

    session: str = argument(
        MISSING,
        SESSION,
        names={"http": "id"},
        aliases=("session_id",),
        min_length=1,
        max_length=500,
    )
    run: bool = argument(False, "Run the command, instead of printing it.", names={"http": None})


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
