"""What the process imports from which the daemon's runs are forked: all that a run needs.

Imported by the fork server of the code server alone. `memory dev` ends its children by SIGTERM, to
which a run answers by ending in order. The fork server, which tells the code server how each run
ended, must live as long as they do: it ignores the signal, and ends when the code server has.
"""

from __future__ import annotations

import signal

import memory_assets.dagster.definitions  # noqa: F401
from memory_assets.dagster.undocumented import import_for_runs

import_for_runs()
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Dagster sets a handler of its own in each run
