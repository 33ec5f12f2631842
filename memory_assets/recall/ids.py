"""The ids of docs/contracts.md, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory_assets.errors import ConfigurationError

_FORMS = (
    re.compile(r"(?P<head>session)::(?P<session>.+)::turn::(?P<turn>\d+)(?:::part::\d+)?"),
    re.compile(r"(?P<head>session)::(?P<session>(?:(?!::).)+)"),
    re.compile(r"(?P<head>prompt)::(?P<session>.+?)::(?P<turn>\d+)(?:::\d+)?"),
    re.compile(r"(?P<head>summary)::(?P<session>.+)"),
    re.compile(r"(?P<head>observation|commit|link)::(?P<session>.+?)::.+"),
    re.compile(r"(?P<session>[^\s:]+):(?P<turn>\d+)(?P<head>)"),
)
_PASTED = re.compile(r"[a-z]+::\S+|(?=\S*\d)(?=\S*[a-f])[0-9a-f]{8}[0-9a-f-]*(?::\d+)?")
_SESSION_OR_TURN = re.compile(r"session::([^:\s]+)(?:::turn::(\d+))?")
OF_SESSIONS = ("session::", "prompt::", "summary::", "observation::", "commit::", "link::")
"""Beginnings of the ids of a session's rows."""


def may_be_id(text: str) -> bool:
    """Return True for a text that looks like an id of docs/contracts.md, or like the beginning of a
    session's id or of a commit's."""
    return _PASTED.fullmatch(text) is not None


@dataclass(frozen=True)
class MemoryId:
    """A parsed id: `kind` is turn, prompt, summary, observation, commit, link (a commit linked by
    hand) or session; `turn_index` is set for turns and prompts."""

    session_id: str
    turn_index: int | None
    kind: str


def parse_id(text: str) -> MemoryId:
    """Return the parsed id of a turn (also `SESSION:TURN`), passage, prompt, summary, observation,
    commit or link, or of a session, with or without `session::`.

    Raises:
        ConfigurationError: it looks like none of these.
    """
    for form in _FORMS:
        if match := form.fullmatch(text):
            parts = match.groupdict()
            turn = parts.get("turn")
            kind = "turn" if parts["head"] in ("session", "") and turn else parts["head"]
            return MemoryId(parts["session"], None if turn is None else int(turn), kind)
    if "::" in text or not text:
        raise ConfigurationError(
            f"{text!r} is not an id; ids look like session::ID::turn::N, prompt::ID::N, "
            "summary::ID, observation::ID::N, commit::ID::SHA, or a session's own ID"
        )
    return MemoryId(text, None, "session")


def short_form(any_id: str) -> str:
    """Return the id of a session without what it begins with, of a turn as `SESSION:TURN`: both are
    taken wherever an id is. Other ids stay, and those of sessions with a colon."""
    match = _SESSION_OR_TURN.fullmatch(any_id)
    return ":".join(filter(None, match.groups())) if match else any_id
