"""MEMORY_RETENTION: of an old conversation, what the user said and the summaries stay."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.errors import ConfigurationError
from memory_assets.pipeline.agent_memory.gateway import AgentCalls
from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.ingest.passes import WRITTEN, Task, run_task
from memory_assets.pipeline.plan.plan import plan_agent_memory
from memory_assets.pipeline.removal import forget, retention
from memory_assets.pipeline.removal.retention import retain
from memory_assets.pipeline.stage.components import Components
from memory_assets.redaction import value_hash
from memory_assets.serving.agent_memory import keyed_framer
from memory_assets.settings import Settings, load_settings
from memory_assets.shards import derive
from memory_assets.shards.push import push
from memory_assets.status.status import RETENTION_FILE
from memory_assets.status.status import status as status_of
from memory_assets.stores.agents.journal import FILE_NAME, AgentJournal, CutTurns
from memory_assets.stores.catalog.products import Products
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.lake import Lake, LakeBatch
from memory_assets.stores.lake.schemas import AGENT_HISTORY, HISTORY_SUMMARIES
from memory_assets.stores.shard.objects import DirectoryObjects
from memory_assets.stores.shard.replicas import replicas_of
from memory_assets.stores.shard.shard import Shard
from memory_assets_tests.agent_memory.conftest import Agents, made_for_all
from memory_assets_tests.agent_memory.test_tables import PLAIN, ingest, rows
from memory_assets_tests.command_line import run_here
from memory_assets_tests.kills import killed_at
from memory_assets_tests.loaded_engines import give
from memory_assets_tests.own_files import altered

BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
DAY = 86_400.0
KEPT = [*range(0, 16, 2), *range(16, 20)]
"""Places that stay of 20 turns: the user's, and the end, which no summary covers."""
NAME = "xk9-qpz4vrw2-mnt7731-bd6"
"""Said by the user and in summaries; no rule takes it for a secret."""


def opened(data_dir: Path, engines: Any, **given: Any) -> Agents:
    """A memory that keeps 30 days, 40 days after the old conversation."""
    settings = {"embedder": "none", "retention": "30d", **given}
    return Agents(data_dir, engines, BEGIN.timestamp() + 40 * DAY, settings)


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory, engines: dict[str, Any]) -> Agents:
    """Two conversations of 20 turns, ingested, of which one rested for 40 days."""
    root = tmp_path_factory.mktemp("ingested")
    return made_for_all(root, lambda: written(opened(root / "memory", engines)))


@pytest.fixture
def old(tmp_path: Path, ingested: Agents) -> Agents:
    """A copy of that memory."""
    return ingested.copied(tmp_path / "memory")


def written(agents: Agents) -> Agents:
    """Write the two conversations and a memory, and take them in."""
    for name, begin in (("old", BEGIN), ("new", BEGIN + timedelta(days=20))):
        append(agents.gateway(), name, begin, 0, 20)
    agents.gateway().write_memory("The user likes brief answers.", "preference", 0.9, BEGIN, "old")
    ingest(agents)
    return agents


def said(name: str, at: int) -> tuple[str, str]:
    """Role and text of a turn: of the user at even places."""
    if at % 2:
        answer = f"I moved part {at} of the {name} archive, because quay {at} was flooded."
        return "assistant", answer
    return "user", f"Please move part {at} of the {name} archive {NAME} to the harbour."


def append(gateway: MemoryGateway, name: str, begin: datetime, first: int, last: int) -> list[bool]:
    """Append turns to a conversation; return which of them are new."""
    return [
        gateway.append_history(name, *said(name, at), at, begin + timedelta(minutes=at)).new
        for at in range(first, last)
    ]


def places_in_lake(agents: Agents, name: str) -> list[int]:
    """The places of the turns of a conversation in the lake."""
    return [row["turn_index"] for row in rows(agents, AGENT_HISTORY) if row["session_id"] == name]


def places(agents: Agents, name: str) -> list[int]:
    """The places of the turns of a conversation in the lake, which are those in the journal."""
    found = places_in_lake(agents, name)
    assert found == [turn.turn_index for turn in agents.components.journal.turns(name)]
    return found


def summaries(agents: Agents) -> dict[str, list[str]]:
    """The texts of the summaries by conversation."""
    found: dict[str, list[str]] = {}
    for row in rows(agents, HISTORY_SUMMARIES):
        found.setdefault(row["session_id"], []).append(row["text"])
    return found


def gone(agents: Agents) -> list[bytes]:
    """What was said in the old conversation and stands in no summary, turn by turn."""
    shown = "".join(summaries(agents)["old"])
    found = [at for at in range(1, 16, 2) if f"quay {at} was" not in shown]
    assert len(found) > 3
    return [f"part {at} of the old archive, because".encode() for at in found]


def lose(agents: Agents, *names: str) -> Agents:
    """The memory without these files, opened again; a copy stays."""
    agents.close()
    for path in [path for name in names for path in agents.data_dir.glob(f"{name}*")]:
        if path.suffix != ".copy":
            path.unlink()
    return Agents(agents.data_dir, agents.engines, agents.now, agents.given)


def test_an_old_conversation_keeps_what_the_user_said_and_its_summaries(old: Agents) -> None:
    """And its end, which no summary covers, and its memories; no byte of the rest is left. Younger
    conversations are as before. Nothing more is due, and the status counts it."""
    before, cut = summaries(old), gone(old)
    assert all(text in old.bytes_at_rest() for text in cut)
    report = retain(old.components)
    assert (report.due, report.cut, report.waiting, report.blocks) == (1, 1, 0, 8)
    assert not [text for text in cut if text in old.bytes_at_rest()]
    ingest(old)
    assert places(old, "old") == KEPT and places(old, "new") == [*range(20)]
    assert summaries(old) == before and len(old.components.journal.memories()) == 1
    assert {row["cut_turns"] for row in rows(old, HISTORY_SUMMARIES)} == {0, 8}
    assert not [text for text in cut if text in old.bytes_at_rest()]
    assert (retain(old.components).cut, retain(old.components).retained) == (0, 1)
    assert status_of(old.components.settings)["archive"]["sessions_retained"] == 1


def test_small_conversations_are_cut_together(old: Agents) -> None:
    """They share a file as before, rather than that it is written again for each of them."""
    for number in range(5):
        append(old.gateway(), f"old-{number}", BEGIN, 0, 20)
    ingest(old)
    assert retain(old.components).cut == 6
    names = ["old", *(f"old-{number}" for number in range(5))]
    lake = old.components.lake
    assert len({lake.file(AGENT_HISTORY, PLAIN, name) for name in names}) == 1
    ingest(old)
    assert [places(old, name) for name in names] == [KEPT] * 6


def test_unset_nothing_is_cut(old: Agents) -> None:
    """However old it is, be a call noted that was interrupted under a policy; nor by an ingest
    under one."""
    everything = Agents(old.data_dir, old.engines, old.now + 9_999 * DAY, {"embedder": "none"})
    assert retain(everything.components).cut == 0
    (old.data_dir / RETENTION_FILE).write_text(json.dumps([[PLAIN, "old"]]))
    assert retain(everything.components).cut == 0
    assert not (old.data_dir / RETENTION_FILE).exists()
    ingest(old)
    assert places(old, "old") == [*range(20)]


def test_a_conversation_that_is_not_summarized_as_it_is_waits(old: Agents) -> None:
    """A summary is made of all turns, so an ingest comes first."""
    append(old.gateway(), "old", BEGIN, 20, 24)
    assert retain(old.components).waiting == 1
    assert len(old.components.journal.turns("old")) == 24


def test_what_no_summary_says_is_not_cut(old: Agents) -> None:
    """Fewer turns than are summarized, and turns of which nothing stands out."""
    append(old.gateway(), "short", BEGIN, 0, 15)
    for at in range(20):
        old.gateway().append_history("mute", "system", "ok", at, BEGIN)
    ingest(old)
    assert summaries(old).keys() == {"old", "new"}
    assert retain(old.components).cut == 1
    assert places(old, "short") == [*range(15)] and places(old, "mute") == [*range(20)]


def test_the_last_turn_stays(old: Agents) -> None:
    """Where a summary covers it, too, so a conversation is never without any turn."""
    gateway = old.gateway()
    for at in range(16):
        text = f"The harbour office closed quay {at}, because the storm had flooded it."
        gateway.append_history("report", "assistant", text, at, BEGIN)
    ingest(old)
    assert retain(old.components).cut == 2
    ingest(old)
    assert places(old, "report") == [15] and summaries(old)["report"]
    assert old.components.journal.count("report") == 16


def test_a_cut_turn_that_is_appended_again_is_known(old: Agents) -> None:
    """It is not new and does not come back; another text at its place, and its id at another one,
    are refused with both ids."""
    retain(old.components)
    ingest(old)
    assert append(old.gateway(), "old", BEGIN, 0, 20) == [False] * 20
    history = old.gateway()
    with pytest.raises(ConfigurationError, match=r"turn 3 .* is message (m-\w+), which") as refused:
        history.append_history("old", "assistant", "Something else.", 3, BEGIN)
    known = str(refused.value).split("is message ")[1].split(",")[0]
    with pytest.raises(ConfigurationError, match=f"{known} is turn 3 .*turn 30"):
        history.append_history("old", "assistant", "Once more.", 30, BEGIN, message_id=known)
    assert ingest(old) == {} and places(old, "old") == KEPT
    assert [turn.turn_index for turn in history.tail_history("old", 5)] == [14, *range(16, 20)]


def test_a_conversation_that_is_forgotten_can_be_written_again(old: Agents) -> None:
    """Its cut turns are forgotten with it."""
    retain(old.components)
    ingest(old)
    old.forget(conversation="old")
    assert append(old.gateway(), "old", BEGIN, 0, 20) == [True] * 20


def test_a_cut_is_work_that_was_not_done_before(tmp_path: Path, engines: dict[str, Any]) -> None:
    """Dagster runs no work twice that has one fingerprint."""
    agents = opened(tmp_path / "memory", engines)
    append(agents.gateway(), "old", BEGIN, 0, 20)
    (first,) = plan_agent_memory(agents.components)
    ingest(agents)
    retain(agents.components)
    (second,) = plan_agent_memory(agents.components)
    assert first.fingerprint != second.fingerprint


def test_an_old_conversation_goes_on(old: Agents) -> None:
    """Its new turns are summarized after the summaries that it has, a context has both, and the
    turns that a window of memories counts go on, too. It is cut again when it is old again."""
    (first,) = summaries(old)["old"]
    retain(old.components)
    ingest(old)
    calls = AgentCalls(old.components.settings, 30.0)
    text = calls.context("", "old", "", 2_000, keyed_framer(bytes(32)))["text"]
    assert "- turns 0 to 15, 2026-01-05: " in text and "part 14" in text
    assert old.components.journal.count("old") == 20
    append(old.gateway(), "old", BEGIN + timedelta(days=41), 20, 36)
    assert retain(old.components).due == 0
    ingest(old)
    again, *others = summaries(old)["old"]
    assert again == first and len(others) == 2
    text = calls.context("", "old", "", 2_000, keyed_framer(bytes(32)))["text"]
    assert "- turns 0 to 15, 2026-01-05: " in text and "user, 2026-02-15" in text
    old.now += 100 * DAY
    assert retain(old.components).cut == 2
    ingest(old)
    assert summaries(old)["old"] == [first, *others]
    assert places(old, "old") == [*range(0, 36, 2), 35]


def test_the_report_counts_what_this_call_cut(old: Agents) -> None:
    """Not what was cut before, and no conversation that was noted by an interrupted call and has
    gone on since."""
    assert retain(old.components).blocks == 8
    append(old.gateway(), "old", BEGIN + timedelta(days=39), 20, 36)
    ingest(old)
    (old.data_dir / RETENTION_FILE).write_text(json.dumps([[PLAIN, "old"]]))
    report = retain(old.components)
    assert (report.due, report.cut, report.blocks, report.retained) == (0, 0, 0, 1)
    ingest(old)
    old.now += 100 * DAY
    before = len(old.components.journal.turns("old")) + len(old.components.journal.turns("new"))
    report = retain(old.components)
    after = len(old.components.journal.turns("old")) + len(old.components.journal.turns("new"))
    assert (report.cut, report.blocks) == (2, before - after) and before - after > 10


def test_a_secret_that_becomes_known_leaves_summaries_of_what_was_cut(old: Agents) -> None:
    """They are redacted again, though the turns that they were made of are gone."""
    retain(old.components)
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


def test_a_conversation_that_went_on_since_a_call_was_interrupted_is_not_cut(old: Agents) -> None:
    """What was noted as due must be due still."""
    assert killed(old, CutTurns, "cut", 0) == -signal.SIGKILL
    assert (old.data_dir / RETENTION_FILE).exists()
    append(old.gateway(), "old", BEGIN + timedelta(days=39), 20, 22)
    ingest(old)
    assert retain(old.components).cut == 0
    ingest(old)
    assert places(old, "old") == [*range(22)]


@pytest.mark.parametrize("lost", [(FILE_NAME,), (FILE_NAME, "catalog.db"), ("catalog.db",)])
def test_a_journal_that_is_lost_knows_what_was_cut(old: Agents, lost: tuple[str, ...]) -> None:
    """From its copy, be the catalogue lost, too."""
    before = summaries(old)
    retain(old.components)
    ingest(old)
    again = lose(old, *lost)
    assert append(again.gateway(), "old", BEGIN, 0, 21) == [*[False] * 20, True]
    ingest(again)
    assert places(again, "old") == [*KEPT, 20] and places(again, "new") == [*range(20)]
    assert again.components.journal.count("old") == 21 and summaries(again) == before


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


def test_summaries_that_0_3_0_kept_in_the_lake_are_taken_into_the_journal(old: Agents) -> None:
    """Once, when they are next made; that version cut turns without noting them elsewhere."""
    before = summaries(old)["old"]
    retain(old.components)
    ingest(old)
    old.components.journal.close()
    with closing(sqlite3.connect(old.data_dir / FILE_NAME)) as journal, journal:
        journal.execute("DROP TABLE cut_summaries")
    again = lose(old)
    again.components.catalog.products.drop(HISTORY_SUMMARIES.name, PLAIN, "old")
    ingest(again)
    kept = again.components.journal.cut_turns.summaries("old")
    assert [row.text for row in kept] == summaries(again)["old"] == before


def test_a_worker_that_derives_a_shard_has_no_journal_and_keeps_them(
    old: Agents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes summaries anew, as it does not know the secrets that the memory knows."""
    old.components.catalog.known_secrets.add("elsewhere", {b"1" * 16: "generic-secret"})
    retain(old.components)
    ingest(old)
    shard = Shard(DirectoryObjects(tmp_path / "objects"), "laptop")
    push(old.components, shard, erase_traces=lambda names: 0)

    def with_engines(settings: Settings) -> Components:
        components = Components(settings)
        give(components, old.engines)
        return components

    monkeypatch.setattr(derive, "Components", with_engines)
    settings = load_settings(data_dir=tmp_path / "worker", embedder="none")
    work = derive.Work(settings, str(tmp_path / "objects"), str(tmp_path / "made"), "laptop")
    assert (done := derive.derive(work)).made == 1 and not done.failed
    (replica,) = replicas_of(tmp_path / "worker")
    made = Lake(replica.directory / "lake").read_partition(HISTORY_SUMMARIES, PLAIN)
    assert made.to_pylist() == rows(old, HISTORY_SUMMARIES) != []


def test_summaries_outlive_all_turns(old: Agents) -> None:
    """Where a journal has nothing else of a conversation, until that is forgotten; those of later
    turns follow them."""
    (first,) = summaries(old)["old"]
    retain(old.components)
    with closing(sqlite3.connect(old.data_dir / FILE_NAME)) as journal, journal:
        journal.execute("DELETE FROM turns WHERE conversation_id = 'old'")
    ingest(old)
    assert summaries(old)["old"] == [first] and places(old, "old") == []
    append(old.gateway(), "old", BEGIN, 20, 40)
    ingest(old)
    assert summaries(old)["old"][0] == first and len(summaries(old)["old"]) == 2
    old.forget(conversation="old")
    ingest(old)
    assert summaries(old).keys() == {"new"}


def test_cut_in_the_journal_alone_the_lake_follows(old: Agents) -> None:
    """Killed between the two, the next ingest does not put back what was cut, and keeps the
    summaries; the next call leaves no byte of it."""
    before, cut = summaries(old), gone(old)
    assert killed(old, retention, "make_history", 0) == -signal.SIGKILL
    assert places_in_lake(old, "old") == [*range(20)]
    ingest(old)
    assert places(old, "old") == KEPT and summaries(old) == before
    assert retain(old.components).cut == 1
    ingest(old)
    assert not [text for text in cut if text in old.bytes_at_rest()]


def test_killed_again_behind_the_words_what_stays_is_indexed_again(old: Agents) -> None:
    """What stays of a conversation is the same before and after the second call."""
    for _ in range(2):
        assert killed(old, Products, "drop", 0) == -signal.SIGKILL
        ingest(old)
        assert [each for each in verify_project(old.components, PLAIN) if each.failed] == []


STEPS: tuple[tuple[Any, str, int], ...] = (
    (CutTurns, "cut", 0),
    (LakeBatch, "publish", 0),
    (AgentJournal, "compact", 0),
    (retention, "make_history", 0),
    (retention, "forget_vectors", 0),
    (forget, "rewrite_files", 0),
    (retention, "forget_keywords", 0),
    (Lake, "delete", 3),
)
"""What ends, and before which call of it."""


@pytest.fixture
def embedded(tmp_path: Path, engines: dict[str, Any]) -> Iterator[Agents]:
    """The two conversations with vectors, in a Chroma of their own."""
    data_dir = tmp_path / "memory"
    yield written(opened(data_dir, engines, embedder="all-MiniLM-L6-v2"))
    chroma_server.stop(data_dir)


@pytest.mark.long
def test_killed_in_the_middle_it_is_completed_by_the_next_time(embedded: Agents) -> None:
    """`kill -9` in turn within each step, with a run of the pipeline in between: in the end no byte
    is left in journal, lake, Chroma and keyword index, and every check passes."""
    before, cut = summaries(embedded), gone(embedded)
    for owner, step, after in STEPS:
        assert killed(embedded, owner, step, after) == -signal.SIGKILL, step
        embedded = Agents(embedded.data_dir, embedded.engines, embedded.now, embedded.given)
        assert (embedded.data_dir / RETENTION_FILE).exists()
        ingest(embedded)
        assert summaries(embedded) == before
    report = retain(embedded.components)
    assert (report.retained, report.cut) == (1, 1) and report.collection_rows > 0
    ingest(embedded)
    assert places(embedded, "old") == KEPT and summaries(embedded) == before
    assert not (embedded.data_dir / RETENTION_FILE).exists()
    assert [each for each in verify_project(embedded.components, PLAIN) if each.failed] == []
    embedded.components.catalog.close()
    chroma_server.stop(embedded.data_dir)
    assert not [text for text in cut if text in embedded.bytes_at_rest()]


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
    assert places(old, "old") == KEPT


def killed(agents: Agents, owner: Any, step: str, after: int) -> int:
    """Let a process of its own begin, and kill itself in a step; return its exit code."""
    agents.close()
    memory = Agents(agents.data_dir, agents.engines, agents.now, agents.given)
    return killed_at(owner, step, after, lambda: retain(memory.components))
