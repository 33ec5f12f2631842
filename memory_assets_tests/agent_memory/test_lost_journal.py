"""What another journal says in the place of a lost one does not mix with what the lake has."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.removal.forget import forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.redaction import value_hash
from memory_assets.stores.agents.journal import FILE_NAME
from memory_assets.stores.agents.partitions import partition_of
from memory_assets.stores.lake.schemas import AGENT_HISTORY
from memory_assets_tests.agent_memory.conftest import Agents
from memory_assets_tests.agent_memory.test_old_conversations import (
    BEGIN,
    NAME,
    append,
    lose,
    opened,
    places,
)
from memory_assets_tests.agent_memory.test_tables import PLAIN, ingest, rows


def one_conversation(tmp_path: Path, engines: dict[str, Any]) -> Agents:
    """A memory with a conversation of 20 turns, ingested."""
    agents = opened(tmp_path / "memory", engines)
    append(agents.gateway(), "main", BEGIN, 0, 20)
    ingest(agents)
    return agents


def say(
    agents: Agents, first: int, last: int, said: str, own_ids: bool = False, project: str = ""
) -> None:
    """Append turns to the conversation with another text than that of a lost journal."""
    history = agents.gateway(project).history
    for at in range(first, last):
        message_id = f"own-{at}" if own_ids else ""
        history.append("main", "user", f"{said} {at}.", at, BEGIN, message_id=message_id)


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


def test_an_older_copy_of_the_journal_takes_in_what_is_said_next(
    tmp_path: Path, engines: dict[str, Any]
) -> None:
    """As many turns as it had lost are not taken for these."""
    agents = one_conversation(tmp_path, engines)
    agents.components.journal.compact()
    shutil.copy(agents.data_dir / FILE_NAME, tmp_path / "copy")
    say(agents, 20, 24, "Lost")
    ingest(agents)
    again = lose(agents, FILE_NAME)
    shutil.copy(tmp_path / "copy", again.data_dir / FILE_NAME)
    say(again, 20, 24, "Said next")
    ingest(again)
    assert texts(again)[20:] == [f"Said next {at}." for at in range(20, 24)]
    assert places(again, "main") == [*range(24)]


def test_projects_do_not_mix(tmp_path: Path, engines: dict[str, Any]) -> None:
    """A conversation that is written about another project than the lost one of its name was:
    each keeps its own turns, the lost one in the lake alone, under new rules, too. Forgotten, it
    takes nothing of the other one along."""
    agents = opened(tmp_path / "memory", engines)
    say(agents, 0, 20, f"About one, {NAME}", project="one")
    ingest(agents)
    again = lose(agents, FILE_NAME)
    say(again, 10, 30, "About two", project="two")
    ingest(again)
    assert texts_about(again, "one") == [f"About one, {NAME} {at}." for at in range(20)]
    assert texts_about(again, "two") == [f"About two {at}." for at in range(10, 30)]
    known = value_hash(NAME, bytes(32))
    assert known is not None
    again.components.catalog.known_secrets.add("elsewhere", {known: "generic-secret"})
    ingest(again)
    assert len(texts_about(again, "one")) == 20 and NAME.encode() not in again.bytes_at_rest()
    found = select(again.components, Selection(project=partition_of("one")))
    forget(again.components, found, erase_traces=lambda names: 0)
    ingest(again)
    assert texts_about(again, "one") == [] and len(texts_about(again, "two")) == 20


def texts_about(agents: Agents, project: str) -> list[str]:
    """The texts in the lake that are about a project."""
    return [row["text"] for row in rows(agents, AGENT_HISTORY, partition_of(project))]
