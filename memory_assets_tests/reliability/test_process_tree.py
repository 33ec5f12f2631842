"""What the benchmarks count as the CPU seconds of a command."""

from __future__ import annotations

from pathlib import Path

from memory_assets_tests.command_line import run_code

REPOSITORY = Path(__file__).resolve().parents[2]
_MEASURES = """
import subprocess, sys, time
from benchmarks.process_tree import adopt_orphans, snapshot

spin = "import time\\nwhile time.process_time() < 0.3: pass\\n"
detached = (
    "import subprocess, sys; "
    f"subprocess.Popen([sys.executable, '-c', {spin + 'time.sleep(60)'!r}])"
)
adopt_orphans()
before = snapshot()
subprocess.run([sys.executable, "-c", spin])
subprocess.run([sys.executable, "-c", detached])
deadline = time.monotonic() + 60
while max(snapshot().own.values(), default=0) < 0.25 and time.monotonic() < deadline:
    time.sleep(0.05)
after = snapshot()
(left,) = after.own
print(after.total - before.total >= 0.5, after.own[left] >= 0.25, after.spent_by_old(before))
"""


def test_a_process_that_outlives_its_parent_is_counted() -> None:
    """CPU seconds are those of processes that have ended, and of one that detached itself."""
    done = run_code(
        _MEASURES + "import os, signal; os.kill(left[0], signal.SIGKILL)", cwd=REPOSITORY
    )
    assert done.stdout.split() == ["True", "True", "0"]
