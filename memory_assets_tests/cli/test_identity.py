"""Sessions and projects are found, shown, resumed and forgotten as what they are, wherever their
files lie."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memory_assets.project_names import spelled
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets_tests.command_line import run_here
from memory_assets_tests.transcript_files import (
    claude_lines,
    write_claude,
    write_codex,
    write_lines,
)

ONE, TWO, THREE = (f"66666666-aaaa-4aaa-8aaa-00000000000{number}" for number in (1, 2, 3))


class Machine:
    """Transcripts, and a memory of them without vectors."""

    def __init__(self, root: Path) -> None:
        self.claude, self.codex = root / "claude" / "projects", root / "codex"
        self.memory = root / "memory"
        for path in (self.claude, self.codex / "sessions"):
            path.mkdir(parents=True)
        environment = {
            "MEMORY_DATA_DIR": str(self.memory),
            "MEMORY_EMBEDDER": "none",
            "MEMORY_PROJECTS_DIR": str(self.claude),
            "MEMORY_CODEX_DIR": str(self.codex),
        }
        self.run = partial(run_here, environment)

    def done(self, *arguments: str) -> str:
        """What a command that must work prints."""
        made = self.run(*arguments)
        assert made.returncode == 0, made.stdout + made.stderr
        return made.stdout

    def told(self, *arguments: str) -> dict[str, Any]:
        """The JSON of a command that must work."""
        answer: dict[str, Any] = json.loads(self.done(*arguments, "--json"))
        return answer

    def found(self, words: str, *filters: str) -> list[str]:
        """The ids of the turns that have all the words."""
        answer = self.run("search", words, *filters, "--json")
        assert answer.returncode in (0, 3), answer.stderr  # 3: nothing found
        hits = json.loads(answer.stdout)["hits"]
        return [hit["id"] for hit in hits if all(word in hit["text"] for word in words.split())]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine without transcripts."""
    return Machine(tmp_path)


def test_a_session_that_went_on_in_a_working_tree_is_one(machine: Machine) -> None:
    """Every id of a hit opens that hit, no prompt is there twice, and it has both names; another
    one was copied there and went on."""
    tree = machine.claude / "-home-mira-repo--claude-worktrees-weeks"
    inside = "/home/mira/repo/.claude/worktrees/weeks"
    write_claude(machine.claude, ONE, "/home/mira/repo", "add tide tables", "sort the harbours")
    write_lines(tree / f"{ONE}.jsonl", claude_lines(ONE, inside, "plan the ferry weeks", after=2))
    begun = claude_lines(TWO, "/home/mira/repo", "paint the buoys")
    write_lines(machine.claude / "-home-mira-repo" / f"{TWO}.jsonl", begun)
    gone_on = claude_lines(TWO, inside, "count the anchors", after=1)
    write_lines(tree / f"{TWO}.jsonl", [*begun, *gone_on])
    write_claude(machine.claude, THREE, inside, "weigh the moorings")
    machine.done("ingest")
    said = ("tide tables", "sort harbours", "ferry weeks", "paint buoys", "count anchors")
    for words in (*said, "weigh moorings"):
        (hit,) = machine.found(words)
        assert words.split()[-1] in machine.done("show", hit)
        assert machine.found(words, "--project", "/home/mira/repo") == [hit]
    for name in ("weeks", inside):
        assert machine.found("weigh moorings", "--project", name) == [hit]
    of_both = machine.told("search", "weigh moorings", "--project", "/home/mira/repo")
    assert of_both["filters"]["project"] == f"-home-mira-repo, {tree.name}"
    listed = machine.told("sessions", "--project", "/home/mira/repo")["sessions"]
    assert {session["session_id"] for session in listed} == {ONE, TWO, THREE}
    around = json.dumps(machine.told("timeline", f"session::{ONE}::turn::0"))
    assert THREE in around and TWO in around
    assert machine.done("verify")
    agents = machine.told("status")["agents"]
    assert agents["claude-code"]["prompts"] == 6 and agents["claude-code"]["sessions"] == 3
    assert ONE in machine.done("summarize", ONE)


def test_directories_of_one_slug_are_searched_and_forgotten_apart(machine: Machine) -> None:
    """Claude Code gives both one folder."""
    news, store = "/home/mira/work/新聞", "/home/mira/work/暫存"
    write_claude(machine.claude, ONE, news, "round the payroll amounts")
    write_claude(machine.claude, TWO, store, "delete the payroll files")
    write_codex(machine.codex, 1, news, "print the payroll account")
    write_codex(machine.codex, 2, store, "zip the payroll account")
    machine.done("ingest")
    for project, session in ((news, ONE), (store, TWO), ("新聞", ONE), ("暫存", TWO)):
        hits = machine.found("payroll", "--project", project)
        assert len(hits) == 2 and f"session::{session}::turn::0" in hits
        listed = machine.told("forget", "--project", project, "--dry-run")["sessions"]
        assert len(listed) == 2 and session in {each["session_id"] for each in listed}
    machine.done("forget", "--project", store, "--yes")
    assert machine.done("ingest") and machine.done("verify")
    assert len(machine.found("payroll")) == 2 == len(machine.told("sessions")["sessions"])


def test_a_directory_is_forgotten_alone_where_two_became_one_project(
    machine: Machine, tmp_path: Path
) -> None:
    """As an earlier version made it: both had one folder."""
    news, store = "/home/mira/work/新聞", "/home/mira/work/暫存"
    write_claude(machine.claude, ONE, news, "round the payroll amounts")
    machine.done("ingest")
    with closing(Catalog(tmp_path / "memory" / "catalog.db")) as catalog:
        (row,) = catalog.sources.rows()
        other = replace(row, session_id=TWO, path="", directory=spelled(store))
        catalog.sources.put(other)
    for path, session in ((news, ONE), (store, TWO)):
        (listed,) = machine.told("forget", "--project", path, "--dry-run")["sessions"]
        assert listed["session_id"] == session
    both = machine.told("forget", "--project", "新聞", "--dry-run")["sessions"]
    assert {each["session_id"] for each in both} == {ONE, TWO}


@pytest.mark.parametrize("spelling", ["C:\\work\\Kiln", "c:\\work\\Kiln", "C:/work/kiln/", "kiln"])
def test_a_directory_of_windows_is_named_in_any_spelling(machine: Machine, spelling: str) -> None:
    """As the command line and an editor write it."""
    write_codex(machine.codex, 1, "C:\\work\\Kiln", "log the thermocouple")
    write_codex(machine.codex, 2, "c:\\work\\Kiln", "plot the thermocouple")
    machine.done("ingest")
    assert len(machine.found("thermocouple", "--project", spelling)) == 2
    assert len(machine.told("status")["projects"]) == 1


def test_a_folder_that_moved_is_known_by_both_names(machine: Machine) -> None:
    """Its session is resumed from where it went, before and after the next ingest, and counted
    once."""
    path = write_claude(machine.claude, ONE, "/home/mira/reed", "find the reed squeal")
    machine.done("ingest")
    path.parent.rename(machine.claude / "-home-mira-organ")
    for _ in range(2):
        assert not any("deleted" in each for each in machine.told("resume", ONE)["missing"])
        machine.done("ingest")
    for name in ("organ", "reed", "/home/mira/reed"):
        assert machine.found("reed squeal", "--project", name) == [f"session::{ONE}::turn::0"]
    counted = machine.told("status")
    assert counted["agents"]["claude-code"]["sessions"] == 1 == len(counted["projects"])
    assert counted["archive"]["sessions_source_gone"] == 0
    machine.done("verify")


def test_a_folder_of_pi_that_moved_is_known_by_both_names(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though nothing in its records says where it went."""
    monkeypatch.setenv("MEMORY_PI_DIR", str(tmp_path / "pi"))
    folder = tmp_path / "pi" / "agent" / "sessions" / "--home-mira-reed--"
    opening = {"type": "session", "version": 3, "id": ONE, "cwd": "/home/mira/reed"}
    said = {"role": "user", "content": [{"type": "text", "text": "find the reed squeal"}]}
    message = {"type": "message", "id": "a1", "parentId": None, "message": said}
    at = {"timestamp": "2026-07-01T10:00:00.000Z"}
    write_lines(folder / f"2026-07-01T10-00-00-000Z_{ONE}.jsonl", [opening | at, message | at])
    machine.done("ingest")
    folder.rename(folder.with_name("--home-mira-organ--"))
    machine.done("ingest")
    for name in ("organ", "reed", "/home/mira/reed"):
        assert machine.found("reed squeal", "--project", name) == [f"session::{ONE}::turn::0"]


def test_a_thread_in_the_archive_can_be_resumed(machine: Machine) -> None:
    """Codex moves it there, compressed or not."""
    path = write_codex(machine.codex, 1, "/home/mira/reed", "find the reed squeal")
    machine.done("ingest")
    archive = machine.codex / "archived_sessions"
    archive.mkdir()
    path.rename(archive / path.name)
    thread = path.stem[-36:]
    assert not any("deleted" in each for each in machine.told("resume", thread)["missing"])
    machine.done("ingest")
    assert machine.found("reed squeal") == [f"session::{thread}::turn::0"]
    machine.done("verify")


@pytest.mark.parametrize(
    "pattern",
    ["/home/mira/diary", "/home/mira/di*", "~mira/*", "-home-mira-d*", "*DIARY", "codex, *diary"],
)
def test_what_is_excluded_is_never_read(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    """By directory, project or agent; ingest and status say how much it is, and nothing waits for
    it, also of sessions that are on record."""
    monkeypatch.setenv("MEMORY_EXCLUDE", pattern)
    write_claude(machine.claude, ONE, "/home/mira/diary/2026", "my secret thought")
    write_claude(machine.claude, TWO, "/srv/shop", "sell the carrots")
    known = write_claude(machine.claude, THREE, "/srv/shop", "sell the onions")
    if "/" not in pattern:
        write_claude(machine.claude, ONE, "/home/mira/diary", "my secret thought")
        (machine.claude / "-home-mira-diary-2026" / f"{ONE}.jsonl").unlink()
    assert "1 transcript not read" in machine.done("ingest")
    assert machine.found("carrots") and not machine.found("thought")
    monkeypatch.setenv("MEMORY_EXCLUDE", f"{pattern}, -srv-shop")
    with known.open("a") as file:
        for line in claude_lines(THREE, "/srv/shop", "sell the leeks", after=3):
            file.write(f"{json.dumps(line)}\n")
    machine.done("ingest")
    assert machine.found("onions") and not machine.found("leeks")
    told = machine.told("status")
    assert told["excluded"]["files"] == 3 and told["freshness"]["pending_files"] == 0
    assert "never read" in machine.done("status")


def test_a_forgotten_project_can_be_excluded_at_once(machine: Machine) -> None:
    """Nothing of it comes back, nor does what is written there later, by whatever agent."""
    write_claude(machine.claude, ONE, "/home/mira/diary", "my secret thought")
    write_claude(machine.claude, TWO, "/srv/shop", "sell the carrots")
    machine.done("ingest")
    assert machine.run("forget", "--exclude", "--before", "1d", "--yes").returncode == 2
    machine.done("forget", "--project", "diary", "--exclude", "--yes")
    write_claude(machine.claude, THREE, "/home/mira/diary", "another thought")
    write_codex(machine.codex, 1, "/home/mira/diary", "a third thought")
    assert "not read" in machine.done("ingest")
    assert not machine.found("thought") and machine.found("carrots")
    assert set(machine.told("status")["projects"]) == {"-srv-shop"}


def test_nothing_is_read_until_it_is_known_what_may_be(machine: Machine) -> None:
    """A list of what is excluded that cannot be read stops an ingest, which says what to do;
    what is on record is still found."""
    write_claude(machine.claude, ONE, "/home/mira/diary", "my secret thought")
    write_claude(machine.claude, TWO, "/srv/shop", "sell the carrots")
    machine.done("ingest")
    machine.done("forget", "--project", "diary", "--exclude", "--yes")
    listed = machine.memory / "excluded.txt"
    listed.write_bytes(b"\xff\xfe" + listed.read_bytes())
    write_claude(machine.claude, THREE, "/home/mira/diary", "another thought")
    stopped = machine.run("ingest")
    assert stopped.returncode == 2
    assert f"cannot read {listed}" in stopped.stderr and "correct it" in stopped.stderr
    assert not machine.found("thought") and machine.found("carrots")


def _with_subagents(machine: Machine, session: str) -> Path:
    inner = machine.claude / "-home-mira-reed" / session / "subagents"
    for number, said in enumerate(("open the bellows", "oil the pedals")):
        lines = claude_lines(session, "/home/mira/reed", said, agent=f"a{number}", after=number)
        write_lines(inner / f"agent-a{number}.jsonl", lines)
    return write_claude(machine.claude, session, "/home/mira/reed", "find the reed squeal")


def test_a_session_outlives_the_cleaning_up_of_its_file(machine: Machine) -> None:
    """Which leaves subagents, and now and then a title in another folder."""
    path = _with_subagents(machine, ONE)
    machine.done("ingest")
    before = machine.found("reed squeal")
    path.unlink()
    machine.done("ingest")
    title = {"type": "custom-title", "customTitle": "Squeals", "sessionId": ONE}
    write_lines(machine.claude / "-home-mira-organ" / path.name, [title])
    for command in (["ingest"], ["ingest", "--full"], ["ingest"]):
        machine.done(*command)
        assert machine.found("reed squeal") == before == [f"session::{ONE}::turn::0"]
    machine.done("verify")


def test_subagents_are_kept_whose_session_nobody_has(machine: Machine) -> None:
    """As turns of their own, beside the prompts that the history still has of it."""
    _with_subagents(machine, ONE).unlink()
    machine.done("ingest")
    found = [machine.found(words) for words in ("bellows", "pedals")]
    assert found == [[f"session::{ONE}::turn::0"], [f"session::{ONE}::turn::1"]]
    entry = {
        "display": "find the reed squeal",
        "timestamp": 1_772_352_000_000,
        "project": "/home/mira/reed",
        "sessionId": ONE,
    }
    write_lines(machine.claude.parent / "history.jsonl", [entry])
    machine.done("ingest")
    (prompt,) = machine.found("reed squeal")
    assert "squeal" in machine.done("show", prompt)
    for words in ("bellows", "pedals"):
        assert len(machine.found(words)) == 1
    machine.done("verify")
