"""Commits, files, commands, plans: the plain facts of a session."""

from __future__ import annotations

import pytest

from memory_assets.redacted_text import seal
from memory_assets.session_analysis.commits import commits_made_by
from memory_assets_tests.redacted_sessions import redacted
from memory_assets_tests.summaries.conftest import Make
from memory_assets_tests.sweep import sweep


def test_commits_come_from_gits_own_output(script: Make) -> None:
    """SHA and subject, root and detached commits too."""
    session = script().prompt("commit")
    session.run("git commit -am 'x'", "[main (root-commit) 4be91c7] Add days\n 2 files changed")
    session.run("git add . && git commit -m 'y'", "hook ok\n[detached HEAD 0a1b2c3d] Fix days")
    assert session.summary().commits == ("4be91c7 Add days", "0a1b2c3d Fix days")


def test_an_amended_commit_is_listed_once_with_its_last_sha(script: Make) -> None:
    """Amending replaces."""
    session = script().prompt("commit").run("git commit -m 'Add days'", "[main 4be91c7] Add days")
    session.run("git commit --amend --no-edit", "[main 99beef0] Add days")
    assert session.summary().commits == ("99beef0 Add days",)


def test_commits_that_a_session_replaced_are_not_listed(script: Make) -> None:
    """Amended under another subject, also with a time that is none, or behind a reset."""
    session = script().prompt("commit").run("git commit -m 'Add days'", "[main 4be91c7] Add days")
    session.run(
        "git commit --amend -m 'Add weeks'",
        "[main 99beef0] Add weeks\n Date: Mon Foo 31 25:00:00 2026 +9999",
    )
    session.run("git commit -m 'Add a bell'", "[main 77beef0] Add a bell")
    session.run("git reset --soft HEAD~1").run("git commit -m x", "[main 66beef0] Ring a bell")
    assert session.summary().commits == ("99beef0 Add weeks", "66beef0 Ring a bell")
    session.run(
        "git commit -q --amend --no-edit && git show --oneline", "55beef0 Ring a bell\n a.py"
    )
    assert session.summary().commits == ("99beef0 Add weeks", "55beef0 Ring a bell")


@pytest.mark.parametrize(
    ("how", "output"),
    [
        ("--no-edit", "[main 99beef0] Tidy up"),
        ("-m 'Tidy up'", "[side 99beef0] Tidy up"),
        ("-m 'Tidy up'", "[main 99beef0] Tidy up\n Date: Thu Jan 1 10:00:00 2026 +0100\n 1 file"),
    ],
)
def test_amending_a_commit_of_somebody_else_replaces_none(
    script: Make, how: str, output: str
) -> None:
    """Git would have kept the subject, names another branch, or prints another time."""
    session = script().prompt("commit").run("git commit -m 'Add days'", "[main 4be91c7] Add days")
    session.run(f"git commit --amend {how}", output)
    assert session.summary().commits == ("4be91c7 Add days", "99beef0 Tidy up")


@sweep(
    "command, output, stayed",
    [
        (
            "git commit -m 'Add queue' && git commit --amend -m 'Add a queue'",
            "[main 11beef0] Add queue\n[main 22beef0] Add a queue",
            ("4be91c7 Zero", "22beef0 Add a queue"),
        ),
        (
            "git commit --amend -m One && git commit -m 'Add a queue'",
            "[main 11beef0] One\n[main 22beef0] Add a queue",
            ("11beef0 One", "22beef0 Add a queue"),
        ),
        (
            "git commit -q -m 'Add queue' && git commit --amend -m 'Add a queue'",
            "[main 22beef0] Add a queue",
            ("4be91c7 Zero", "22beef0 Add a queue"),
        ),
        (
            "git checkout -b feat && git commit --amend -m One",
            "[feat 11beef0] One",
            ("11beef0 One",),
        ),
        (
            "git checkout -q -b feat && git commit --amend -m One",
            "[feat 11beef0] One",
            ("11beef0 One",),
        ),
        (
            "git switch --detach && git commit --amend -m One",
            "[detached HEAD 11beef0] One",
            ("11beef0 One",),
        ),
        ("git switch -c feat; git commit --amend -m One", "[feat 11beef0] One", ("11beef0 One",)),
        (
            "git checkout feat && git commit --amend -m One",
            "[feat 11beef0] One",
            ("4be91c7 Zero", "11beef0 One"),
        ),
        (
            "git checkout -b feat origin/feat && git commit --amend -m One",
            "[feat 11beef0] One",
            ("4be91c7 Zero", "11beef0 One"),
        ),
    ],
)
def test_only_the_commit_that_was_amended_is_replaced(
    script: Make, command: str, output: str, stayed: tuple[str, ...]
) -> None:
    """Of several commands in a call the one that amends says so; a branch that the call begins
    holds the commit, too."""
    session = script().prompt("commit").run("git commit -m Zero", "[main 4be91c7] Zero")
    assert session.run(command, output).summary().commits == stayed


@sweep(
    "command, output, made",
    [
        ("git commit -m x", '{"out":"[main 4be91c7] Add days\\n 1 file changed","code":0}', True),
        ("git commit -m x", "failed: exit 128, stdout: [main 4be91c7] Add days", True),
        ("make ship", "[main 4be91c7] Add days\n 2 files changed, 3 insertions(+)", True),
        ("make ship", "[main 4be91c7] Add days", False),
        ("cat ship.log", "[main 4be91c7] Add days\n 2 files changed, 3 insertions(+)", False),
        ("git show HEAD:log", "[main 4be91c7] Add days\n 2 files changed", False),
    ],
)
def test_commits_are_found_in_other_output(
    script: Make, command: str, output: str, made: bool
) -> None:
    """In JSON and in messages that quote git; of a script if it is the whole of what git prints,
    but not where a file or a log is shown."""
    session = script().prompt("commit").run(command, output)
    assert session.summary().commits == (("4be91c7 Add days",) if made else ())


def test_a_quiet_commit_gives_its_subject(script: Make) -> None:
    """`git commit -q` prints nothing; its message is in the command, where there is one."""
    session = script().prompt("commit")
    session.run("git commit -q -F - <<'EOF' && git push\nAdd lock timeouts\n\nBody\nEOF", "")
    session.run('git commit -qm "Second one"', "", error=True)
    session.run("git cherry-pick 4be91c7", "").run("git revert --no-edit HEAD", "done")
    assert session.summary().commits == ("Add lock timeouts",)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("git add -A && git commit -m 'Add a bell'", "ok a9a9ec1\n"),
        ("rtk git commit -m 'Add a bell'", "ok ✓ a9a9ec1"),
        ("git commit -F - <<'EOF'\nAdd a bell\n\nBody\nEOF", "2 files staged\nok a9a9ec1\nok main"),
    ],
)
def test_a_commit_that_a_wrapper_acknowledges_is_found(
    script: Make, command: str, output: str
) -> None:
    """Programs that shorten git's output print the SHA alone; the subject is in the command."""
    session = script().prompt("commit").run(command, output)
    assert session.summary().commits == ("a9a9ec1 Add a bell",)
    session.run("git filter-repo --force && git log --oneline", "bb17ec2 Add a bell")
    assert session.summary().commits == ("bb17ec2 Add a bell",)
    session.run("rtk git commit --amend --no-edit", "ok cc17ec2")
    session.run("git revert --no-edit a9a9ec1 -q", "error: unknown switch `q'")
    both = "git -C web commit -m 'Ring it' && git commit -m 'Oil it'"
    session.run(both, "ok dd17ec2\nok ee17ec2")
    assert session.summary().commits == ("cc17ec2 Add a bell", "dd17ec2 Ring it", "ee17ec2 Oil it")


def test_bracketed_lines_of_other_commands_are_no_commits(script: Make) -> None:
    """Only the output of `git commit` counts."""
    session = script().prompt("look").run("cat log.txt", "[main 4be91c7] Add days about a commit")
    assert session.summary().commits == ()


def test_files_are_relative_to_the_project_and_told_apart(script: Make) -> None:
    """A file that was changed is not listed as read; a failed edit changed nothing."""
    session = script().prompt("do it").touch("Read", "/home/mara/code/harbor/src/a.py")
    session.touch("Read", "/home/mara/code/harbor/src/b.py")
    session.touch("Edit", "/home/mara/code/harbor/src/b.py")
    session.touch("Write", "/home/mara/code/harbor/src/c.py", error=True)
    session.touch("Read", "/etc/hosts").touch("Write", "/tmp/scratch.txt")
    summary = session.summary()
    assert summary.files_read == ("src/a.py", "/etc/hosts")
    assert summary.files_modified == ("src/b.py",)


def test_files_are_found_in_shell_commands_and_patches(script: Make) -> None:
    """Codex reads by sed and cat, and writes by apply_patch."""
    session = script().prompt("do it")
    session.run("sed -n '1,80p' internal/store.go && rg -n 'func Open' internal", "...")
    session.run("cat > notes/plan.md <<'E'\nx\nE", "")
    session.run(
        "apply_patch <<'E'\n*** Begin Patch\n*** Update File: cmd/main.go\n*** End Patch\nE", "ok"
    )
    summary = session.summary()
    assert summary.files_read == ("internal/store.go",)
    assert summary.files_modified == ("notes/plan.md", "cmd/main.go")
    assert summary.investigated == "Read store.go; searched for func Open."


def test_the_most_telling_commands_come_first(script: Make) -> None:
    """Tests, then git, builds and operations; looking around is not listed."""
    session = script().prompt("do it")
    for command in (
        "ls -la",
        "docker ps",
        "npm run build 2>&1 | tail -3",
        "git push",
        "git status",
    ):
        session.run(command, "ok")
    session.run("cd web && npm test 2>&1", "ok").run("npm test 2>&1", "ok")
    assert session.summary().commands == ("npm test", "git push", "npm run build", "docker ps")


def test_open_items_of_the_last_plan_are_next_steps(script: Make) -> None:
    """TodoWrite replaces the whole list each time."""
    first = '[{"content":"Old item","status":"pending"}]'
    last = (
        '[{"content":"Set lock_timeout","status":"completed"},'
        '{"content":"Retry \\"three\\" times","status":"in_progress"},'
        '{"content":"Tell ops","status":"pending"}]'
    )
    session = script().prompt("make migrations safe")
    session.call("TodoWrite", f"todos: {first}", "ok").call("TodoWrite", f"todos: {last}", "ok")
    session.say("Half of it.")
    assert session.summary().next_steps == 'Open in the plan: Retry "three" times; Tell ops.'


def test_tasks_are_open_until_they_are_updated(script: Make) -> None:
    """Newer versions create and update single tasks."""
    session = script().prompt("make migrations safe")
    session.call(
        "TaskCreate", "subject: Set timeouts\ndescription: x", "Task #1 created successfully"
    )
    session.call("TaskCreate", "subject: Tell ops\ndescription: x", "Task #2 created successfully")
    session.call("TaskUpdate", "taskId: 1\nstatus: completed", "ok").say("Half of it.")
    assert session.summary().next_steps == "Open in the plan: Tell ops."


def test_what_is_done_in_the_plan_is_told_where_reports_say_little(script: Make) -> None:
    """In the agent's words, before the changed files."""
    plan = (
        '[{"content":"Set lock_timeout","status":"completed"},'
        '{"content":"Tell ops","status":"pending"}]'
    )
    session = script().prompt("make migrations safe").call("TodoWrite", f"todos: {plan}", "ok")
    assert session.summary().completed == "Done in the plan: Set lock_timeout."
    session.touch("Edit", "migrate.py")
    done = "Done in the plan: Set lock_timeout. Changed migrate.py."
    assert session.summary().completed == done
    for task, name in enumerate(("Add a lock", "Retry once"), 1):
        session.call("TaskCreate", f"subject: {name}", f"Task #{task} created successfully")
    session.call("TaskUpdate", "taskId: 1\nstatus: completed", "ok")
    done = "Done in the plan: Set lock_timeout; Add a lock. Changed migrate.py."
    assert session.summary().completed == done
    report = "Fixed the migration, which waits at most three seconds for the lock of a table now."
    session.say(f"{report} Added a second try that is made after a minute at the earliest.")
    assert session.summary().completed.startswith(report)
    assert "plan" not in session.summary().completed


def test_counts_duration_and_branch(script: Make) -> None:
    """Turns, prompts, tool calls, and the time between first and last record."""
    session = script().prompt("one thing").say("ok").run("npm test", "ok").prompt("another thing")
    session.say("done", git_branch=seal("HEAD"))
    summary = session.summary()
    assert (summary.turns, summary.prompts, summary.tool_calls) == (2, 2, 1)
    assert summary.duration_seconds == 50.0
    assert summary.git_branch == "main"
    assert summary.id == "summary::s1"


@pytest.mark.parametrize(
    "rebase", ["git rebase main", "git -C /harbor pull --rebase origin main", "gt restack"]
)
def test_a_rebased_commit_has_the_sha_that_is_listed_later(script: Make, rebase: str) -> None:
    """Without a rebase, or beside the old one, another SHA is that of another commit."""
    session = script().prompt("x").run("git commit -m x", "[main 4be91c7] Ring the bell")
    assert script().prompt("x").summary().commits == ()
    log = "git log --oneline"
    listed = session.run(log, "77beef0 Ring the bell")
    assert listed.summary().commits == ("4be91c7 Ring the bell",)
    session.run(rebase, "done").run(log, "77beef0 Ring the bell\n4be91c7 Ring the bell")
    assert session.summary().commits == ("4be91c7 Ring the bell",)
    session.run(log, "88beef0 (HEAD -> main) Ring the bell")
    assert session.summary().commits == ("88beef0 Ring the bell",)


@pytest.mark.parametrize(
    ("command", "printed", "lines"),
    [
        ("git commit -q -m 'Ring it'", " 2 files changed, 7 insertions(+)", [0]),
        ("git commit -q -m 'Ring it'", "4be91c7 Ring it\n 1 file changed, 7 deletions(-)", [7]),
        ("git commit -m x", "[main 4be91c7] A\n[main 4be91c8] B\n 1 file changed, 7 d", [0, 0]),
        (
            "git commit -m x",
            "[a 4be91c7] A\n[a 4be91c8] B\n 1 file changed, 7 deletions(-)",
            [0, 7],
        ),
        ("git commit -m x", " 1 file changed, 9 deletions(-)\n[main 4be91c7] A", [0]),
    ],
)
def test_the_lines_of_a_commit_are_those_that_stand_below_it(
    command: str, printed: str, lines: list[int]
) -> None:
    """Not above its own line, nor below the next commit's."""
    record = redacted("tool", "tool_result", printed)
    assert [one.lines for one in commits_made_by(record, seal(command))] == lines


def test_what_was_reverted_is_no_telling_commit(script: Make) -> None:
    """Nor that it was."""
    session = script().prompt("x")
    made = ["Try a probe", 'Revert "Try a probe"', *(f"Hang {n} bells{'s' * 70}" for n in "abc")]
    for number, subject in enumerate(made):
        printed = f"[main 4be91c{number}] {subject}\n 1 file changed, 9 insertions(+)"
        session.run("git commit -m x", printed)
    assert "probe" not in session.summary().completed
