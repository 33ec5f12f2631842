"""A session as all that reads a whole session is given it, and what its answers took."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory_assets.chunking import build_turns
from memory_assets.models import RedactedRecord, Tokens, Turn
from memory_assets.redacted_text import seal
from memory_assets.session_analysis import SessionTurns, session_turns
from memory_assets.session_analysis.session import Calls
from memory_assets.session_analysis.usage import Price, price_of, usage, with_prices
from memory_assets_tests.redacted_sessions import START, Script, redacted


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


def _turn(*answers: tuple[str, Tokens], index: int = 0) -> Turn:
    prompt = redacted("user", "prompt", "Go on.", timestamp=START)
    records: list[RedactedRecord] = [prompt]
    for number, (model, tokens) in enumerate(answers, 1):
        at = START + timedelta(seconds=30 * number)
        more = {"model": model, "tokens": tuple(tokens), "timestamp": at}
        records.append(redacted("assistant", "assistant_text", "Yes.", **more))
    return Turn("s1", index, prompt, tuple(records))


def test_a_turn_is_added_up_by_model() -> None:
    """The time of the turn stands once, so that it can be added up, too."""
    small, large = Tokens(1, 2, 3, 4, 1), Tokens(10, 20)
    turn = _turn(("large", large), ("small", small), ("large", large))
    found = list(usage(session_turns(turn.records, [turn])))
    assert [(one.model, one.answers, one.tokens, one.seconds) for one in found] == [
        ("large", 2, Tokens(20, 40, 0, 0, 0), 90.0),
        ("small", 1, small, 0.0),
    ]


def test_an_answer_without_a_model_is_of_the_last_one() -> None:
    """Codex counts in lines of their own."""
    turn = _turn(("one", Tokens(1)), ("", Tokens(2)))
    (found,) = usage(session_turns(turn.records, [turn]))
    assert (found.model, found.tokens.input) == ("one", 3)


def test_a_turn_that_says_nothing_of_tokens_has_no_usage() -> None:
    """That is not the same as having taken none."""
    turn = _turn(("one", Tokens()))
    assert list(usage(session_turns(turn.records, [turn]))) == []


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus-4-5-20251101",
        "anthropic/claude-opus-4.5",
        "claude-opus-4-5@20251101",
        "Claude-Opus-4.5",
        "claude-opus-4-5-thinking",
    ],
)
def test_a_model_has_its_price_however_its_name_is_written(name: str) -> None:
    """Providers, routers and dates do not matter."""
    assert price_of(name, with_prices(())) == Price(5, 25, 0.5)


def test_a_version_that_is_not_listed_has_no_price() -> None:
    """A guess would be wrong in silence."""
    for name in ("claude-opus-9", "gpt-5.99", "", "llama"):
        assert price_of(name, with_prices(())) is None


def test_each_kind_of_token_has_its_price() -> None:
    """In dollars for a million; a cache for an hour costs twice the input."""
    million = 1_000_000
    price = Price(4, 20, 0.4)
    assert price.of(Tokens(million)) == pytest.approx(4)
    assert price.of(Tokens(0, million)) == pytest.approx(20)
    assert price.of(Tokens(0, 0, million)) == pytest.approx(0.4)
    assert price.of(Tokens(0, 0, 0, million)) == pytest.approx(5)
    assert price.of(Tokens(0, 0, 0, million, million)) == pytest.approx(8)


def test_a_setting_adds_prices_and_replaces_them() -> None:
    """As `model=input/output/cache read[/cache write]`."""
    prices = with_prices(("house-model=1/2/0.1", "claude-opus-4-5=6/7/8/9"))
    assert price_of("house-model", prices) == Price(1, 2, 0.1)
    assert price_of("claude-opus-4-5", prices) == Price(6, 7, 8, 9)
