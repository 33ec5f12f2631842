"""What a turn is, and where a subagent's records stand in it."""

from __future__ import annotations

from typing import Any

from memory_assets.chunking import build_turns
from memory_assets_tests.chunking.conftest import Script


def _texts(turn: Any) -> list[str]:
    return [str(record.text) for record in turn.records]


def test_turns_begin_at_human_prompts(script: Script) -> None:
    """Each prompt opens a turn that runs to the next one; indices count from 0."""
    script.prompt("one").says("first").prompt("two").runs("make").says("second")
    turns = list(build_turns(script.records))
    assert [turn.id for turn in turns] == ["session::s1::turn::0", "session::s1::turn::1"]
    assert [str(turn.prompt.text) for turn in turns if turn.prompt] == ["one", "two"]
    assert _texts(turns[0]) == ["one", "first"]


def test_indices_stay_when_the_session_grows(script: Script) -> None:
    """Turns of a longer file begin with the turns of the shorter one, ids unchanged."""
    script.prompt("one").says("first").prompt("two").says("second")
    before = [turn.id for turn in build_turns(script.records)]
    script.says("more").prompt("three")
    assert [turn.id for turn in build_turns(script.records)][: len(before)] == before


def test_preamble_with_prose_belongs_to_turn_0(script: Script) -> None:
    """What the assistant says before the first prompt is part of turn 0."""
    script.says("resuming").prompt("one")
    (turn,) = build_turns(script.records)
    assert _texts(turn) == ["resuming", "one"]
    assert turn.prompt is not None


def test_preamble_without_prose_is_left_out(script: Script) -> None:
    """Injected text before the first prompt is in no turn."""
    script.add("system", "injected").prompt("one")
    (turn,) = build_turns(script.records)
    assert _texts(turn) == ["one"]


def test_session_without_prompt_is_one_turn(script: Script) -> None:
    """Where no human speaks, the assistant's prose makes one turn without a prompt."""
    script.add("system", "machine prompt").says("done")
    (turn,) = build_turns(script.records)
    assert turn.prompt is None
    assert turn.turn_index == 0


def test_session_without_words_has_no_turn(script: Script) -> None:
    """No prompt and no prose: no turn."""
    assert list(build_turns(script.add("system", "injected").records)) == []
    assert list(build_turns([])) == []


def test_subagent_stands_after_the_call_that_spawned_it(script: Script) -> None:
    """Wherever its file comes in the input, and also for subagents of subagents."""
    script.says("inner", agent_id="b").says("outer", agent_id="a")
    script.add("tool_result", "outer asked", agent_id="a", spawned="b")
    script.says("outer ends", agent_id="a")
    script.prompt("one").add("tool_result", "asked", spawned="a").says("answer")
    script.prompt("two")
    first, second = build_turns(script.records)
    assert _texts(first) == [
        *("one", "asked"),
        *("outer", "outer asked", "inner", "outer ends"),
        "answer",
    ]
    assert _texts(second) == ["two"]


def test_subagent_without_a_link_is_placed_by_time(script: Script) -> None:
    """It goes after the last record of the main file that is not later."""
    script.prompt("one").says("first").prompt("two").says("second")
    script.add("assistant_text", "helper", agent_id="a", at=1.5)
    first, second = build_turns(script.records)
    assert _texts(first) == ["one", "first", "helper"]
    assert _texts(second) == ["two", "second"]


def test_subagent_of_a_missing_parent_is_kept(script: Script) -> None:
    """Records of subagents whose caller is not here are neither lost nor repeated."""
    script.says("inner", agent_id="b")
    script.add("tool_result", "asked", agent_id="a", spawned="b").says("outer", agent_id="a")
    (turn,) = build_turns(script.records)
    assert sorted(_texts(turn)) == ["asked", "inner", "outer"]


def test_answers_of_this_memory_are_in_a_turn_only_if_asked_for(script: Script) -> None:
    """What is shown of a turn is whole, what is indexed is not said twice."""
    script.prompt("one").add("tool_result", "an old answer", tool="mcp__memory__recall").says("two")
    assert _texts(*build_turns(script.records)) == ["one", "two"]
    assert _texts(*build_turns(script.records, recalled=True)) == ["one", "an old answer", "two"]


def test_subagents_without_their_session_are_a_turn_each(script: Script) -> None:
    """In the order in which they began, whatever the order of their files; one that comes later
    gets a turn of its own, and the others keep theirs."""
    script.says("looked", agent_id="b").says("counted", agent_id="a").says("again", agent_id="b")
    before = list(build_turns(script.records))
    assert [_texts(turn) for turn in before] == [["looked", "again"], ["counted"]]
    assert [turn.turn_index for turn in before] == [0, 1]
    script.says("painted", agent_id="c")
    by_file = sorted(script.records, key=lambda record: str(record.agent_id))
    after = list(build_turns(by_file))
    assert [turn.id for turn in after[:2]] == [turn.id for turn in before]
    assert _texts(after[2]) == ["painted"]


def test_a_subagent_that_says_nothing_keeps_its_number(script: Script) -> None:
    """Of a session that is gone: when it says something, no other turn changes its id."""
    script.add("system", "look around", agent_id="a").says("counted", agent_id="b")
    (turn,) = build_turns(script.records)
    assert turn.turn_index == 1
    script.says("found it", agent_id="a")
    assert [one.turn_index for one in build_turns(script.records)] == [0, 1]


def test_subagents_beside_a_human_are_no_turns_of_their_own(script: Script) -> None:
    """As long as anything of the main session is there."""
    script.prompt("go").says("looked", agent_id="a").says("counted", agent_id="b")
    (turn,) = build_turns(script.records)
    assert _texts(turn) == ["go", "looked", "counted"]
