"""A sensor's last request for a partition. Work that stays undone is requested again, after waits
that double."""

from __future__ import annotations

from typing import NamedTuple

_RETRY_SECONDS = 120.0
"""Wait before a request is repeated; doubled each time. The run key changes with each attempt,
because Dagster never repeats one (dagster#15982)."""
_MOST_DOUBLINGS = 16


class LastRequest(NamedTuple):
    """The last request for a partition: the fingerprint of the work, the number of attempts (0: the
    work is done), and the time in Unix seconds."""

    fingerprint: str = ""
    attempt: int = 0
    at: float = 0.0

    def still_covers(self, fingerprint: str, now: float, most_seconds: float) -> bool:
        """Return whether this work is done, or was requested too recently to be requested again;
        waits are at most `most_seconds`."""
        wait = min(_RETRY_SECONDS * 2.0 ** min(self.attempt - 1, _MOST_DOUBLINGS), most_seconds)
        is_recent = 0 <= now - self.at < wait  # not if the clock was ahead, and was put right
        return self.fingerprint == fingerprint and (is_recent or not self.attempt)

    def again(self, fingerprint: str, now: float) -> LastRequest:
        """Return the request that follows this one."""
        attempt = self.attempt + 1 if self.fingerprint == fingerprint else 1
        return LastRequest(fingerprint, attempt, now)
