"""The shipped sample, through readers, redaction and turns, to its summaries."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from memory_assets.chunking import build_turns
from memory_assets.models import RedactedRecord, Summary
from memory_assets.paths import sample_roots
from memory_assets.redaction import load_redactor
from memory_assets.session_analysis import session_turns
from memory_assets.summaries import load_summarizer
from memory_assets.transcripts import discover, read_session
from memory_assets_tests.command_line import run_program

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


@pytest.mark.parametrize(
    ("session", "field", "words"),
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
        "redactor, digest = load_redactor(key=bytes(32)), hashlib.sha256()\n"
        "for path in sorted(Path(sys.argv[1]).rglob('*.jsonl')):\n"
        "    own = [redactor.session(r.session_id).redact_record(r, project='p', project_root='')"
        ".record for r in read_session(path)]\n"
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
