"""A session as all that reads a whole session is given it."""

from __future__ import annotations

from memory_assets.chunking import build_turns
from memory_assets.redacted_text import seal
from memory_assets.session_analysis import SessionTurns, session_turns
from memory_assets.session_analysis.session import Calls
from memory_assets_tests.redacted_sessions import Script


def _turns(script: Script) -> SessionTurns:
    return session_turns(script.records, build_turns(script.records))


def _result_first() -> Script:
    """A session in whose file a result stands before its call, so that its reader did not know
    what was called."""
    script = Script().prompt("Run the tests please")
    script.add("tool", "tool_result", "1 failed", is_error=True, tool_use_id="t9")
    return script.add(
        "assistant",
        "tool_use",
        "command: pytest",
        tool_name=seal("Bash"),
        command=seal("pytest"),
        tool_use_id="t9",
    )


def test_a_result_that_stands_before_its_call_follows_it_in_its_turn() -> None:
    """With the tool and the command of the call; the records stay in the order of the lake."""
    session = _turns(_result_first())
    (turn,) = session.turns
    assert [one.kind for one in turn.records] == ["prompt", "tool_use", "tool_result"]
    assert turn.records[2].tool_name == "Bash"
    calls = Calls()
    assert [calls.ended(one) for one in turn.records] == ["", "", "pytest"]
    assert [one.seq for one in session.records] == [0, 1, 2]


def test_a_result_without_a_call_in_its_turn_stays_where_it_is() -> None:
    """What is told of a turn does not depend on those after it."""
    script = _result_first()
    call = script.records.pop()
    script.prompt("And now?")
    script.records.append(call)
    first, second = _turns(script).turns
    assert [one.kind for one in first.records] == ["prompt", "tool_result"]
    assert [one.kind for one in second.records] == ["prompt", "tool_use"]
