"""The progress of an ingest, for searches meanwhile.

The file counts while the ingesting process holds the lock; a killed process leaves a file, and no
lock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from memory_assets.errors import StoreBusy
from memory_assets.stores.files.shared import holder_state, locked, replace_text

_LOCK = "ingest.lock"
_FILE = "ingest.json"


@dataclass
class IndexedProjects:
    """The number of projects of an ingest, and of those whose words and vectors are indexed."""

    projects: int
    words: int = 0
    vectors: int = 0

    def __str__(self) -> str:
        """Say what can be found meanwhile."""
        if self.words < self.projects:
            return (
                f"an ingest is under way: what is new in {self.words} of {self.projects} projects "
                "can be found, by its words"
            )
        return (
            f"an ingest is under way: what is new in all {self.projects} projects can be found by "
            f"its words, in {self.vectors} by meaning"
        )


@contextmanager
def ingesting(data_dir: Path, progress: IndexedProjects) -> Iterator[Callable[[], None]]:
    """Yield a function that publishes the present progress of an ingest, for a block; it does
    nothing while another process publishes its own. A full disk does not stop the ingest."""

    def publish() -> None:
        with suppress(OSError):
            replace_text(data_dir / _FILE, json.dumps(asdict(progress)))

    with ExitStack() as after:
        try:
            after.enter_context(locked(data_dir / _LOCK, 0.0, "another process ingests"))
        except StoreBusy:
            yield lambda: None
            return
        after.callback((data_dir / _FILE).unlink, missing_ok=True)
        publish()
        yield publish


def under_way(data_dir: Path) -> IndexedProjects | None:
    """Return the progress of an ingest under way, or None."""
    return holder_state(data_dir / _FILE, data_dir / _LOCK, IndexedProjects)
