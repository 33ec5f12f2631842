"""The process from which the daemon's runs are forked."""

from __future__ import annotations

import subprocess
import sys

import pytest

from memory_assets.dagster import code_server

_SIGNALLED = """
import multiprocessing, os, signal, sys, time
from multiprocessing import forkserver

signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the tests' own process may ignore it
forking = multiprocessing.get_context("forkserver")
forking.set_forkserver_preload([sys.argv[1]])
run = forking.Process(target=time.sleep, args=(1.0,))
run.start()
os.kill(forkserver._forkserver._forkserver_pid, signal.SIGTERM)
run.join()
sys.exit(run.exitcode)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a fork may be unsafe")
@pytest.mark.parametrize(("origin", "code"), [(code_server.ORIGIN, 0), ("json", 255)])
def test_it_tells_how_a_run_ended_although_memory_dev_was_told_to_end(
    origin: str, code: int
) -> None:
    """SIGTERM goes to all children; a fork server that it ends (one that has imported something
    else) would have each run under way called failed while it goes on writing."""
    done = subprocess.run([sys.executable, "-c", _SIGNALLED, origin], check=False, timeout=120)
    assert done.returncode == code
