"""One call asks another collection, or the documents of workspaces, and the sessions; if both are
of one space, it says which sessions worked on a file and where the two meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memory_assets.errors import BadArgument, ConfigurationError, NotFound, StoreMismatch
from memory_assets.recall import Memory
from memory_assets.recall.cross_query.cross_query import cross_query, shared_terms
from memory_assets.recall.cross_query.document_sources import other_collections
from memory_assets.recall.search.documents import heading_scores, hubness, without_copies
from memory_assets.redacted_text import compose
from memory_assets.serving.answer_lines import hit_lines
from memory_assets.serving.layout import Layout, cells
from memory_assets.serving.views import AgentText, Terminal, cross_query_view
from memory_assets.stores.keyword_index.index import IndexedRow
from memory_assets_tests.foreign_programs import chroma_client
from memory_assets_tests.recall.conftest import CORPUS, DOCUMENTS, REPORT_DAYS, RETRIEVING, Asked
from memory_assets_tests.sweep import sweep

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
        "evidence": "vectors",
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
    client = chroma_client(asked.memory.data_dir)
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


@pytest.mark.parametrize(("numbers", "reason"), [(384, "not those"), (8, "8 numbers")])
def test_a_collection_of_another_space_is_refused_with_the_reason(
    asked: Asked, corpus: Callable[..., str], numbers: int, reason: str
) -> None:
    """By its vectors, whatever it says of itself."""
    corpus(vectors=_random(numbers), metadata={"embedding_model": "all-MiniLM-L6-v2"})
    with pytest.raises(StoreMismatch, match=reason):
        cross_query(asked.memory, QUESTION)


def test_of_vectors_as_long_as_ours_the_user_may_say_that_they_are_ours(
    asked: Asked, corpus: Callable[..., str]
) -> None:
    """What is embedded may not be the text that is stored."""
    corpus(vectors=_random())
    found = cross_query(asked.memory, QUESTION, assume_same_embedder=True)
    assert found["collection"]["evidence"] == "assumed"


def test_which_collection_is_meant_must_be_clear(asked: Asked, corpus: Callable[..., str]) -> None:
    """One that is not ours may be left out; of several one has to be named."""
    with pytest.raises(ConfigurationError, match="only ours are there"):
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
    ) == ("lock_timeout", "alter")


WRITER = "9a6b1f04-27d5-4c38-b0e9-f14d2a7c5e60"
"""The session that wrote the decision, in the clone of a user who is called mara."""
ABOUT_HOURS = "which hours does a day of the report have when the clocks change"


def test_a_question_finds_documents_sessions_and_where_they_meet(documented: Memory) -> None:
    """No collection has to be named: the workspaces are the only documents."""
    found = cross_query(documented, ABOUT_HOURS, n=3)
    assert (found["collection"]["name"], found["collection"]["evidence"]) == (
        "workspace",
        "workspace",
    )
    best = found["documents"][0]
    assert best["id"].startswith(f"harbor-api::{REPORT_DAYS}::")
    assert best["metadata"]["file_type"] == "adr" and "clocks change" in best["text"]
    assert found["sessions"][0]["session_id"] == WRITER and found["sessions"][0]["title"]
    meeting = found["overlap"][0]
    assert meeting["session_id"] == WRITER and str(meeting["touched"]).endswith(REPORT_DAYS)
    lines = "\n".join(cross_query_view(AgentText(documented), found))
    assert found["sessions"][0]["title"] in lines and "local midnights" in lines


def test_an_answer_is_laid_out_for_a_terminal(documented: Memory) -> None:
    """Titles, short ids and names of projects, within its width; of many pairs the first five."""
    found = cross_query(documented, ABOUT_HOURS)
    lines = list(cross_query_view(Terminal(documented, Layout(80)), found))
    assert all(cells(line) < 80 for line in lines)
    text = " ".join(" ".join(lines).split())
    assert f"harbor-api · {WRITER[:8]}" in text and WRITER not in text
    assert len(found["overlap"]) > 5 and f"… {len(found['overlap'])} pairs in all" in text


@pytest.mark.parametrize(
    "name", [REPORT_DAYS, f"harbor-api::{REPORT_DAYS}", "0014-report-days-as-ranges.md"]
)
def test_a_file_names_the_sessions_that_touched_it(documented: Memory, name: str) -> None:
    """By its path, the end of it, or its id; in another clone too."""
    found = cross_query(documented, document=name)
    assert {each["metadata"]["file_path"] for each in found["documents"]} == {REPORT_DAYS}
    touched = {each["session_id"] for each in found["sessions"] if "touched" in each["why"]}
    assert touched == {WRITER}


def test_a_file_at_the_top_is_not_that_of_another_project(documented: Memory) -> None:
    """A session elsewhere edited a file of that name."""
    turns = documented.search("", file="Dockerfile").hits
    assert turns, "some session touched a Dockerfile"
    found = cross_query(documented, document="harbor-api::Dockerfile")
    assert not any("touched" in each["why"] for each in found["sessions"])


def test_each_side_is_asked_and_narrowed_by_itself(documented: Memory) -> None:
    """Documents by type, service and domain; sessions by agent and time."""
    found = cross_query(
        documented,
        corpus_query="send a letter",
        session_query="lighthouse",
        where={"service": "svc-mail"},
        since="2026-02-01",
        until="2026-02-03",
        agent="claude-code",
    )
    assert {each["metadata"]["service"] for each in found["documents"]} == {"svc-mail"}
    assert {turn["time"][:7] for each in found["sessions"] for turn in each["turns"]} == {"2026-02"}
    with pytest.raises(BadArgument, match="no bucket; known are: file_type, service, domain"):
        cross_query(documented, "letter", where={"bucket": "docs"})
    with pytest.raises(NotFound, match=r"nowhere\.md"):
        cross_query(documented, document="nowhere.md")


def test_without_documents_the_error_names_the_command(asked: Asked) -> None:
    """Nothing was indexed there."""
    with pytest.raises(NotFound, match="run `memory index ROOT`"):
        cross_query(asked.memory, ABOUT_HOURS, collection="workspace")
    with pytest.raises(NotFound, match="run `memory index ROOT`"):
        asked.memory.search(ABOUT_HOURS, kinds=("workspace",))


@pytest.mark.parametrize(
    "question, favoured",
    [
        ("why was a range decided for a day", "adr"),
        ("which method releases the memory of a letter", "python"),
        ("what is in the image", None),
    ],
)
def test_documents_of_the_type_that_a_question_names_are_favoured(
    documented: Memory, question: str, favoured: str | None
) -> None:
    """By a part of the score, which the hit shows, as it does what heading and path are worth; not
    by meaning alone."""
    hits = documented.search(question, kinds=("workspace",)).hits
    assert {hit.metadata["file_type"] for hit in hits} > {"adr", "python"}
    assert {hit.metadata["file_type"] for hit in hits if "type" in hit.why} == (
        {favoured} if favoured else set()
    )
    for hit in hits:
        weight = float(hit.why["meaning_weight"])
        both = weight * float(hit.why["meaning"]) + (1 - weight) * float(hit.why["words"])
        named = sum(float(hit.why.get(part, 0)) for part in ("type", "heading"))
        assert hit.score == pytest.approx(both + named, abs=0.01)
    semantic = documented.search(question, kinds=("workspace",), mode="semantic").hits
    assert not any({"type", "heading"} & hit.why.keys() for hit in semantic)


RARITIES = {"order": 3.0, "cancel": 1.0}


def _row(path: str, heading: str, text: str = "", kind: str = "docs") -> IndexedRow:
    metadata = {"file_path": path, "section_heading": heading, "kind": kind}
    return IndexedRow(f"harbor::{path}::0", compose(text), metadata)


@sweep(
    "row, score",
    [
        (_row("api.yaml", "DELETE /orders/{id} -- Cancel an order"), 1.0),
        (_row("docs/orders.md", "Why a queue"), 0.75),
        (_row("Orders.java", "Orders.cancel", kind="code"), 0.75),
        (_row("billing.md", "Invoices"), 0.0),
        (_row("0001-orders.patch", "0001-orders.patch"), -0.25),
        (_row("flows/orders.svg", "orders.svg"), -0.25),
        (None, 0.0),
    ],
)
def test_a_heading_and_a_path_count_by_the_rare_words_they_have(
    row: IndexedRow | None, score: float
) -> None:
    """Of code the path alone; a patch or a drawing is behind what it repeats."""
    assert heading_scores([row], RARITIES) == pytest.approx([score])


@pytest.mark.parametrize(("path", "word"), [("0001-orders.patch", "patch"), ("o.svg", "svg")])
def test_a_patch_or_drawing_that_is_asked_for_is_not_set_back(path: str, word: str) -> None:
    """The question names it."""
    (score,) = heading_scores([_row(path, "")], {**RARITIES, word: 4.0})
    assert score > 0


def test_copies_are_one_hit() -> None:
    """Under one heading, with a word in twenty changed; another heading or text is another hit."""
    text = " ".join(f"word{number}" for number in range(40))
    rows = [
        _row("a.md", "Decision", text),
        _row("b.md", "Decision", text.replace("word7 ", "changed ")),
        None,
        _row("c.md", "Context", text),
        _row("d.md", "Decision", text.replace("word", "other")),
        _row("e.md", "Decision", text),
    ]
    assert without_copies(rows) == [[0, 1, 5], [3], [4]]


def test_a_hit_names_its_first_copies_and_counts_the_others() -> None:
    """In the lines for people and agents."""
    hit = {
        **{"id": "harbor::a.md::0", "weak": False, "score": 0.5, "text": "..."},
        **{"file_path": "a.md", "line_start": 1, "line_end": 3, "section_heading": "Decision"},
    }
    (line, _) = hit_lines([{**hit, "copies": ["one", "two", "three", "four", "five"]}])
    assert line.endswith("a.md:1-3  Decision  (also one, two, three and 2 more)")
    (line, _) = hit_lines([hit])
    assert line.endswith("Decision")


def test_of_an_interface_only_the_same_words_are_a_copy() -> None:
    """Those of two services may differ in one word of many."""
    words = " ".join(f"word{number}" for number in range(40))
    texts = (words, words.replace("word7 ", "other "), words.replace(" ", "\n"))
    rows = [_row(f"{text}.yaml", "GET /health", text, kind="api") for text in texts]
    assert without_copies(rows) == [[0, 2], [1]]


def test_an_interface_in_two_formats_is_one_hit() -> None:
    """Passages of YAML and JSON have other lengths; parts of one long schema are hits each."""
    paths = ("api/pool.yaml", "api/pool.json", "api/pool.yaml", "api/gate.json")
    rows = [_row(path, "Schema: Site", f"part {path}{at}", "api") for at, path in enumerate(paths)]
    assert without_copies(rows) == [[0, 1], [2], [3]]


def test_what_is_like_many_others_is_a_hub() -> None:
    """Of twelve vectors of which eleven point one way, the one that points elsewhere is the least;
    the mean is 0. Of ten or fewer none is."""
    vectors = np.zeros((12, 3), dtype=np.float32)
    vectors[:11, 0] = vectors[11, 1] = 1
    relative = hubness(vectors)
    assert relative.argmin() == 11 and relative[0] == pytest.approx(1 / 12, abs=1e-6)
    assert relative.mean() == pytest.approx(0, abs=1e-6)
    assert not hubness(vectors[2:]).any() and not len(hubness(vectors[:0]))
