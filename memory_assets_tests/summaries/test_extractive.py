"""The summarizer as a whole: deterministic, robust, redacted throughout; over the shipped sample
and over real sessions, of which no text is shown."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_assets.chunking import build_turns
from memory_assets.errors import ConfigurationError
from memory_assets.models import ErrorMet, RedactedRecord, Summary
from memory_assets.paths import sample_roots
from memory_assets.redacted_text import RedactedText, seal
from memory_assets.redaction import load_redactor
from memory_assets.session_analysis import SessionTurns, session_turns
from memory_assets.summaries import load_summarizer
from memory_assets.transcripts import discover, read_session
from memory_assets_tests.command_line import run_program
from memory_assets_tests.redacted_sessions import real_sessions
from memory_assets_tests.summaries.conftest import Make
from memory_assets_tests.sweep import sweep

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
    session = script().prompt("one").prompt("two")
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


SAMPLE = Path(__file__).resolve().parent.parent.parent / "data" / "sample"


@pytest.fixture(scope="module")
def summaries() -> dict[str, Summary]:
    """The summary of each sample session by the first eight letters of its id."""
    redactor = load_redactor(key=bytes(32))
    records: dict[str, list[RedactedRecord]] = defaultdict(list)
    for source in discover(sample_roots()):
        for record in read_session(source.path, source=source):
            records[source.session_id].append(
                redactor.session(record.session_id)
                .redact_record(record, project=source.project, project_root=record.cwd)
                .record
            )
    summarizer = load_summarizer()
    return {
        session_id[:8]: summarizer.summarize(session_turns(own, build_turns(own)))
        for session_id, own in records.items()
    }


def test_every_session_is_titled_and_says_what_was_asked(summaries: dict[str, Summary]) -> None:
    """Nine sessions, nine titles, nine requests, nine texts to search."""
    assert len(summaries) == 9
    assert all(s.title and s.request and s.text for s in summaries.values())


@sweep(
    "session, field, words",
    [
        ("3d0f6a52", "title", "Daily report test fails after the clock change"),
        ("3d0f6a52", "request", "don't touch the response format"),
        ("3d0f6a52", "learned", "daylight-saving bug, not a flaky test"),
        ("3d0f6a52", "next_steps", "harbor/jobs/nightly.py line 22"),
        ("3d0f6a52", "notes", "https://github.com/harbor/harbor-api/pull/218"),
        ("c27e5d90", "learned", "idle in transaction"),
        ("c27e5d90", "next_steps", "run the backfill on production before Friday's migration"),
        ("c27e5d90", "notes", "Compacted once."),
        ("019dd3a0", "completed", "commit 7d20c3e"),
        ("71b3e8c6", "completed", "package-lock.json is gone"),
        ("e94d20b7", "completed", "German exports now use semicolons"),
        ("5c8e7a13", "title", "oauth redirect loop safari"),
        ("019d8c14", "title", "sqlite busy with two workers"),
        ("019e10c7", "learned", "I have not measured a whole sync"),
    ],
)
def test_the_stories_are_told(
    summaries: dict[str, Summary], session: str, field: str, words: str
) -> None:
    """Each session's point is in the field where it belongs."""
    assert words in getattr(summaries[session], field)


@pytest.mark.parametrize(
    ("session", "commits"),
    [
        ("3d0f6a52", ("4be91c7 Compute report days in the customer's time zone",)),
        ("c27e5d90", ("e0d17fa Backfill ledger.currency in batches",)),
        ("019dd3a0", ("7d20c3e Unsubscribe the job listener when a job ends",)),
        ("019d8c14", ("b81e40d Open SQLite with immediate transactions and WAL",)),
        ("9a6b1f04", ()),
    ],
)
def test_commits_are_found_with_all_three_agents(
    summaries: dict[str, Summary], session: str, commits: tuple[str, ...]
) -> None:
    """From the output of git, whichever tool ran it."""
    assert summaries[session].commits == commits


def test_errors_end_as_they_did(summaries: dict[str, Summary]) -> None:
    """Fixed tests and builds are resolved with all three agents."""
    for session, start in (
        ("3d0f6a52", ".venv/bin/pytest tests/test_daily_report.py -q: NameError"),
        ("3d0f6a52", "git push: fatal"),
        ("c27e5d90", ".venv/bin/python -m harbor.jobs.backfill_currency"),
        ("019dd3a0", "python -m pytest tests/worker -q: AssertionError: 200 subscribers"),
        ("71b3e8c6", "docker build -t tidepool-web .: ERR_PNPM_OUTDATED_LOCKFILE"),
        ("019d8c14", "go run ./cmd/lantern sync --workers 2 --fixture big: "),
        ("019e10c7", "CGO_ENABLED=0 go build -o dist/lantern"),
    ):
        outcomes = [e.outcome for e in summaries[session].errors if e.text.startswith(start)]
        assert outcomes == ["resolved"], (session, start)


def test_a_failure_that_was_never_run_again_is_not_called_resolved(
    summaries: dict[str, Summary],
) -> None:
    """The team stopped using npm ci; nobody made it work."""
    outcomes = {e.outcome for e in summaries["71b3e8c6"].errors if e.text.startswith("npm ci")}
    assert outcomes == {"not retried"}


def test_files_are_those_that_were_changed(summaries: dict[str, Summary]) -> None:
    """By Edit, by apply_patch and by Pi's edit."""
    assert summaries["3d0f6a52"].files_modified == (
        "harbor/reports/days.py",
        "tests/test_daily_report.py",
    )
    assert summaries["019dd3a0"].files_modified == ("harbor/worker/loop.py", "harbor/bus.py")
    assert summaries["019d8c14"].files_modified == ("internal/store/store.go",)


def test_the_order_of_sets_changes_nothing() -> None:
    """Two processes with different hash seeds write the same bytes."""
    code = (
        "import hashlib, sys; from pathlib import Path\n"
        "from memory_assets.chunking import build_turns\n"
        "from memory_assets.redaction import load_redactor\n"
        "from memory_assets.session_analysis import session_turns\n"
        "from memory_assets.summaries import load_summarizer\n"
        "from memory_assets.transcripts import read_session\n"
        "from memory_assets_tests.transcript_files import source_of\n"
        "redactor, digest = load_redactor(key=bytes(32)), hashlib.sha256()\n"
        "for path in sorted(Path(sys.argv[1]).rglob('*.jsonl')):\n"
        "    own = [redactor.session(r.session_id).redact_record(r, project='p', project_root='')"
        ".record for r in read_session(path, source=source_of(path))]\n"
        "    summary = load_summarizer().summarize(session_turns(own, build_turns(own)))\n"
        "    digest.update(repr(summary).encode())\n"
        "sys.stdout.write(digest.hexdigest())\n"
    )
    command = [sys.executable, "-c", code, str(SAMPLE)]
    digests = {
        run_program(
            command,
            timeout=120,
            cwd=SAMPLE.parent.parent,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert len(digests.pop()) == 64


SHOWN = ("title", "request", "investigated", "learned", "completed", "next_steps", "notes")
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
        for field in SHOWN
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


def test_a_second_pass_gives_the_same_bytes(summarized: list[tuple[SessionTurns, Summary]]) -> None:
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
