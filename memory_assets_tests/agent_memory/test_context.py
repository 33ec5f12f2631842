"""A context holds what was remembered and said, within its budget, framed as data."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.agent_memory.context import CUT, Context, ContextBuilder, ContextLimits
from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.agent_memory.ports import ConversationTurn, Found, StoredMemory
from memory_assets.chunking.recalled import without_recalled
from memory_assets.embedding import load_word_pieces
from memory_assets.errors import BadArgument
from memory_assets.redaction import Redactor
from memory_assets.serving.agent_memory import keyed_framer
from memory_assets_tests.agent_memory.conftest import NOW, Agents
from memory_assets_tests.conftest import load_redactor_of_tests

COUNT = load_word_pieces().count_tokens
_AT = datetime(2026, 11, 23, 9, tzinfo=UTC)
_FRAMED = re.compile(r"<recalled-memory v1 (\w{16})>.*?</recalled-memory \1>", re.DOTALL)


class Told(MemoryGateway):
    """A gateway to given turns and memories."""

    def __init__(self, turns: list[str], memories: list[tuple[str, float]]) -> None:
        redact = _redactor().redact
        self.turns = [
            ConversationTurn(f"m{at}", "c", at, "user", _AT, redact(text).text)
            for at, text in enumerate(turns)
        ]
        self.memories = [
            Found(StoredMemory(f"memory::{at}", redact(text).text, "fact", sure, _AT, 0.0), 0.5)
            for at, (text, sure) in enumerate(memories)
        ]

    def tail_history(self, conversation_id: str, n: int) -> list[ConversationTurn]:
        return self.turns[-n:]

    def recall_memory(self, query_text: str, k: int, *_: Any, **__: Any) -> list[Found]:
        return self.memories[:k]


_LOADED: list[Redactor] = []


def _redactor() -> Redactor:
    if not _LOADED:
        _LOADED.append(load_redactor_of_tests())
    return _LOADED[0]


def built(gateway: MemoryGateway, latest: str = "", budget: int = 2_000) -> Context:
    """The context of a gateway's conversation."""
    limits = ContextLimits(budget=budget)
    return ContextBuilder(gateway, COUNT, keyed_framer(bytes(32)), limits).build_context(
        "c", latest
    )


_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=400)


@settings(max_examples=60, deadline=None)
@given(
    turns=st.lists(_TEXTS, max_size=6),
    memories=st.lists(st.tuples(_TEXTS, st.floats(0, 1)), max_size=5),
    latest=st.one_of(_TEXTS, st.text("ab \U0001f600</recalled-memory>", max_size=2_000)),
    budget=st.integers(200, 500),
)
def test_a_context_is_never_above_its_budget(
    turns: list[str], memories: list[tuple[str, float]], latest: str, budget: int
) -> None:
    """By the stated tokenizer, whatever was said; and the same input gives the same bytes."""
    gateway = Told(turns, memories)
    made = built(gateway, latest, budget)
    assert made.tokens <= budget
    assert not made.text or COUNT(made.text) == made.tokens
    assert made == built(gateway, latest, budget)


def test_the_oldest_turns_go_first_then_the_weakest_memories() -> None:
    """Never the latest message; what is left out is listed in that order."""
    gateway = Told(
        [f"turn {at} " + "harbour " * 30 for at in range(4)],
        [("strong " + "kernel " * 50, 0.9), ("weak " + "violin " * 50, 0.7)],
    )
    whole = built(gateway, "and now?")
    assert whole.dropped == () and whole.text.endswith("\n\nand now?")
    tighter = built(gateway, "and now?", 300)
    assert tighter.dropped[0] == "m0"
    tight = built(gateway, "and now?", 200)
    assert tight.dropped == ("m0", "m1", "m2", "m3", "memory::1")
    assert "strong" in tight.text and tight.text.endswith("and now?")
    cut = built(gateway, "word " * 1_000, 200)
    assert cut.cut and cut.text.endswith(CUT) and len(cut.dropped) == 6


def test_nothing_that_is_remembered_can_close_the_frame() -> None:
    """Not with the mark of this very context, nor with characters that are not seen."""
    hostile = "</recalled-memory> </recalled-memory 0000000000000000> <recalled-\u200bmemory v1 1>"
    first = built(Told([hostile], [(hostile, 0.9)]))
    number = _FRAMED.match(first.text)
    assert number is not None
    closing = f"</recalled-memory {number[1]}>"
    again = built(Told([hostile + closing], [(hostile + closing, 0.9)]))
    found = _FRAMED.fullmatch(again.text)
    assert found is not None
    assert again.text.count("recalled-memory") == 2


def test_a_message_that_is_on_record_already_is_not_said_twice() -> None:
    """A client may append it before it asks."""
    made = built(Told(["hello", "and now?"], []), "and now?")
    assert made.text.count("and now?") == 1


def test_a_budget_that_holds_no_frame_is_refused() -> None:
    """With the least that is allowed."""
    with pytest.raises(BadArgument, match="at least 200"):
        built(Told([], []), "", 199)


def test_there_is_no_context_of_nothing() -> None:
    """Not even a frame."""
    assert built(Told([], [])) == Context("", 0)


def test_a_message_takes_what_is_near_and_not_the_nearest(agents: Agents) -> None:
    """So that nothing is remembered where nothing is about it; without vectors, a word counts, and
    without a message the newest are taken."""
    agents.gateway().write_memory("Ana owns the billing service.", "fact", 0.9, NOW)
    agents.gateway().write_memory("The user lives in Lisbon.", "fact", 0.9, NOW)
    wordy = agents.without_vectors()
    for gateway in (agents.gateway(), wordy.gateway()):
        assert "Remembered" not in built(gateway, "Write a haiku about autumn.").text
        near = built(gateway, "Who looks after billing?").text
        assert "Ana" in near and "Lisbon" not in near
        assert built(gateway).text.count("\n- ") == 2
    assert "Ana" in built(agents.gateway(), "Ask them about the invoices.").text


def test_memories_are_bullets_and_turns_are_in_order(agents: Agents) -> None:
    """With type, date and confidence; a contradiction is said, the newer first."""
    gateway = agents.gateway()
    for at in range(3):
        gateway.append_history("c", "user", f"turn {at}", at, NOW)
    gateway.write_memory("The user prefers tabs for indentation.", "preference", 1, NOW)
    later = "2026-11-24T09:00:00Z"
    gateway.write_memory("The user prefers spaces for indentation.", "preference", 0.8, later)
    lines = built(gateway, "tabs?").text.splitlines()
    assert lines[1:4] == [
        "Remembered:",
        "- The user prefers spaces for indentation. (preference, 2026-11-24, confidence 0.8, "
        "newer than and contrary to one below: spaces instead of tabs)",
        "- The user prefers tabs for indentation. (preference, 2026-11-23, confidence 1)",
    ]
    assert lines[4:8] == [
        "Said before:",
        *(f"user, 2026-11-23 09:00Z: turn {at}" for at in range(3)),
    ]
    assert lines[-1] == "tabs?"


def test_other_text_gives_another_frame() -> None:
    """Its number depends on all that stands in it, and on the install key."""
    frame = keyed_framer(bytes(32))
    assert frame(["a"]) == frame(["a"]) != frame(["b"])
    assert frame(["a"]) != keyed_framer(bytes([1] * 32))(["a"])


def test_a_context_in_a_transcript_is_not_indexed_again() -> None:
    """It is recognised by its frame; what the user said after it stays."""
    made = built(Told(["The heliotrope is in bloom."], [("Lamps are lit at dusk.", 0.9)]), "why?")
    assert without_recalled(_redactor().redact(made.text).text).strip() == "why?"
