"""A share of the sessions of a partition: what one of several processes brings up to date.

The process that divides a partition holds its lock, and leaves a token beside it. Processes at a
share hold a lock of their own, and write only while they find the token. The next writer takes the
token away and waits for their locks: so nobody writes beside it, whoever was killed.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from memory_assets.errors import StoreBusy
from memory_assets.stores.files.shared import is_locked, locked

_TOKEN = "token"


@dataclass(frozen=True)
class Share:
    """The sessions of a partition that one process makes, the number of the share, and the token
    of the process that holds the partition's lock."""

    partition: str
    number: int
    sessions: frozenset[str] = field(repr=False)
    token: str = ""

    def is_given(self, lock: Path) -> bool:
        """Whether the share may be worked on: nobody else holds the partition's lock."""
        try:
            return (_beside(lock) / _TOKEN).read_text("utf-8") == self.token
        except FileNotFoundError:
            return False


def divided(partition: str, weights: Mapping[str, float], count: int) -> list[Share]:
    """Return `count` shares of sessions, with nearly equal sums of their weights. The same weights
    give the same shares."""
    members: list[set[str]] = [set() for _ in range(count)]
    sums = [0.0] * count
    for session_id in sorted(weights, key=lambda name: (-weights[name], name)):
        lightest = sums.index(min(sums))
        members[lightest].add(session_id)
        sums[lightest] += weights[session_id]
    return [Share(partition, number, frozenset(names)) for number, names in enumerate(members)]


def begin_shares(lock: Path) -> str:
    """Return a token with which shares of a partition may be worked on; the caller holds `lock`."""
    token = secrets.token_hex(8)
    _beside(lock).mkdir(parents=True, exist_ok=True)
    (_beside(lock) / _TOKEN).write_text(token, "utf-8")
    return token


@contextmanager
def holding(lock: Path, share: Share, seconds: float) -> Iterator[bool]:
    """Hold the lock of a share for the block; yield whether it may be worked on.

    Raises:
        StoreBusy: another process holds it for longer than `seconds`.
    """
    with locked(_beside(lock) / f"{share.number}.lock", seconds, _busy(lock, seconds)):
        yield share.is_given(lock)


def end_shares(lock: Path, seconds: float) -> None:
    """Take the token away, and wait for processes that are still at a share; the caller holds
    `lock`. Costs one failed look where there are no shares.

    Raises:
        StoreBusy: one works on for longer than `seconds`.
    """
    beside = _beside(lock)
    if not beside.is_dir():
        return
    (beside / _TOKEN).unlink(missing_ok=True)
    for each in sorted(beside.glob("*.lock")):
        with locked(each, seconds, _busy(lock, seconds)):
            pass
    with suppress(OSError):  # another process has just come, and finds no token
        for each in beside.glob("*.lock"):
            if not is_locked(each):
                each.unlink()
        beside.rmdir()


def taken_away(partition: str) -> StoreBusy:
    """Return the error of a process that is at a share, and finds no token any more."""
    return StoreBusy(f"another process writes {partition} now")


def _beside(lock: Path) -> Path:
    return lock.with_suffix(".shares")


def _busy(lock: Path, seconds: float) -> str:
    return (
        f"processes of an ingest that has ended have been writing {lock.stem} for {seconds:.0f} s; "
        "see `memory status`, then try again"
    )
