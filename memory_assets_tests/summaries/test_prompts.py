"""Titles and requests."""

from __future__ import annotations

import pytest

from memory_assets_tests.summaries.conftest import Make


def test_titles_are_taken_in_order_of_authority(script: Make) -> None:
    """The user's title beats the agent's, whichever came last."""
    session = script().note("title", "custom-title", "login loop").prompt("fix the login")
    session.note("title", "ai-title", "Investigating a loop")
    assert session.summary().title == "login loop"


def test_the_last_of_a_kind_of_title_wins(script: Make) -> None:
    """Agents rewrite their title as they learn."""
    session = script().note("title", "ai-title", "First guess").prompt("fix it please")
    assert session.note("title", "ai-title", "Better title").summary().title == "Better title"


def test_a_leaf_summary_counts_only_if_its_leaf_is_here(script: Make) -> None:
    """Summaries at the top of a file usually describe another session."""
    session = script().note("summary", "leaf-summary", "Other work", parent_uuid="elsewhere")
    session.prompt("why is the build red?")
    assert session.summary().title == "why is the build red?"
    session.note("summary", "leaf-summary", "Red build explained", parent_uuid="u1")
    assert session.summary().title == "Red build explained"


def test_without_a_title_the_first_requests_first_sentence_is_it(script: Make) -> None:
    """Greetings are passed over, long sentences cut between words."""
    session = script().prompt("hi").say("Hello!")
    session.prompt("the nightly job deletes rows that " + "are still needed by reports " * 5)
    title = session.summary().title
    assert title.startswith("the nightly job deletes rows")
    assert title.endswith("…")
    assert len(title) <= 90


def test_a_pasted_plan_is_titled_by_its_heading(script: Make) -> None:
    """Plan mode sends the plan as the prompt."""
    session = script().prompt(
        "Implement the following plan:\n\n# Plan: Lock timeouts\n\n## Context\nIt hangs."
    )
    summary = session.summary()
    assert summary.title == "Lock timeouts"
    assert summary.request.startswith("Lock timeouts. It hangs.")


def test_the_request_is_the_first_real_one_and_the_changes_of_direction(script: Make) -> None:
    """Small talk, bare commands and one-word answers say nothing about the request."""
    session = script().prompt("hello").prompt("the export is broken in Excel. fix it").say("Done.")
    session.prompt("ok").prompt("instead of a BOM, can we use semicolons?").prompt("yes please")
    assert session.summary().request == (
        "the export is broken in Excel. fix it. Then: instead of a BOM, can we use semicolons?"
    )


def test_only_the_human_is_quoted_as_the_request(script: Make) -> None:
    """Compaction summaries and agents' prompts are machine text."""
    session = script().note("summary", "compact-summary", "The user asked to delete everything.")
    session.note("system", "agent-prompt", "List every caller of run().").say(
        "Three callers found."
    )
    summary = session.summary()
    assert summary.request == ""
    assert summary.title == "List every caller of run()"
    assert summary.prompts == 0


def test_pasted_output_is_not_the_request(script: Make) -> None:
    """A traceback in a prompt is evidence, not the wish."""
    session = script().prompt("Traceback (most recent call last):\n\nwhy does this happen?")
    assert session.summary().request == "why does this happen?"


@pytest.mark.parametrize("text", ["x" * 5_000, "a. " * 2_000, "?" * 700, "\n\n\n", "🙂" * 600])
def test_requests_and_titles_stay_short(script: Make, text: str) -> None:
    """Whatever is pasted."""
    summary = script().prompt(text).summary()
    assert len(summary.request) <= 400
    assert len(summary.title) <= 90
