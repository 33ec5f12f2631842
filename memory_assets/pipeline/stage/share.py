"""A share of the sessions of a partition: what one of several processes brings up to date.

The process that divides a partition holds its lock for as long as others work on it. They hold the
lock of their share, for which the next writer of the partition waits: so it does not begin while a
process works on whose parent was killed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from memory_assets.stores.files.shared import locked


@dataclass(frozen=True)
class Share:
    """The sessions of a partition that one process makes, the number of the share, and the
    process that holds the partition's lock."""

    number: int
    sessions: frozenset[str] = field(repr=False)
    holder: int


def divided(weights: Mapping[str, float], count: int) -> list[Share]:
    """Return `count` shares of sessions, with nearly equal sums of their weights; this process
    holds the lock. The same weights give the same shares."""
    members: list[set[str]] = [set() for _ in range(count)]
    sums = [0.0] * count
    for session_id in sorted(weights, key=lambda name: (-weights[name], name)):
        lightest = sums.index(min(sums))
        members[lightest].add(session_id)
        sums[lightest] += weights[session_id]
    return [Share(number, frozenset(names), os.getpid()) for number, names in enumerate(members)]


@contextmanager
def holding(lock: Path, share: Share, seconds: float) -> Iterator[bool]:
    """Hold the lock of a share of the partition that `lock` is of; yield whether the process that
    gave it is alive, without which nothing may be written.

    Raises:
        StoreBusy: another process holds it for longer than `seconds`.
    """
    with locked(_locks(lock) / f"{share.number}.lock", seconds, _busy(lock, seconds)):
        yield os.getppid() == share.holder


@contextmanager
def alone(lock: Path, seconds: float) -> Iterator[None]:
    """Keep the other shares of the partition that `lock` is of out of the block.

    Raises:
        StoreBusy: another share was in it for longer than `seconds`.
    """
    with locked(_locks(lock) / "alone.lock", seconds, _busy(lock, seconds)):
        yield


def wait_for_shares(lock: Path, seconds: float) -> None:
    """Wait for processes that still work on a share, after the partition's lock was taken.

    Raises:
        StoreBusy: one does for longer than `seconds`.
    """
    with suppress(FileNotFoundError):
        for each in sorted(_locks(lock).iterdir()):
            with locked(each, seconds, _busy(lock, seconds)):
                pass


def end_shares(lock: Path) -> None:
    """Remove the locks of shares, none of which is held any more."""
    with suppress(FileNotFoundError):
        for each in _locks(lock).iterdir():
            each.unlink()
        _locks(lock).rmdir()


def _locks(lock: Path) -> Path:
    return lock.with_suffix(".shares")


def _busy(lock: Path, seconds: float) -> str:
    return (
        f"processes of an ingest that has ended have been writing {lock.stem} for {seconds:.0f} s; "
        "see `memory status`, then try again"
    )
