"""`memory install-hooks --agent`: a session begins with what is remembered."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from memory_assets.cli import exit_codes
from memory_assets.cli.installing.jsonc import without_value
from memory_assets_tests.command_line import run_here
from memory_assets_tests.sweep import sweep

Run = Callable[..., CompletedProcess[str]]
LOCAL = Path(".claude", "settings.local.json")
OTHERS = """{
    // What the team agreed on.
    "permissions": {"allow": ["Bash(make:*)"]},
    "hooks": {
        "SessionStart": [
            {"hooks": [{"type": "command", "command": "date"}]} // ours to keep
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "make lint"}]}]
    },
}
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """What runs a command in a project, with a memory of words and a home of its own."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "QWEN_HOME", "MEMORY_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    environment = {
        "HOME": str(tmp_path / "home"),
        "MEMORY_DATA_DIR": str(tmp_path / "a memory"),
        "MEMORY_PROJECTS_DIR": str(project),
        "MEMORY_EMBEDDER": "none",
    }
    return lambda *arguments: run_here(environment, *arguments)


def commands(path: Path) -> list[str]:
    """The commands that run when a session starts."""
    groups = json.loads(path.read_text())["hooks"]["SessionStart"]
    return [hook["command"] for group in groups for hook in group["hooks"]]


def test_a_new_session_begins_with_what_is_remembered(run: Run, tmp_path: Path) -> None:
    """The hook's command, run by a shell in the project as the agent runs it, prints the context of
    this project and this memory; when all fails it ends with 0."""
    run("remember", "We use pnpm.", "--project", ".")
    done = run("install-hooks", "--agent", "claude")
    assert done.returncode == exit_codes.FINE, done.stderr
    project = tmp_path / "project"
    (command,) = commands(project / LOCAL)

    def start(**more: str) -> CompletedProcess[str]:
        environment = {**os.environ, "HOME": str(tmp_path / "home"), **more}
        return subprocess.run(
            ["sh", "-c", command],
            cwd=project,
            env=environment,
            input='{"hook_event_name": "SessionStart"}',
            capture_output=True,
            text=True,
            check=False,
        )

    begun = start(PYTHONPROFILEIMPORTTIME="1")
    assert "- We use pnpm. (fact" in begun.stdout
    imported = {line.rpartition("|")[2].strip() for line in begun.stderr.splitlines()}
    assert "memory_assets.recall.names" in imported
    assert not imported & {"numpy", "pyarrow", "pydantic", "onnxruntime", "dagster"}
    for name in ("forgotten.db", "agent_memory.db"):
        (tmp_path / "a memory" / name).write_bytes(b"not a database" * 1_000)
        failed = start()
        assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (0, "", 1)


def test_what_else_is_in_the_settings_stays(run: Run, tmp_path: Path) -> None:
    """Comments and other hooks, when it is installed, once more, and removed."""
    path = tmp_path / "project" / LOCAL
    path.parent.mkdir()
    path.write_text(OTHERS)
    run("install-hooks", "--agent", "claude")
    once = path.read_text()
    for kept in (
        "// What the team agreed on.",
        '"command": "date"',
        "// ours to keep",
        "make lint",
    ):
        assert kept in once
    run("install-hooks", "--agent", "claude-code")
    assert path.read_text() == once and once.count("context --project .") == 1
    path.write_text(once.replace("/memory context", "/elsewhere/memory context"))
    run("install-hooks", "--agent", "claude")
    assert path.read_text() == once
    run("install-hooks", "--agent", "claude", "--uninstall")
    assert path.read_text() == OTHERS


def test_the_hook_goes_whichever_group_of_its_matcher_has_it(run: Run, tmp_path: Path) -> None:
    """Another program may have added a group with the same matcher behind ours."""
    path = tmp_path / "project" / LOCAL
    run("install-hooks", "--agent", "claude")
    settings = json.loads(path.read_text())
    (ours,) = settings["hooks"]["SessionStart"]
    other = {**ours, "hooks": [{"type": "command", "command": "date"}]}
    settings["hooks"]["SessionStart"].append(other)
    path.write_text(json.dumps(settings))
    for _ in range(2):
        run("install-hooks", "--agent", "claude")
        assert len(commands(path)) == 2
    run("install-hooks", "--agent", "claude", "--uninstall")
    assert commands(path) == ["date"]


def test_settings_that_held_nothing_else_are_removed(run: Run, tmp_path: Path) -> None:
    """Those of the project, and those of the user; removing twice is fine."""
    for path, option in (
        (tmp_path / "project" / LOCAL, ()),
        (tmp_path / "home" / ".claude" / "settings.json", ("--user",)),
    ):
        run("install-hooks", "--agent", "claude", *option)
        assert len(commands(path)) == 1
        for _ in range(2):
            done = run("install-hooks", "--agent", "claude", *option, "--uninstall")
            assert done.returncode == exit_codes.FINE and not path.exists()


@pytest.mark.parametrize(
    ("agent", "user_file", "project_file"),
    [
        ("codex", ".codex/hooks.json", ".codex/hooks.json"),
        ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
        ("qwen", ".qwen/settings.json", ".qwen/settings.json"),
    ],
)
def test_other_agents_have_the_hook_where_they_look_for_it(
    run: Run, tmp_path: Path, agent: str, user_file: str, project_file: str
) -> None:
    """In each project or in all; what it prints is what the agent reads: text, or JSON; it goes
    again with all that it came with."""
    run("remember", "We use pnpm.", "--project", ".")
    project, home = tmp_path / "project" / project_file, tmp_path / "home" / user_file
    for path, option in ((project, ()), (home, ("--user",))):
        for _ in range(2):
            done = run("install-hooks", "--agent", agent, *option)
            assert done.returncode == exit_codes.FINE, done.stderr
        groups = json.loads(path.read_text())["hooks"]["SessionStart"]
        assert all("resume" not in group["matcher"] for group in groups)
        (command,) = set(commands(path))
        assert len(groups) == len(commands(path))
    asked = command.split("/memory ")[-1].split()
    printed = run(*asked).stdout
    if agent == "codex":
        assert printed.startswith("<recalled-memory") and "We use pnpm." in printed
    else:
        said = json.loads(printed)["hookSpecificOutput"]
        assert said["hookEventName"] == "SessionStart" and "pnpm" in said["additionalContext"]
    for path, option in ((project, ()), (home, ("--user",))):
        run("install-hooks", "--agent", agent, *option, "--uninstall")
        assert not path.exists()


def test_what_cannot_be_changed_is_left_alone(run: Run, tmp_path: Path) -> None:
    """Settings that are not JSON, an agent without such a hook, --user without an agent."""
    path = tmp_path / "project" / LOCAL
    path.parent.mkdir()
    path.write_text("{ hooks: ")
    refused = run("install-hooks", "--agent", "claude")
    assert refused.returncode == exit_codes.USAGE and str(path) in refused.stderr
    assert path.read_text() == "{ hooks: "
    assert run("install-hooks", "--agent", "pi").returncode == exit_codes.USAGE
    assert run("install-hooks", "--user").returncode == exit_codes.USAGE


@sweep(
    "text, path, left",
    [
        ('{"a": 1, "b": 2}', ("a",), '{ "b": 2}'),
        ('{"a": 1, "b": 2}', ("b",), '{"a": 1}'),
        ('{\n  "a": 1, // one\n  "b": 2, // two\n}', ("b",), '{\n  "a": 1, // one // two\n}'),
        ('{\n  "a": [\n    1\n  ],\n}', ("a",), "{}"),
        ('[{"n": "x"}, {"n": "y"}, {"n": "z"}]', (("n", "y"),), '[{"n": "x"}, {"n": "z"}]'),
        ('{"a": {}}', ("a", "b"), '{"a": {}}'),
    ],
)
def test_an_item_goes_with_its_comma(text: str, path: tuple[str, ...], left: str) -> None:
    """Comments stay, and so does all that is beside it."""
    assert without_value(text, path) == left
