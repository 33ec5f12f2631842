"""What is worth storing is decided without a store; memories are bounded in number, told apart from
what is there, and recalled."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from benchmarks import memory_pairs
from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.agent_memory.policy import MemoryPolicy, in_utc
from memory_assets.agent_memory.similarity import difference, relation
from memory_assets.errors import BadArgument
from memory_assets.redacted_text import seal
from memory_assets.settings import load_settings
from memory_assets_tests.agent_memory.conftest import NOW, Agents
from memory_assets_tests.sweep import sweep

LATER = "2026-11-24T09:00:00Z"


def test_the_same_text_is_renewed_under_its_id(gateway: MemoryGateway) -> None:
    """With the newer time, the higher confidence and the labels of both."""
    first = gateway.write_memory("The queue is RabbitMQ.", "fact", 0.9, NOW, tags=["infra"])
    again = gateway.write_memory("the queue  is RabbitMQ.", "fact", 0.8, LATER, tags=["queue"])
    assert (first.outcome, again.outcome) == ("stored", "renewed")
    assert first.memory_id == again.memory_id
    (found,) = gateway.recall_memory("which queue", 5)
    assert found.memory.confidence == 0.9
    assert found.memory.ts.isoformat() == "2026-11-24T09:00:00+00:00"
    assert found.memory.tags == ("infra", "queue")


def test_another_wording_is_merged_and_both_are_kept(gateway: MemoryGateway) -> None:
    """One memory answers; the other wording stands beside it."""
    first = gateway.write_memory("Packages are managed with pnpm.", "project", 0.9, NOW)
    again = gateway.write_memory("Packages here are managed with pnpm.", "project", 0.9, LATER)
    assert (again.outcome, again.memory_id) == ("merged", first.memory_id)
    (found,) = gateway.recall_memory("package manager", 5)
    assert found.memory.text == "Packages are managed with pnpm."
    assert found.memory.also == ("Packages here are managed with pnpm.",)


def test_a_contradiction_keeps_both_newer_first_and_says_so(gateway: MemoryGateway) -> None:
    """Whichever the question is nearer to."""
    older = gateway.write_memory("The user prefers tabs for indentation.", "preference", 1, NOW)
    newer = gateway.write_memory(
        "The user prefers spaces for indentation.", "preference", 0.8, LATER
    )
    assert newer.outcome == "stored"
    assert newer.contradicts == (older.memory_id,)
    assert newer.differences == ("spaces instead of tabs",)
    found = gateway.recall_memory("tabs for indentation", 5)
    assert [each.memory.memory_id for each in found] == [newer.memory_id, older.memory_id]


def test_a_thousand_writes_in_a_loop_store_three(agents: Agents) -> None:
    """In a window of minutes without a conversation, also for a process that starts later; the
    refusal says when the next is allowed, and then it is."""
    gateway = agents.without_vectors().gateway()
    written = [
        gateway.write_memory(f"Plan {at} has the number {at * 7 + 3}.", "fact", 0.9, NOW)
        for at in range(1_000)
    ]
    outcomes = [each.outcome for each in written]
    assert outcomes.count("stored") == 3
    assert "the next is allowed at 2027-01-15T09:00:00Z" in written[-1].reason
    restarted = Agents(agents.data_dir, agents.engines, agents.now + 3_599)
    assert restarted.gateway().write_memory("We use pnpm.", "project", 1, NOW).outcome == "refused"
    restarted.now += 2
    assert restarted.gateway().write_memory("We use pnpm.", "project", 1, NOW).outcome == "stored"


def test_four_writers_at_once_store_three_in_all(agents: Agents) -> None:
    """Each looks and stores in one step, so that neither misses what the other has stored."""
    agents.components.journal.close()

    def write(writer: int) -> list[str]:
        gateway = agents.without_vectors().gateway()
        texts = (f"Plan {at} of {writer} is number {at * 7 + writer}." for at in range(20))
        return [gateway.write_memory(text, "fact", 0.9, NOW).outcome for text in texts]

    with ThreadPoolExecutor(4) as pool:
        outcomes = [each for found in pool.map(write, range(4)) for each in found]
    assert len(outcomes) == 80 and outcomes.count("stored") == 3


def test_a_window_of_a_conversation_is_its_turns(agents: Agents) -> None:
    """Three in sixteen turns; the next when as many have passed. Another conversation has its
    own."""
    gateway = agents.gateway()
    said = ["The queue is RabbitMQ.", "Ana owns billing.", "Logs go to Loki.", "We use pnpm."]
    gateway.append_history("c1", "user", "hello", 0, NOW)
    gateway.append_history("c2", "user", "hello", 0, NOW)
    outcomes = [gateway.write_memory(text, "fact", 0.9, NOW, "c1") for text in said]
    assert [each.outcome for each in outcomes] == ["stored"] * 3 + ["refused"]
    assert outcomes[-1].reason.endswith("the next is allowed when it has 17 turns")
    assert gateway.write_memory(said[3], "fact", 0.9, NOW, "c2").outcome == "stored"
    for at in range(1, 17):
        gateway.append_history("c1", "user", f"turn {at}", at, NOW)
    assert gateway.write_memory("Tests run in CI.", "fact", 0.9, NOW, "c1").outcome == "stored"


def test_what_is_too_long_is_refused(agents: Agents) -> None:
    """Up to 800 tokens are kept as they are."""
    gateway = agents.gateway()
    long = "harbour invoice kernel " * 300
    refused = gateway.write_memory(long, "fact", 0.9, NOW)
    assert refused.outcome == "refused" and "more than 800" in refused.reason
    kept = " ".join(["harbour invoice kernel"] * 150)
    assert gateway.write_memory(kept, "fact", 0.9, NOW).outcome == "stored"


def test_memories_are_found_by_meaning_and_by_their_fields(agents: Agents) -> None:
    """In other words; of a conversation, from a confidence on, and of the project or none."""
    gateway, harbor = agents.gateway(), agents.gateway("-home-ada-harbor")
    gateway.append_history("c1", "user", "hello", 0, NOW)
    gateway.write_memory("The user likes brief answers.", "preference", 0.75, NOW, "c1")
    harbor.write_memory("Payments are handled by Stripe.", "fact", 0.95, NOW)
    assert harbor.recall_memory("credit card provider", 1)[0].memory.type == "fact"
    assert len(harbor.recall_memory("anything", 5)) == 2
    assert len(gateway.recall_memory("payments", 5)) == 1
    assert len(harbor.recall_memory("", 5, min_confidence=0.9)) == 1
    assert [each.memory.type for each in harbor.recall_memory("", 5, conversation_id="c1")] == [
        "preference"
    ]


def test_a_text_that_is_redacted_again_leaves_no_vector(agents: Agents) -> None:
    """Its vector was made of what was taken out; one whose text stays keeps its vector."""
    gateway, journal = agents.gateway(), agents.components.journal
    for said in ("The board says zanzibar.", "Payments go through Stripe."):
        gateway.write_memory(said, "fact", 0.9, NOW)
    gateway.recall_memory("the board", 2)
    embedder = agents.components.embedder.embedder_id
    stripe, board = journal.memories(sort="text")
    assert len(before := journal.vectors(embedder)) == 2
    again = replace(board, text=seal("The board says [redacted]."))
    journal.put_memories([again, replace(stripe, confidence=0.95)])
    assert journal.vectors(embedder).keys() == {stripe.memory_id}
    gateway.recall_memory("the board", 2)
    assert not (journal.vectors(embedder)[board.memory_id] == before[board.memory_id]).all()


def test_a_memory_is_stored_from_its_least_confidence_on() -> None:
    """.699 is refused and .7 stored."""
    policy = MemoryPolicy()
    assert not policy.should_store_memory(0.699, "fact")
    assert policy.should_store_memory(0.7, "fact")
    assert policy.should_store_memory(1, "decision")


@sweep("confidence", [float("nan"), 2, -1, "high", True, None, float("inf")])
def test_nonsense_for_a_confidence_names_what_is_allowed(confidence: Any) -> None:
    """Not a number, out of bounds, or of another type."""
    with pytest.raises(BadArgument, match="from 0 to 1"):
        MemoryPolicy().should_store_memory(confidence, "fact")


def test_an_unknown_type_names_those_that_there_are() -> None:
    """As every choice of this project does."""
    with pytest.raises(BadArgument, match="preference, fact, project, decision"):
        MemoryPolicy().should_store_memory(0.9, "rumour")


def test_a_time_needs_a_zone() -> None:
    """ISO 8601 with a zone, in UTC afterwards."""
    assert in_utc("2026-11-23T10:00:00+01:00").isoformat() == "2026-11-23T09:00:00+00:00"
    for wrong in ("2026-11-23T10:00:00", "yesterday"):
        with pytest.raises(BadArgument, match="zone"):
            in_utc(wrong)


def test_settings_have_the_names_that_agents_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some without our prefix; with it they take precedence."""
    for name, value in {
        "MEMORY_CONFIDENCE_MIN": ".8",
        "MEMORY_TOP_K": "5",
        "MEMORY_MAX_PER_WINDOW": "2",
        "HISTORY_TAIL_N": "4",
        "CONTEXT_TOKEN_BUDGET": "900",
        "MEMORY_CONTEXT_TOKEN_BUDGET": "1000",
    }.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    found = (settings.confidence_min, settings.top_k, settings.max_per_window)
    assert found == (0.8, 5, 2)
    assert (settings.history_tail_n, settings.context_token_budget) == (4, 1000)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "blind" else pytest.mark.long)
        for name in memory_pairs.SETS
        if name != "numbers"
    ],
)
def test_no_contrary_pair_is_merged(name: str) -> None:
    """On labelled pairs; what is merged says the same."""
    judgements = memory_pairs.judged(memory_pairs.pairs(name))
    precision, _ = memory_pairs.scores(judgements, "same")
    assert precision == 1
    assert memory_pairs.scores(judgements, "contradiction")[1] >= 0.75


def test_numbers_of_two_subjects_are_no_contradiction() -> None:
    """On pairs that the rule was not chosen on; numbers of one subject are."""
    judgements = memory_pairs.judged(memory_pairs.pairs("numbers")[26:])
    assert memory_pairs.scores(judgements, "contradiction") == (1, 1)


@sweep(
    "newer, older, said",
    [
        ("The timeout is 5 seconds.", "The timeout is 30 seconds.", "5 instead of 30"),
        ("The broker is Kafka.", "The broker is RabbitMQ.", "Kafka instead of RabbitMQ"),
        ("Never push to main.", "Push to main.", "only one of them negates it"),
        ("Spaces over tabs.", "Tabs over spaces.", "the same words in another order"),
        ("The API has 3 replicas.", "The database has 5 replicas.", ""),
        ("The API has 3 replicas.", "The API has 2 databases.", ""),
    ],
)
def test_a_contradiction_has_a_reason(newer: str, older: str, said: str) -> None:
    """What one has in place of the other; "" where there is none."""
    assert difference(newer, older) == said


def test_half_of_what_says_the_same_is_merged() -> None:
    """In nearly the same words, of 80 pairs that the rule was looked at on."""
    judgements = memory_pairs.judged(memory_pairs.pairs("close"))
    assert memory_pairs.scores(judgements, "same")[1] >= 0.5


CORRECTIONS = (
    ("We use pnpm instead of npm.", "We use npm instead of pnpm."),
    ("Run migrations before the deploy.", "Run migrations after the deploy."),
    ("Return XML but not JSON.", "Return JSON but not XML."),
    ("Sync from Postgres to ClickHouse.", "Sync from ClickHouse to Postgres."),
    ("Use the cache until the release.", "Use the cache since the release."),
    ("Prefer Go rather than Rust.", "Prefer Rust rather than Go."),
    ("Retry thirty times.", "Retry 3 times."),
    ("Always squash commits.", "Never squash commits."),
    ("The limit applies per user.", "The limit applies per team."),
    ("The timeout is 30 s.", "The timeout is 30 ms."),
    ("Use version 2.1 of the API.", "Use version 2.10 of the API."),
    ("Alice is managed by Bob.", "Alice manages Bob."),
    ("We deploy on Mondays.", "We deployed on Mondays."),
    ("The flag is on in production.", "The flag is off in production."),
    ("Prefers tabs over spaces.", "Prefers spaces over tabs."),
    ("Hints are required here.", "Hints are optional here."),
)


@sweep("older, newer", CORRECTIONS)
def test_a_correction_does_not_confirm_what_it_corrects(older: str, newer: str) -> None:
    """However near their vectors are."""
    assert relation(newer, older, 0.99) != "same"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Logs are kept for thirty days.", "We keep logs for 30 days."),
        ("The billing service is owned by Ana.", "Ana owns the billing service."),
        ("Do not mock the database.", "Never mock the database."),
        ("Times are stored in UTC.", "Times are saved in UTC."),
        ("Push to  MAIN.", "push to main."),
    ],
)
def test_the_same_words_in_the_same_order_are_merged(older: str, newer: str) -> None:
    """Numbers in words are numbers, and a passive is its active."""
    assert relation(newer, older, 0.6) == "same"
