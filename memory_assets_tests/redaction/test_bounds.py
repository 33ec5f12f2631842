"""No input makes the scan slow, and the measured bars hold on labelled data."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from types import ModuleType

import pytest

from memory_assets.redaction import Redactor

CHECKOUT = Path(__file__).resolve().parents[2]
SIZE = 300_000
SECONDS = 6.0
"""Ten times what the slowest takes on one slow core; a quadratic rule takes minutes."""

HOSTILE = (
    "a",
    "A1",
    "-",
    "_",
    "=",
    '"',
    "\\",
    "://a:b",
    "key=",
    "password=",
    "password: ",
    '\\"password\\": ',
    "password>",
    "x_key: '",
    "--token ",
    "curl ",
    "curl -u ",
    "Bearer a",
    "cookie: a=",
    "auth: Basic ",
    "$6$a$",
    "$argon2id$",
    "ghp_",
    "eyJhbGciOiJIUzI1NiJ9.",
    "-----BEGIN PRIVATE KEY-----",
    "KEY-----",
    "kind: Secret\ndata:\n",
    "data:\n",
    "\x1b[",
    "\x1b]",
    "<redacted:x>",
    "AA:",
    "7Q~",
    " -p x",
    "\n",
    " ",
    "{",
    "0123456789abcdef.",
    "abcdefghij123456789012345.",
)


@pytest.mark.parametrize("unit", HOSTILE, ids=repr)
def test_hostile_repetition_is_scanned_in_linear_time(unit: str, redactor: Redactor) -> None:
    """Repeating what a rule begins with, hundreds of kilobytes long, costs no more than text."""
    text = unit * (SIZE // len(unit))
    begin = time.process_time()
    redactor.redact(text)
    assert time.process_time() - begin < SECONDS


def _benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "redaction_benchmark", CHECKOUT / "benchmarks" / "redaction.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_bars_hold_on_labelled_data(redactor: Redactor) -> None:
    """Recall and false alarms are what docs and README claim, by the benchmark's own scoring."""
    benchmark = _benchmark()
    archive = benchmark.data_dir() / "redaction.jsonl.xz"
    if not archive.is_file():
        pytest.skip("redaction.jsonl.xz is not beside the checkout (set MEMORY_BENCH_DATA)")
    tally, _ = benchmark.score(redactor, benchmark.read_items(archive))
    share = {row: count / whole for row, (count, whole) in tally.items()}
    assert share["recall", "third-party"] >= 0.84
    assert share["recall", "in transcripts"] >= 0.97
    assert share["touched", "benign"] <= 0.003
    assert share["touched", "benign_hard"] <= 0.06
