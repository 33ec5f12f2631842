"""Lines for everything that is held back: sessions in quarantine, and files and directories
that cannot be read. Each with its cause and remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def held_back(current: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each session, file and directory that a status says is held back."""
    for entry in current["quarantined"]:
        when = ", tried again by every run" if entry["passing"] else ""
        yield (
            f"{entry['session_id']} of {entry['project']} ({entry['stage']}) since "
            f"{entry['since']}{when}: {_sentence(entry)}"
        )
    for path in current["unlisted"]:
        yield f"{path['path']} ({path['agent']}), looked at again by every run: {_sentence(path)}"


def can_be_helped(current: Mapping[str, Any]) -> bool:
    """Return whether anything is held back that the user can do something about: a failure of
    the environment, or a name that cannot be stored. False for sessions that no run can take in
    before their file changes."""
    return bool(current["unlisted"]) or any(entry["passing"] for entry in current["quarantined"])


def _sentence(entry: Mapping[str, Any]) -> str:
    return f"{entry['reason']}; to do: {entry['remedy']}" if entry["remedy"] else entry["reason"]
