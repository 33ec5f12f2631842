"""What `memory context` says of a project's last sessions, from transcripts alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_assets.paths import project_of
from memory_assets.recall.sessions.recent_work import recent_work
from memory_assets.stores.agents.journal import FILE_NAME
from memory_assets_tests.command_line import run_here
from memory_assets_tests.recall.worked import Call, Worked, shell

HERE = "/home/mara/code/kiln"
PROJECT = project_of(HERE)


def lines_of(worked: Worked) -> str:
    """The lines of the project as one text."""
    return "\n".join(recent_work(worked.memory(), PROJECT))


def commit(subject: str, *, push: str = "") -> Call:
    """A commit as Git prints it."""
    return shell(f"git commit -am '{subject}'{push}", f"[main 1f2e3d4] {subject}\n 1 file changed")


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([commit("Fix the damper")], "not pushed in it"),
        ([commit("Fix the damper", push=" && git push")], "(pushed)"),
        ([commit("Fix the damper"), shell("git -C . push origin main")], "(pushed)"),
        ([shell("git push"), commit("Fix the damper")], "not pushed in it"),
        (
            [commit("Fix the damper"), shell("git push", "rejected", failed=True)],
            "not pushed in it",
        ),
    ],
)
def test_a_commit_was_pushed_if_a_push_after_it_worked(
    tmp_path: Path, calls: list[Call], said: str
) -> None:
    """In the same session; a push that failed or came before it is none."""
    worked = Worked(tmp_path)
    worked.session("a", *calls, cwd=HERE)
    text = lines_of(worked)
    assert f'Commit "Fix the damper" ({said.strip("()")})' in text and "[0000000a]" in text


@pytest.mark.parametrize(
    ("prompt", "is_standing"),
    [
        ("never commit without signing.", True),
        ("ok. always verify, then run the hooks", True),
        ("Please prefer small commits.", True),
        ("when it fails, never retry twice", True),
        ("run the dashboard directly from now on", True),
        ("the kiln never gets hot", False),
        ("it never saw the file", False),
        ("npm error: exit handler never called", False),
        ("should we always sign?", False),
        ("don't touch the footer", False),
        ("never do it. " + "pasted " * 400, False),
    ],
)
def test_what_a_person_asked_once_and_for_all_is_told(
    tmp_path: Path, prompt: str, is_standing: bool
) -> None:
    """A sentence that begins a clause with always, never or prefer, or says from when on; not a
    report, a question, what was asked for one time, or what is pasted."""
    worked = Worked(tmp_path)
    worked.session("a", Call(text=prompt), shell("make"), commit("Sign"), cwd=HERE)
    assert ("once and for all" in lines_of(worked)) is is_standing


def test_tests_that_still_fail_at_the_end_are_told(tmp_path: Path) -> None:
    """Those of the last session; not those that passed at last, nor of an earlier one."""
    worked = Worked(tmp_path)
    failing = shell("pytest -q", "FAILED test_glaze.py::test_cone - assert 5 == 6", failed=True)
    worked.session("a", failing, failing, commit("Try"), cwd=HERE)
    assert "Failed when it was tried last:" in lines_of(worked)
    worked.session("b", failing, shell("pytest -q", "1 passed"), commit("Fix"), cwd=HERE, days=1)
    assert "Failed" not in lines_of(worked)


def test_less_is_told_until_it_fits(tmp_path: Path) -> None:
    """Of fewer sessions, the newest first; of sessions in which nothing was done, nothing."""
    worked = Worked(tmp_path)
    for day, name in enumerate("abcde"):
        worked.session(name, commit(f"Change {name}"), cwd=HERE, days=day)
    worked.session("f", Call(text="hello"), cwd=HERE, days=9)
    memory = worked.memory()
    whole = recent_work(memory, PROJECT)
    assert [line.partition("Change ")[2][:1] for line in whole[1:4]] == ["e", "d", "c"]
    fewer = recent_work(memory, PROJECT, lambda lines: len(lines) <= 3)
    assert fewer == [whole[0], whole[1], whole[-1]]
    assert recent_work(memory, PROJECT, lambda lines: False) == []
    assert recent_work(memory, "-home-mara-code-nowhere") == []


def test_a_context_tells_of_the_project_without_a_memory_of_agents(tmp_path: Path) -> None:
    """From the first ingest on, in a frame, within 300 tokens; no journal is made for it."""
    worked, here = Worked(tmp_path), tmp_path / "kiln"
    here.mkdir()
    worked.session("a", commit("Fix the damper"), cwd=here)
    worked.memory()
    own = {f"MEMORY_{name.upper()}": str(value) for name, value in worked.settings().items()}
    environment = {**own, "HOME": str(tmp_path / "home")}
    said = json.loads(run_here(environment, "context", "--project", str(here), "--json").stdout)
    assert "Fix the damper" in said["text"] and said["text"].startswith("<recalled-memory")
    assert 0 < said["tokens"] <= 400
    assert not (tmp_path / "data" / FILE_NAME).exists()
    other = run_here(environment, "context", "--project", str(tmp_path / "elsewhere"))
    assert (other.returncode, other.stdout) == (0, "")
