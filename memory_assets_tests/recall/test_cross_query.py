"""One call asks another collection and the sessions, if both are of one space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memory_assets.errors import ConfigurationError, NotFound, StoreMismatch
from memory_assets.recall.cross_query.cross_query import cross_query, shared_terms
from memory_assets.recall.cross_query.document_sources import other_collections
from memory_assets_tests.recall.conftest import CORPUS, DOCUMENTS, RETRIEVING, Asked, corpus_client

QUESTION = "why does a migration hang on staging"


def _random(dimension: int = 384) -> Any:
    return np.random.default_rng(7).standard_normal((len(DOCUMENTS), dimension)).astype(np.float32)


def test_a_question_gives_documents_sessions_and_where_they_meet(
    asked: Asked, corpus: Callable[..., str]
) -> None:
    """The corpus as its users have it: Chroma's default function, its default distance."""
    corpus()
    found = cross_query(asked.memory, QUESTION, n=3)
    assert found["collection"] == {
        "name": CORPUS,
        "embedder": "all-MiniLM-L6-v2",
        "evidence": "configuration",
    }
    assert found["documents"][0]["id"] == "harbor-api::docs/migrations.md::0"
    assert found["documents"][0]["metadata"]["source_repo_slug"] == "mara/harbor-api"
    alike = [each for each in found["sessions"] if "retrieved" not in each["why"]]
    assert alike[0]["session_id"].startswith("c27e5d90")
    meeting = next(each for each in found["overlap"] if not each["retrieved"])
    assert meeting["document"] == "harbor-api::docs/migrations.md::0"
    assert meeting["session_id"].startswith("c27e5d90")
    # Two turns of the session are all but equally like it (0.723 and 0.718): which comes
    # first depends on how a processor rounds in 8 bits. Both say these.
    assert {"alter", "queue", "staging"} <= set(meeting["shared_terms"])
    assert not any(
        each["document"].startswith("bakery") and not each["retrieved"] for each in found["overlap"]
    )


def test_similarities_are_those_of_the_vectors_whatever_the_distance(
    asked: Asked, corpus: Callable[..., str]
) -> None:
    """Squared Euclidean, cosine and inner product give one score."""
    query, *texts = asked.components.embedder.embed(
        [QUESTION, *(text for text, _ in DOCUMENTS.values())]
    )
    wanted = {name: float(query @ vector) for name, vector in zip(DOCUMENTS, texts, strict=True)}
    for space in ("l2", "cosine", "ip"):
        corpus(f"corpus-{space}", configuration={"hnsw": {"space": space}})
        found = cross_query(asked.memory, QUESTION, collection=f"corpus-{space}", n=3)
        scores = {document["id"]: document["score"] for document in found["documents"]}
        assert scores == pytest.approx(wanted, abs=2e-4)


def test_a_document_finds_the_sessions_that_say_the_same(
    asked: Asked, corpus: Callable[..., str]
) -> None:
    """By its id in the collection; no query is needed."""
    corpus()
    document = "harbor-api::docs/reports.md::0"
    found = cross_query(asked.memory, document=document)
    assert [each["id"] for each in found["documents"]] == [document]
    alike = [each for each in found["sessions"] if "retrieved" not in each["why"]]
    assert alike[0]["session_id"].startswith("3d0f6a52")
    assert {each["document"] for each in found["overlap"]} == {document}
    with pytest.raises(NotFound):
        cross_query(asked.memory, document="nobody::wrote.md::0")


def test_sessions_that_touched_a_documents_file_are_found_as_such(
    asked: Asked, corpus: Callable[..., str]
) -> None:
    """By the path in the document's metadata."""
    row, path = next(
        (row, name)
        for row in asked.rows("turn_chunks")
        for name in row["files"]
        if "/" in name and name.endswith(".py")
    )
    corpus()
    client = corpus_client(asked)
    client.get_collection(CORPUS, embedding_function=None).update(
        ids=["bakery::recipes/bread.md::0"], metadatas=[{"path": path}]
    )
    found = cross_query(asked.memory, document="bakery::recipes/bread.md::0")
    touched = {each["session_id"] for each in found["sessions"] if "touched" in each["why"]}
    assert row["session_id"] in touched
    assert next(each for each in found["overlap"] if not each["retrieved"])["touched"] == path


def test_each_side_can_be_asked_in_its_own_words(asked: Asked, corpus: Callable[..., str]) -> None:
    """The corpus by one question and the sessions by another; what one lacks is the other's."""
    corpus()
    found = cross_query(asked.memory, corpus_query="how long does dough rise", session_query="lamp")
    assert found["documents"][0]["id"] == "bakery::recipes/bread.md::0"
    assert found["sessions"][0]["session_id"] == RETRIEVING
    assert found["sessions"][1]["session_id"] == asked.long_session
    (same,) = {
        tuple(each["id"] for each in cross_query(asked.memory, **only)["documents"])
        for only in ({"query": QUESTION}, {"corpus_query": QUESTION}, {"session_query": QUESTION})
    }
    assert same[0] == "harbor-api::docs/migrations.md::0"


def test_sessions_are_narrowed_and_called_by_their_titles(
    asked: Asked, corpus: Callable[..., str]
) -> None:
    """By project, agent and time, turns that touched a document's file too; documents are not."""
    corpus()
    titles = {row["session_id"]: row["title"] for row in asked.rows("session_summaries")}
    everything = cross_query(asked.memory, QUESTION, n=50)
    assert {each["agent"] for each in everything["sessions"]} == {"claude-code", "codex", "pi"}
    assert all(each["title"] == titles[each["session_id"]] for each in everything["sessions"])
    given = {"agent": "claude-code", "since": "2026-02-01", "until": "2026-02-02T12:00:00Z"}
    found = cross_query(asked.memory, QUESTION, n=50, **given)
    assert [each["session_id"] for each in found["sessions"]] == [asked.long_session]
    assert found["documents"] == everything["documents"]
    assert found["filters"]["agent"] == "claude-code"
    with pytest.raises(ConfigurationError, match="exchange them"):
        cross_query(asked.memory, QUESTION, since="2026-02-02", until="2026-02-01")


def test_what_sessions_retrieved_is_on_record(asked: Asked) -> None:
    """Of every call its collection, ids and places, though what follows the ids is cut; no text."""
    reports, migrations, bread = DOCUMENTS
    rows = asked.rows("retrieved_documents")
    assert [(row["collection"], row["document"], row["rank"]) for row in rows] == [
        (CORPUS, migrations, 0),
        (CORPUS, reports, 1),
        (CORPUS, bread, 0),
        ("another", reports, 0),
    ]
    assert {row["turn_id"] for row in rows} == {f"session::{RETRIEVING}::turn::0"}
    assert len({row["id"] for row in rows}) == len(rows)


def test_a_document_names_the_sessions_that_retrieved_it(
    asked: Asked, corpus: Callable[..., str]
) -> None:
    """As a reason of its own, first, with the turn; a turn that is more similar comes after it."""
    corpus()
    bread = list(DOCUMENTS)[2]
    found = cross_query(asked.memory, document=bread)
    session, *others = found["sessions"]
    assert session["session_id"] == RETRIEVING and "retrieved" in session["why"]
    assert others and not any("retrieved" in each["why"] for each in others)
    assert session["turns"][0]["id"] == f"session::{RETRIEVING}::turn::0"
    first, *further = found["overlap"]
    assert (first["document"], first["session_id"], first["retrieved"]) == (bread, RETRIEVING, True)
    assert not any(each["retrieved"] for each in further)
    for nobody in ({"agent": "codex"}, {"until": "2026-02-01"}, {"session": asked.long_session}):
        found = cross_query(asked.memory, document=bread, **nobody)
        assert not any("retrieved" in each["why"] for each in found["sessions"])


def test_a_session_names_the_documents_that_it_retrieved(
    asked: Asked, corpus: Callable[..., str]
) -> None:
    """Without a query; of the collection that is asked. One that retrieved none has none."""
    corpus()
    found = cross_query(asked.memory, session=RETRIEVING[:8])
    reports, migrations, bread = DOCUMENTS
    assert {each["id"] for each in found["documents"]} == {reports, migrations, bread}
    assert {each["score"] for each in found["documents"]} == {None}
    assert [each["why"] for each in found["sessions"]] == [["retrieved"]]
    assert all(each["retrieved"] for each in found["overlap"]) and len(found["overlap"]) == 3
    none = cross_query(asked.memory, session=asked.long_session)
    assert not none["documents"] and not none["sessions"] and not none["overlap"]


def test_metadata_narrows_the_documents(asked: Asked, corpus: Callable[..., str]) -> None:
    """All that is asked for must hold."""
    corpus()
    where = {"source_repo_slug": "mara/harbor-api", "bucket": "docs"}
    found = cross_query(asked.memory, QUESTION, where=where)
    assert [each["id"] for each in found["documents"]] == ["harbor-api::docs/reports.md::0"]


@pytest.mark.parametrize(
    ("vectors", "made", "reason"),
    [
        (_random(), {"embedding_function": None}, "not known"),
        (_random(), {}, "another model"),
        (_random(8), {"embedding_function": None}, "8 numbers"),
        (
            _random(),
            {"embedding_function": None, "metadata": {"embedding_model": "bge-small-en"}},
            "bge-small-en",
        ),
    ],
)
def test_a_collection_of_another_space_is_refused_with_the_reason(
    asked: Asked, corpus: Callable[..., str], vectors: Any, made: dict[str, Any], reason: str
) -> None:
    """Whether it says so, says nothing, or says what is not so."""
    corpus(vectors=vectors, **made)
    with pytest.raises(StoreMismatch, match=reason):
        cross_query(asked.memory, QUESTION)


def test_the_users_word_counts_only_where_nothing_else_tells(
    asked: Asked, corpus: Callable[..., str]
) -> None:
    """Not against the collection's own."""
    corpus("unknown-corpus", vectors=_random(), embedding_function=None)
    found = cross_query(asked.memory, QUESTION, assume_same_embedder=True)
    assert found["collection"]["evidence"] == "assumed"
    named = {"embedding_model": "bge-small-en"}
    corpus("other-corpus", vectors=_random(), embedding_function=None, metadata=named)
    with pytest.raises(StoreMismatch):
        cross_query(asked.memory, QUESTION, collection="other-corpus", assume_same_embedder=True)


def test_vectors_that_are_ours_prove_a_collection_that_says_nothing(
    asked: Asked, corpus: Callable[..., str]
) -> None:
    """Its texts embedded again give the same."""
    corpus(embedding_function=None)
    assert cross_query(asked.memory, QUESTION)["collection"]["evidence"] == "vectors"


def test_which_collection_is_meant_must_be_clear(asked: Asked, corpus: Callable[..., str]) -> None:
    """One that is not ours may be left out; of several one has to be named."""
    with pytest.raises(ConfigurationError, match="none besides ours"):
        cross_query(asked.memory, QUESTION)
    for name in ("corpus-one", "corpus-two"):
        corpus(name)
    assert other_collections(asked.memory) == ["corpus-one", "corpus-two"]
    with pytest.raises(ConfigurationError, match="corpus-one, corpus-two"):
        cross_query(asked.memory, QUESTION)
    with pytest.raises(NotFound, match="no collection corpus-three; there are: corpus-one, corp"):
        cross_query(asked.memory, QUESTION, collection="corpus-three")
    with pytest.raises(
        ConfigurationError, match=r"holds sessions.*there are: corpus-one, corpus-t"
    ):
        cross_query(asked.memory, QUESTION, collection="claude-code-sessions")
    with pytest.raises(ConfigurationError):
        cross_query(asked.memory, "  ")


def test_shared_terms_are_the_particular_words_of_both() -> None:
    """Longest first, without everyday words."""
    assert shared_terms(
        "the lock_timeout was there when ALTER waits", "set lock_timeout; ALTER"
    ) == (
        "lock_timeout",
        "alter",
    )
