"""What is shown of a long passage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.recall.search.excerpts import best_sentences, excerpt, marked_words
from memory_assets.tool_names import digest_lines
from memory_assets_tests.sweep import sweep

LONG = (
    "Let me look at the tests first. " * 20
    + "The cause was a stale lock file in the cache directory. "
    + "Then everything passed. " * 20
)
PROMPT = "why does the upload of large files time out?"


def test_the_sentence_that_answers_is_shown() -> None:
    """From its beginning, with marks where something was left out."""
    shown = excerpt(LONG, "why was the lock file stale?", 80)
    assert shown.startswith("…The cause was a stale lock file in the cache directory.")
    assert shown.endswith("…") and len(shown) <= 80


@pytest.mark.parametrize("query", ["", "  ", "zebra", "what about the tests", "the"])
def test_without_anything_better_the_beginning_is_shown(query: str) -> None:
    """No question, no word of it found, or as many at the beginning."""
    assert excerpt("The tests are first. " * 30, query, 80).startswith("The tests are first.")


def test_a_short_text_is_shown_whole() -> None:
    """On one line, without marks."""
    assert excerpt("one\n  two\tthree", "three", 80) == "one two three"
    assert excerpt("", "three", 80) == ""


def test_the_prompt_gives_way_to_the_reply() -> None:
    """However many words of the question it has; it is shown if there is nothing else."""
    text = f"{PROMPT}\n\nThe proxy closes idle connections after 60 s."
    assert (
        excerpt(text, PROMPT, 80, len(PROMPT)) == "…The proxy closes idle connections after 60 s."
    )
    assert excerpt(PROMPT, PROMPT, 80, len(PROMPT)) == PROMPT


def test_an_answer_is_preferred_to_an_announcement() -> None:
    """Sentences with as many words of the question differ by how they begin."""
    text = "Let me check the upload timeout of the proxy.\n" * 5
    text += "Found it: the upload timeout of the proxy is 60 s."
    assert excerpt(text, "upload timeout of the proxy", 60).startswith("…Found it:")


def test_what_is_said_is_preferred_to_the_digest_of_calls() -> None:
    """Where that has more words of the question; code is said."""
    digest = "Bash: upload --timeout 60 --retries 3\nRead: upload/retries.py"
    text = f"Here is what there is.\n\nThe proxy cuts an upload off.\n\n{digest}"
    assert excerpt(text, "upload timeout retries", 36) == "…The proxy cuts an upload off. …"
    text = text.replace(digest, f"```\nupload(timeout=60)\n```\n\n{digest}")
    assert excerpt(text, "upload timeout retries", 36) == "…upload(timeout=60) …"


@pytest.mark.parametrize("word", ["Note", "Warning", "TypeError", "Root-cause"])
def test_a_last_paragraph_after_a_word_and_a_colon_is_said(word: str) -> None:
    """A digest begins with the name of a tool, of whichever agent."""
    said = f"{word}: do not enable the cache in production, it corrupts data."
    text = f"Everything else stands in the other file. I added the cache option.\n\n{said}"
    assert excerpt(text, "enable the cache in production", 75) == f"…{said}"
    for tool in ("exec_command", "mcp__tides__read", "WebFetch", "Task"):
        assert digest_lines(f"Said.\n{tool}: a\n{tool} error: b\n") == 2
        assert digest_lines(f"{tool}: a\n{said}") == 0


def test_a_digest_has_commands_of_several_lines() -> None:
    """What goes on below a command is of it; below another tool's line somebody says it."""
    assert digest_lines("Done.\nBash: cat <<X\nit's all\nX, make\nEdit: a.py") == 4
    assert digest_lines("Done.\n\nBash: for a in b; do\nmake $a; done") == 2
    assert digest_lines("Read: a.py\nThen I wrote it down.") == 0


def test_strong_words_that_several_sentences_have_are_strong_in_each() -> None:
    """Also where a sentence is cut; an operator stays as it is, and "e.g." ends nothing."""
    strong = "**A perfect day! All the gates of the harbour are open.**"
    text = f"{strong}\nPass **tides to it, e.g. the low one."
    assert excerpt(text, "gates", 60) == "…**All the gates of the harbour are open.** …"
    assert excerpt(text, "tides", 60) == "…Pass **tides to it, e.g. the low one."
    cut = excerpt("**Lanterns burn in all the windows of the lighthouse keeper** now.", "burn", 40)
    assert cut == "**Lanterns burn in all the windows of**…"
    assert (
        excerpt("因为**潮汐表没有更新。港口的门一直**关着。", "港口", 20)
        == "…**港口的门一直**关着。"
    )


@sweep(
    "text",
    [
        "Exclude src/**/*.ts from the bundle first. Then lib/**/*.js goes out as well.",
        "It takes **/*.ts of every package first. Then it takes all of lib/** as well.",
        "The area of it grows by x**2 in here. The volume of it grows by y**3 instead.",
        "It hands **kwargs on to the other one. That one takes **options and no more.",
        "The pattern of it is `!**lib` and no more. What it leaves is `src**` or `docs**`.",
        r"It writes \**kept as it stands there. And so it does with this** here as well.",
    ],
)
def test_stars_that_make_nothing_strong_stay_as_they_are(text: str) -> None:
    """Those of patterns, powers, arguments and code."""
    assert excerpt(text, "", 200) == text
    assert excerpt(text, "", 60).count("*") == text[: text.index(". ") + 1].count("*")


def test_sentences_from_several_places_are_shown_in_their_order() -> None:
    """A list's item is found by the words of its heading, too; what says nothing to the question is
    left out, though there is room."""
    padding = "Nothing of note stands here, and none of it matters to anybody at all. " * 3
    text = f"The lock was stale.\n{padding}\nWhat the lock needs:\n- **a timeout**\n- an owner"
    shown = excerpt(text, "what does a lock need", 120)
    assert shown == "The lock was stale. … What the lock needs: - **a timeout** - an owner"


def test_whole_sentences_are_shown() -> None:
    """A part of one is added only where 60 characters are left."""
    text = f"The lock was stale. The stale lock was removed {'by hand ' * 9}"
    assert excerpt(text, "lock", 80) == "The lock was stale. …"
    assert excerpt(text, "lock", 90).startswith("The lock was stale. The stale lock was removed")


def test_a_number_begins_its_sentence() -> None:
    """The number of an item of a list is not a sentence, nor is a short yes."""
    text = "Preliminaries come here. " * 9 + "\n1. Restart the proxy. Then wait.\nYes. All of it."
    assert excerpt(text, "restart proxy", 40).startswith("…1. Restart the proxy.")


@given(st.text(max_size=400), st.text(max_size=40), st.integers(0, 120), st.integers(0, 100))
def test_an_excerpt_is_a_part_of_the_text(text: str, query: str, most: int, prompt: int) -> None:
    """Never longer than asked for, and nothing in it but the text's own words and marks, in their
    order."""
    shown = excerpt(text, query, most, min(prompt, len(text)))
    assert len(shown) <= most
    left = iter("".join(text.split()))
    assert all(mark in left for mark in "".join(shown.removeprefix("…").removesuffix("…").split()))


@pytest.mark.parametrize(
    "announced",
    [
        "I'm tracing where the upload timeout of the proxy is set.",
        "Let me look at the upload timeout of the proxy.",
        "I'll check the upload timeout of the proxy and then the retries.",
        "The proxy is next, so I'm reading where its upload timeout is set.",
    ],
)
def test_what_repeats_the_question_in_order_to_announce_is_no_answer(announced: str) -> None:
    """The report that follows has fewer of its words, and what it is about."""
    text = f"{announced}\n\nFixed: `proxy.conf` closes an upload after 300 s now."
    shown = excerpt(text, "what is the upload timeout of the proxy", 70)
    assert shown == "…Fixed: `proxy.conf` closes an upload after 300 s now."


@pytest.mark.parametrize(
    "line",
    [
        "fatal: no upstream configured for branch 'ssh-transport'",
        "TypeError: cannot read properties of undefined (reading 'length')",
    ],
)
def test_a_pasted_line_is_not_shown_as_itself(line: str) -> None:
    """What was found or done after it is."""
    text = f"The run printed:\n\n{line}\n\nFound it: the branch was never pushed. It is now."
    assert "Found it: the branch was never pushed." in excerpt(text, line, 60)
    assert excerpt(f"{line} once more", line, 80) == f"{line} once more"


def test_a_passage_that_is_all_prompt_gives_way_to_another() -> None:
    """Of the turn, if there is one."""
    asked = "why does the proxy cut uploads off?"
    said = best_sentences([("The proxy closes uploads after 60 s.", 0)], asked)
    shown = excerpt(asked, asked, 80, len(asked), said)
    assert shown == "…The proxy closes uploads after 60 s."


def test_what_another_passage_says_stands_beside_the_excerpt() -> None:
    """Whole sentences, a line each; nothing of a prompt, nor of passages that have no word of the
    question."""
    question = "what is the upload timeout of the proxy?"
    own = "I read `proxy.conf`, which sets what the proxy allows. " * 30
    report = "Fixed: the upload timeout of the proxy is 300 s now."
    said = best_sentences([("Nobody else asked.", 0), (question + report, len(question))], question)
    assert said.splitlines() == ["Nobody else asked.", report]
    assert best_sentences([("Nothing to see.", 0), (question, len(question))], question) == ""
    assert best_sentences([], question) == ""
    for most in range(60, 480, 7):
        shown = excerpt(own, question, most, 0, said)
        assert len(shown) <= most and report in shown
    assert excerpt("Sixty.", question, 100, 0, report) == f"Sixty. … {report}"


def test_what_has_no_blanks_is_cut_between_characters() -> None:
    """As Chinese and Japanese, of which the last blank may leave nothing."""
    said = "因为潮汐表没有更新所以港口的门一直关着" * 20
    assert excerpt("Closed.", "gate", 160, 0, said) == f"Closed. … {said[:147]}…"
    assert excerpt(f"Gate {said}", "gate", 80) == f"Gate {said[:72]}…"
    assert said.startswith(best_sentences([(said, 0)], said)) and best_sentences([(said, 0)], said)


def test_fences_and_rules_take_no_room() -> None:
    """They say nothing on one line; the code between them stays."""
    text = "So it is:\n\n---\n\n```sh\nproxy --timeout 60\n```\n"
    assert excerpt(text, "proxy timeout", 80) == "So it is: proxy --timeout 60"
    assert excerpt("````\n```proxy```\n````", "proxy", 80) == "```proxy```"


@sweep(
    "line, query, marked",
    [
        ("Write: docs/adr/0014-report-days.md", "why is the report wrong", ["report"]),
        ("see test_daily_totals.", "test_daily_totals fails", ["test_daily_totals"]),
        ("run day_bounds.", "what does day_bounds do", ["day_bounds"]),
        ("reports/days.py and -x", "days", ["days"]),
        ("a secret is <<redacted:named-secret:aa09bd8298b8>>", "redacted secret", ["secret"]),
        ("nothing here", "report", []),
    ],
)
def test_words_are_marked_and_not_the_names_that_hold_them(
    line: str, query: str, marked: list[str]
) -> None:
    """Unless all of the name is asked for; the pieces add up to the line."""
    pieces = list(marked_words(line, query))
    assert "".join(piece for piece, _ in pieces) == line
    assert [piece for piece, mark in pieces if mark] == marked


def test_a_sentence_stands_before_a_list_of_calls() -> None:
    """One of another passage, or the prompt of a passage that lists calls alone; what was called
    follows."""
    calls = "Bash: git commit -m lamp\nEdit: lamp.py"
    assert (
        excerpt(calls, "lamp", 200, 0, "Oil was low.")
        == "Oil was low. … Bash: git commit -m lamp Edit: lamp.py"
    )
    asked = "light it\n\n"
    shown = excerpt(asked + calls, "lamp", 200, len(asked))
    assert shown.startswith("light it") and "git commit" in shown
    said = [("The lamp had no oil.", 0), ("Bash: ls", 0)]
    assert best_sentences(
        said, "match", only_calls=True
    ) == "The lamp had no oil." and not best_sentences(said, "match")
