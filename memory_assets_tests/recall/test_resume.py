"""`memory resume`: the command of the session's own agent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from memory_assets.agents import AGENTS
from memory_assets.errors import ConfigurationError
from memory_assets.recall.sessions import resume
from memory_assets.recall.sessions.resume import resume_command
from memory_assets.requests.questions import ResumeRequest
from memory_assets_tests.command_line import run_here
from memory_assets_tests.recall.conftest import Asked
from memory_assets_tests.recall.worked import Worked, shell

MEMORY = Path(sys.executable).with_name("memory")


def test_each_agent_is_resumed_by_its_own_command(asked: Asked) -> None:
    """Claude Code and Codex by the id, Pi by the file; any id of the session will do."""
    for row in asked.rows("session_summaries"):
        found = resume_command(asked.memory, row["id"])
        session_id = row["session_id"]
        assert found == resume_command(asked.memory, session_id)
        assert (found["session_id"], found["agent"]) == (session_id, row["agent"])
        *command, named = found["command"]
        if row["agent"] == "pi":
            assert command == ["pi", "--session"]
            assert session_id in Path(named).name and Path(named).is_file()
        else:
            assert named == session_id
            expected = {"claude-code": ["claude", "--resume"], "codex": ["codex", "resume"]}
            assert command == expected[row["agent"]]
        assert found["line"].startswith("cd ") and found["line"].endswith(named)
        assert any("is not on this machine" in why for why in found["missing"])


def test_an_agent_without_a_command_is_named(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Instead of a guess."""
    monkeypatch.setattr(resume, "AGENTS", {})
    with pytest.raises(ConfigurationError, match="claude-code has no command"):
        resume_command(asked.memory, asked.long_session)


def test_a_session_that_its_agent_does_not_resume_is_named(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cursor's program resumes its own chats, and none of its editor; Kilo's none of the tasks."""
    for part, is_resumed in (("store.db#", False), (".jsonl", True)):
        claude = replace(AGENTS["claude-code"], resumes=part)
        monkeypatch.setattr(resume, "AGENTS", {"claude-code": claude})
        if is_resumed:
            assert resume_command(asked.memory, asked.long_session)["command"]
        else:
            with pytest.raises(ConfigurationError, match="a session of this kind"):
                resume_command(asked.memory, asked.long_session)


def test_run_starts_the_agent_in_the_directory_that_the_session_began_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place of `memory`. A subdirectory that the session went to is not it, and without the
    directory, the transcript or the program nothing is run."""
    worked, project = Worked(tmp_path), tmp_path / "it's a project"
    project.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    session_id = worked.session("a", shell("pwd"), cwd=project)
    found = resume_command(worked.memory(), "0000000a")
    assert found["missing"] == [] and found["directory"] == str(project)
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\npwd\necho "$@"\n')
    program.chmod(0o755)
    paths = _environment(worked, f"{program.parent}:{os.defpath}")
    command = ["resume", "0000000a", "--run"]
    ran = subprocess.check_output([MEMORY, *command], env=paths, text=True)
    assert ran.splitlines() == [str(project), f"--resume {session_id}"]
    shown = subprocess.check_output(["sh", "-c", found["line"]], env=paths, text=True)
    assert str(project) in shown
    without = _environment(worked, os.defpath)
    printed = run_here(without, "resume", "0000000a", "--json").stdout
    assert found.items() <= json.loads(printed).items()
    refused = run_here(without, *command)
    assert refused.returncode == 2 and "claude is not on the PATH" in refused.stderr
    for gone in (tmp_path / "projects").rglob("*.jsonl"):
        gone.unlink()
    assert "deleted the transcript" in run_here(paths, *command).stderr
    project.rmdir()
    assert "is not on this machine" in run_here(paths, *command).stderr


def test_what_is_printed_can_be_piped_into_a_shell(tmp_path: Path) -> None:
    """One line without a frame; what is missing is said on standard error. JSON has a frame."""
    worked, project = Worked(tmp_path), tmp_path / "it's a $(project)"
    project.mkdir()
    worked.session("a", shell("pwd"), cwd=project)
    command = (_environment(worked, os.defpath), "resume", "0000000a")
    found = resume_command(worked.memory(), "0000000a")
    assert run_here(*command).stdout == f"{found['line']}\n"
    where = found["line"].replace("claude", "pwd # claude")
    assert subprocess.check_output(["sh", "-c", where], text=True) == f"{project}\n"
    assert "frame" in json.loads(run_here(*command, "--json").stdout)
    project.rmdir()
    gone = run_here(*command)
    assert gone.stdout == f"{found['line']}\n" and "is not on this machine" in gone.stderr


def _environment(worked: Worked, path: str) -> dict[str, str]:
    return {**worked.environment(), "PATH": path}


def test_the_last_session_of_the_directory_needs_no_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a directory of no project, the last of all; a project may be named instead; an id and
    `--last` exclude each other."""
    worked, here = Worked(tmp_path), tmp_path / "shop"
    here.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    worked.session("a", shell("pwd"), cwd=here)
    in_shop = worked.session("b", shell("pwd"), cwd=here, days=1)
    in_all = worked.session("c", shell("pwd"), cwd=tmp_path / "kiln", days=2)
    memory = worked.memory()
    for directory, expected in ((here, in_shop), (tmp_path.parent, in_all)):
        monkeypatch.chdir(directory)
        assert memory.ask(ResumeRequest(last=True))["session_id"] == expected
    assert memory.ask(ResumeRequest(last=True, project="shop"))["session_id"] == in_shop
    for wrong in ({}, {"session": in_all, "last": True}, {"session": in_all, "project": "shop"}):
        with pytest.raises(ConfigurationError, match="--last"):
            ResumeRequest(**wrong)
