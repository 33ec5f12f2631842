"""Summaries of the older turns of a conversation, and their place in a context."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_assets.pipeline.agent_memory.calls import AgentCalls
from memory_assets.pipeline.agent_memory.history_summaries import windows
from memory_assets.pipeline.removal.forget import forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.serving.agent_memory import framed_under
from memory_assets.stores.lake.schemas import HISTORY_SUMMARIES
from memory_assets_tests.agent_memory.conftest import TOKEN, Agents
from memory_assets_tests.agent_memory.test_tables import PLAIN, ingest, rows

BEGIN = datetime(2026, 11, 23, 9, tzinfo=UTC)


@pytest.fixture
def wordy(tmp_path: Path, engines: dict[str, Any]) -> Agents:
    """An empty memory without vectors and Chroma."""
    return Agents(tmp_path / "memory", engines, given={"embedder": "none"})


def append(agents: Agents, first: int, last: int, subject: str) -> None:
    """Append turns about a subject, those of even places by the user."""
    for at in range(first, last):
        said = f"Please move the {subject} to the new harbour office, part {at}."
        if at % 2:
            said = f"I moved the {subject} of part {at}, because the old office was flooded."
        role = "assistant" if at % 2 else "user"
        agents.gateway().append_history("c1", role, said, at, BEGIN + timedelta(minutes=at))


def context(agents: Agents, budget: int = 2_000) -> dict[str, Any]:
    """The context of the conversation."""
    calls = AgentCalls(agents.components.settings, 30.0)
    return calls.context("", "c1", "Where are we?", budget, framed_under(bytes(32)))


def test_windows_are_complete_and_do_not_change() -> None:
    """Sixteen turns, or at least four before a rest; the same for each beginning of a conversation
    that goes on."""
    minutes = [BEGIN + timedelta(minutes=at) for at in range(20)]
    rested = [at + timedelta(days=1) for at in minutes]
    assert list(windows(minutes[:15])) == [] and list(windows(minutes)) == [(0, 16)]
    assert list(windows(minutes[:16])) == [(0, 16)]
    assert list(windows(minutes[:3] + rested)) == [(0, 16)]
    every = minutes[:6] + rested
    found = list(windows(every))
    assert found == [(0, 6), (6, 22)]
    for end in range(len(every)):
        assert list(windows(every[:end])) == found[: len(list(windows(every[:end])))]


def test_older_turns_are_summarized_once(wordy: Agents) -> None:
    """Each summary names its turns; of a conversation that goes on only new ones are made, the same
    as if all were made at once; forgotten, none is left."""
    append(wordy, 0, 16, "archive")
    ingest(wordy)
    (first,) = rows(wordy, HISTORY_SUMMARIES)
    assert "archive" in first["text"] and (first["first_turn"], first["last_turn"]) == (0, 15)
    append(wordy, 16, 34, "library")
    ingest(wordy)
    made = rows(wordy, HISTORY_SUMMARIES)
    assert made[0] == first
    assert "library" in made[1]["text"] and len(set(made[1]["message_ids"])) == 16
    wordy.components.catalog.products.drop("history_summaries", PLAIN, "c1")
    ingest(wordy)
    assert rows(wordy, HISTORY_SUMMARIES) == made
    found = select(wordy.components, Selection(conversation="c1"))
    forget(wordy.components, found, erase_traces=lambda names: 0)
    assert b"flooded" not in wordy.bytes_at_rest()


def test_a_context_has_what_its_tail_does_not_reach(wordy: Agents) -> None:
    """Summaries of the turns before the tail, in order, as long as there is room; they go first,
    and no secret is in them. A lake that cannot be read leaves a context without them."""
    append(wordy, 0, 16, "archive")
    append(wordy, 16, 31, f"library with {TOKEN}")
    assert "in short" not in context(wordy)["text"]
    append(wordy, 31, 40, "registry")
    ingest(wordy)
    text = context(wordy)["text"]
    assert "- turns 0 to 15, 2026-11-23: " in text and TOKEN not in text
    assert text.index("in short") < text.index("Said before:") < text.index("part 24")
    assert "turns 16 to 31" in text  # the tail begins with turn 24: no turn is in neither
    small = context(wordy, 400)
    assert "in short" not in small["text"] and small["tokens"] <= 400
    assert small["dropped"][0] == "history-summary::c1::0"
    for path in (wordy.data_dir / "lake" / HISTORY_SUMMARIES.name).rglob("*.parquet"):
        path.write_bytes(b"damaged")
    assert "part 39" in context(wordy)["text"]
