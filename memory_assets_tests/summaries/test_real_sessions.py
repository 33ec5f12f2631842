"""Summaries of real sessions: limits, cleanliness, determinism. No text of theirs is shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memory_assets.models import Summary
from memory_assets.session_analysis import SessionTurns
from memory_assets.summaries import load_summarizer
from memory_assets_tests.redacted_sessions import real_sessions

FIELDS = ("title", "request", "investigated", "learned", "completed", "next_steps", "notes")
DEBRIS = re.compile(r"\*\*|```|\]\(|[\n\t│]|  ")


@pytest.fixture(scope="module")
def summarized(dev_transcripts: Path) -> list[tuple[SessionTurns, Summary]]:
    """A third of the real sessions with their summaries."""
    summarizer, sessions = load_summarizer(), real_sessions(dev_transcripts, every=3)
    return [(session, summarizer.summarize(session)) for session in sessions]


def test_fields_are_short_and_free_of_markup(
    summarized: list[tuple[SessionTurns, Summary]],
) -> None:
    """At most 600 characters, one line, nothing left of Markdown."""
    assert len(summarized) > 40
    dirty = [
        (session.session_id, field)
        for session, summary in summarized
        for field in FIELDS
        if len(getattr(summary, field)) > 600 or DEBRIS.search(getattr(summary, field))
    ]
    assert dirty == []


def test_nearly_every_session_with_a_request_says_what_came_of_it(
    summarized: list[tuple[SessionTurns, Summary]],
) -> None:
    """Of sessions in which tools ran, most have something learned or completed."""
    worked = [s for _, s in summarized if s.request and s.tool_calls >= 5]
    told = [s for s in worked if s.learned or s.completed]
    assert len(told) / len(worked) >= 0.85
    assert all(s.title and s.text for s in worked)


def test_a_second_pass_gives_the_same_bytes(
    summarized: list[tuple[SessionTurns, Summary]],
) -> None:
    """Nothing depends on the order of a set."""
    summarizer = load_summarizer()
    changed = [
        session.session_id
        for session, summary in summarized[::4]
        if summarizer.summarize(session) != summary
    ]
    assert changed == []


def test_commits_look_like_commits(summarized: list[tuple[SessionTurns, Summary]]) -> None:
    """Nearly all with the SHA that git printed."""
    commits = [commit for _, summary in summarized for commit in summary.commits]
    with_sha = [commit for commit in commits if re.match(r"[0-9a-f]{7,40} \S", commit)]
    assert len(commits) > 20
    assert len(with_sha) / len(commits) >= 0.9
