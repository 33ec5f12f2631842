"""What the process imports from which the daemon's runs are forked: all that a run needs.

Imported by the fork server of `code_server.py` alone. `memory dev` ends its children by SIGTERM,
to which a run answers by ending in order. The fork server, which tells the code server how each
run ended, must live as long as they do: it ignores the signal, and ends when the code server has.
"""

from __future__ import annotations

import signal

import dagster._cli
import dagster._core.storage.runs
import dagster._core.storage.schedules
import dagster._grpc.server  # noqa: F401

import memory_assets.dagster.definitions
import memory_assets.dagster.event_log  # noqa: F401

signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Dagster sets a handler of its own in each run
