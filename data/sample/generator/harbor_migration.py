"""Project harbor-api: a migration that waits for a lock."""

from __future__ import annotations

from datetime import UTC, datetime

from generator.claude import ClaudeSession, resumed_snapshot
from generator.harbor_reports import CWD
from generator.planted import secret


def locked_migration() -> ClaudeSession:
    """A migration that waits for a lock; resumed three days later, compacted, interrupted."""
    s = ClaudeSession(
        "c27e5d90-41ab-4f6e-8d13-0b95e7a2f368",
        CWD,
        "2.1.109",
        "feat/ledger-currency",
        datetime(2026, 4, 14, 13, 5, 40, tzinfo=UTC),
    )
    _who_blocks_whom(s)
    _give_up_early(s)
    _resumed_and_compacted(s)
    _backfill(s)
    return s


def _who_blocks_whom(s: ClaudeSession) -> None:
    url = f"postgres://harbor_app:{secret('db_password')}@db.harbor.internal:5432/harbor"
    s.prompt(
        "alembic upgrade head has been hanging on staging for 10 minutes and now the whole API "
        f"times out. db is {url} please look, read only"
    )
    s.bash(
        f'psql -X "{url}" -c "select pid, state, wait_event_type, '
        "pg_blocking_pids(pid), left(query, 60) from pg_stat_activity where "
        "datname = 'harbor'\"",
        "  pid  | state               | wait_event_type | pg_blocking_pids | left\n"
        " 20114 | idle in transaction | Client          | {}               | SELECT * FROM ledger"
        "\n 20377 | active              | Lock            | {20114}          | ALTER TABLE ledger "
        "ADD COLUMN currency\n 20391 | active              | Lock            | {20377}          | "
        "SELECT id FROM ledger\n(41 rows)",
        say="Looking at the lock queue.",
        took=4,
    )
    s.bash(
        "kubectl -n staging get secret metrics-exporter -o yaml",
        f"stringData:\n  password: {secret('staging_password')}\n  role: metrics_exporter",
    )
    s.say(
        "The migration itself is instant; it is waiting. Process 20114 is `idle in transaction`: "
        "the metrics exporter read from ledger and never committed, so it holds an ACCESS SHARE "
        "lock. `ALTER TABLE` wants ACCESS EXCLUSIVE and queues behind it, and because the lock "
        "queue is first come first served, every later SELECT queues behind the ALTER. That is "
        "why the API times out."
    )
    s.end_turn(61_000)
    s.system(
        "away_summary",
        400,
        content="The staging migration hangs because the metrics exporter "
        "holds an idle transaction on ledger; ALTER TABLE waits for it and blocks every reader. "
        "Next: set lock_timeout in the migration and make the exporter commit.",
    )


def _give_up_early(s: ClaudeSession) -> None:
    s.prompt("kill that session, then make migrations give up instead of taking the site down", 60)
    s.bash(
        "psql -X harbor_staging -c 'select pg_terminate_backend(20114)'",
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        error=True,
    )
    s.record(
        "user",
        {
            "message": {
                "role": "user",
                "content": [{"type": "text", "text": "[Request interrupted by user for tool use]"}],
            }
        },
    )
    s.prompt("no wait, not from your side. I'll do it. only change the migration", 12)
    s.call(
        "TodoWrite",
        {
            "todos": [
                {
                    "content": "Set lock_timeout for every migration",
                    "status": "completed",
                    "activeForm": "Setting lock_timeout",
                },
                {
                    "content": "Retry a migration three times with a pause",
                    "status": "in_progress",
                    "activeForm": "Adding retries",
                },
                {
                    "content": "Set idle_in_transaction_session_timeout for metrics_exporter",
                    "status": "pending",
                    "activeForm": "Setting the timeout",
                },
            ]
        },
        "Todos have been modified successfully.",
    )
    s.edit(
        f"{CWD}/migrations/env.py",
        "context.run_migrations()",
        "connection.execute(text(\"SET lock_timeout = '3s'\"))\n        context.run_migrations()",
    )
    s.say(
        "Migrations now set `lock_timeout = '3s'`, so a blocked ALTER fails after three seconds "
        "and releases the queue. I have not run anything against staging."
    )
    s.end_turn(40_000)


def _resumed_and_compacted(s: ClaudeSession) -> None:
    s.wait(3 * 86_400)
    s.glue(resumed_snapshot(s))
    s.prompt(
        "back to this. production is on friday. backfill of currency: 41 million rows, how?", 30
    )
    s.bash(
        ".venv/bin/alembic upgrade head --sql | tail -5",
        "ALTER TABLE ledger ADD COLUMN currency char(3);\nUPDATE ledger SET currency = 'EUR';\n"
        "COMMIT;",
    )
    s.say(
        "The current migration updates all 41 million rows in one transaction. That would write "
        "41 million dead tuples and hold row locks for about 25 minutes. I'd split it: add the "
        "column, backfill in batches of 10,000 by primary key from a job, then add the NOT NULL "
        "constraint as NOT VALID and validate it."
    )
    s.end_turn(33_000)
    s.record(
        "system",
        {
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
            "logicalParentUuid": s.leaf,
            "compactMetadata": {"trigger": "manual", "preTokens": 91_204},
        },
        parentUuid=None,
    )
    s.machine(
        "This session is being continued from a previous conversation that ran out of "
        "context. The conversation is summarized below:\nAnalysis:\nThe user asked why the "
        "staging migration hangs. Cause: metrics exporter idle in transaction.\n\nSummary:\n"
        "1. Primary request: make migrations safe.\n2. Files: migrations/env.py\n3. Pending: "
        "batched backfill of ledger.currency, exporter timeout.\n" + "The ledger table has 41 "
        "million rows; batches of 10,000 by primary key were agreed.\n" * 30,
        isCompactSummary=True,
        isVisibleInTranscriptOnly=True,
    )


def _backfill(s: ClaudeSession) -> None:
    s.prompt("write the backfill job and test it on the dev db", 20)
    job = f"{CWD}/harbor/jobs/backfill_currency.py"
    s.write(job, "BATCH = 10_000\n")
    s.bash(
        ".venv/bin/python -m harbor.jobs.backfill_currency --dsn dev",
        'Traceback (most recent call last):\n  File "harbor/jobs/backfill_currency.py", line 31, '
        "in main\npsycopg.errors.DeadlockDetected: deadlock detected",
        error=True,
        took=20,
    )
    s.edit(
        job,
        "ORDER BY random()",
        "ORDER BY id",
        say="The batches were not ordered, so two workers locked the same rows crosswise.",
    )
    s.bash(
        ".venv/bin/python -m harbor.jobs.backfill_currency --dsn dev",
        "backfilled 410,000 rows in 41 batches, 0 retries, 38.2 s",
        took=39,
    )
    s.broken("\x00" * 512)
    s.bash(
        "git add -A && git commit -m 'Backfill ledger.currency in batches'",
        "[feat/ledger-currency e0d17fa] Backfill ledger.currency in batches\n 3 files changed, 88 "
        "insertions(+), 2 deletions(-)",
    )
    s.say(
        "The backfill job works on dev: 410,000 rows in 38 seconds, no retries. The deadlock came "
        "from unordered batches and is gone since they go by id.\n\nStill to do:\n- set "
        "idle_in_transaction_session_timeout for metrics_exporter\n- run the backfill on "
        "production before Friday's migration"
    )
    s.end_turn(120_000)
