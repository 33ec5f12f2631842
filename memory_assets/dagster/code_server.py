"""Dagster's code server, started as its own is, whose runs begin with their modules imported.

Dagster starts a new Python for each run, and most of what a run for one more turn costs is
importing Dagster and the assets. Here a run is forked from a process that has imported them and
does nothing else (multiprocessing's `forkserver`); elsewhere than on Linux, where a fork may be
unsafe, all is as Dagster has it. What is replaced is not public (checked against 1.13.27).
"""

from __future__ import annotations

import multiprocessing
import sys
from typing import Any

from dagster import _cli
from dagster._grpc import server

_IMPORTED = (
    "dagster._cli",
    "dagster._grpc.server",
    "memory_assets.dagster.definitions",
    "memory_assets.dagster.event_log",
    "dagster._core.storage.runs",
    "dagster._core.storage.schedules",
)


class _ForkingServer(server.DagsterApiServer):
    """Loads the assets and starts their runs."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        forking = multiprocessing.get_context("forkserver")
        forking.set_forkserver_preload(list(_IMPORTED))
        self._mp_ctx = forking  # type: ignore[assignment]


def main() -> None:
    """Run Dagster's command line; the server that it starts for the assets is this module's."""
    replaced: Any = server
    if sys.platform == "linux":
        replaced.get_python_environment_entry_point = lambda python: [python, "-m", __spec__.name]
        replaced.DagsterApiServer = _ForkingServer
    dagster: Any = _cli
    dagster.main()


if __name__ == "__main__":
    main()
