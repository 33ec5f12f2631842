"""Where texts are cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.chunking.passages import MAX_CHARACTERS, split_passages
from memory_assets.embedding import load_word_pieces

PIECES = load_word_pieces()
LIMIT = 32

WORDS = st.one_of(
    st.sampled_from(["build", "linker", "`make`", "src/a.py:12", "—", "naïve", "日本語", "🙂"]),
    st.text(min_size=1, max_size=12),
    st.text(alphabet="abcXYZ019+/", min_size=90, max_size=260),
)
GAPS = st.sampled_from([" ", "\n", "\n\n", ". ", "\n```\n", "\t", "\n# "])
TEXTS = st.lists(st.tuples(WORDS, GAPS), max_size=80).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)


def _passages(text: str, limit: int = LIMIT, edges: tuple[int, ...] = ()) -> list[str]:
    return [text[start:end] for start, end in split_passages(text, PIECES, limit, edges)]


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_passages_are_within_the_limit_and_lose_nothing_but_white_space(text: str) -> None:
    """Whatever the text, counted by the real word pieces: they are disjoint, in order, not blank,
    and cover every character that is not white space."""
    spans = split_passages(text, PIECES, LIMIT)
    passages = [text[start:end] for start, end in spans]
    assert all(PIECES.count_tokens(passage) <= LIMIT for passage in passages)
    assert all(passage and passage == passage.strip() for passage in passages)
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    assert all(
        end <= start and not text[end:start].strip()
        for end, start in zip(ends, starts, strict=True)
    )


def test_short_text_is_one_passage() -> None:
    """Text within the limit is left whole; blank text gives none."""
    assert _passages("Pinned openssl.\n\nThe build is green.") == [
        "Pinned openssl.\n\nThe build is green."
    ]
    assert _passages(" \n ") == []


def test_cut_falls_between_blocks_first() -> None:
    """An edge between blocks is preferred to a later line or sentence end."""
    first = "The cache was stale. " * 4
    text = first + "Then the build passed. " * 6
    assert _passages(text, edges=(0, len(first)))[0] == first.strip()


def test_cut_falls_between_paragraphs_before_lines() -> None:
    """A blank line is preferred to a later line end."""
    text = "alpha beta gamma delta " * 3 + "\n\n" + "one two three\n" * 12
    assert _passages(text)[0] == ("alpha beta gamma delta " * 3).strip()


def test_blank_line_inside_a_fence_is_not_a_paragraph() -> None:
    """The cut falls before the fence, not at the blank line within it."""
    prose = "Here is the fix that worked for the flaky test in the suite."
    text = f"{prose}\n```python\nalpha = 1\n\nbeta = 2\ngamma = 3\ndelta = 4\n```\nDone."
    assert _passages(text)[0] == prose


def test_cut_falls_between_sentences_before_words() -> None:
    """Where there is no line end, a sentence end is preferred."""
    text = "The linker could not find the library on the build machine. " * 6
    assert all(passage.endswith(".") for passage in _passages(text))


def test_unbroken_string_is_cut_by_word_pieces() -> None:
    """5,000 characters without a space come out whole, in passages within the limit."""
    text = "aGVsbG8/d29ybGQ+" * 313
    passages = _passages(text, 256)
    assert "".join(passages) == text
    assert all(PIECES.count_tokens(passage) <= 256 for passage in passages)


def test_unknown_word_of_any_length_is_bounded() -> None:
    """A run of letters that counts as one word piece still ends at the character cap."""
    passages = _passages("x" * 10_000)
    assert "".join(passages) == "x" * 10_000
    assert max(map(len, passages)) <= MAX_CHARACTERS


@pytest.mark.parametrize("limit", [8, 64, 256])
def test_limit_is_used_well(limit: int) -> None:
    """Plain prose fills passages to over half of the limit on average."""
    text = "We moved the retry into the client and the timeout went away. " * 80
    counts = [PIECES.count_tokens(passage) for passage in _passages(text, limit)]
    assert sum(counts) / len(counts) > limit / 2
