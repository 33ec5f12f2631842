"""Project harbor-api again, from Codex at the same directory: a worker that leaks memory."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from generator.codex import CodexSession
from generator.harbor_reports import CWD
from generator.planted import secret


def memory_leak() -> CodexSession:
    """A leak found with tracemalloc; one turn is interrupted."""
    zone = timezone(timedelta(hours=2))
    s = CodexSession(
        "019dd3a0-6c41-7d52-9b0e-2f8e61c7a930",
        CWD,
        "0.130.0",
        "main",
        "4be91c7d0a5f1f0c8e6a4f2b9d3e7c1a5b8f6042",
        datetime(2026, 4, 28, 10, 14, 3, tzinfo=zone),
    )
    s.prompt(
        "The email worker gets OOM-killed about every nine hours. Memory grows roughly 40 MB per "
        "hour. Find the leak, don't just restart it on a timer."
    )
    s.say("I'll look at what the worker keeps between jobs, starting with its metrics.")
    s.run(
        "curl -s -H 'Authorization: Bearer " + secret("bearer") + "' "
        "https://metrics.harbor.internal/api/v1/query?query=process_resident_memory_bytes",
        '{"status":"success","data":{"result":[{"metric":{"job":"email-worker"},"value":'
        '[1777364043,"611319808"]}]}}',
    )
    s.run(
        "rg -n 'lru_cache|subscribe\\(|global ' harbor/worker",
        "harbor/worker/mailer.py:18:    @lru_cache(maxsize=None)\nharbor/worker/loop.py:44:"
        '        bus.subscribe("job.done", lambda event: self._log(event, job))',
    )
    s.run(
        "sed -n '30,60p' harbor/worker/loop.py",
        '    def run_one(self, job: Job) -> None:\n        bus.subscribe("job.done", lambda event: '
        "self._log(event, job))\n        self.handlers[job.kind](job)",
    )
    s.say("There are two suspects. I'll let tracemalloc decide instead of guessing.")
    s.run(
        "python scripts/worker_soak.py --jobs 2000 --tracemalloc",
        'Traceback (most recent call last):\n  File "scripts/worker_soak.py", line 3, in <module>\n'
        "ModuleNotFoundError: No module named 'harbor'",
        code=1,
    )
    s.run(
        "PYTHONPATH=. python scripts/worker_soak.py --jobs 2000 --tracemalloc",
        "top 3 by growth\nharbor/worker/loop.py:44: size=81.4 MiB (+81.4 MiB), count=2000 (+2000)\n"
        "harbor/worker/mailer.py:18: size=310 KiB (+12 KiB)\nlib/python3.12/ssl.py:1104: size=96 "
        "KiB",
        took=71,
    )
    s.say(
        "The leak is the event subscription in `harbor/worker/loop.py` line 44. `run_one` "
        "subscribes "
        "a new lambda for every job and never unsubscribes it, so the bus keeps each job alive "
        "with "
        "its rendered e-mail: 2,000 jobs kept 2,000 closures and 81 MiB. The unbounded `lru_cache` "
        "in `mailer.py` looked worse but grew by only 12 KiB, because there are just nine "
        "templates.",
        final=True,
    )
    _fix(s)
    return s


def _fix(s: CodexSession) -> None:
    """The fix and its regression test."""
    s.prompt("makes sense. fix it and add a regression test that fails on the old code")
    s.patch(
        "harbor/worker/loop.py",
        '@@\n-        bus.subscribe("job.done", lambda event: '
        'self._log(event, job))\n+        with bus.subscription("job.done", self._log_done):',
    )
    s.run(
        "python -m pytest tests/worker -q",
        "F.......\nE   AssertionError: 200 subscribers left, "
        "expected 0\n1 failed, 7 passed in 3.40s",
        code=1,
    )
    s.aborted()
    s.prompt("sorry, wrong window. go on", 25)
    s.patch(
        "harbor/bus.py",
        "@@\n+    @contextmanager\n+    def subscription(self, topic, handler):"
        "\n+        self.subscribe(topic, handler)\n+        try:\n+            yield\n+        "
        "finally:\n+            self.unsubscribe(topic, handler)",
    )
    s.run("python -m pytest tests/worker -q", "........\n8 passed in 3.31s")
    s.run(
        "git commit -am 'Unsubscribe the job listener when a job ends'",
        "[main 7d20c3e] Unsubscribe the job listener when a job ends\n 3 files changed, 40 "
        "insertions(+), 3 deletions(-)",
    )
    s.say(
        "Fixed in `harbor/bus.py` and `harbor/worker/loop.py`, commit 7d20c3e. The new test counts "
        "subscribers after 200 jobs and fails on the old code. A soak of 2,000 jobs now grows by "
        "0.4 MiB.\n\nNext: deploy, and watch resident memory for a day before removing the nightly "
        "restart.",
        final=True,
    )
