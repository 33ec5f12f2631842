"""Project lantern, from Pi and Codex: a locked SQLite database, a crash on Alpine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from generator.codex import CodexSession
from generator.pi import PiSession
from generator.planted import secret

CWD = "/home/mara/code/lantern"


def database_locked() -> PiSession:
    """A Pi session with a dead branch, the user's own shell commands and a compaction."""
    s = PiSession(
        "019d8c14-7b30-74f2-a6c9-d10b52e48f77",
        CWD,
        datetime(2026, 4, 13, 17, 20, 5, 124_000, tzinfo=UTC),
    )
    s.prompt(
        "lantern sync with --workers 2 dies with 'database is locked' after a minute. one worker "
        "is fine"
    )
    s.call(
        "grep",
        {"pattern": "sql.Open|PRAGMA|BEGIN", "path": "internal/"},
        'internal/store/store.go:31: db, err := sql.Open("sqlite", path)\n'
        "internal/store/store.go:77: tx, err := db.Begin()",
        think="SQLite with two writers; look for pragmas.",
    )
    s.call(
        "bash",
        {"command": "go run ./cmd/lantern sync --workers 2 --fixture big"},
        "2026/04/13 19:21:40 worker 2: commit: database is locked (5) (SQLITE_BUSY)\nexit status 1",
        error=True,
        took=62,
    )
    s.say(
        "Two causes together. No busy_timeout is set, so a second writer fails at once. And "
        "`db.Begin()` starts a deferred transaction that reads first and upgrades to a write lock "
        "later; if the other worker wrote in between, SQLite returns SQLITE_BUSY immediately, and "
        "no timeout helps with that."
    )
    fork_point = s.leaf
    s.prompt("just put a mutex around it")
    s.call(
        "edit",
        {
            "path": "internal/store/store.go",
            "oldText": "tx, err := db.Begin()",
            "newText": "s.mu.Lock()\n\ttx, err := db.Begin()",
        },
        "Successfully replaced 1 block(s) in internal/store/store.go.",
    )
    s.abort()
    s.leaf = fork_point
    _properly(s)
    return s


def _properly(s: PiSession) -> None:
    """The other branch: the fix, a compaction, the release box."""
    kept = s.leaf
    s.prompt("no, a mutex won't help, `lantern gc` is another process. do it properly")
    s.call(
        "edit",
        {
            "path": "internal/store/store.go",
            "oldText": 'sql.Open("sqlite", path)',
            "newText": 'sql.Open("sqlite", path+"?_txlock=immediate&_pragma='
            'busy_timeout(5000)&_pragma=journal_mode(WAL)")',
        },
        "Successfully replaced 1 block(s) in internal/store/store.go.",
    )
    s.call(
        "bash",
        {"command": "go run ./cmd/lantern sync --workers 2 --fixture big"},
        "synced 48210 files with 2 workers in 51s",
        took=53,
    )
    s.call(
        "bash",
        {"command": "go test ./internal/store/..."},
        "ok  \tlantern/internal/store\t2.114s",
        took=9,
    )
    s.say(
        "Both workers finish now. Transactions start with BEGIN IMMEDIATE, wait up to five seconds "
        "for the lock, and the database is in WAL mode, so `lantern gc` can read meanwhile."
    )
    s.entry("session_info", name="sqlite busy with two workers")
    s.user_shell("git status --short", " M internal/store/store.go")
    s.entry(
        "compaction",
        summary="Goal: make `lantern sync --workers 2` work. Done: BEGIN IMMEDIATE, "
        "busy_timeout 5000 and WAL in internal/store/store.go. Next: the deploy keys.",
        firstKeptEntryId=kept,
        tokensBefore=30_117,
    )
    s.prompt("commit. then check if deploy/ has everything for the release box", 600)
    s.call(
        "bash",
        {"command": "git commit -am 'Open SQLite with immediate transactions and WAL'"},
        "[main b81e40d] Open SQLite with immediate transactions and WAL\n 1 file changed, 4 "
        "insertions(+), 2 deletions(-)",
    )
    s.call(
        "bash",
        {"command": "ls deploy && cat deploy/id_rsa deploy/agents.env"},
        "agents.env  id_rsa  lantern.service\n"
        + secret("pem")
        + f"\nOPENAI_API_KEY={secret('openai')}\nANTHROPIC_API_KEY={secret('anthropic')}",
    )
    s.say(
        "Committed as b81e40d. deploy/ is complete, but it holds a private key and two API keys in "
        "plain text. TODO: move them to the secret store and rotate all three."
    )


def alpine_crash() -> CodexSession:
    """A release binary that crashes on Alpine."""
    s = CodexSession(
        "019e10c7-2ad9-7e03-8f64-91b5d7c3e8a2",
        CWD,
        "0.139.0",
        "main",
        "b81e40d51f9c7e2a6d804b3c9f1e7a5d2c6b8f90",
        datetime(2026, 5, 10, 16, 45, 51, tzinfo=timezone(timedelta(hours=2))),
    )
    s.prompt(
        "v0.9.0 crashes at start in the Alpine image ('not found'), the Debian image is fine. and "
        "the announcement bot is broken too, see the CI log"
    )
    s.run(
        "file dist/lantern && ldd dist/lantern",
        "dist/lantern: ELF 64-bit LSB executable, x86-64, dynamically linked, interpreter "
        "/lib64/ld-linux-x86-64.so.2\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6",
    )
    s.run(
        "git remote -v && tail -3 ci.log",
        f"origin\thttps://oauth2:{secret('gitlab')}@gitlab.com/lantern/lantern.git (fetch)\n"
        f"POST https://slack.com/api/chat.postMessage token={secret('slack_bot')}\n"
        '{"ok":false,"error":"not_in_channel"}\nTWINE_PASSWORD=' + secret("pypi"),
    )
    s.say(
        "The 'not found' is the loader, not the binary: v0.9.0 is linked dynamically against "
        "glibc, "
        "and Alpine has musl, so /lib64/ld-linux-x86-64.so.2 does not exist there. The build "
        "switched to CGO when the C SQLite driver came in. The bot only lost its channel: Slack "
        "answers not_in_channel."
    )
    s.run(
        "CGO_ENABLED=0 go build -o dist/lantern ./cmd/lantern",
        "internal/store/store.go:9:2: build constraints exclude all Go files in mattn/go-sqlite3",
        code=1,
        took=8,
    )
    _static_build(s)
    return s


def _static_build(s: CodexSession) -> None:
    """The fix, and a question about its price."""
    s.say("A static build needs the pure Go driver.")
    s.patch(
        "internal/store/store.go",
        '@@\n-\t_ "github.com/mattn/go-sqlite3"\n+\t_ "modernc.org/sqlite"',
    )
    s.run("CGO_ENABLED=0 go build -o dist/lantern ./cmd/lantern", "", took=21)
    s.run("docker run --rm -v $PWD/dist:/d alpine:3.22 /d/lantern version", "lantern 0.9.1-dev")
    s.say(
        "The binary is static now and starts on Alpine. I replaced the C SQLite driver by the pure "
        "Go one.\n\nNext steps: tag v0.9.1, and invite the bot to #releases.",
        final=True,
    )
    s.prompt("is the pure go driver slower?", 200)
    s.run(
        "go test ./internal/store -bench Insert -benchtime 3s",
        "BenchmarkInsert/cgo-8      61210   58713 ns/op\nBenchmarkInsert/pure-8     40877   "
        "88204 ns/op",
        took=19,
    )
    s.say(
        "Yes: inserts take 88 µs instead of 59 µs, about 50% more. A sync is bound by the "
        "network, so "
        "I expect no visible difference, but I have not measured a whole sync.",
        final=True,
    )
