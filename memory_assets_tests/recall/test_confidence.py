"""A search says which hits are weak, and that all are: that nothing here answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from memory_assets.recall.search import hybrid
from memory_assets.recall.search.confidence import Confidence, Evidence, confidences
from memory_assets.requests.search import MODES
from memory_assets.serving.answer_lines import search_lines
from memory_assets_tests.recall.conftest import Asked

ANSWERED = (
    "why did the daily report test fail",
    "what blocked the migration",
    "why was the email worker killed",
    "why does login loop in Safari",
    "which lock file is stale",
    "lighthouse",
)
UNANSWERED = (
    "zzzzqqqq",
    "how do we cook rice for six people",
    "which Kafka topic receives the telemetry",
    "why is the mobile app slow on Android",
    "what does a yearly licence cost",
)


@pytest.mark.parametrize("mode", MODES[:3])
@pytest.mark.parametrize("question", ANSWERED)
def test_a_question_with_an_answer_is_not_weak(asked: Asked, question: str, mode: str) -> None:
    """In every mode, at least one of them."""
    assert not asked.memory.search(question, mode=mode).weak


@pytest.mark.parametrize("kinds", ["sessions", "summaries"])
@pytest.mark.parametrize("question", UNANSWERED)
def test_all_hits_of_a_question_without_an_answer_are_weak(
    asked: Asked, question: str, kinds: str
) -> None:
    """They are listed all the same."""
    answer = asked.memory.search(question, kinds=kinds, n=5)
    assert len(answer.hits) == 5
    assert answer.weak and all(hit.weak for hit in answer.hits)


def test_words_alone_judge_by_the_words_that_occur_nowhere(asked: Asked) -> None:
    """Hits for the one common word of a question do not answer it."""
    assert asked.memory.search("which Kafka topic receives telemetry", mode="keyword").weak


def test_no_hit_is_more_probable_than_the_best_one(asked: Asked) -> None:
    """It is told with each. A question without an answer is not answered by what is found after its
    best hit."""
    for question in (*ANSWERED, *UNANSWERED):
        told = [float(hit.why["answers"]) for hit in asked.memory.search(question).hits]
        assert 1 >= told[0] == max(told) >= min(told) >= 0


def test_filters_alone_have_no_weak_hits(asked: Asked) -> None:
    """They ask nothing that could be left unanswered."""
    answer = asked.memory.search(tool="Bash")
    assert answer.hits and not any(hit.weak for hit in answer.hits)
    assert "answers" not in answer.hits[0].why


def test_a_hit_is_judged_among_fewer_than_ten_turns(asked: Asked) -> None:
    """A session of three turns has no field to stand out from: words and meaning decide."""
    of = {"session": asked.long_session}
    assert not asked.memory.search("who paints the lighthouse door?", **of).weak
    assert asked.memory.search("which Kafka topic receives telemetry", **of).weak


@pytest.mark.parametrize("query", ["qwxzv", "what is qwxzv?"])
def test_words_that_occur_nowhere_are_never_answered(asked: Asked, query: str) -> None:
    """However few the turns are, and however much they look like prose, where less is needed."""
    answer = asked.memory.search(query, session=asked.long_session)
    assert answer.missing == ("qwxzv",)
    assert [(hit.weak, hit.why["answers"]) for hit in answer.hits] == [(True, 0.0)] * 3


def test_a_hit_leads_only_what_a_filter_lets_through(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turns that a filter leaves out may be nearer, and say nothing of those that it lets through:
    half of all rows are compared at once, and then not shown."""
    seen: list[Evidence] = []

    def judged(turns: Sequence[int], evidence: Evidence, least: float) -> list[Confidence]:
        seen.append(evidence)
        return confidences(turns, evidence, least)

    monkeypatch.setattr(hybrid, "confidences", judged)
    asked.memory.search(ANSWERED[0], agent="claude-code")
    (evidence,) = seen
    assert evidence.meaning is not None
    passing = [
        evidence.corpus.sessions[at].agent == "claude-code" for at in evidence.corpus.session
    ]
    assert np.isfinite(evidence.meaning).tolist() == passing
    assert 0.3 < sum(passing) / len(passing) < 1


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("why does the whatsapp worker fail on zanzibar", ("whatsapp", "zanzibar")),
        ("who repaired the kitchen sink in 1999", ("repaired", "kitchen", "sink")),
        ("what did the customer's bakery order", ("bakery",)),
    ],
)
def test_words_that_occur_nowhere_are_told(
    asked: Asked, question: str, missing: tuple[str, ...]
) -> None:
    """Where no hit is sure; not numbers, nor words that occur in another form."""
    answer = asked.memory.search(question)
    assert answer.weak and answer.missing == missing


def test_an_answer_that_is_sure_tells_of_no_missing_word(asked: Asked) -> None:
    """The word may be an aside."""
    answer = asked.memory.search("why was the email worker killed, in short and sans flourish")
    assert not answer.weak and answer.missing == ()


@pytest.mark.parametrize("query", ["lock_timeout", "LOCK_TIMEOUT", "lock_timeout tstzrange"])
def test_a_hit_with_the_identifier_that_was_asked_for_is_never_weak(
    asked: Asked, query: str
) -> None:
    """Whatever else the memory is about; one without it may be."""
    hits = asked.memory.search(query).hits
    for hit in hits:
        if all(name.lower() in hit.text.lower() for name in query.split()):
            assert not hit.weak
    assert any(query.split()[0].lower() in hit.text.lower() for hit in hits)


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_a_hit_is_weak_by_the_probability_that_is_shown(asked: Asked, mode: str) -> None:
    """And by nothing else, whatever it holds literally."""
    for query in ("lock_timeout", "lock_timeout tstzrange", "which Kafka topic has telemetry"):
        hits = asked.memory.search(query, mode=mode, n=20).hits
        assert all(hit.weak == (float(hit.why["answers"]) < 0.35) for hit in hits)


def test_lines_announce_that_nothing_is_close(asked: Asked) -> None:
    """Where only some hits are weak, these are marked instead."""
    first, *rest = search_lines(asked.memory.search("zzzzqqqq").to_dict())
    assert first == "Not sure: 'zzzzqqqq' is nowhere in memory. Nearest:"
    assert not any("weak" in line for line in rest)
    marked = asked.memory.search("why was the email worker killed").to_dict()
    heads = [line for line in search_lines(marked) if line.partition(".")[0].isdecimal()]
    assert ["  not sure  " in line for line in heads] == [hit["weak"] for hit in marked["hits"]]
    assert not marked["hits"][0]["weak"] and marked["hits"][-1]["weak"]


def test_a_name_that_the_turn_lacks_counts_against_it(asked: Asked) -> None:
    """The same word in lower case is only one more word that is not there."""
    told = [
        float(
            asked.memory.search(f"why was the email worker killed on {word}").hits[0].why["answers"]
        )
        for word in ("zanzibar", "Zanzibar")
    ]
    assert told[1] < told[0]
