"""No input makes the scan slow, and the measured bars hold on labelled data."""

from __future__ import annotations

import cProfile
import importlib.util
import os
import pstats
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from memory_assets.embedding import load_word_pieces
from memory_assets.redaction import RedactionSettings, Redactor, load_redactor
from memory_assets.redaction.policy import vault_commands
from memory_assets.redaction.policy.command_files import files_read, files_shown, written
from memory_assets_tests.hostile_texts import Shape, Stages, growth, shapes
from memory_assets_tests.proportion import in_proportion
from memory_assets_tests.redaction.test_sensitive_files import BODY, CALL, POLICY, after
from memory_assets_tests.sweep import sweep

CHECKOUT = Path(__file__).resolve().parents[2]

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
    '- x_key=["k2j4h5k2j3h4kj2h34",\n',
    'x_key=["k2j4h5k2j3h4kj2h34",',
    "passwd<<E\n",
    "mcrcon -p ",
    "password\t",
    '"a1b2c3"# token ',
    "alice@corp-mail.io ",
    "a@b.",
    "@",
)


@pytest.mark.parametrize("size", [20_000, pytest.param(150_000, marks=pytest.mark.long)])
@sweep("unit", HOSTILE)
def test_hostile_repetition_is_scanned_in_linear_time(
    unit: str, size: int, redactor: Redactor
) -> None:
    """Repeating what a rule begins with, tens of kilobytes long, costs no more than text."""
    assert in_proportion(lambda part: redactor.redact(unit * (part // len(unit))), size // 4)


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


FOUND = (
    Shape("", ("`\\",), ""),
    Shape("", ('\\"', "a>b;"), ""),
    Shape("", ("[",), ""),
    Shape("", ("\x1b[0m",), ""),
    Shape("", ("<recalled-memory v1>",), ""),
    Shape("", ("a>b|",), ""),
    Shape("a token\n", ("-",), " x"),
    Shape("", ("a",), ""),
)
"""What was quadratic once, or worse."""
LENGTH = 2_000
DRAWN = 3
MOST = 8.0
"""Times as much for four times the text: 4 is linear, 16 quadratic."""


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Callable[[str], float]]:
    """All steps by name, without a limit of time; every text is over the size at which contents
    are cut."""
    settings = RedactionSettings(record_seconds=600.0, max_file_bytes=500)
    redactor = load_redactor(settings, key=bytes(32))
    return Stages(redactor, load_word_pieces(), tmp_path_factory.mktemp("reader")).steps()


def test_four_times_the_text_takes_four_times_as_long(
    steps: dict[str, Callable[[str], float]],
) -> None:
    """For what was found to grow faster, and for a draw from all that benchmarks/hostile_texts.py
    tries: each step reads them within a slope."""
    steep: list[str] = []
    everything = list(shapes(60, seed=1))
    for name, step in steps.items():
        for shape in (*FOUND, *random.Random(name).sample(everything, DRAWN)):
            times = growth(step, shape, LENGTH)
            if times > MOST:
                steep.append(f"{name}, {shape}: {times:.1f} times")
    assert steep == []


def test_a_slope_is_seen() -> None:
    """The measure tells quadratic from linear work."""

    def quadratic(text: str) -> float:
        return len(text) ** 2 / 1e8

    def linear(text: str) -> float:
        return len(text) / 1e4

    shape = Shape("", ("a",), "")
    assert growth(quadratic, shape, LENGTH) == pytest.approx(16)
    assert growth(linear, shape, LENGTH) == pytest.approx(4)


def test_the_square_of_a_size_is_out_of_proportion() -> None:
    """The measure of other tests sees what compares everything with everything."""
    assert not in_proportion(lambda size: sum(range(size * size)), 2_000, tries=1)


REPEATED = (
    "a>b|",
    "a|",
    "a>b;",
    "echo a>b|",
    "echo a|tee b|",
    "a<<E|",
    "cat .env>b|",
    "pass x|",
    "pass x>b|",
    "X=$(pass x);",
    "op -a ",
    "xargs op ",
    "kubectl -x get -y ",
    "sudo -u a ",
    "bash -c 'a' ",
    "$(a)",
)
SIZE = 1_500


def _read(command: str) -> None:
    list(written(command))
    list(files_shown(command))
    files_read(command)
    vault_commands.opens_vault(command)


def _calls(command: str) -> int:
    profile = cProfile.Profile()
    profile.runcall(_read, command)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@sweep("repeated", REPEATED)
def test_four_times_the_command_is_four_times_the_work(repeated: str) -> None:
    """Counted in calls of functions."""
    _read(repeated * 10)
    short, long = (repeated * (size // len(repeated)) for size in (SIZE, 4 * SIZE))
    assert _calls(long) < 4.5 * _calls(short) + 500


def test_many_targets_are_one_stretch() -> None:
    """With more files than are told apart, one file of secrets takes all that is written."""
    names = " ".join(f">out{number}" for number in range(40))
    command = f"echo {BODY} {names} >.env && make"
    assert BODY not in after(replace(CALL, text=f"command:\n{command}", command=command), POLICY)
    harmless = f"echo {BODY} {names} && make"
    call = replace(CALL, text=f"command:\n{harmless}", command=harmless)
    assert after(call, POLICY) == call.text


def test_a_long_pipeline_is_one_stretch() -> None:
    """A file at the end of a long pipeline holds what was written at its beginning."""
    command = f"echo {BODY} | {'cat | ' * 40} tee .env"
    left = after(replace(CALL, text=f"command:\n{command}", command=command), POLICY)
    assert BODY not in left and left.endswith("tee .env")
