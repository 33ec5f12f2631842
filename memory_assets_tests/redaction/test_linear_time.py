"""What a record passes through takes time in proportion to its length, whatever is in it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from memory_assets.embedding import load_word_pieces
from memory_assets.redaction import RedactionSettings, load_redactor
from memory_assets_tests.hostile_texts import Shape, Stages, growth, shapes

FOUND = (
    Shape("", ("`\\",), ""),
    Shape("", ('\\"', "a>b;"), ""),
    Shape("", ("[",), ""),
    Shape("", ("\x1b[0m",), ""),
    Shape("", ("<recalled-memory v1>",), ""),
    Shape("", ("a>b|",), ""),
    Shape("a token\n", ("-",), " x"),
)
"""What was quadratic once, or worse."""
LENGTH = 3_000
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
