"""Dagster's code server, started as its own is, whose runs begin with their modules imported.

Dagster starts a new Python for each run, and most of what a run for one more turn costs is
importing Dagster and the assets. Here a run is forked from a process that has imported them and
does nothing else (`run_origin.py`, by multiprocessing's `forkserver`). Elsewhere than on Linux,
where a fork may be unsafe, and with a Dagster that lacks the names replaced here, which are not
public (checked against 1.13.27), all is as Dagster has it.
"""

from __future__ import annotations

import multiprocessing
import sys
from typing import Any

from dagster import _cli
from dagster._grpc import server

_ORIGIN = "memory_assets.dagster.run_origin"


class _ForkingServer(server.DagsterApiServer):
    """Loads the assets and starts their runs."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if hasattr(self, "_mp_ctx"):
            forking = multiprocessing.get_context("forkserver")
            forking.set_forkserver_preload([_ORIGIN])
            self._mp_ctx = forking  # type: ignore[assignment]


def main() -> None:
    """Run Dagster's command line; the server that it starts for the assets is this module's."""
    replaced: Any = server
    if sys.platform == "linux" and hasattr(server, "get_python_environment_entry_point"):
        replaced.get_python_environment_entry_point = lambda python: [python, "-m", __spec__.name]
        replaced.DagsterApiServer = _ForkingServer
    dagster: Any = _cli
    dagster.main()


if __name__ == "__main__":
    main()
