"""What is shown of a long passage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.recall.search.excerpts import excerpt

LONG = (
    "Let me look at the tests first. " * 20
    + "The cause was a stale lock file in the cache directory. "
    + "Then everything passed. " * 20
)


def test_the_stretch_that_answers_is_shown() -> None:
    """From the beginning of its sentence, with marks where something was left out."""
    shown = excerpt(LONG, "why was the lock file stale?", 80)
    assert shown.startswith("…The cause was a stale lock file in the cache directory.")
    assert shown.endswith("…") and len(shown) <= 80


@pytest.mark.parametrize("query", ["", "  ", "zebra", "what about the tests", "the"])
def test_without_anything_better_the_beginning_is_shown(query: str) -> None:
    """No question, no word of it found, or as many at the beginning."""
    assert excerpt(LONG, query, 80).startswith("Let me look at the tests first.")


def test_a_short_text_is_shown_whole() -> None:
    """On one line, without marks."""
    assert excerpt("one\n  two\tthree", "three", 80) == "one two three"
    assert excerpt("", "three", 80) == ""


@given(st.text(max_size=400), st.text(max_size=40), st.integers(20, 120))
def test_an_excerpt_is_a_part_of_the_text(text: str, query: str, most: int) -> None:
    """Never longer than asked for, and nothing in it but the text's own words and marks."""
    shown = excerpt(text, query, most)
    assert len(shown) <= most
    assert shown.removeprefix("…").removesuffix("…") in " ".join(text.split())
