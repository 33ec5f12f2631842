"""Great Expectations is imported without what it does not use here."""

from __future__ import annotations

import subprocess
import sys

_CODE = """
import gc, sys
from memory_assets.dagster.checks.lean_import import lean_import
with lean_import():
    from scipy import stats
    assert not gc.isenabled()
assert gc.isenabled()
assert "scipy.stats._stats_py" not in sys.modules
print(stats.norm.cdf(0), "scipy.stats._stats_py" in sys.modules)
"""


def test_what_is_not_used_is_not_run_until_it_is() -> None:
    """`scipy.stats` is whole for whoever uses it later, and collecting goes on."""
    done = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0.5", "True"]
