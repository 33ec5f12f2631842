"""A journal without a copy is completed from the lake, and mixes with nothing that is said next."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import ConfigurationError
from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.ingest.passes import WRITTEN, Task, run_task
from memory_assets.pipeline.plan.plan import plan_agent_memory
from memory_assets.pipeline.removal.forget import forget
from memory_assets.pipeline.removal.retention import retain
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.redaction import value_hash
from memory_assets.stores.agents.journal import FILE_NAME
from memory_assets.stores.agents.partitions import partition_of
from memory_assets.stores.lake.schemas import AGENT_HISTORY, HISTORY_SUMMARIES
from memory_assets_tests.agent_memory.conftest import Agents
from memory_assets_tests.agent_memory.test_old_conversations import (
    BEGIN,
    KEPT,
    NAME,
    append,
    lose,
    opened,
    places,
    summaries,
    written,
)
from memory_assets_tests.agent_memory.test_tables import PLAIN, ingest, rows
from memory_assets_tests.own_files import altered


@pytest.fixture
def old(tmp_path: Path, engines: dict[str, Any]) -> Agents:
    """Two conversations of 20 turns, ingested, of which one rested for 40 days."""
    return written(opened(tmp_path / "memory", engines))


def say(
    agents: Agents, first: int, last: int, said: str, own_ids: bool = False, project: str = ""
) -> None:
    """Append turns to the conversation with another text than that of a lost journal."""
    history = agents.gateway(project)
    for at in range(first, last):
        message_id = f"own-{at}" if own_ids else ""
        history.append_history("main", "user", f"{said} {at}.", at, BEGIN, message_id=message_id)


def texts(agents: Agents) -> list[str]:
    """The texts of the conversation in the lake, which are those in the journal."""
    found = [row["text"] for row in rows(agents, AGENT_HISTORY)]
    assert found == [turn.text for turn in agents.components.journal.turns("main")]
    return found


def test_as_many_turns_as_were_ingested_are_taken_in(
    tmp_path: Path, engines: dict[str, Any]
) -> None:
    """Also under the ids of the lost ones, and more than these: no state of a conversation comes
    again in another journal."""
    for own_ids, last in ((True, 20), (False, 26)):
        agents = opened(tmp_path / str(last), engines)
        say(agents, 0, 20, "At first", own_ids)
        ingest(agents)
        again = lose(agents, FILE_NAME)
        say(again, 0, last, "A new beginning", own_ids)
        ingest(again)
        assert texts(again) == [f"A new beginning {at}." for at in range(last)]
        assert [each for each in verify_project(again.components, PLAIN) if each.failed] == []


def test_projects_do_not_mix(tmp_path: Path, engines: dict[str, Any]) -> None:
    """A conversation that is written about another project than the lost one of its name was:
    each keeps its own turns, the lost one under a name with its project, under new rules, too.
    Forgotten, it takes nothing of the other one along."""
    agents = opened(tmp_path / "memory", engines)
    say(agents, 0, 20, f"About one, {NAME}", project="one")
    ingest(agents)
    again = lose(agents, FILE_NAME)
    say(again, 10, 30, "About two", project="two")
    ingest(again)
    assert texts_about(again, "one") == [f"About one, {NAME} {at}." for at in range(20)]
    assert texts_about(again, "two") == [f"About two {at}." for at in range(10, 30)]
    assert len(again.components.journal.turns("main@one")) == 20
    learn_that_the_name_is_a_secret(again)
    assert len(texts_about(again, "one")) == 20 and NAME.encode() not in again.bytes_at_rest()
    found = select(again.components, Selection(project=partition_of("one")))
    forget(again.components, found, erase_traces=lambda names: 0)
    ingest(again)
    assert texts_about(again, "one") == [] and len(texts_about(again, "two")) == 20


def learn_that_the_name_is_a_secret(agents: Agents) -> None:
    """Take it out of everything."""
    known = value_hash(NAME, bytes(32))
    assert known is not None
    agents.components.catalog.known_secrets.add("elsewhere", {known: "generic-secret"})
    for _ in range(2):  # the journal's own change is taken in by the second
        for work in list(plan_agent_memory(agents.components)):
            list(run_task(agents.components, Task(work.project, WRITTEN.assets)))
    assert list(plan_agent_memory(agents.components)) == []


def texts_about(agents: Agents, project: str) -> list[str]:
    """The texts in the lake that are about a project."""
    return [row["text"] for row in rows(agents, AGENT_HISTORY, partition_of(project))]


@pytest.mark.parametrize("lost", [(FILE_NAME,), (FILE_NAME, "catalog.db")])
def test_summaries_outlive_all_turns(old: Agents, lost: tuple[str, ...]) -> None:
    """Journal and turns in the lake are lost, and the catalogue, too: the summaries stay, new
    rules or not, until they are forgotten."""
    before = summaries(old)
    retain(old.components)
    ingest(old)
    shutil.rmtree(old.components.lake.partition_dir(AGENT_HISTORY, PLAIN))
    again = lose(old, *lost)
    ingest(again)
    assert summaries(again) == before and places(again, "old") == []
    assert [each for each in verify_project(again.components, PLAIN) if each.failed] == []
    learn_that_the_name_is_a_secret(again)
    assert summaries(again).keys() == before.keys() and NAME.encode() not in again.bytes_at_rest()
    found = select(again.components, Selection(conversation="old"))
    forget(again.components, found, erase_traces=lambda names: 0)
    ingest(again)
    assert summaries(again).keys() == {"new"}


def test_summaries_that_outlived_all_turns_precede_those_of_later_ones(old: Agents) -> None:
    """The conversation goes on after its journal and its turns were lost."""
    (first,) = summaries(old)["old"]
    retain(old.components)
    ingest(old)
    old.components.lake.delete(AGENT_HISTORY, PLAIN, "old")
    again = lose(old, FILE_NAME)
    ingest(again)
    append(again.gateway(), "old", BEGIN, 20, 40)
    ingest(again)
    assert summaries(again)["old"][0] == first and len(summaries(again)["old"]) == 2
    assert places(again, "old") == [*range(20, 40)]


def test_a_place_that_another_turn_took_is_counted_once(old: Agents) -> None:
    """What was appended first keeps the places of a kept and of a cut turn, which are refused."""
    before = summaries(old)["old"]
    retain(old.components)
    ingest(old)
    again = lose(old, FILE_NAME)
    for at in (0, 3):
        again.gateway().append_history("old", "user", "Something else.", at, BEGIN)
    ingest(again)
    assert again.components.journal.count("old") == 20 and summaries(again)["old"] == before
    with pytest.raises(ConfigurationError, match="says something else"):
        append(again.gateway(), "old", BEGIN, 3, 4)
    assert append(again.gateway(), "old", BEGIN, 4, 20) == [False] * 16


def test_summaries_of_what_was_cut_outlive_the_lake(old: Agents) -> None:
    """They are in the journal: a file that cannot be read, or the whole lake, is made again."""
    before = summaries(old)["old"]
    retain(old.components)
    ingest(old)
    lake, of_old = old.components.lake, (HISTORY_SUMMARIES, PLAIN, "old")
    altered(lake, *of_old, lake.read(*of_old).drop_columns(["ended_at"]))
    old.components.catalog.products.drop(HISTORY_SUMMARIES.name, PLAIN, "old")
    ingest(old)
    assert summaries(old)["old"] == before
    shutil.rmtree(old.data_dir / "lake")
    again = lose(old, "catalog.db")
    ingest(again)
    assert summaries(again)["old"] == before and places(again, "old") == KEPT
