"""The benchmark's world, in small: what is claimed is so."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from memory_assets_tests.command_line import run_program

BENCHMARK = Path(__file__).parent.parent.parent / "benchmarks" / "commits.py"


@pytest.mark.long  # each deed is tried in test_attribution.py
def test_precision_on_a_repository_made_for_it() -> None:
    """At least .95 of the claims are right, and .9 of what should be claimed is, in a world in
    which each deed of the benchmark is done at least once."""
    done = run_program(
        [sys.executable, str(BENCHMARK), "--sessions", "6", "--seeds", "1", "--json"]
    )
    told = json.loads(done.stdout)
    assert told["precision"] >= 0.95
    assert told["recall"] >= 0.9
    assert sum(told["counts"]["all"].values()) > 60
