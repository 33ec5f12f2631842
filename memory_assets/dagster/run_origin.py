"""Imports for the fork server, from which the code server forks runs: what runs need and forks can
share.

`memory dev` ends its children by SIGTERM, on which a run ends in order. The fork server, which
tells the code server how each run ended, must outlive the runs: it ignores the signal, and ends
when the code server has.
"""

from __future__ import annotations

import importlib
import signal
from contextlib import suppress

import memory_assets.dagster.definitions  # noqa: F401
from memory_assets.dagster.undocumented import import_for_runs
from memory_assets.embedding import DEFAULT_EMBEDDER
from memory_assets.pipeline.checks.kingfisher import load_if_compiled
from memory_assets.settings import load_settings

import_for_runs()
# .3 CPU s of each run. Neither starts a thread, which a fork would lack.
load_if_compiled()
if load_settings().embedder == DEFAULT_EMBEDDER:
    with suppress(ImportError):  # a run that embeds says what to install
        importlib.import_module("onnxruntime")
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Dagster sets a handler of its own in each run
