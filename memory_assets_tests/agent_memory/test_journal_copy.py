"""What agents wrote is copied, and a lost or damaged journal begun again with its copy."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from memory_assets.cli.doctor_command import Finding
from memory_assets.errors import StoreError
from memory_assets.pipeline.agent_memory.upkeep import keep_up
from memory_assets.pipeline.removal.retention import retain
from memory_assets.recall.memory import Memory
from memory_assets.requests.agent_memory import AppendRequest
from memory_assets.serving.agent_memory import AgentMemory
from memory_assets.stores.agents.journal import FILE_NAME, AgentJournal
from memory_assets.stores.agents.journal_file import copy_of, recover_damaged
from memory_assets.stores.lake.schemas import AGENT_HISTORY, AGENT_MEMORY, MEMORY_TRAIL
from memory_assets_tests.agent_memory.conftest import NOW, Agents, made_for_all
from memory_assets_tests.agent_memory.test_tables import ingest, rows
from memory_assets_tests.cli.findings import finding_of
from memory_assets_tests.command_line import run_here
from memory_assets_tests.sweep import sweep


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory, engines: dict[str, Any]) -> Agents:
    """A memory without vectors, with a turn and a memory that were ingested, and so copied."""
    root = tmp_path_factory.mktemp("ingested")

    def make() -> Agents:
        agents = Agents(root / "memory", engines, given={"embedder": "none"})
        say(agents, 0)
        agents.gateway().write_memory("The broker is RabbitMQ.", "fact", 0.9, NOW)
        ingest(agents)
        return agents

    return made_for_all(root, make)


@pytest.fixture
def wordy(tmp_path: Path, ingested: Agents) -> Agents:
    """A copy of that memory."""
    return ingested.copied(tmp_path / "memory")


def say(agents: Agents, *places: int) -> None:
    """Append turns at these places."""
    for at in places:
        agents.gateway().append_history("c1", "user", f"Question number {at}.", at, NOW)


def said(agents: Agents) -> list[int]:
    """The places of the turns in the lake, which are those in the journal."""
    found = [row["turn_index"] for row in rows(agents, AGENT_HISTORY)]
    assert found == [turn.turn_index for turn in agents.components.journal.turns("c1")]
    return found


def closed(agents: Agents) -> Path:
    """The path of the journal, which no connection of this process has open."""
    agents.components.journal.close()
    agents.components.opened.pop("journal")
    return agents.data_dir / FILE_NAME


def found(agents: Agents) -> Finding:
    """What the doctor finds of what agents wrote."""
    return finding_of("agents' memory", agents.components.settings)


def lose(agents: Agents) -> Path:
    """The path of the journal, of which all is gone but the copy."""
    path = closed(agents)
    for end in ("", "-wal", "-shm"):
        path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
    return path


def test_what_is_exported_was_copied(wordy: Agents) -> None:
    """By an ingest, before it, and by the upkeep of the night, if anything was written since; only
    its owner can read the copy."""
    copy = copy_of(wordy.data_dir / FILE_NAME)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    made: tuple[Callable[[], object], ...] = (
        lambda: ingest(wordy),
        lambda: keep_up(wordy.components),
    )
    for number, make in enumerate(made, 1):
        say(wordy, number)
        make()
        with closing(sqlite3.connect(copy)) as rows_of_copy:
            found = rows_of_copy.execute("SELECT COUNT(*) FROM turns").fetchone()
        assert found == (number + 1,)
    before = copy.stat().st_mtime_ns
    keep_up(wordy.components)
    assert copy.stat().st_mtime_ns == before
    assert [each.name for each in wordy.data_dir.glob("*staging*")] == []


def test_a_lost_journal_is_begun_again_with_its_copy(wordy: Agents) -> None:
    """By whoever asks next; a log of the lost file changes nothing, and what was said before the
    next ingest is there, too."""
    say(wordy, 1)
    ingest(wordy)
    say(wordy, 2)
    log = wordy.data_dir / f"{FILE_NAME}-wal"
    lose(wordy)
    log.write_bytes(b"of another file" * 1_000)
    assert [turn.turn_index for turn in wordy.components.journal.turns("c1")] == [0, 1]
    say(wordy, 3)
    ingest(wordy)
    assert said(wordy) == [0, 1, 3] and len(rows(wordy, AGENT_MEMORY)) == 1


@pytest.mark.parametrize("torn", ["header", "pages"])
def test_a_damaged_journal_is_set_aside_for_its_copy(wordy: Agents, torn: str) -> None:
    """By the next ingest; until then it is an error that names it, and nothing is changed. What was
    set aside goes with what is forgotten next."""
    say(wordy, *range(1, 200))
    ingest(wordy)
    wordy.components.journal.cut_log()
    path = closed(wordy)
    with path.open("r+b") as file:
        file.seek(0 if torn == "header" else 4_096)
        file.write(os.urandom(16_384))
    before = path.read_bytes()
    if torn == "header":
        with pytest.raises(StoreError, match="`memory ingest` sets it aside"):
            AgentJournal(path)
    assert path.read_bytes() == before
    damaged = found(wordy)
    assert not damaged.ok and "copied" in damaged.found and "set aside" in damaged.remedy
    ingest(wordy)
    assert found(wordy).ok and said(wordy) == [*range(200)]
    (aside,) = wordy.data_dir.glob(f"{FILE_NAME}.broken-*Z")
    assert aside.read_bytes() == before
    wordy.forget(conversation="c1")
    assert not aside.exists() and b"Question number" not in wordy.bytes_at_rest()


@sweep("damaged", [b"CREATE TABLE memories", b"memory_id", b"CREATE INDEX"])
def test_a_byte_that_changed_in_the_schema_is_damage(wordy: Agents, damaged: bytes) -> None:
    """SQLite's own error quotes what cannot be decoded, at which Python fails, or it says that a
    column is not there; the copy takes the journal's place all the same."""
    wordy.components.journal.cut_log()
    path = closed(wordy)
    whole = path.read_bytes()
    at = whole.index(damaged) + len(damaged) - 2
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
    assert not found(wordy).ok
    with pytest.raises(StoreError, match="cannot use"):
        AgentJournal(path)
    ingest(wordy)
    assert found(wordy).ok and said(wordy) == [0]


def test_a_journal_whose_log_lost_its_end_is_begun_again_with_its_copy(
    wordy: Agents, caplog: pytest.LogCaptureFixture
) -> None:
    """SQLite ignores the frames of a log from the first on that is damaged, and says nothing. What
    it is kept as is said: agents may have written to it since."""
    wordy.components.journal.cut_log()
    path = wordy.data_dir / FILE_NAME
    older = path.read_bytes()
    say(wordy, 1)
    ingest(wordy)
    closed(wordy)
    path.write_bytes(older)
    for end in ("-wal", "-shm"):
        path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
    assert "lacks changes" in found(wordy).found
    ingest(wordy)
    assert found(wordy).ok and said(wordy) == [0, 1]
    (aside,) = wordy.data_dir.glob(f"{FILE_NAME}.broken-*Z")
    assert str(aside) in caplog.text


_HARMED = product(["", ".copy"], ["DELETE FROM changes", "UPDATE changes SET number = x'FF'"])


@sweep("damaged, harm", _HARMED)
def test_a_whole_journal_of_which_no_last_change_is_known_is_not_set_aside(
    wordy: Agents, damaged: str, harm: str
) -> None:
    """Nor one whose copy has none: only two numbers tell that one is older."""
    path = closed(wordy)
    with closing(sqlite3.connect(path.with_name(f"{path.name}{damaged}"))) as file:
        (before,) = file.execute("SELECT number FROM changes").fetchall()
        with file:
            file.execute(harm)
        told = found(wordy).ok, recover_damaged(path)
        with file:
            file.execute("DELETE FROM changes")
            file.execute("INSERT INTO changes (number) VALUES (?)", before)
    assert told == (True, False)


def test_a_whole_journal_is_not_set_aside_for_a_damaged_copy(wordy: Agents) -> None:
    """Though the copy says that it has more changes."""
    path = closed(wordy)
    copy = copy_of(path)
    with closing(sqlite3.connect(copy)) as file, file:
        file.execute("UPDATE changes SET number = number + 100")
    assert "lacks changes" in found(wordy).found
    whole = copy.read_bytes()
    copy.write_bytes(whole[:-4_096] + os.urandom(4_096))
    assert found(wordy).ok and not recover_damaged(path)


def test_what_is_forgotten_is_in_no_copy(wordy: Agents) -> None:
    """Nor comes it back when the journal is lost."""
    wordy.forget(conversation="c1")
    assert copy_of(wordy.data_dir / FILE_NAME).exists()
    assert b"Question number" not in wordy.bytes_at_rest()
    lose(wordy)
    ingest(wordy)
    assert said(wordy) == [] and len(rows(wordy, AGENT_MEMORY)) == 1


def test_the_command_says_what_was_recovered(
    wordy: Agents, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As the doctor says that it is gone."""
    lose(wordy)
    assert not found(wordy).ok and "gone, copied" in found(wordy).found
    (tmp_path / "projects").mkdir()
    environment = {
        "MEMORY_DATA_DIR": str(wordy.data_dir),
        "MEMORY_PROJECTS_DIR": str(tmp_path / "projects"),
        "MEMORY_EMBEDDER": "none",
    }
    for said_so in (True, False):
        caplog.clear()
        assert run_here(environment, "ingest").returncode == 0
        assert ("begun again with its copy" in caplog.text) == said_so


def test_processes_that_find_no_journal_begin_one(wordy: Agents) -> None:
    """None replaces what another has begun and written to."""
    path = lose(wordy)
    with get_context("spawn").Pool(2) as pool:
        assert pool.map(_first_turn, [path] * 8) == [0] * 8
    say(wordy, 1)
    ingest(wordy)
    assert said(wordy) == [0, 1]


def _first_turn(path: Path) -> int:
    journal = AgentJournal(path)
    (turn,) = journal.tail("c1", 5)
    journal.close()
    return turn.turn_index


def lose_both(agents: Agents) -> bytes:
    """Lose the journal and its copy; return what the copy was."""
    copy = copy_of(lose(agents))
    whole = copy.read_bytes()
    copy.unlink()
    return whole


def test_a_journal_that_is_lost_with_its_copy_is_not_begun_over_its_exports(wordy: Agents) -> None:
    """An ingest, a forgetting and the doctor say what to do, what is written meanwhile waits, and
    what was exported is found and stays. With the copy put back all goes on."""
    before, whole = rows(wordy, AGENT_MEMORY), lose_both(wordy)
    path = wordy.data_dir / FILE_NAME
    waits = AgentMemory(wordy.components.settings).answer(
        AppendRequest(conversation="c1", role="user", text="Question number 1.", turn_index=1)
    )
    assert "Put one of them back" in waits["waits"]
    for refused in (
        lambda: ingest(wordy),
        lambda: wordy.components.journal,
        lambda: wordy.forget(conversation="c1"),
    ):
        with pytest.raises(StoreError, match=r"agent_memory\.db and its copy are lost"):
            refused()
    assert not found(wordy).ok and "move lake/agent_history" in found(wordy).remedy
    assert retain(wordy.components).cut == 0 and not path.exists()
    assert Memory(wordy.components.settings).search("broker", kinds=("memory",)).hits
    assert rows(wordy, AGENT_MEMORY) == before and len(rows(wordy, AGENT_HISTORY)) == 1
    copy_of(path).write_bytes(whole)
    ingest(wordy)
    assert said(wordy) == [0] and rows(wordy, AGENT_MEMORY) == before


def test_a_journal_begins_anew_where_the_exports_were_moved_away(wordy: Agents) -> None:
    """As the refusal advises; nothing is left of them then, and every check passes."""
    lose_both(wordy)
    for table in (AGENT_HISTORY, AGENT_MEMORY):
        shutil.rmtree(wordy.components.lake.root / table.name)
    say(wordy, 5)
    ingest(wordy)
    assert said(wordy) == [5] and rows(wordy, MEMORY_TRAIL) == []
    assert not Memory(wordy.components.settings).search("broker", kinds=("memory",)).hits


def test_an_empty_file_is_a_lost_journal(wordy: Agents) -> None:
    """It has nothing that could be exported in place of what there is."""
    lose(wordy).touch()
    ingest(wordy)
    assert said(wordy) == [0]
    lose_both(wordy)
    (wordy.data_dir / FILE_NAME).touch()
    with pytest.raises(StoreError, match="its copy are lost"):
        ingest(wordy)
