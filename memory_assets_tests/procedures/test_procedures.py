"""What the sessions of a project show again and again, and what they do not."""

from __future__ import annotations

from dataclasses import replace

from memory_assets.chunking import build_turns
from memory_assets.procedures.project import findings, lasting_of
from memory_assets.redacted_text import seal
from memory_assets.session_analysis import session_turns
from memory_assets_tests.redacted_sessions import ROOT, Script


def shown(*scripts: Script, root: str = ROOT) -> dict[str, str]:
    """What sessions show together, by topic."""
    found = []
    for script in scripts:
        records = [replace(each, project_root=seal(root)) for each in script.records]
        one = findings(session_turns(records, build_turns(records)))
        found += [one] if one is not None else []
    return {each.topic: each.text for each in lasting_of(found)}


def twice(*commands: str) -> Script:
    """A session that runs commands in two turns."""
    script = Script()
    for _ in range(2):
        script.prompt("Go on with the harbour.")
        for command in commands:
            script.run(command)
    return script


def test_a_command_that_worked_in_two_turns_is_a_procedure() -> None:
    """By what it is for, those of one purpose together, without what only filters its output."""
    script = twice("mise run test 2>&1 | tail -20", "mise run test:ci", "mise run fmt")
    assert shown(script) == {
        "tests": "Tests in this project: `mise run test`, `mise run test:ci`.",
        "formatting": "Formatting in this project: `mise run fmt`.",
    }


def test_where_and_with_what_it_ran_is_part_of_a_command() -> None:
    """The directory below the project's, variables, and an option that names a package."""
    script = twice("cd apps/api && pnpm api:generate", "export TZ=UTC; pytest -q -p tide")
    assert shown(script) == {
        "code generation": "Code generation in this project: `cd apps/api && pnpm api:generate`.",
        "tests": "Tests in this project: `TZ=UTC pytest -q -p tide`.",
    }


def test_a_command_with_a_search_path_of_its_own_is_no_procedure() -> None:
    """It names the directories of one machine."""
    script = twice("env PATH=~/.cache/runtime/bin:/usr/bin ./node_modules/.bin/vitest run")
    assert shown(script) == {}


def test_files_and_names_of_tests_are_left_out() -> None:
    """They are others the next time; what is before them stays."""
    script = Script().prompt("Test.").run("mise run test -- a/tide_test.go")
    script.prompt("Again.").run("mise run test -- b/reef_test.go")
    assert shown(script) == {"tests": "Tests in this project: `mise run test …`."}


def test_what_is_seen_once_is_nobodys_habit() -> None:
    """Nor is what failed, what anybody would try first, what is in a temporary directory, has an
    id or a secret in it, or ran in another project or a home directory."""
    assert shown(Script().prompt("Test.").run("mise run test")) == {}
    for command in (
        "npm test",
        "go test ./... -count=1",
        "cd web && npx tsc --noEmit",
        "python /tmp/try/fix.py --all",
        "mise run test --seed 48211",
        "mise run test --token <redacted:github-token:0123456789ab>",
        'mise run test --only "$NAME"',
        "cd /work/other && mise run test",
        "test -f mise.toml",
    ):
        assert shown(twice(command)) == {}, command
    failing = Script().prompt("Test.")
    for _ in range(2):
        failing.run("mise run test", "Exit code 1\nFAIL tide_test", error=True)
    assert shown(failing) == {}
    home = twice("mise run test")
    assert shown(home, root="/home/mara") == {}


def test_documents_that_most_sessions_read_are_told() -> None:
    """Three of them at least, and not what agents read without being told."""
    scripts = []
    for name in ("s1", "s2", "s3"):
        script = Script(name).prompt("Go on.").touch("Read", f"{ROOT}/docs/tides.md")
        scripts.append(script.touch("Read", f"{ROOT}/README.md"))
    assert shown(*scripts) == {
        "documents": "Documents that sessions of this project read before they work: "
        "`docs/tides.md`.",
    }
    assert shown(*scripts[:2]) == {}


def test_how_commits_are_worded_is_told() -> None:
    """If nearly all of several sessions agree."""
    scripts = []
    for name in ("s1", "s2", "s3"):
        script = Script(name).prompt("Commit.")
        for number in range(2):
            subject = f"feat(tide): count {name}, {number}"
            script.run(f'git commit -m "{subject}"', f"[main abc{number}def] {subject}")
        scripts.append(script)
    assert shown(*scripts) == {
        "commit subjects": "Commit subjects here are conventional commits with a scope; "
        "types used: `feat`.",
    }
    assert shown(scripts[0]) == {}
