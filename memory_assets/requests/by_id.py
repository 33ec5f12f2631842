"""Arguments of requests by id, and of those without arguments."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from memory_assets.requests.arguments import Arguments, argument

MAX_IDS = 20
_SESSION = "A session id, its beginning, or the id of one of its rows."


@dataclass(frozen=True)
class ShowRequest(Arguments):
    """A request for a turn, observation, commit or summary in full, with `around` turns before and
    after."""

    id: str = argument(
        MISSING,
        "The id of a turn, prompt, summary, observation, commit or session.",
        names={"cli": "id"},
        min_length=1,
        max_length=500,
    )
    around: int = argument(0, "Also print this many turns before and after.", ge=0, le=50)


@dataclass(frozen=True)
class SessionRequest(Arguments):
    """A request for a session's summary and the list of what happened in it."""

    session: str = argument(
        MISSING, _SESSION, names={"http": "id", "cli": "session"}, min_length=1, max_length=500
    )


@dataclass(frozen=True)
class GetRequest(Arguments):
    """A request for full texts by ids, in pages."""

    ids: tuple[str, ...] = argument(
        MISSING, "Ids from other tools.", min_length=1, max_length=MAX_IDS
    )
    page: int = argument(1, "", ge=1, le=1_000)


@dataclass(frozen=True)
class LinkRequest(Arguments):
    """A request to link a session to a commit."""

    session: str = argument(MISSING, _SESSION, min_length=1, max_length=500)
    commit: str = argument(MISSING, "A SHA of 7 to 40 hex digits.", pattern=r"^[0-9a-fA-F]{7,40}$")


@dataclass(frozen=True)
class StatusRequest(Arguments):
    """A request for the contents of the memory; it has no arguments."""
