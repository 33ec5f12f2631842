"""Recognise lines of a Codex rollout that were copied from its parent thread.

In a fork or a spawned agent the parent's `session_meta` is the second line, followed by the
parent's history, with all timestamps rewritten to the moment of copying. It ends before the
first turn whose id (a UUIDv7, ordered by time) is younger than the thread's own id. Where
the copied turns have no such ids, it ends at the first pause in the timestamps, because a
copy is written at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from memory_assets.transcripts.lines import JsonObject

PAUSE = timedelta(milliseconds=300)


class CopiedHistory:
    """Follows one file through its copied lines, if it begins with any."""

    def __init__(self) -> None:
        self.goes_on = False
        self._has_turn_ids = False
        self._last: datetime | None = None

    def begin(self, timestamp: datetime | None) -> None:
        """The parent's `session_meta` was read."""
        self.goes_on = True
        self._last = timestamp

    def state(self) -> list[Any]:
        """Return the state, as JSON can hold it."""
        return [self.goes_on, self._has_turn_ids, self._last and self._last.isoformat()]

    def restore(self, state: Sequence[Any]) -> None:
        """Take on a state."""
        self.goes_on, self._has_turn_ids, last = state
        self._last = datetime.fromisoformat(last) if last else None

    def covers(self, payload: JsonObject, timestamp: datetime | None, thread: str) -> bool:
        """Return whether this line is still copied; `thread` is the file's own thread."""
        if not self.goes_on:
            return False
        last, self._last = self._last, timestamp or self._last
        turn = payload.get("turn_id")
        if isinstance(turn, str) and turn[14:15] == thread[14:15] == "7":
            self._has_turn_ids = True
            self.goes_on = turn < thread
        elif not self._has_turn_ids and last is not None and timestamp is not None:
            self.goes_on = timestamp - last < PAUSE
        return self.goes_on
