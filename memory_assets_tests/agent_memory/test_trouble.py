"""Writing memory while the disk is full, read-only or Chroma away: what was stored stays, what is
not stored is refused, and reading goes on."""

from __future__ import annotations

import resource
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import MemoryAssetsError, StoreError
from memory_assets.pipeline.ingest.passes import WRITTEN, Task, run_task
from memory_assets.pipeline.plan.plan import plan_agent_memory
from memory_assets.recall.memory import Memory
from memory_assets.recall.search.search import KEYWORD_ONLY
from memory_assets.stores.agents.journal import FILE_NAME, AgentJournal
from memory_assets_tests.agent_memory.conftest import NOW, Agents
from memory_assets_tests.unprivileged import without_privileges

SAID = "The harbour's report went out on Tuesday, and nobody asked about the lanterns. " * 20


@pytest.fixture
def wordy(tmp_path: Path, engines: dict[str, Any]) -> Agents:
    """An empty memory without vectors and Chroma."""
    return Agents(tmp_path / "memory", engines, given={"embedder": "none"})


@contextmanager
def no_file_above(limit: int) -> Iterator[None]:
    """Inside, no file of this process can grow above so many bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_refuses_and_loses_nothing(wordy: Agents) -> None:
    """What was answered is there, what was refused is not, and the refusal names the file and
    quotes nothing; with room again the same call is stored."""
    gateway = wordy.gateway()
    gateway.append_history("c1", "user", SAID, 0, NOW)
    gateway.write_memory("The report is due on Tuesday.", "fact", 0.9, NOW)
    stored, refused = 1, ""
    with no_file_above(120_000):
        for at in range(1, 500):
            try:
                gateway.append_history("c1", "user", f"{at}: {SAID}", at, NOW)
            except MemoryAssetsError as error:
                refused = str(error)
                break
            stored += 1
        with pytest.raises(StoreError):
            for at in range(500):
                gateway.write_memory(f"Pier {at} is made of {SAID[: at * 3]}", "fact", 0.9, NOW)
                wordy.now += 3_600
        assert [each.turn_index for each in gateway.tail_history("c1", 500)] == list(range(stored))
        assert gateway.recall_memory("when is the report due?", 1)
    assert FILE_NAME in refused and "lantern" not in refused and stored < 499
    assert gateway.append_history("c1", "user", f"{stored}: {SAID}", stored, NOW).new
    again = AgentJournal(wordy.data_dir / FILE_NAME)
    assert again.count("c1") == stored + 1
    again.close()


def test_a_read_only_directory_is_read_and_refuses_to_be_written(wordy: Agents) -> None:
    """Turns and memories are read, writing is refused, and nothing changes; be the journal of the
    version before, without its newest table."""
    wordy.gateway().append_history("c1", "user", "Which broker do we use?", 0, NOW)
    wordy.gateway().write_memory("The broker is RabbitMQ.", "fact", 0.9, NOW)
    wordy.components.journal.close()
    with closing(sqlite3.connect(wordy.data_dir / FILE_NAME)) as connection:
        connection.execute("DROP TABLE cut_turns")
    before = (wordy.data_dir / FILE_NAME).read_bytes()
    for path in (*wordy.data_dir.iterdir(), wordy.data_dir):
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        with without_privileges():
            journal = AgentJournal(wordy.data_dir / FILE_NAME)
            assert [turn.text for turn in journal.tail("c1", 9)] == ["Which broker do we use?"]
            (memory,) = journal.memories()
            with pytest.raises(StoreError, match=FILE_NAME):
                journal.put_memories([memory])
            journal.close()
    finally:
        for path in (wordy.data_dir, *wordy.data_dir.iterdir()):
            path.chmod(0o700 if path.is_dir() else 0o600)
    assert (wordy.data_dir / FILE_NAME).read_bytes() == before


def test_without_chroma_memory_is_found_by_its_words(
    tmp_path: Path, engines: dict[str, Any]
) -> None:
    """Remembering and recalling need no Chroma; an ingest that does not reach it makes the words
    searchable, and the search says what it did without."""
    away = Agents(tmp_path / "memory", engines, given={"chroma_url": "http://127.0.0.1:9"})
    away.gateway().write_memory("Payments go through Stripe.", "fact", 0.9, NOW)
    assert away.gateway().recall_memory("credit cards", 1)[0].memory.type == "fact"
    memory = Memory(away.components.settings)
    assert len(memory.search("stripe payments", kinds=("memory",)).hits) == 1
    (work,) = plan_agent_memory(away.components)
    list(run_task(away.components, Task(work.project, WRITTEN.assets)))
    answer = Memory(away.components.settings).search("stripe payments", kinds=("memory",))
    assert [hit.text for hit in answer.hits] == ["Payments go through Stripe."]
    assert answer.degraded == KEYWORD_ONLY and "127.0.0.1:9" in (answer.reason or "")
