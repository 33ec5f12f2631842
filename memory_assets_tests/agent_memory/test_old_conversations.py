"""MEMORY_RETENTION: of an old conversation, what the user said and the summaries stay."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.errors import StoreError
from memory_assets.pipeline.agent_memory.calls import AgentCalls
from memory_assets.pipeline.ingest.passes import WRITTEN, Task, run_task
from memory_assets.pipeline.plan.agent_memory import plan_agent_memory
from memory_assets.pipeline.removal import retention
from memory_assets.pipeline.removal.retention import retain
from memory_assets.redaction import value_hash
from memory_assets.serving.agent_memory import framed_under
from memory_assets.stores.lake.schemas import AGENT_HISTORY, HISTORY_SUMMARIES
from memory_assets_tests.agent_memory.conftest import Agents
from memory_assets_tests.agent_memory.test_tables import ingest, rows
from memory_assets_tests.command_line import run_here

BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
DAY = 86_400.0
NAME = "zanzibar-quilt-77-orchid-lantern"
"""Said once by the user; no rule takes it for a secret."""


@pytest.fixture
def old(tmp_path: Path, engines: dict[str, Any]) -> Agents:
    """Two conversations of 20 turns, ingested, of which one rested for 40 days, where 30 are
    kept."""
    given = {"embedder": "none", "retention": "30d"}
    agents = Agents(tmp_path / "memory", engines, BEGIN.timestamp() + 40 * DAY, given)
    for name, begin in (("old", BEGIN), ("new", BEGIN + timedelta(days=20))):
        append(agents.gateway(), name, begin, 0, 20)
    agents.gateway().write_memory("The user likes brief answers.", "preference", 0.9, BEGIN, "old")
    ingest(agents)
    return agents


def append(gateway: MemoryGateway, name: str, begin: datetime, first: int, last: int) -> None:
    """Append turns to a conversation, those of even places by the user."""
    for at in range(first, last):
        said = f"Please move part {at} of the {name} archive {NAME} to the harbour."
        if at % 2:
            said = f"I moved part {at} of the {name} archive, because quay {at} was flooded."
        role = "assistant" if at % 2 else "user"
        gateway.append_history(name, role, said, at, begin + timedelta(minutes=at))


def places(agents: Agents, name: str) -> list[int]:
    """The places of the turns of a conversation in the lake, which are those in the journal."""
    found = [row["turn_index"] for row in rows(agents, AGENT_HISTORY) if row["session_id"] == name]
    turns = agents.components.journal.turns(name)
    assert sorted(found) == [turn.turn_index for turn in turns]
    return sorted(found)


def summaries(agents: Agents) -> dict[str, list[str]]:
    """The texts of the summaries by conversation."""
    found: dict[str, list[str]] = {}
    for row in rows(agents, HISTORY_SUMMARIES):
        found.setdefault(row["session_id"], []).append(row["text"])
    return found


def test_an_old_conversation_keeps_what_the_user_said_and_its_summaries(old: Agents) -> None:
    """And its end, which no summary covers, and its memories; no byte of the rest is left. Younger
    conversations are as before. Nothing more is due."""
    before = summaries(old)
    report = retain(old.components)
    assert (report.due, report.cut, report.waiting, report.blocks) == (1, 1, 0, 8)
    assert report.retained == 1
    ingest(old)
    assert places(old, "old") == [*range(0, 16, 2), *range(16, 20)]
    assert places(old, "new") == [*range(20)]
    assert summaries(old) == before and len(old.components.journal.memories()) == 1
    said = old.bytes_at_rest()
    shown = "".join(before["old"])
    gone = [at for at in range(1, 16, 2) if f"quay {at} was" not in shown]
    assert gone and not [at for at in gone if f"part {at} of the old".encode() in said]
    assert retain(old.components).cut == 0


def test_a_conversation_that_is_not_summarized_as_it_is_waits(old: Agents) -> None:
    """A summary is made of all turns, so an ingest comes first."""
    append(old.gateway(), "old", BEGIN, 20, 24)
    assert (retain(old.components).waiting, len(places_in_journal(old, "old"))) == (1, 24)


def test_an_old_conversation_goes_on(old: Agents) -> None:
    """Its new turns are summarized after the summaries that it has, a context has both, and the
    turns that a window of memories counts go on, too."""
    (first,) = summaries(old)["old"]
    retain(old.components)
    ingest(old)
    assert old.components.journal.count("old") == 20
    append(old.gateway(), "old", BEGIN + timedelta(days=41), 20, 36)
    ingest(old)
    again, *others = summaries(old)["old"]
    assert again == first and len(others) == 2
    calls = AgentCalls(old.components.settings, 30.0)
    text = calls.context("", "old", "", 2_000, framed_under(bytes(32)))["text"]
    assert "- turns 0 to 15, 2026-01-05: " in text and "user, 2026-02-15" in text


def test_a_secret_that_becomes_known_leaves_summaries_of_what_was_cut(old: Agents) -> None:
    """They are redacted again, though the turns that they were made of are gone."""
    old.components.journal.cut_others("old", 15)
    ingest(old)
    assert NAME in "".join(summaries(old)["old"])
    known = value_hash(NAME, bytes(32))
    assert known is not None
    old.components.catalog.known_secrets.add("elsewhere", {known: "generic-secret"})
    for _ in range(2):  # the journal's own change is taken in by the second
        for work in list(plan_agent_memory(old.components)):
            list(run_task(old.components, Task(work.project, WRITTEN.assets)))
    assert NAME not in "".join(summaries(old)["old"])
    assert NAME.encode() not in old.bytes_at_rest()


def test_interrupted_it_is_completed_by_the_next_time(
    old: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an ingest in between, too."""

    def stopped(*_: object, **__: object) -> int:
        raise StoreError("stopped here")

    with monkeypatch.context() as patch:
        patch.setattr(retention, "forget_keywords", stopped)
        with pytest.raises(StoreError):
            retain(old.components)
    ingest(old)
    assert retain(old.components).cut == 1
    ingest(old)
    assert places(old, "old") == [*range(0, 16, 2), *range(16, 20)]


def test_the_command_brings_up_to_date_what_it_cut(old: Agents, tmp_path: Path) -> None:
    """Tables and indexes, in a run of the job of what agents wrote."""
    (tmp_path / "projects").mkdir()
    environment = {
        "MEMORY_DATA_DIR": str(old.data_dir),
        "MEMORY_PROJECTS_DIR": str(tmp_path / "projects"),
        "MEMORY_EMBEDDER": "none",
        "MEMORY_RETENTION": "1d",
    }
    done = json.loads(run_here(environment, "retain", "--json").stdout)
    assert (done["removed"]["sessions_cut"], done["projects"], done["failed"]) == (2, 1, {})
    assert places(old, "old") == [*range(0, 16, 2), *range(16, 20)]


def places_in_journal(agents: Agents, name: str) -> list[int]:
    """The places of the turns of a conversation that is not ingested yet."""
    return [turn.turn_index for turn in agents.components.journal.turns(name)]
