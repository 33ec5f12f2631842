"""What agents write is redacted, on disk when it is confirmed, and there once."""

from __future__ import annotations

import resource
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.errors import BadArgument, MemoryAssetsError, RedactionUnavailable, StoreError
from memory_assets.pipeline.ingest.passes import WRITTEN, Task, run_task
from memory_assets.pipeline.plan.plan import plan_agent_memory
from memory_assets.pipeline.stage.components import Components
from memory_assets.recall.memory import Memory
from memory_assets.recall.search.search import KEYWORD_ONLY
from memory_assets.settings import load_settings
from memory_assets.stores.agents import journal
from memory_assets.stores.agents.journal import FILE_NAME, AgentJournal
from memory_assets.stores.files.sqlite import compact
from memory_assets_tests.agent_memory.conftest import NOW, TOKEN, Agents
from memory_assets_tests.sweep import sweep
from memory_assets_tests.unprivileged import without_privileges


def test_a_secret_is_in_no_byte_of_what_is_stored(agents: Agents) -> None:
    """In a turn, a memory or its labels; in a name it is refused, and not quoted."""
    gateway = agents.gateway()
    gateway.append_history("c1", "user", f"My token is {TOKEN}.", 0, NOW)
    gateway.write_memory(f"The token {TOKEN} is for CI.", "fact", 0.9, NOW, tags=[TOKEN])
    with pytest.raises(BadArgument) as refused:
        gateway.append_history(TOKEN.replace("_", "-"), "user", "x", 0, NOW)
    assert TOKEN[4:] not in str(refused.value)
    assert "<redacted:" in gateway.tail_history("c1", 1)[0].text
    assert TOKEN[4:].encode() not in agents.bytes_at_rest()


def test_nothing_is_stored_while_the_redactor_is_away(agents: Agents) -> None:
    """Neither a turn nor a memory."""
    agents.components.settings = load_settings(data_dir=agents.data_dir)
    del agents.components.opened["redactor"]

    def away() -> None:
        raise RedactionUnavailable("a rule does not compile")

    gateway = agents.gateway()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Components, "redactor", property(lambda self: away()))
        with pytest.raises(RedactionUnavailable):
            gateway.append_history("c1", "user", "hello", 0, NOW)
        with pytest.raises(RedactionUnavailable):
            gateway.write_memory("The queue is RabbitMQ.", "fact", 0.9, NOW)
    assert gateway.tail_history("c1", 1) == []
    assert agents.components.journal.memories() == []


@sweep(
    "values, said",
    [
        ({"role": "robot"}, "user, assistant, system"),
        ({"text": "  "}, "is empty"),
        ({"text": "x" * 200_001}, "more than 200000"),
        ({"turn_index": -1}, "from 0 on"),
        ({"turn_index": True}, "from 0 on"),
        ({"ts": "2026-11-23T09:00:00"}, "zone"),
        ({"conversation_id": "a b"}, "letters, digits"),
        ({"conversation_id": "../c"}, "letters, digits"),
    ],
)
def test_what_a_client_gives_is_checked(
    values: dict[str, Any], said: str, gateway: MemoryGateway
) -> None:
    """Each value by itself, in words that say what is allowed."""
    good: dict[str, Any] = {"role": "user", "text": "hi", "turn_index": 0, "ts": NOW}
    with pytest.raises(BadArgument, match=said):
        gateway.append_history(**{"conversation_id": "c1", **good, **values})
    assert gateway.tail_history("c1", 1) == []


def test_a_journal_that_another_process_begins_is_waited_for(tmp_path: Path) -> None:
    """SQLite itself fails at once where one process asks for a write-ahead log and another one
    holds the lock for the first write."""
    path = tmp_path / FILE_NAME
    with closing(sqlite3.connect(path, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        end = threading.Timer(0.3, other.rollback)
        end.start()
        AgentJournal(path).close()
        end.join()


def test_four_processes_append_and_lose_none(tmp_path: Path) -> None:
    """250 turns each, at the same time, of one conversation; then each appends its own again."""
    code = (
        "import sys\n"
        "from memory_assets.agent_memory.ports import ConversationTurn\n"
        "from datetime import UTC, datetime\n"
        "from pathlib import Path\n"
        "from memory_assets.redaction.redactor import load_redactor\n"
        "from memory_assets.redacted_text import compose\n"
        "from memory_assets.stores.agents.journal import AgentJournal\n"
        "journal, of = AgentJournal(Path(sys.argv[1])), int(sys.argv[2])\n"
        "for at in [*range(of, 1000, 4), of]:\n"
        "    said = compose('said')\n"
        "    turn = ConversationTurn(f'm{at}', 'c', at, 'user', datetime.now(UTC), said)\n"
        "    assert journal.append_turn(turn) or at == of\n"
    )
    path = tmp_path / FILE_NAME
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(number)])
        for number in range(4)
    ]
    assert [process.wait(300) for process in processes] == [0] * 4
    journal = AgentJournal(path)
    assert [turn.turn_index for turn in journal.tail("c", 2_000)] == list(range(1_000))
    journal.close()


def _replace(journal: AgentJournal) -> None:
    with journal.replacing_texts():
        pass


def _erase_and_replace(journal: AgentJournal) -> None:
    journal.erase_replaced_texts()
    _replace(journal)


@pytest.mark.parametrize("meanwhile", [_replace, _erase_and_replace])
def test_texts_replaced_while_the_file_is_rewritten_are_still_to_be_erased(
    meanwhile: Callable[[AgentJournal], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another process, between the rewriting and the note of it, also by one that has rewritten
    the file itself; the next one erases them."""
    path = tmp_path / FILE_NAME
    with closing(AgentJournal(path)) as one, closing(AgentJournal(path)) as other:
        notes: list[int] = []

        def rewrite(file: Path) -> None:
            compact(file)
            if not notes:
                notes.append(1)
                meanwhile(other)

        monkeypatch.setattr(journal, "compact", rewrite)
        _replace(one)
        one.erase_replaced_texts()
        assert notes and one.value("PRAGMA user_version")
        other.erase_replaced_texts()
        assert not one.value("PRAGMA user_version")


SAID = "The harbour's report went out on Tuesday, and nobody asked about the lanterns. " * 20


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
