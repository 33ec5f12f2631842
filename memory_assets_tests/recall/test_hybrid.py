"""Words and meaning together, and what is answered when one of them is away."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from memory_assets.errors import NotFound, StoreError
from memory_assets.paths import project_slug
from memory_assets.pipeline.indexes import keywords
from memory_assets.pipeline.indexes.collections import rebuild
from memory_assets.pipeline.indexes.indexed_tables import INDEX_OF
from memory_assets.recall import Memory
from memory_assets.recall.search import search
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.recall.conftest import Asked, components_of
from memory_assets_tests.recall.worked import Call, Worked

QUESTION = "why does login loop in Safari"
SAFARI = "5c8e7a13"
MODES = ("hybrid", "semantic", "keyword")


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_finds_the_answer_and_says_that_nothing_is_missing(
    asked: Asked, mode: str
) -> None:
    """Neither degraded nor incomplete, with the passage's own text."""
    answer = asked.memory.search(QUESTION, mode=mode, n=3)
    assert SAFARI in answer.hits[0].id
    assert (answer.mode, answer.degraded, answer.reason) == (mode, None, None)
    assert answer.coverage.complete and answer.coverage.indexed > 0
    texts = {row["id"]: row["text"] for row in asked.rows("turn_chunks")}
    assert all(hit.text == texts[hit.id] for hit in answer.hits)


def test_a_hybrid_score_is_the_weighted_sum_of_what_the_hit_says_of_itself(asked: Asked) -> None:
    """`why` has both parts and the weight; the score can be computed from them."""
    for hit in asked.memory.search(QUESTION, n=5).hits:
        weight = float(hit.why["meaning_weight"])
        score = weight * float(hit.why["meaning"]) + (1 - weight) * float(hit.why["words"])
        assert hit.score == pytest.approx(score, abs=0.01)


def test_a_question_to_all_kinds_is_embedded_once(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind compares the same vector, as long as it leaves out no name."""
    embedded: list[str] = []
    real = asked.memory.embedder.embed

    def embed(texts: list[str]) -> Any:
        embedded.extend(texts)
        return real(texts)

    monkeypatch.setattr(asked.memory.embedder, "embed", embed)
    hits = asked.memory.search(QUESTION, kinds=("sessions", "prompts", "observations")).hits
    assert len(hits) > 3
    assert len(embedded) == len(set(embedded)) and QUESTION in embedded


def test_keyword_mode_needs_neither_chroma_nor_the_model(copied: Callable[..., Memory]) -> None:
    """Both are gone: the answer is the same, and nothing was started or loaded."""
    memory = copied()
    shutil.rmtree(memory.chroma_dir)
    assert SAFARI in memory.search(QUESTION, mode="keyword", n=1).hits[0].id
    assert "embedder" not in vars(memory)
    assert chroma_server.running(memory.data_dir) is None


def test_a_kind_with_one_of_the_words_does_not_crowd_out_one_with_all(documented: Memory) -> None:
    """By words alone, and in several kinds: of three short documents one has a single word of the
    question, sessions have all others. Within one kind scores are as ever."""
    words = f"{QUESTION} letter"
    both = documented.search(words, kinds=("sessions", "workspace"), mode="keyword").hits
    assert SAFARI in both[0].id
    (alone, *_) = documented.search(words, kinds=("workspace",), mode="keyword").hits
    (among,) = [hit for hit in both if hit.id == alone.id]
    assert among.score < alone.score / 2


def test_words_that_nothing_holds_find_nothing_by_keyword(asked: Asked) -> None:
    """By meaning there is always a nearest; by words there need not be any."""
    assert asked.memory.search("xylophone quokka", mode="keyword").hits == ()


@pytest.mark.parametrize("mode", MODES)
def test_filters_return_all_that_passes_in_every_mode(asked: Asked, mode: str) -> None:
    """A session's turns, all of them and no other, however badly they fit (by words: those
    that hold one)."""
    session = asked.long_session
    found = asked.memory.search("lighthouse", mode=mode, session=session, n=200)
    assert {hit.metadata["session_id"] for hit in found.hits} == {session}
    assert len(found.hits) == 3


def test_collections_that_are_gone_leave_keyword_search(copied: Callable[..., Memory]) -> None:
    """At once, marked, with the reason and the remedy; no empty store takes their place,
    which would hide the loss from `memory ingest`."""
    memory = copied()
    shutil.rmtree(memory.chroma_dir)
    answer = memory.search(QUESTION, n=3)
    assert SAFARI in answer.hits[0].id
    assert answer.degraded == "keyword-only"
    assert answer.reason is not None and "memory ingest" in answer.reason
    assert answer.to_dict()["degraded"] == "keyword-only"
    assert not memory.chroma_dir.exists()
    with pytest.raises(NotFound, match="memory ingest"):
        memory.search(QUESTION, mode="semantic")


def test_a_model_that_no_answer_needed_is_waited_for_at_the_end(
    copied: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread is no daemon: the interpreter kills those, and inside onnxruntime that aborts."""
    started: list[Thread] = []

    class Noted(Thread):
        def start(self) -> None:
            started.append(self)
            super().start()

    monkeypatch.setattr(search, "Thread", Noted)
    memory = copied(chroma_url="http://127.0.0.1:9")
    answer = memory.search(QUESTION, n=3)
    assert SAFARI in answer.hits[0].id and answer.degraded == "keyword-only"
    assert [thread.daemon for thread in started] == [False]


def test_while_a_collection_is_made_anew_answers_are_as_before(
    copied: Callable[..., Memory],
) -> None:
    """Just before the swap of `memory rebuild`: the keyword index has every vector."""
    memory = copied()
    components = components_of(memory)
    before = memory.search(QUESTION, n=3)
    amid = []
    put = components.vectors.replace

    def ask_then_put(name: str) -> None:
        amid.append(memory.search(QUESTION, n=3))
        put(name)

    components.vectors.replace = ask_then_put  # type: ignore[method-assign]
    rebuild(components, ["claude-code-sessions"])
    assert before.degraded is None
    assert amid == [before]


def test_a_collection_that_lacks_rows_does_not_narrow_the_answer(
    copied: Callable[..., Memory],
) -> None:
    """The index has all vectors: the answer is whole, and says what Chroma lacks."""
    memory = copied()
    before = memory.search(QUESTION, n=5)
    components = components_of(memory)
    for product in list(components.catalog.products.of_stage("session_collection"))[1:]:
        components.catalog.products.drop("session_collection", *product)
    after = memory.search(QUESTION, n=5)
    assert [(hit.id, hit.score) for hit in after.hits] == [
        (hit.id, hit.score) for hit in before.hits
    ]
    assert after.degraded is None and before.reason is None
    assert after.reason is not None and "Chroma holds" in after.reason


def test_without_an_embedder_words_answer(copied: Callable[..., Memory]) -> None:
    """MEMORY_EMBEDDER=none is a choice: search still answers, and says what it lacks."""
    answer = copied(embedder="none").search(QUESTION, n=1)
    assert SAFARI in answer.hits[0].id and answer.degraded == "keyword-only"


@pytest.mark.parametrize("damage", ["gone", "garbage", "empty"])
def test_a_keyword_index_that_is_away_is_an_error_that_says_what_to_do(
    copied: Callable[..., Memory], damage: str
) -> None:
    """Lost, damaged or not made yet. The next `memory ingest` makes it again, and the answer is
    whole."""
    memory = copied()
    path = memory.data_dir / "keywords.db"
    for leftover in path.parent.glob("keywords.db-*"):
        leftover.unlink()
    if damage == "gone":
        path.unlink()
    elif damage == "garbage":
        path.write_bytes(b"not a database at all" * 1_000)
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("DELETE FROM blocks")
            connection.commit()
    for mode in ("hybrid", "semantic", "keyword"):
        with pytest.raises((NotFound, StoreError), match="memory ingest"):
            memory.search(QUESTION, mode=mode)
    components = components_of(memory)
    for project in components.catalog.projects():
        if damage == "empty":
            for kind in INDEX_OF:
                for product in components.catalog.products.of_project(
                    keywords.stage_of(kind), project
                ):
                    components.catalog.products.drop(keywords.stage_of(kind), project, product)
        assert keywords.keywords_reason(components, project)
        keywords.index_keywords(components, project)
        assert not keywords.keywords_reason(components, project)
    assert memory.search(QUESTION, n=3).degraded is None


def test_an_open_memory_sees_what_was_added_since(copied: Callable[..., Memory]) -> None:
    """Rows that go and come while it is open: the next search has them, and no old ones."""
    memory = copied()
    before = memory.search(QUESTION, n=200)
    components = components_of(memory)
    session_id = before.hits[0].metadata["session_id"]
    project = before.hits[0].metadata["project"]
    keywords.forget_keywords(components, {(project, session_id)})
    assert session_id not in {
        hit.metadata["session_id"] for hit in memory.search(QUESTION, n=200).hits
    }
    keywords.index_keywords(components, project)
    after = memory.search(QUESTION, n=200)
    assert [hit.id for hit in after.hits] == [hit.id for hit in before.hits]
    assert [hit.score for hit in after.hits] == pytest.approx([hit.score for hit in before.hits])


def test_recent_hits_are_found_behind_older_ones(copied: Callable[..., Memory]) -> None:
    """The window is a filter of the search, not of its best hits. What is older is counted; without
    a window, nothing is cut off at all."""
    today = datetime.now(UTC)
    memory = copied(recent_days=max(1, (today - datetime(2026, 2, 2, tzinfo=UTC)).days))
    everything = memory.search("lighthouse", n=50)
    answer = memory.search("lighthouse", n=50, recent=True)
    recent = [hit.id for hit in answer.hits]
    ranked = [hit.id for hit in everything.hits]
    assert 0 < len(recent) < len(ranked) and everything.older == 0
    assert answer.to_dict()["older"] == answer.older == len(ranked) - len(recent)
    assert ranked.index(recent[-1]) >= len(recent)
    few = memory.search("lighthouse", n=len(recent), recent=True)
    assert [hit.id for hit in few.hits] == recent and few.older > 0
    assert memory.search("lighthouse", recent=True, until="2026-01-01").hits == ()


def test_searching_starts_no_server(copied: Callable[..., Memory]) -> None:
    """The index has the vectors: a cold search costs no second process."""
    memory = copied()
    assert memory.search(QUESTION, n=1).degraded is None
    assert chroma_server.running(memory.data_dir) is None
    assert any(memory.chroma_dir.iterdir())


def test_without_collections_the_vectors_of_the_index_answer(copied: Callable[..., Memory]) -> None:
    """VECTOR_BACKEND=none: with Chroma's directory gone a question is answered by meaning, to the
    same scores, and nothing is called missing."""
    before = copied().search(QUESTION, n=5)
    chroma_server.stop(copied().data_dir)
    shutil.rmtree(copied().data_dir / "chroma")
    memory = copied(vector_backend="none")
    answer = memory.search(QUESTION, n=5)
    assert [(hit.id, hit.score) for hit in answer.hits] == [
        (hit.id, hit.score) for hit in before.hits
    ]
    assert (answer.degraded, answer.reason) == (None, None)
    assert "meaning" in answer.hits[0].why
    covered = memory.status()["coverage"]["sessions"]
    assert covered["complete"] and covered["indexed"] == covered["rows"] > 0
    assert memory.status()["chroma"]["state"] == "none"


def test_without_collections_rows_that_lack_a_vector_are_told(
    copied: Callable[..., Memory],
) -> None:
    """An ingest that ended before its vectors: of the catalogue, or of the index."""
    memory = copied(vector_backend="none")
    with closing(sqlite3.connect(memory.data_dir / "keywords.db")) as index, index:
        index.execute("DELETE FROM vectors WHERE block = (SELECT MIN(block) FROM vectors)")
    reason = memory.search(QUESTION, n=5).reason
    assert reason is not None and "rows have a vector" in reason
    covered = memory.status()["coverage"].values()
    assert not all(each["complete"] for each in covered)


def test_a_turn_of_one_word_is_found_by_that_word_alone(tmp_path: Path) -> None:
    """Not by the words of the turn beside it, nor by its meaning, which it hardly has."""
    worked = Worked(tmp_path)
    asked = (Call(text="Paint the lamp of the pier red."), Call(text="hi"), Call(text="/"))
    worked.session("pier", *asked, cwd="/home/mara/code/pier")
    memory = worked.memory()
    keywords.index_keywords(components_of(memory), project_slug("/home/mara/code/pier"))

    def found(query: str) -> list[str]:
        return [hit.text for hit in memory.search(query).hits]

    assert found("lamp of the pier")[0] == "Paint the lamp of the pier red."
    assert not {"hi", "/"} & {*found("lamp of the pier")}
    assert "hi" in found("hi")
