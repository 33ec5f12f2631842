"""What is worth storing is decided without a store, and by settings that are checked at start."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import memory_pairs
from memory_assets.agent_memory.policy import MemoryPolicy, in_utc
from memory_assets.agent_memory.similarity import difference, relation
from memory_assets.errors import BadArgument
from memory_assets.settings import load_settings


def test_a_memory_is_stored_from_its_least_confidence_on() -> None:
    """.699 is refused and .7 stored."""
    policy = MemoryPolicy()
    assert not policy.should_store_memory(0.699, "fact")
    assert policy.should_store_memory(0.7, "fact")
    assert policy.should_store_memory(1, "decision")


@pytest.mark.parametrize("confidence", [float("nan"), 2, -1, "high", True, None, float("inf")])
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


@pytest.mark.parametrize(
    ("newer", "older", "said"),
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


@pytest.mark.parametrize(("older", "newer"), CORRECTIONS)
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
