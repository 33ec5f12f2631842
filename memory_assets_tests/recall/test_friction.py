"""`memory friction`: errors met in several sessions, and what ended them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_assets.recall.memory import Memory
from memory_assets.recall.sessions.friction import error_key
from memory_assets.requests.questions import AskRequest, FrictionRequest
from memory_assets.serving.tool_answers import answer_tool
from memory_assets.serving.views import AgentText, friction_view
from memory_assets_tests.recall.worked import Call, Worked, shell
from memory_assets_tests.sweep import sweep

APP, SITE = "/srv/app", "/srv/site"
MODULE = "Exit code 1\nModuleNotFoundError: No module named 'tide' at src/{}.py"


def _broken(file: str, command: str = "pytest tests") -> Call:
    return shell(command, MODULE.format(file), failed=True)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """One error in four sessions of two projects, twice in one; another in two."""
    worked = Worked(tmp_path_factory.mktemp("friction"))
    edit = Call(
        "Edit", {"file_path": f"{APP}/pyproject.toml", "old_string": "a", "new_string": "b"}
    )
    look, install = shell("git status"), shell("pip install -e .")
    works = shell("pytest tests", "3 passed")
    worked.session("1", _broken("tide"), edit, look, install, works, cwd=APP)
    worked.session("2", _broken("reef"), _broken("shoal"), cwd=APP, days=1)
    worked.session("3", _broken("tide", "npm test"), shell("npm test"), cwd=SITE, days=2)
    lost = shell("make docs", "Exit code 2\nerror: cannot find the harbour chart", failed=True)
    worked.session("4", lost, _broken("tide"), cwd=APP, days=3)
    worked.session("5", lost, cwd=APP, days=4)
    return worked.memory()


def _friction(memory: Memory, **more: Any) -> dict[str, Any]:
    return memory.ask(FrictionRequest(**more))


def test_an_error_of_three_sessions_is_told_with_what_ended_it(memory: Memory) -> None:
    """It counts once a session; the newest session's words are shown."""
    (error,) = _friction(memory)["errors"]
    assert error["error"].startswith("ModuleNotFoundError: No module named 'tide'")
    assert (error["sessions"], error["ended"]) == (4, 2)
    assert [turn[9:17] for turn in error["turns"]] == [f"{n:08}" for n in (4, 3, 2, 1)]
    assert error["projects"] == ["-srv-app", "-srv-site"]
    site, app = error["endings"]
    assert (site["command"], site["ran"], site["changed"]) == ("npm test", [], [])
    assert (app["command"], app["ran"]) == ("pytest tests", ["pip install -e ."])
    assert app["changed"] == ["pyproject.toml"] and app["turn_id"].startswith("session::00000001")


def test_what_gets_around_an_error_does_not_end_it(tmp_path: Path) -> None:
    """A commit without the signature that failed says nothing of how to sign."""
    worked = Worked(tmp_path)
    error = "Exit code 128\nerror: gpg failed to sign the data"
    failed = shell("git commit -m x", error, failed=True)
    for number, then in enumerate(("--no-gpg-sign -m x", "--no-gpg-sign -m y", "-m x")):
        worked.session(str(number), failed, shell(f"git commit {then}", "[main 1] x"), cwd=APP)
    (met,) = _friction(worked.memory())["errors"]
    assert (met["sessions"], met["ended"]) == (3, 1)


def test_project_number_of_sessions_and_of_errors_can_be_given(memory: Memory) -> None:
    """Fewer sessions give more errors, those of most sessions first."""
    assert [each["sessions"] for each in _friction(memory, sessions=2)["errors"]] == [4, 2]
    assert [each["sessions"] for each in _friction(memory, project="app")["errors"]] == [3]
    assert len(_friction(memory, sessions=2, n=1)["errors"]) == 1
    assert _friction(memory, project="site")["errors"] == []


@sweep(
    "one, other",
    [
        ("error: no module named 'tide'", "Error: No module named `tide`."),
        ("cannot open /home/a/x.py:12", "cannot open ~/b/y.py:907"),
        ("cannot open src/x.py", "cannot open C:\\work\\y.py"),
        ("bad object 1f6b1f04aa in index", "bad object 99ab12cd in index"),
        ("token <redacted:github-token:aaaa> was refused", "token <redacted:x> was refused"),
        (
            "listen tcp [::1]:4001: address already in use",
            "listen tcp [::1]:80: address already in use",
        ),
    ],
)
def test_lines_of_one_error_have_one_key(one: str, other: str) -> None:
    """Whatever path, number, id or redacted text they name, in whatever quotes."""
    assert error_key(one) == error_key(other) != ""


def test_other_errors_have_other_keys_and_a_mere_number_has_none() -> None:
    """What is left must be two words that not every failure has."""
    assert error_key("permission denied: x/y") != error_key("no such file: x/y")
    assert error_key("no module named 'tide'") != error_key("no module named 'reef'")
    assert error_key("error TS2322: not a lamp") != error_key("error TS2345: not a lamp")
    assert error_key("=== 12 ===") == error_key("Error: 500") == ""
    assert error_key("FAIL example.org/lamp/internal/auth [build failed]") == ""


def test_the_lines_say_in_how_many_sessions_and_what_ended_it(memory: Memory) -> None:
    """With what was run and changed before; nothing found says so."""
    text = AgentText(memory)
    lines = list(friction_view(text, _friction(memory, sessions=2)))
    assert lines[4].startswith("  met in 4 sessions, ended in 2 of them; last 2026-04-02")
    after = "pytest tests, after pip install -e .; changing pyproject.toml (00000001:0"
    assert lines[6].startswith(f"  ended by {after}")
    assert list(friction_view(text, _friction(memory, project="site"))) == ["Nothing found."]


def test_an_agent_is_told_how_to_ask_for_rarer_errors(memory: Memory) -> None:
    """The argument is in no schema; the answer that has no error names it."""
    nothing = AskRequest.from_values("mcp", {"verb": "friction", "project": "site"}).meant({})
    told = answer_tool(memory, "friction", nothing)[1]
    assert 'ask(verb="friction", sessions=2)' in told
    rarer = AskRequest.from_values("mcp", {"verb": "friction", "sessions": 2}).meant({})
    errors = answer_tool(memory, "friction", rarer)[0]["errors"]
    assert [each["sessions"] for each in errors] == [4, 2]
