"""`memory how`: the commands of a tool that worked, and what failed before them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from memory_assets.errors import ConfigurationError
from memory_assets.recall.memory import Memory
from memory_assets.recall.sessions import tool_runs
from memory_assets.recall.sessions.records import calls_and_prompts
from memory_assets.requests.questions import HowRequest
from memory_assets.serving.answer_lines import how_notes
from memory_assets.serving.views import AgentText, how_view
from memory_assets.stores.catalog.schema import HELD_BY_CHECK, Quarantined
from memory_assets_tests.recall.worked import Call, Worked, shell

APP, SITE = "/work/app", "/work/site"
REFUSED = "Exit code 1\nfatal: The current branch tide has no upstream branch."
BROKEN = "Exit code 2\nerror: no such table: boats"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """Three sessions that pushed, two that never migrated, and a tool of an MCP server."""
    worked = Worked(tmp_path_factory.mktemp("how"))
    push = shell("git push -u origin tide")
    worked.session("1", shell("ls && \\\n git push", REFUSED, failed=True), push, cwd=APP)
    worked.session("2", shell("git add . && git push -u origin reef"), cwd=APP, days=1)
    migrate = shell("./bin/migrate --all", BROKEN, failed=True)
    worked.session("3", migrate, shell("git stash push"), migrate, cwd=SITE, days=2)
    page = Call("mcp__web__open_page", {"address": "tides"}, "found")
    worked.session("4", page, shell("git -C docs push --force"), migrate, cwd=SITE, days=3)
    return worked.memory()


def _how(memory: Memory, tool: str, **more: Any) -> dict[str, Any]:
    return memory.ask(HowRequest(tool, **more))


def test_commands_that_worked_are_counted_by_form_with_what_failed_before(memory: Memory) -> None:
    """The newest one is shown; those of one project stand together, the most used first."""
    found = _how(memory, "git push")
    assert [(each["command"], each["sessions"]) for each in found["commands"]] == [
        ("git push -u origin reef", 2),
        ("git -C docs push --force", 1),
    ]
    first, second = found["commands"]
    assert (first["project"], second["project"]) == ("-work-app", "-work-site")
    assert first["turn_id"].startswith("session::00000002") and first["last"] > "2026-03-31"
    (before,) = first["before"]
    assert before["command"] == "git push" and "no upstream branch" in before["error"]
    assert second["before"] == found["failed"] == []
    assert found["sessions"] == found["sessions_in_all"] == 4
    assert (first["variants"], second["variants"]) == (2, 1)


def test_a_session_that_a_check_holds_back_has_no_runs(memory: Memory) -> None:
    """Its records are stored, and nobody knows yet whether they hold a secret."""
    held = Quarantined("-work-site", "00000004-0000-4000-8000-000000000001", HELD_BY_CHECK, "", "?")
    memory.catalog.quarantine.hold(held)
    commands = _how(memory, "git push")["commands"]
    assert [each["command"] for each in commands] == ["git push -u origin reef"]
    memory.catalog.quarantine.release(held.project, held.session_id, held.stage)


def test_what_failed_and_never_worked_later_is_told(memory: Memory) -> None:
    """Once, with the turn where it failed last."""
    found = _how(memory, "migrate")
    assert found["commands"] == []
    (failed,) = found["failed"]
    assert failed["error"] == "error: no such table: boats"
    assert failed["turn_id"].startswith("session::00000004")
    assert next(how_view(AgentText(memory), found)).startswith("Failed, and did not work")


def test_runs_and_their_turns_need_only_calls_and_prompts() -> None:
    """What is said before the first prompt decides to which turn its calls belong; what is said
    later, thought or looked at in between decides nothing, but an error met there."""
    kinds = "assistant_text tool_use tool_result prompt assistant_text thinking tool_use tool_use"
    rows = pa.table(
        {
            "kind": kinds.split(),
            "agent_id": pa.array([None] * 8, pa.string()),
            "tool_name": ["", "Bash", "Bash", "", "", "", "Read", "Read"],
            "command": ["", "ls", "ls", "", "", "", "", ""],
            "is_error": [False] * 7 + [True],
            "spawned_agent_id": [""] * 8,
        }
    )
    kept = [True, True, True, True, False, False, False, True]
    assert calls_and_prompts(rows).to_pylist() == kept
    assert calls_and_prompts(rows.slice(4)).to_pylist() == [True, False, False, True]


def test_a_session_names_a_tool_as_a_program_and_ids_of_one_use_are_left_out(tmp_path: Any) -> None:
    """`git-sync` is no git; commits, runs and containers of one use are told as such."""
    worked = Worked(tmp_path)
    worked.session("1", shell("git show --stat 2f730b7ac1 d00dfeed2..HEAD app/2f730b7.md"), cwd=APP)
    worked.session("2", shell("cat ~/git/tide.git; git-sync run; echo .git"), cwd=APP)
    one_run = "gh run view 12345678901 --job 3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741 -n 1042 facade"
    worked.session("3", shell(f"if C:/bin/git.exe fetch; then {one_run}; fi"), cwd=APP)
    memory = worked.memory()
    (fetched, shown), (gh,) = (_how(memory, tool)["commands"] for tool in ("git", "gh run"))
    assert _how(memory, "git")["sessions_in_all"] == 2
    assert shown["command"] == "git show --stat <commit> <commit>..HEAD app/<commit>.md"
    assert fetched["command"] == "C:/bin/git.exe fetch"
    assert gh["command"] == "gh run view <id> --job <id> -n 1042 facade"


@pytest.mark.parametrize(
    ("tool", "commands"),
    [
        ("git", 3),
        ("git push --force", 1),
        ("git stash", 1),
        ("git reef", 0),
        ("open_page", 1),
        ("mcp__web__open_page", 1),
        ("nobody", 0),
    ],
)
def test_a_tool_is_a_program_with_verbs_and_options_or_a_tool_of_an_agent(
    memory: Memory, tool: str, commands: int
) -> None:
    """Verbs stand first: `git stash push` is no `git push`."""
    assert len(_how(memory, tool)["commands"]) == commands


def test_a_tool_without_a_name_is_refused() -> None:
    """Blanks are none."""
    with pytest.raises(ConfigurationError, match="tool: is blank"):
        HowRequest("  ")


def test_a_project_and_a_number_restrict_the_answer(memory: Memory) -> None:
    """By any name of the project."""
    assert {each["project"] for each in _how(memory, "git", project="site")["commands"]} == {
        "-work-site"
    }
    assert len(_how(memory, "git", n=1)["commands"]) == 1


def test_older_sessions_that_were_not_read_are_counted(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest are read."""
    monkeypatch.setattr(tool_runs, "MOST_SESSIONS", 1)
    found = _how(memory, "git push")
    assert [each["command"] for each in found["commands"]] == ["git -C docs push --force"]
    (note,) = how_notes(found)
    assert note.startswith("There are 3 older sessions that were not read")


def test_the_lines_say_how_often_when_and_after_what(memory: Memory) -> None:
    """Project by project."""
    lines = list(how_view(AgentText(memory), _how(memory, "git push")))
    assert lines[:2] == ["app", "  git push -u origin reef"]
    assert lines[2].startswith("    worked in 2 sessions (and 1 other like it), last 2026-03-31")
    assert lines[3].startswith("    after git push: fatal: The current branch")
    assert list(how_view(AgentText(memory), _how(memory, "nobody"))) == ["Nothing found."]
