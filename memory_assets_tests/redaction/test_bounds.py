"""No input makes the scan slow, and the measured bars hold on labelled data."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from memory_assets.redaction import Redactor
from memory_assets_tests.sweep import sweep

CHECKOUT = Path(__file__).resolve().parents[2]
SECONDS_A_BYTE = 2e-5
"""Ten times what the slowest takes on one slow core; a quadratic rule takes hundreds of times."""

HOSTILE = (
    "a",
    "A",
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
    "<redacted:x:0123456789ab>",
    "AA:",
    "7Q~",
    " -p x",
    "\n",
    " ",
    "{",
    "0123456789abcdef.",
    "abcdefghij123456789012345.",
    "\\n",
    "\\\\",
    "\\u0041",
    "a\\n\n",
    "%41",
    "a%41\n",
    "QUJDREVGR0hJSktM",
    "QUJDREVGR0hJSktM/",
    "ab12cd34\n",
    "abcdefgh12345678abcdefgh12345678abcdefgh12345678abcdefgh12345678\n",
    "     1→ab12cd34\n",
    "/home/alice",
    "/home/alice/a ",
    "\\Users\\a",
    "C:\\Users\\a b",
    "password ",
    "pw x1 ",
    "password\n",
    "password is a, b/c: d1 ",
    "here is the password:\nTr0ub4dor5 ",
    "пароль ",
    "?? ",
    "insert into users values (",
    "insert into users values ('a1',",
    "| token |\n|--",
    "| token |\n|--|\n| a1 |\n",
    "https://x.io/hook/",
    "/hook/a/b1",
    "?code=",
    "a://b1b1b1/",
    "-u a:",
    "<<< ",
    "token \\\n ",
    "echo a1 ",
    "2fa ABCD ",
    "pin ",
    "authorization: a ",
    "basic QUJD",
    "'a1b2c3d4e5f6g7h8i9j0' ",
    "the key is:\n",
    "config:set a=b ",
    "alice@corp-mail.io ",
    "a@b.",
    "@",
)


@pytest.mark.parametrize("size", [50_000, pytest.param(150_000, marks=pytest.mark.long)])
@sweep("unit", HOSTILE)
def test_hostile_repetition_is_scanned_in_linear_time(
    unit: str, size: int, redactor: Redactor
) -> None:
    """Repeating what a rule begins with, tens of kilobytes long, costs no more than text."""
    text = unit * (size // len(unit))
    begin = time.process_time()
    redactor.redact(text)
    assert time.process_time() - begin < size * SECONDS_A_BYTE


def _scores() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "redaction_scores", CHECKOUT / "benchmarks" / "redaction_scores.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_bars_hold_on_labelled_data(redactor: Redactor) -> None:
    """Recall and false alarms are what docs and README claim, by the benchmark's own scoring."""
    beside = CHECKOUT.parent / "shared" / "data"
    archive = Path(os.environ.get("MEMORY_BENCH_DATA", beside)) / "redaction.jsonl.xz"
    if not archive.is_file():
        pytest.skip("redaction.jsonl.xz is not beside the checkout (set MEMORY_BENCH_DATA)")
    scores = _scores()
    items = scores.read_items(archive)
    found = ([(f.start, f.end, f.rule) for f in redactor.find(item["text"])] for item in items)
    result = scores.score("ours", items, found)
    assert result.share("recall", "third-party items") >= 0.84
    assert result.share("recall", "transcript contexts") >= 0.99
    assert result.share("recall by context", "linewrap") >= 0.9
    assert result.share("touched", "benign") <= 0.003
    assert result.share("touched", "benign_hard") <= 0.06
