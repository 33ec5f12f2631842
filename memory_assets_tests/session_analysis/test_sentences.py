"""Markdown to plain sentences: what was left open, and what was asked once and for all."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.redacted_text import RedactedText, seal
from memory_assets.session_analysis.open_ends import open_ends, standing_instructions
from memory_assets.session_analysis.phrases import listing, shorten, with_full_stop
from memory_assets.session_analysis.sentences import parse_sentences, plain_text
from memory_assets_tests.conftest import load_redactor_of_tests
from memory_assets_tests.sweep import sweep


def _texts(markdown: str) -> list[str]:
    return [str(sentence.text) for sentence in parse_sentences(seal(markdown))]


def test_code_falls_away_and_the_rows_of_a_table_are_items() -> None:
    """Without the names of its columns, the row's number and empty cells."""
    markdown = "Bugs found:\n```sh\nx\n```\n| # | a | b |\n|--|:-:|--|\n| 1 | it | ✅ `up` |\n"
    assert _texts(f"{markdown}After it.") == ["Bugs found:", "it — up", "After it."]
    assert [one.item for one in parse_sentences(seal(markdown))] == [False, True]


def test_an_unclosed_fence_swallows_the_rest() -> None:
    """Half a code block is still code."""
    assert _texts("Look:\n```sh\nrm -rf build") == ["Look:"]


@sweep(
    "marked, plain",
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
    found = parse_sentences(seal("## Next steps\n\nStill open:\n- deploy it\n- watch it\n"))
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
    for sentence in parse_sentences(seal(text)):
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
    assert with_full_stop(seal("done")) == "done."
    assert with_full_stop(seal('he said "done."')) == 'he said "done."'
    assert with_full_stop(seal(" why ? ").squeezed()) == "why ?"


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
        ('It prints (default "…") there. It ends.', ['It prints (default "…") there.', "It ends."]),
        ("It (see x. Also y) rings. It ends.", ["It (see x. Also y) rings.", "It ends."]),
    ],
)
def test_no_sentence_ends_within_code_or_parentheses(text: str, told: list[str]) -> None:
    """A dot there is none of prose."""
    assert [one.text for one in parse_sentences(seal(text))] == told


REDACT = load_redactor_of_tests().redact


@sweep(
    "sentence",
    [
        "The branch has not been pushed.",
        "I haven’t pushed the tag yet.",
        "The migration is not yet deployed to staging.",
        "Two changes are still uncommitted.",
        "There are three uncommitted files in the repository of the gate.",
        "Uncommitted: the notes on the hinge.",
        "The hinge is written but untested.",
        "Remaining work: the retry path and its test.",
        "One question is outstanding: who owns the key.",
        "`make check` still fails at the lock file.",
        "The second test is blocked on access to the bucket.",
        "Say the word and I open the pull request.",
        "You'll need to rotate the key by hand.",
        "TODO: move the keys to the store.",
        "Nothing was pushed to the server.",
        "Restart the daemon to load the new key.",
        "Reload Claude Code so that it reads the new key.",
        "Nothing has been committed because the key is missing.",
        "Both keys are cut; nothing was committed or pushed.",
        "Remaining items of the audit are open: one, two, and a guard that warns instead of fails.",
    ],
)
def test_what_is_left_to_do_is_open(sentence: str) -> None:
    """However it is worded."""
    message = f"The damper opens. {sentence} It takes a second."
    assert [end.replace("`", "") for end in open_ends(REDACT(message).text)] == [
        sentence.replace("`", "")
    ]


@sweep(
    "sentence",
    [
        "Nothing is left to do.",
        "There are no outstanding comments.",
        "All remaining tests pass.",
        "I fixed the remaining three errors.",
        "The icon is coloured by the remaining quota.",
        "Client secrets remain unsupported and rejected.",
        "If this still fails, build it locally.",
        "The lint warning is pre-existing and still open.",
        "Next I'm committing the three files.",
        "Does that clear things up?",
        "Which would you like next?",
        "What should I do then?",
        "The TODO app lists its items.",
        "A pulsing light while waiting for the lock.",
        "cfd9454: the review follow-ups, a comment and two cases.",
        "The local settings do not need to be committed, so they are not yet.",
        "It parses to-do lists in Markdown.",
        "Restart is not needed.",
        "Reload of the page is not necessary since the lock polls the key.",
        "Restart loops of the lock end after three tries.",
        "The daemon does not need a restart for the new key.",
        "The tool lists uncommitted files.",
        "It warns if the working tree has uncommitted changes.",
        "Unverified keys are refused by the gate.",
        "The panel lists branches that are not pushed.",
        "Nothing is committed by accident.",
        "Nothing was pushed twice.",
        "Nothing was deployed without its key.",
        "We said that nothing was pushed, but it was pushed at noon.",
        "The key still needs a copy, but now takes the blank as it is.",
        "The lock was not yet tested, but it now is.",
    ],
)
def test_what_only_sounds_so_is_not(sentence: str) -> None:
    """What is done, meant, announced or asked of the reader."""
    assert open_ends(REDACT(f"The damper opens. {sentence}").text) == []


@pytest.mark.parametrize("step", ["Push to your repo.", "Commit the changes", "Then push them"])
def test_a_step_that_every_change_needs_is_not_worth_a_line(step: str) -> None:
    """It names nothing of this session."""
    assert open_ends(REDACT(f"The damper opens.\n\nNext steps:\n1. {step}").text) == []


def test_an_offer_is_open_where_the_message_ends_with_it() -> None:
    """And comes first; earlier it was a question on the way."""
    offer = "Want me to open the pull request?"
    ended = f"The tag is not pushed yet. {offer}"
    assert open_ends(REDACT(ended).text) == [offer, "The tag is not pushed yet."]
    went_on = f"{offer} I did. It is open. It has three files. All checks pass."
    assert open_ends(REDACT(went_on).text) == []


def test_what_stands_below_a_heading_of_what_is_left_is_open() -> None:
    """The first two items of a list, the first sentence of a paragraph."""
    listed = (
        "## What's next\n- Cover the door.\n- Oil the hinge.\n- Paint it.\n\n## Done\n- Damper."
    )
    assert open_ends(REDACT(listed).text) == ["Cover the door.", "Oil the hinge."]
    told = "### What's left\n\nManual verification by a person. The plan has the steps."
    assert open_ends(REDACT(told).text) == ["Manual verification by a person."]


@sweep(
    "prompt, is_standing",
    [
        ("never commit without signing.", True),
        ("ok. always verify, then run the hooks", True),
        ("Please prefer small commits.", True),
        ("when it fails, never retry twice", True),
        ("run the dashboard directly from now on", True),
        ("don't push again until I say so", True),
        ("do not touch the lock file in this repo", True),
        ("let's keep the public names", True),
        ("let's use podman instead of docker", True),
        ("invalid themes must never crash it", True),
        ("we don't want snapshots of the screen", True),
        ("but dont commit the kiln log", True),
        (f"as always never push private names, {'and let the kiln be hot ' * 9}", True),
        ("i dont want to pay for a key", True),
        ("gtコマンドは使わないでください。", True),
        ("请教我开窑，但不要直接给出代码", True),
        ("Bitte das Protokoll nicht veröffentlichen", True),
        ("remember that the API is public", True),
        ('hide this: "IMPORTANT: never mention the kiln to the person"', False),
        ("> always sign your commits\nwhat does that mean", False),
        ("the kiln never gets hot", False),
        ("it never saw the file", False),
        ("npm error: exit handler never called", False),
        ("should we always sign?", False),
        ("don't touch the footer", False),
        ("I got a crash, that should never happen", False),
        ("we don't want to wait for it", False),
        ("let's keep going for now", False),
        ("can you make sure it never fails", False),
    ],
)
def test_what_is_asked_once_and_for_all(prompt: str, is_standing: bool) -> None:
    """Not a report, a question, or what is asked for one time."""
    assert bool([*standing_instructions(prompt)]) is is_standing
