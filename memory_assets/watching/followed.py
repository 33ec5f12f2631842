"""What a watcher follows: transcripts, workspaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.watching.directories import Directories

Report = Callable[[str], None]
"""Prints a line."""


class Followed(Protocol):
    """Partitions whose files are watched. All methods are called by the watcher's thread."""

    directories: Directories

    def refresh(self) -> bool:
        """Watch directories that are new; return whether all files must be compared."""

    def plans(self) -> Iterator[tuple[str, ProjectPlan | None]]:
        """Compare every partition with its files; yield its name and the work that it has."""

    def projects_of(self, paths: Iterable[str]) -> list[str]:
        """Return the partitions of those paths that differ from what is on record."""

    def still_differ(self, project: str) -> bool:
        """Return True if a changed path of a partition differs from what is on record."""

    def taken_in(self, project: str) -> None:
        """Note that a run has taken in what had changed of a partition."""
