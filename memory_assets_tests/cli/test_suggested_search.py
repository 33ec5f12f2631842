"""What an ingest suggests to search for: words of a title, never tags or markup."""

from __future__ import annotations

import pytest

from memory_assets.cli.ingesting.report import question_of, words_of

TEN = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@pytest.mark.parametrize(
    "title, words",
    [
        ("Rotate <redacted:github-token:0123456789ab> in CI", "Rotate in CI"),
        ("<command-name>/review</command-name> the **harbor** code", "/review the harbor code"),
        ("# Fix `parse_id` in [docs](https://x.example/a)", "Fix parse_id in docs"),
        ("![shot](a.png) a < b and __init__.py", "shot a < b and __init__.py"),
        ("Cut off <redacted:github-tok", "Cut off"),
        ("Plan the extraction of a new…", "Plan the extraction of a new"),
        ("- _why_ does it fail > here", "why does it fail here"),
    ],
)
def test_a_suggestion_has_words_alone(title: str, words: str) -> None:
    """Names with underscores stay whole."""
    assert words_of(title) == words


@pytest.mark.parametrize(
    "title, words",
    [
        ("แก้รายงานยอดขาย ประจำเดือน", ["แก้รายงานยอดขาย", "ประจำเดือน"]),
        ("निर्यात में गलती?", ["निर्यात", "में", "गलती"]),
        ("Fix $HOME; (again) - now", ["Fix", "HOME", "again", "now"]),
        ("one two three four five six seven eight nine ten eleven", [*TEN]),
    ],
)
def test_a_question_has_whole_words_that_need_no_quotes(title: str, words: list[str]) -> None:
    """Also of scripts whose vowels are marks."""
    assert question_of(title) == words
