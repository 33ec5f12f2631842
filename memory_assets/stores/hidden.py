"""The sessions that a person hid: they stay in memory, but in no list, search or context unless
they are asked for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

HIDDEN_FILE = "hidden.txt"
"""Where in the data directory they are noted: project and session a line, with a tab between."""
SessionKey = tuple[str, str]


class HiddenSessions:
    """The hidden sessions of one data directory, by project and id."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> frozenset[SessionKey]:
        """Return project and id of each."""
        try:
            lines = self._path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return frozenset()
        parted = (line.rpartition("\t") for line in lines)
        return frozenset((project, session) for project, tab, session in parted if tab)

    def add(self, sessions: Iterable[SessionKey]) -> bool:
        """Hide sessions, and return whether any was not hidden before."""
        return self._note(self.all().union(sessions))

    def remove(self, sessions: Iterable[SessionKey]) -> bool:
        """Hide sessions no more, and return whether any was hidden."""
        return self._note(self.all().difference(sessions))

    def _note(self, sessions: frozenset[SessionKey]) -> bool:
        if sessions == self.all():
            return False
        staging = self._path.with_name(f"{HIDDEN_FILE}.new")
        lines = (f"{project}\t{session}\n" for project, session in sorted(sessions))
        staging.write_text("".join(lines), "utf-8")
        staging.replace(self._path)
        return True
