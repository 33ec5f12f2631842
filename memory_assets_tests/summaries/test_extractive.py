"""The summarizer as a whole: deterministic, robust, redacted throughout."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_assets.chunking import build_turns
from memory_assets.errors import ConfigurationError
from memory_assets.models import ErrorMet, Summary
from memory_assets.redacted_text import RedactedText, seal
from memory_assets.session_analysis import session_turns
from memory_assets.summaries import load_summarizer
from memory_assets_tests.summaries.conftest import Make

FIELDS = ("request", "investigated", "learned", "completed", "next_steps", "notes")
KINDS = ("prompt", "assistant_text", "tool_use", "tool_result", "system", "title", "summary")
SUBTYPES = ("", "leaf-summary", "away-summary", "ai-title", "pr-link", "interrupt", "agent-prompt")


def free_texts(summary: Summary) -> Iterator[str]:
    """Every free string of a summary."""
    for field in dataclasses.fields(summary):
        value = getattr(summary, field.name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, ErrorMet):
                yield item.text
            elif field.name in (*FIELDS, "title", "text", "commands", "commits", "git_branch",
                                "files_read", "files_modified", "project_root"):  # fmt: skip
                yield item


def test_unknown_summarizers_are_refused_by_name() -> None:
    """The message says what there is."""
    with pytest.raises(ConfigurationError, match="'gpt'; known are: extractive"):
        load_summarizer("gpt")


def test_a_session_without_records_is_refused() -> None:
    """There is nothing to name it by."""
    with pytest.raises(ValueError, match="at least one record"):
        session_turns([], [])


def test_records_of_two_sessions_are_refused(script: Make) -> None:
    """Except for the leaf summaries that other sessions' files hold."""
    session = (
        script()
        .prompt("one")
        .prompt(
            "two",
        )
    )
    stranger = dataclasses.replace(session.records[1], session_id="s2")
    with pytest.raises(ValueError, match="2 sessions"):
        session_turns([session.records[0], stranger], [])
    leaf = dataclasses.replace(stranger, kind="summary", subtype="leaf-summary")
    assert session_turns([session.records[0], leaf], []).session_id == "s1"


def test_equal_sessions_give_equal_summaries_in_any_time_zone(script: Make) -> None:
    """Timestamps are instants; how they are written changes nothing."""
    session = script().prompt("fix the test").run("pytest", "1 failed", error=True)
    session.say("The problem was a naive datetime.").run("pytest", "ok").touch("Edit", "/x/a.py")
    here = session.summary()
    tokyo = timezone(timedelta(hours=9))
    session.records = [
        dataclasses.replace(record, timestamp=record.timestamp.astimezone(tokyo))
        for record in session.records
        if record.timestamp is not None
    ]
    assert session.summary() == here


def test_a_session_of_three_thousand_turns_is_summarized(script: Make) -> None:
    """Its fields stay short and it takes seconds, not minutes."""
    session = script()
    for turn in range(3_000):
        session.prompt(f"please fix issue {turn} in module_{turn}.py now")
        session.say(f"Fixed issue {turn} because the cache in module_{turn}.py was never cleared.")
    summary = session.summary()
    assert summary.turns == 3_000
    assert all(len(getattr(summary, field)) <= 400 for field in FIELDS)


def test_a_session_of_titles_and_summaries_alone_is_summarized(script: Make) -> None:
    """Summary-only files exist; they have no turns."""
    summary = script().note("summary", "leaf-summary", "Old work", parent_uuid="x").summary()
    assert (summary.turns, summary.prompts, summary.text) == (0, 0, "")


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(KINDS),
            st.sampled_from(SUBTYPES),
            st.one_of(st.text(max_size=200), st.text(alphabet="ab.*`#->|\n\"'{}[] ", max_size=200)),
            st.sampled_from(("", "Bash", "Read", "Edit", "TodoWrite", "write_stdin", "Task")),
            st.booleans(),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_any_records_give_a_redacted_summary(script: Make, rows: list[Any]) -> None:
    """Never a crash, never a plain str, never an over-long field; the same twice."""
    session = script()
    for kind, subtype, text, tool, flag in rows:
        previous = session.records[-1].timestamp if session.records else None
        session.add(
            "assistant",
            kind,
            text,
            subtype=subtype,
            tool_name=seal(tool),
            is_error=flag,
            command=seal(text if tool == "Bash" else ""),
            paths=(seal(text),) if tool == "Read" else (),
            timestamp=None if flag else previous,
        )
    summary = session.summary()
    assert all(isinstance(text, RedactedText) for text in free_texts(summary))
    assert all(len(getattr(summary, field)) <= 400 for field in FIELDS)
    assert summary == session.summary()


def test_the_summary_is_of_the_records_given(script: Make) -> None:
    """It carries the project, and the hash of the text that will be embedded."""
    session = script().prompt("make it safe please")
    turns = session_turns(session.records, build_turns(session.records))
    summary = load_summarizer().summarize(turns)
    assert (summary.project, summary.agent) == ("-home-mara-code-harbor", "claude-code")
    assert len(summary.content_hash) == 64
    assert summary.summarizer_id == load_summarizer().summarizer_id
