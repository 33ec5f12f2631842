"""The questions that lead from what is on record to doing something: resuming a session, using a
tool, avoiding an error, restoring a file."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from memory_assets.requests.arguments import Arguments, argument
from memory_assets.requests.questions import SESSION


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
