"""The sessions that a person hid: they stay in memory, but lists, searches and contexts leave them
out unless they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from memory_assets.errors import StoreError
from memory_assets.stores.files.shared import cannot_write, locked, replace_text

HIDDEN_FILE = "hidden.txt"
"""The file in the data directory, with lines of project, tab and session."""
SessionKey = tuple[str, str]


class HiddenSessions:
    """The hidden sessions of one data directory, by project and id."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> frozenset[SessionKey]:
        """Return the hidden sessions.

        Raises:
            StoreError: their file cannot be read.
        """
        try:
            lines = self._path.read_text("utf-8", "replace").split("\n")
        except FileNotFoundError:
            return frozenset()
        except OSError as error:
            reason = f"cannot read {self._path}: {error.strerror}. It says what is hidden"
            raise StoreError(f"{reason}: correct its permissions.") from None
        parted = (line.rpartition("\t") for line in lines)
        return frozenset((project, session) for project, tab, session in parted if tab)

    def add(self, sessions: Iterable[SessionKey]) -> bool:
        """Hide sessions, and return whether any was not hidden before.

        Raises:
            StoreBusy, StoreError: the file cannot be written.
        """
        return self._note(frozenset[SessionKey].union, sessions)

    def remove(self, sessions: Iterable[SessionKey]) -> bool:
        """Show sessions again, and return whether any was hidden.

        Raises:
            StoreBusy, StoreError: the file cannot be written.
        """
        return self._path.exists() and self._note(frozenset[SessionKey].difference, sessions)

    def _note(
        self,
        change: Callable[[frozenset[SessionKey], Iterable[SessionKey]], frozenset[SessionKey]],
        sessions: Iterable[SessionKey],
    ) -> bool:
        with locked(self._path.with_suffix(".lock"), 30.0, f"{self._path} is being written"):
            before = self.all()
            after = change(before, sessions)
            if after == before:
                return False
            lines = (f"{project}\t{session}\n" for project, session in sorted(after))
            try:
                replace_text(self._path, "".join(lines))
            except OSError as error:
                raise cannot_write(self._path, error) from None
        return True
