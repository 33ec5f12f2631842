"""Errors met and how each ended."""

from __future__ import annotations

from typing import Any

import pytest

from memory_assets.chunking import build_turns
from memory_assets.redacted_text import seal
from memory_assets.session_analysis import session_turns
from memory_assets.session_analysis.failures import all_runs
from memory_assets_tests.summaries.conftest import Make
from memory_assets_tests.sweep import sweep


def _met(session: Any) -> list[tuple[str, str]]:
    return [(str(error.text), error.outcome) for error in session.summary().errors]


def test_a_command_that_later_succeeds_is_resolved(script: Make) -> None:
    """The same test command over the same targets, options aside, after something was changed."""
    session = script().prompt("fix the test")
    session.run("pytest tests/a.py -q", "E   NameError: name 'tz' is not defined", error=True)
    session.touch("Edit", "/home/mara/code/harbor/a.py").run(
        "cd x && pytest tests/a.py | tail -3", "12 passed"
    )
    assert _met(session) == [
        ("pytest tests/a.py -q: NameError: name 'tz' is not defined", "resolved")
    ]


@pytest.mark.parametrize("between", ["pytest tests/b.py", "git status", "cat tests/a.py", "npm ci"])
def test_an_error_that_went_away_by_itself_is_not_resolved(script: Make, between: str) -> None:
    """Nothing was changed, only looked at or checked; an installation is a change."""
    session = script().prompt("fix the test")
    session.run("pytest tests/a.py", "E   TimeoutError: the harbor is closed", error=True)
    session.run(between, "ok").run("pytest tests/a.py", "1 passed")
    ended = "resolved" if between == "npm ci" else "passed again"
    assert [outcome for _, outcome in _met(session)] == [ended]


def test_success_on_other_targets_resolves_nothing(script: Make) -> None:
    """A narrower run does not show that the wider one would pass."""
    session = script().prompt("fix the test")
    session.run("go test ./a ./b", "--- FAIL: TestA", error=True).run("go test ./b", "ok")
    assert _met(session) == [("go test ./a ./b: --- FAIL: TestA", "not retried")]
    session.touch("Edit", "/home/mara/code/harbor/a.go")
    assert _met(session.run("go test ./...", "ok"))[0][1] == "resolved"


def test_a_command_that_keeps_failing_is_unresolved(script: Make) -> None:
    """It ran again and never succeeded; the error is listed once, at its last turn."""
    session = script().prompt("build it").run("make build", "error: no rule 12", error=True)
    session.prompt("again please").run("make build", "error: no rule 15", error=True)
    (error,) = session.summary().errors
    assert (error.outcome, error.turn_id) == ("unresolved", "session::s1::turn::1")


@sweep(
    "output, told",
    [
        (
            "# harbor/tide\ntide/a.go:7:2: undefined: Ebb\nFAIL\tharbor/tide [build failed]",
            "tide/a.go:7:2: undefined: Ebb",
        ),
        ("[lint] ERROR task failed\nsrc/a.c:3:9: expected ';'", "src/a.c:3:9: expected ';'"),
        ("FAIL harbor/tide [setup failed]\nebb is missing", "ebb is missing"),
        ("[Nest] 7 - 9:04 LOG [Tides] Run complete: good=3, failed=2\nno ebb", "no ebb"),
        ('t="9:04" level=info msg="one tide failed"\ntide is missing', "tide is missing"),
        ('{"level":"info","msg":"tide failed"}\nebb is missing', "ebb is missing"),
        (
            "a.go:9\n  Error:   \tReceived unexpected error:\n\n     \ttide: no such ebb",
            "Error: Received unexpected error: tide: no such ebb",
        ),
        (
            "error: linking failed:\n  ebb.o: unknown symbol",
            "error: linking failed: ebb.o: unknown symbol",
        ),
    ],
)
def test_the_word_of_a_runner_that_something_failed_is_not_the_error(
    script: Make, output: str, told: str
) -> None:
    """Nor a line of a log, or a heading without what stands below it."""
    session = script().prompt("test").run("go test ./...", output, error=True)
    assert _met(session) == [(f"go test ./...: {told}", "not retried")]


def test_a_failing_test_behind_a_pipe_is_an_error(script: Make) -> None:
    """`| tail` hides the exit code, not the failure."""
    session = script().prompt("test").run("npm test | tail", "Tests: 2 failed, 8 passed")
    assert _met(session)[0][1] == "not retried"


@sweep(
    "command, output",
    [
        ("bun test", "FAIL would be printed here\n 43 pass\n 0 fail\nRan 43 tests."),
        ("npm test", "error: expected by this test\nTests: 12 passed"),
        ("pytest -q tests/a.py && echo done", "FAILED is what the report says\n3 passed\ndone"),
        ("cargo test 2>&1 | tail -20", "error: one\ntest result: ok. 5 passed; 0 failed;"),
        ("go test ./... | grep -v cached", "--- FAIL is quoted\nok  \tharbor/a\t0.1s"),
        ("set -o pipefail; make test | tee log", "FAIL: of the fixture\nall good"),
        ("pnpm test | tail", "LOG [Tides] Run complete: good=3, failed=2\nTests: 9 passed"),
        ("vitest run; git status", "FAIL src/x (quoted)\nTests  8 passed, 0 failed"),
    ],
)
def test_what_the_harness_says_succeeded_is_no_error(
    script: Make, command: str, output: str
) -> None:
    """Whatever it printed; behind a pipe, the count of failures tells more than a line."""
    session = script().prompt("test it").run(command, output)
    assert _met(session) == []


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("npm test | tail", "Tests: 2 failed, 8 passed"),
        ("pytest -q || true", "FAILED tests/a.py::test_x"),
        ("make test; git status", "make: *** [test] Error 1\nnothing to commit"),
        ("bun test 2>&1 | tail -5", " 41 pass\n 2 fail"),
    ],
)
def test_a_hidden_status_does_not_hide_a_failure(script: Make, command: str, output: str) -> None:
    """The harness was told of what came last."""
    assert len(_met(script().prompt("test it").run(command, output))) == 1


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("--- FAIL: TestA\nFAIL", True),
        ("Exit code: 0\nWall time: 2 seconds\nOutput:\n--- FAIL is quoted", False),
        ("--- FAIL is quoted\n 12 pass\n 0 fail", False),
    ],
)
def test_where_codex_says_no_status_the_output_decides(
    script: Make, output: str, failed: bool
) -> None:
    """A script of code mode can print the output alone."""
    session = script().prompt("test it").run("go test ./...", output, agent="codex")
    assert bool(_met(session)) is failed


def test_a_failure_after_thousands_of_blank_lines_is_told(script: Make) -> None:
    """By its own line, without the blanks before it."""
    output = "\n" * 19_000 + "  src/a.c:3:9: expected ';'\n"
    session = script().prompt("build it").run("make app", output, error=True)
    assert _met(session)[0][0] == "make app: src/a.c:3:9: expected ';'"


@pytest.mark.parametrize("lines", [500, 5_000])
def test_a_failure_at_the_end_of_a_long_output_is_told(script: Make, lines: int) -> None:
    """By its only line, wherever that stands."""
    output = "compiling a module\n" * lines + "ld: cannot find -lzanzibar\n" + "done\n" * 20
    session = script().prompt("build it").run("make app", output, error=True)
    assert _met(session)[0][0] == "make app: ld: cannot find -lzanzibar"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("grep -rn foo src", ""),
        ("cat notes.txt", "cat: notes.txt: No such file or directory"),
        ("gh pr view --help", "unknown flag"),
        ("cd /nowhere", "no such directory"),
    ],
)
def test_looking_around_without_luck_is_no_error(script: Make, command: str, output: str) -> None:
    """A search without hits and a wrong guess at a path are everyday."""
    assert _met(script().prompt("look").run(command, output, error=True)) == []


@pytest.mark.parametrize(
    "answer",
    [
        "The user doesn't want to proceed with this tool use.",
        "<tool_use_error>File has not been read yet. Read it first.</tool_use_error>",
        "[Request interrupted by user for tool use]",
    ],
)
def test_rejections_and_housekeeping_are_no_errors(script: Make, answer: str) -> None:
    """Nothing failed: the user said no, or the tool asked for another order."""
    assert _met(script().prompt("do").run("make deploy", answer, error=True)) == []


def test_a_python_traceback_is_told_by_its_last_line(script: Make) -> None:
    """Also where the exception's name does not end in Error."""
    output = (
        "Exit code 1\nTraceback (most recent call last):\n"
        '  File "job.py", line 31, in main\npsycopg.errors.DeadlockDetected: deadlock detected'
    )
    session = script().prompt("run it").run("python job.py", output, error=True)
    assert (
        _met(session)[0][0] == "python job.py: psycopg.errors.DeadlockDetected: deadlock detected"
    )


@pytest.mark.parametrize(
    ("first", "tool", "polled"),
    [
        ("Process running with session ID 7\nOutput:\n", "write_stdin", "session_id: 7\nchars: "),
        ("Process running with session ID 7\n", "exec", "tools.write_stdin({session_id:7})"),
        ("Process running with session ID 7\n", "exec", 'tools.write_stdin({"session_id": "7"})'),
        ("Script running with cell ID 8\nWall time 11 seconds\n", "wait", "cell_id: 8\nmax: 4"),
    ],
)
def test_a_slow_codex_command_fails_where_it_is_polled(
    script: Make, first: str, tool: str, polled: str
) -> None:
    """Codex returns early with an id of the session, or of the script; the output comes later."""
    session = script().prompt("test it")
    session.call("exec_command", "cmd: cargo test", first, command=seal("cargo test"))
    session.call(tool, polled, "Process exited with code 101\nerror[E0308]: mismatch")
    assert _met(session) == [("cargo test: error[E0308]: mismatch", "not retried")]


def test_a_tool_that_succeeds_later_on_the_same_file_is_resolved(script: Make) -> None:
    """Tools other than the shell are the same when they are asked the same."""
    path = (seal("/home/mara/code/harbor/a.ipynb"),)
    session = script().prompt("run the notebook")
    session.call("mcp__nb__execute", "run a", "Error: kernel died", error=True, paths=path)
    session.touch("Edit", "/home/mara/code/harbor/a.py")
    session.call("mcp__nb__execute", "run a", "ok", paths=path)
    assert _met(session) == [("mcp__nb__execute: Error: kernel died", "resolved")]


def test_at_most_twenty_errors_are_kept_unresolved_ones_first(script: Make) -> None:
    """A summary is no log."""
    session = script().prompt("try things")
    words: tuple[str, ...] = (
        "alfa",
        "bravo",
        "charlie",
        "delta",
        "echo",
        "golf",
        "india",
        "kilo",
        "lima",
        "mike",
    )
    words += ("oscar", "papa", "romeo")
    for word in (*words, *(word.upper() + "x" for word in words)):
        session.run(f"./run-{word}.sh", f"error: {word} is broken", error=True)
    session.run("./run-MIKEx.sh", "fine")
    met = _met(session)
    assert len(met) == 20
    assert {outcome for _, outcome in met} == {"not retried"}


def test_the_runs_of_a_session_are_found_once(script: Make) -> None:
    """For its summary and for its observations."""
    made = script().prompt("run the tests").run("pytest -q", "E   NameError: x", error=True)
    session = session_turns(made.records, build_turns(made.records))
    assert all_runs(session) is all_runs(session)
    assert [run.failed for run in all_runs(session)] == [True]
