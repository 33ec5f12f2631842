"""Project harbor-api, a flaky test traced to a clock change, and a fork of that session."""

from __future__ import annotations

from datetime import UTC, datetime

from generator.claude import ClaudeSession
from generator.planted import secret

CWD = "/home/mara/code/harbor-api"
_TEST = f"{CWD}/tests/test_daily_report.py"
_DAYS = f"{CWD}/harbor/reports/days.py"
_RED = """FAILED tests/test_daily_report.py::test_daily_totals_cover_the_whole_day - AssertionError
E       assert Decimal('1180.00') == Decimal('1240.00')
E        +  where Decimal('1180.00') = DailyReport(day=2026-03-29).total
tests/test_daily_report.py:41: AssertionError
1 failed, 311 passed in 48.20s"""
_SOURCE = """1\tfrom datetime import date, datetime, timedelta
2\t
3\tdef day_bounds(day: date, tz) -> tuple[datetime, datetime]:
4\t    \"\"\"First instant of the day and of the next one.\"\"\"
5\t    start = datetime(day.year, day.month, day.day).astimezone()
6\t    return start, start + timedelta(hours=24)
7\t
8\tdef report_day(now: datetime | None = None) -> date:
9\t    return (now or datetime.now()).date() - timedelta(days=1)"""


def _dotenv() -> str:
    return "\n".join(
        (
            "1\tTZ=Europe/Lisbon",
            f"2\tDATABASE_URL=postgres://harbor_app:{secret('db_password')}@db.harbor.internal:5432/harbor",
            f"3\tSTRIPE_SECRET_KEY={secret('stripe')}",
            f"4\tAWS_ACCESS_KEY_ID={secret('aws_id')}",
            f"5\tAWS_SECRET_ACCESS_KEY={secret('aws_secret')}",
            f"6\tSESSION_SECRET={secret('session_secret')}",
        )
    )


def flaky_test() -> tuple[ClaudeSession, int]:
    """The session, and how many of its records the fork copies."""
    s = ClaudeSession(
        "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741",
        CWD,
        "2.1.129",
        "main",
        datetime(2026, 3, 30, 7, 52, 11, tzinfo=UTC),
    )
    s.sidecar({"type": "permission-mode", "permissionMode": "default", "sessionId": s.session_id})
    _diagnosis(s)
    fork_at = len(s.records)
    _fix(s)
    _pull_request(s)
    s.sidecar(
        {
            "type": "ai-title",
            "aiTitle": "Daily report test fails after the clock change",
            "sessionId": s.session_id,
        }
    )
    return s, fork_at


def _diagnosis(s: ClaudeSession) -> None:
    """The first turn, up to the subagent."""
    s.prompt(
        "test_daily_totals_cover_the_whole_day is red on CI since this morning but green on my "
        "laptop. nothing was merged over the weekend. can you find out why, before somebody "
        "just hits rerun?"
    )
    s.sidecar(
        {"type": "ai-title", "aiTitle": "Flaky daily report test on CI", "sessionId": s.session_id}
    )
    s.bash(
        "gh run view --log-failed | tail -30",
        _RED,
        took=14,
        say="I'll start with the CI log, then compare with a local run.",
        think="Failing since this morning with no merge: smells like a date.",
    )
    s.read(
        _TEST,
        "1\tfrom harbor.reports.days import day_bounds, report_day"
        "\n2\t\n38\tdef test_daily_totals_cover_the_whole_day(ledger):\n39\t    report = "
        "DailyReport.build(report_day())\n40\t    expected = ledger.sum_of(report_day())\n41\t"
        "    assert report.total == expected",
    )
    s.read(_DAYS, _SOURCE)
    s.bash(
        "TZ=UTC .venv/bin/pytest tests/test_daily_report.py -q",
        "............\n12 passed in 1.90s",
        took=12,
    )
    call = {
        "description": "Find naive datetimes",
        "subagent_type": "Explore",
        "prompt": "List every place in harbor/ that calls datetime.now() or datetime.today() "
        "without a time zone, and every timedelta(hours=24). Report file and line.",
    }
    report = (
        "Three places: harbor/reports/days.py:6 adds timedelta(hours=24) to a local midnight; "
        "harbor/reports/days.py:9 calls datetime.now() without a zone; harbor/jobs/nightly.py"
        ":22 does the same."
    )
    child = s.subagent(
        "b41c07e", call, report, say="Green under UTC as well, so the zone alone is not it."
    )
    child.record("user", {"message": {"role": "user", "content": call["prompt"]}})
    child.call(
        "Grep",
        {
            "pattern": r"datetime\.(now|today)\(\)|timedelta\(hours=24\)",
            "path": f"{CWD}/harbor",
            "output_mode": "content",
        },
        "harbor/reports/days.py:6:    return start, start + timedelta(hours=24)\n"
        "harbor/reports/days.py:9:    return (now or datetime.now()).date()\n"
        "harbor/jobs/nightly.py:22:    day = datetime.now().date()",
    )
    child.say(report)
    _root_cause(s)


def _root_cause(s: ClaudeSession) -> None:
    """The rest of the first turn."""
    s.read(f"{CWD}/.env", _dotenv(), say="The app sets its own zone; let me see which one.")
    s.bash(
        "TZ=Europe/Lisbon faketime '2026-03-30 08:00' .venv/bin/pytest "
        "tests/test_daily_report.py -q",
        _RED.replace("1 failed, 311 passed in 48.20s", "1 failed, 11 passed in 2.02s"),
        error=True,
        took=12,
    )
    s.say(
        "Found it: this is a daylight-saving bug, not a flaky test. The clocks went forward on "
        "Sunday 29 March, so that day in Europe/Lisbon has 23 hours. `day_bounds` adds "
        "`timedelta(hours=24)` to local midnight, which reaches one hour into Monday, and the "
        "60.00 booked between 00:00 and 01:00 lands in the wrong report. The root cause is in "
        "`harbor/reports/days.py`, line 6. It is green on your laptop because your system zone "
        "has no daylight saving.\n\nI'd compute the end as midnight of the *next* calendar day "
        "in the customer's zone, and give the test a fixed date."
    )
    s.end_turn(148_000)


def _fix(s: ClaudeSession) -> None:
    """The fix and its regression test."""
    s.prompt("good find. fix it, and make the test independent of today's date", 240)
    s.edit(
        _DAYS,
        "start + timedelta(hours=24)",
        "midnight(day + timedelta(days=1), tz)",
        say="I'll fix the bounds first.",
    )
    s.queued("don't touch the response format of /reports, the mobile app parses it")
    s.edit(_TEST, "report_day()", "date(2026, 3, 29)")
    s.bash(
        ".venv/bin/pytest tests/test_daily_report.py -q",
        "E   NameError: name 'midnight' is not defined\nharbor/reports/days.py:6: NameError\n"
        "12 failed in 1.71s",
        error=True,
        took=12,
    )
    s.edit(
        _DAYS,
        "def day_bounds",
        "def midnight(day: date, tz: ZoneInfo) -> datetime:\n    return "
        "datetime(day.year, day.month, day.day, tzinfo=tz)\n\n\n"
        "def day_bounds",
    )
    s.bash(".venv/bin/pytest tests/test_daily_report.py -q", "14 passed in 1.88s", took=12)
    s.say(
        "Fixed. `day_bounds` now goes from midnight to midnight in the customer's time zone, and "
        "two new tests pin the days with 23 and 25 hours. The response format of /reports is "
        "unchanged."
    )
    s.end_turn(96_000)


def _pull_request(s: ClaudeSession) -> None:
    """The third turn."""
    s.prompt("commit on a branch and open a PR", 130)
    s.branch = "fix/report-day-bounds"
    s.bash(
        'git checkout -b fix/report-day-bounds && git commit -am "Compute '
        "report days in the customer's time zone\"",
        "Switched to a new branch 'fix/report-day-bounds'\n[fix/report-day-bounds 4be91c7] "
        "Compute report days in the customer's time zone\n 2 files changed, 31 insertions(+), "
        "6 deletions(-)",
    )
    s.bash(
        "git push",
        "fatal: The current branch fix/report-day-bounds has no upstream branch.",
        error=True,
    )
    s.bash(
        "git push -u origin fix/report-day-bounds",
        f"To https://{secret('github')}@github.com/harbor/harbor-api.git\n * [new branch]      "
        "fix/report-day-bounds -> fix/report-day-bounds",
    )
    url = "https://github.com/harbor/harbor-api/pull/218"
    s.bash("gh pr create --fill", url)
    s.sidecar(
        {
            "type": "pr-link",
            "sessionId": s.session_id,
            "prNumber": 218,
            "prUrl": url,
            "prRepository": "harbor/harbor-api",
            "timestamp": "2026-03-30T08:09:40.120Z",
        }
    )
    s.say(
        f"PR #218 is open: {url}. Next steps: `harbor/jobs/nightly.py` line 22 has the same naive "
        "`datetime.now()`; I left it alone because the nightly job needs its own test."
    )
    s.end_turn(31_000)


def forked(original: ClaudeSession, records: int) -> ClaudeSession:
    """A second file that begins with copies of the first one's records."""
    s = ClaudeSession(
        "9a6b1f04-27d5-4c38-b0e9-f14d2a7c5e60",
        CWD,
        "2.1.129",
        "main",
        datetime(2026, 3, 30, 9, 31, 2, tzinfo=UTC),
    )
    s.copy_from(original, records)
    s.prompt(
        "forget the python fix for a moment. what if postgres did the day arithmetic, with a "
        "tstzrange column per report?"
    )
    s.call(
        "Grep",
        {
            "pattern": "date_trunc|tstzrange|AT TIME ZONE",
            "path": f"{CWD}/harbor",
            "output_mode": "files_with_matches",
        },
        "harbor/reports/queries.sql\nharbor/ledger/store.py",
    )
    s.bash(
        "psql -X harbor_dev -c \"select '2026-03-30 00:00 Europe/Lisbon'"
        "::timestamptz - '2026-03-29 00:00 Europe/Lisbon'::timestamptz\"",
        " ?column?\n----------\n 23:00:00\n(1 row)",
    )
    s.say(
        "Postgres gets it right: that Sunday is 23:00:00 long there. A tstzrange column with a "
        "GiST index would also rule out overlapping reports, which the Python code can't. "
        "However it needs a migration over 41 million ledger rows, and the two read replicas "
        "still run Postgres 12. I recommend the Python fix now and the range column after the "
        "replicas are upgraded.\n\nOpen question: who owns the replica upgrade?"
    )
    s.end_turn(52_000)
    s.prompt("ok, agreed. write that down as an ADR", 90)
    s.write(
        f"{CWD}/docs/adr/0014-report-days-as-ranges.md",
        "# 14. Report days as ranges\n\nStatus: deferred until the replicas run Postgres 16.\n",
    )
    s.say("Written as ADR 14, status deferred. Nothing else changed.")
    s.end_turn(18_000)
    return s
