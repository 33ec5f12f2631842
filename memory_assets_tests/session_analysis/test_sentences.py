"""Markdown to plain sentences."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.redacted_text import RedactedText, seal
from memory_assets.session_analysis.phrases import closed, listing, shorten
from memory_assets.session_analysis.sentences import plain_text, sentences


def _texts(markdown: str) -> list[str]:
    return [str(sentence.text) for sentence in sentences(seal(markdown))]


def test_code_falls_away_and_the_rows_of_a_table_are_items() -> None:
    """Without the names of its columns, the row's number and empty cells."""
    markdown = "Bugs found:\n```sh\nx\n```\n| # | a | b |\n|--|:-:|--|\n| 1 | it | ✅ `up` |\n"
    assert _texts(f"{markdown}After it.") == ["Bugs found:", "it — up", "After it."]
    assert [one.item for one in sentences(seal(markdown))] == [False, True]


def test_an_unclosed_fence_swallows_the_rest() -> None:
    """Half a code block is still code."""
    assert _texts("Look:\n```sh\nrm -rf build") == ["Look:"]


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        (
            "**Fixed** the `lock_timeout` in [env.py](migrations/env.py)",
            "Fixed the lock_timeout in env.py",
        ),
        ("see [**pop/lamp**](https://a.b/c) now", "see pop/lamp now"),
        ("- ✅ done with *care*", "- ✅ done with care"),
        ("✅  All   tests pass", "All tests pass"),
        ("keeps *.py and a_b__c", "keeps *.py and a_b__c"),
        ("3. Third point", "Third point"),
    ],
)
def test_markup_is_taken_off_and_words_are_kept(marked: str, plain: str) -> None:
    """Emphasis, code marks, link targets and leading symbols go; globs and names stay."""
    expected = plain.removeprefix("- ✅ ")
    assert plain_text(seal(marked)) == expected


def test_sentences_end_at_full_stops_but_not_inside_names() -> None:
    """File names, versions, abbreviations and ./... do not end a sentence."""
    text = (
        "See days.py, e.g. line 6. Version 3.11 is fine. go build ./... and go vet ./... both pass."
    )
    assert _texts(text) == [
        "See days.py, e.g. line 6.",
        "Version 3.11 is fine.",
        "go build ./... and go vet ./... both pass.",
    ]


def test_a_list_item_knows_its_heading_and_its_lead_in() -> None:
    """What an item is about often stands above it."""
    found = sentences(seal("## Next steps\n\nStill open:\n- deploy it\n- watch it\n"))
    assert [(s.text, s.heading, s.lead) for s in found[1:]] == [
        ("deploy it", "Next steps", "Still open:"),
        ("watch it", "Next steps", "Still open:"),
    ]


def test_wrapped_lines_are_one_sentence() -> None:
    """A newline inside a paragraph is a blank."""
    assert _texts("The lock\nis held.") == ["The lock is held."]


@given(st.text(max_size=300))
def test_any_text_gives_redacted_sentences_without_line_breaks(text: str) -> None:
    """No input crashes it, and every piece is still RedactedText."""
    for sentence in sentences(seal(text)):
        assert isinstance(sentence.text, RedactedText)
        assert sentence.text == sentence.text.strip()
        assert "\n" not in sentence.text


@given(st.text(max_size=200), st.integers(min_value=4, max_value=60))
def test_shortening_never_exceeds_its_limit(text: str, limit: int) -> None:
    """The ellipsis is counted too."""
    assert len(shorten(seal(text), limit)) <= limit


def test_shortening_cuts_between_words() -> None:
    """No word is broken, no punctuation dangles before the ellipsis."""
    assert shorten(seal("compute the report days, in the zone"), 27) == "compute the report days…"


def test_every_run_of_white_space_becomes_one_blank() -> None:
    """None stays at the ends; a text without any to take out stays itself."""
    for text in ("a b", " a", "a ", "a  b", "a\tb\n", "a\u00a0b", "a\x1cb", "", "\n", "a"):
        assert seal(text).squeezed() == " ".join(text.split())


def test_lists_name_a_few_and_count_the_rest() -> None:
    """The reader learns how much is left out."""
    parts = [seal(name) for name in ("a.py", "b.py", "c.py", "d.py")]
    assert listing(parts, 2) == "a.py, b.py and 2 more"
    assert listing(parts[:2], 2) == "a.py, b.py"


def test_a_full_stop_is_added_only_where_a_sentence_has_none() -> None:
    """Also after a closing quote or bracket."""
    assert closed(seal("done")) == "done."
    assert closed(seal('he said "done."')) == 'he said "done."'
    assert closed(seal(" why ? ").squeezed()) == "why ?"


def test_parts_of_a_redacted_text_are_redacted() -> None:
    """Its lines, its trimmed and squeezed forms, and what a replacement leaves of it."""
    text = seal("  one **two**\n three ")
    bare = text.sub(re.compile(r"\*\*(\w+)\*\*"), r"\1")
    parts = [*text.lines(), text.trimmed(), text.squeezed(), bare]
    assert all(isinstance(part, RedactedText) for part in parts)
    assert parts[:2] == ["  one **two**", " three "]
    assert parts[2:] == ["one **two**\n three", "one **two** three", "  one two\n three "]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "It runs `fmt -w .` over all files. It ends.",
            ["It runs fmt -w . over all files.", "It ends."],
        ),
        ("Run `echo a. B` first. It ends.", ["Run echo a. B first.", "It ends."]),
        ("Run `git add .` Then it ends.", ["Run git add .", "Then it ends."]),
        ("It (see x. Also y) rings. It ends.", ["It (see x. Also y) rings.", "It ends."]),
    ],
)
def test_no_sentence_ends_within_code_or_parentheses(text: str, told: list[str]) -> None:
    """A dot there is none of prose."""
    assert [one.text for one in sentences(seal(text))] == told
