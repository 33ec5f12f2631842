"""Summaries of the older turns of a conversation: their place in a context, and how they are
found, shown and audited."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from memory_assets.errors import NotFound
from memory_assets.paths import NO_VECTORS
from memory_assets.pipeline.agent_memory.gateway import AgentCalls
from memory_assets.pipeline.agent_memory.history_summaries import windows
from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.indexes.collections import rebuild
from memory_assets.pipeline.removal.retention import retain
from memory_assets.recall.audit.audit import audit
from memory_assets.recall.memory import Memory
from memory_assets.recall.search.answer import Hit, with_summaries_last
from memory_assets.recall.show import whole_text
from memory_assets.redacted_text import seal
from memory_assets.serving.agent_memory import keyed_framer
from memory_assets.serving.answer_lines import search_lines
from memory_assets.serving.pages.site import build_site
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.schemas import HISTORY_SUMMARIES
from memory_assets_tests.agent_memory.conftest import TOKEN, Agents
from memory_assets_tests.agent_memory.test_old_conversations import opened, written
from memory_assets_tests.agent_memory.test_tables import PLAIN, ingest, rows

BEGIN = datetime(2026, 11, 23, 9, tzinfo=UTC)


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
    return calls.context("", "c1", "Where are we?", budget, keyed_framer(bytes(32)))


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
    wordy.forget(conversation="c1")
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


FIRST = "history-summary::old::0"
ASKED = "why was the archive moved"


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory, engines: dict[str, Any]) -> Iterator[Agents]:
    """Two conversations with a summary each, in Chroma; not to be changed."""
    data_dir = tmp_path_factory.mktemp("summaries") / "memory"
    yield written(opened(data_dir, engines, embedder="all-MiniLM-L6-v2"))
    chroma_server.stop(data_dir)


@pytest.fixture
def old(embedded: Agents, engines: dict[str, Any], tmp_path: Any) -> Agents:
    """The same two conversations without vectors, to be changed."""
    return written(opened(tmp_path / "memory", engines))


def searching(agents: Agents) -> Memory:
    """The memory as a process that searches it has it."""
    memory = Memory(agents.components.settings)
    if agents.components.embeds:
        vars(memory)["embedder"] = agents.components.embedder
    return memory


def test_a_summary_is_in_a_collection_and_passes_every_check(embedded: Agents) -> None:
    """Under its name, with the places of its turns; it can be rebuilt, and the status counts it."""
    collection = embedded.components.vectors.get("history_summaries")
    found = collection.values({"session_id": "old"}, "first_turn", "last_turn", "turns")
    assert found == {FIRST: ("0", "15", "16")}
    assert [each for each in verify_project(embedded.components, PLAIN) if each.failed] == []
    assert [each.rows for each in rebuild(embedded.components, ["history_summaries"])] == [2]
    coverage = searching(embedded).status()["coverage"]["history_summaries"]
    assert (coverage["rows"], coverage["complete"]) == (2, True)


def test_turns_that_are_on_record_come_before_it(embedded: Agents) -> None:
    """It is no hit beside a turn of its own, which names it: by words, by meaning, and where the
    newest are listed. Asked for alone, it is found."""
    memory = searching(embedded)
    for asked in ({"query": ASKED}, {"query": ASKED, "mode": "semantic"}, {"sort": "date"}):
        hits = memory.search(kinds=("history",), n=40, **asked).hits
        assert {hit.id.partition("::")[0] for hit in hits} == {"message"}
        assert FIRST in {hit.metadata.get("summary") for hit in hits}
    alone = memory.search(ASKED, kinds=("history_summaries",)).hits
    assert {hit.id for hit in alone} == {FIRST, FIRST.replace("old", "new")}


def test_it_is_found_where_its_turns_were_cut(old: Agents) -> None:
    """And shown, audited and linked as what it is. Forgotten with its conversation, it is gone."""
    retain(old.components)
    ingest(old)
    memory = searching(old)
    answer = memory.search("flooded quay", kinds=("history",), project=PLAIN, n=40)
    hit = next(each for each in answer.hits if each.id == FIRST)
    assert hit.metadata["last_turn"] == 15 and "flooded" in hit.text
    assert "turns 0 to 15" in "\n".join(search_lines(answer.to_dict()))
    (shown,) = memory.show(FIRST)
    assert shown["text"] == hit.text and whole_text(memory, FIRST)["kind"] == "history-summary"
    found = audit(memory, FIRST, bytes(32), NO_VECTORS)
    assert found.intact and found.kind == "history-summary"
    client = TestClient(build_site(old.components.settings), base_url="http://127.0.0.1")
    page = client.get("/", params={"in": "history", "q": "flooded quay", "n": "40"}).text
    assert "/page/conversation/old#turn-0" in page
    old.forget(conversation="old")
    with pytest.raises(NotFound, match="no history-summary::old::0"):
        searching(old).show(FIRST)
    hits = searching(old).search("flooded quay", kinds=("history",), n=40).hits
    assert {hit.metadata["session_id"] for hit in hits} == {"new"}


def test_a_summary_gives_way_to_turns_that_are_on_record() -> None:
    """It comes last; left out for a turn of its conversation within its places; one of cut turns
    keeps its place."""
    turns = [_hit("message::a", "c1", turn_index=3), _hit("message::b", "c1", turn_index=20)]
    mine = _hit("history-summary::c1::0", "c1", first_turn=0, last_turn=15, cut_turns=0)
    other = _hit("history-summary::c2::0", "c2", first_turn=0, last_turn=15, cut_turns=0)
    later = _hit("history-summary::c1::1", "c1", first_turn=30, last_turn=45, cut_turns=0)
    cut = _hit("history-summary::c1::2", "c1", first_turn=0, last_turn=15, cut_turns=3)
    hits = with_summaries_last([cut, mine, other, *turns, later])
    assert [hit.id for hit in hits] == [cut.id, "message::a", "message::b", other.id, later.id]
    named = [hit.metadata.get("summary") for hit in hits]
    assert named == [None, mine.id, None, None, None]


def _hit(row_id: str, conversation: str, **metadata: int) -> Hit:
    of = {"project": PLAIN, "session_id": conversation}
    return Hit(row_id, row_id, 1.0, seal("text"), {**of, **metadata})
