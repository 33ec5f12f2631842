"""Summaries of real sessions: limits, cleanliness, determinism. No text of theirs is shown."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_assets.chunking import build_turns
from memory_assets.models import RedactedRecord, Summary
from memory_assets.session_analysis import SessionTurns, session_turns
from memory_assets.summaries import load_summarizer
from memory_assets.transcripts import discover, read_session
from memory_assets_tests.redacted_sessions import unredacted

ROOTS = {"claude-code": "claude/projects", "codex": "codex", "pi": "pi"}
FIELDS = ("title", "request", "investigated", "learned", "completed", "next_steps", "notes")
DEBRIS = re.compile(r"\*\*|```|\]\(|[\n\t│]|  ")
EVERY = 3


def _sessions(root: Path) -> Iterator[SessionTurns]:
    for repository in sorted(root.iterdir()):
        roots = {agent: repository / below for agent, below in ROOTS.items()}
        records: dict[tuple[str, str], list[RedactedRecord]] = defaultdict(list)
        for source in discover({a: (path,) for a, path in roots.items() if path.is_dir()}):
            if sum(source.session_id.encode()) % EVERY == 0:
                records[source.agent, source.session_id] += (
                    unredacted(record, source.project)
                    for record in read_session(source.path, source=source)
                )
        for own in records.values():
            if own:
                yield session_turns(own, build_turns(own))


@pytest.fixture(scope="module")
def summarized(dev_transcripts: Path) -> list[tuple[SessionTurns, Summary]]:
    """A third of the real sessions with their summaries."""
    summarizer = load_summarizer()
    return [(session, summarizer.summarize(session)) for session in _sessions(dev_transcripts)]


def test_fields_are_short_and_free_of_markup(
    summarized: list[tuple[SessionTurns, Summary]],
) -> None:
    """At most 400 characters, one line, nothing left of Markdown."""
    assert len(summarized) > 40
    dirty = [
        (session.session_id, field)
        for session, summary in summarized
        for field in FIELDS
        if len(getattr(summary, field)) > 400 or DEBRIS.search(getattr(summary, field))
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
