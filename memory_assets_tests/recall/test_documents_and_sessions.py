"""One call asks the documents of workspaces and the sessions: which sessions worked on a file, and
what is written where something was done."""

from __future__ import annotations

import numpy as np
import pytest

from memory_assets.errors import BadArgument, NotFound
from memory_assets.recall import Memory
from memory_assets.recall.cross_query.cross_query import cross_query
from memory_assets.recall.search.documents import heading_scores, hubness, without_copies
from memory_assets.redacted_text import compose
from memory_assets.serving.answer_lines import cross_query_lines, hit_lines
from memory_assets.stores.keyword_index.index import IndexedRow
from memory_assets_tests.recall.conftest import REPORT_DAYS, Asked

WRITER = "9a6b1f04-27d5-4c38-b0e9-f14d2a7c5e60"
"""The session that wrote the decision, in the clone of a user who is called mara."""
QUESTION = "which hours does a day of the report have when the clocks change"


def test_a_question_finds_documents_sessions_and_where_they_meet(documented: Memory) -> None:
    """No collection has to be named: the workspaces are the only documents."""
    found = cross_query(documented, QUESTION, n=3)
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
    lines = "\n".join(cross_query_lines(found))
    assert found["sessions"][0]["title"] in lines and "local midnights" in lines


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
        cross_query(asked.memory, QUESTION, collection="workspace")
    with pytest.raises(NotFound, match="run `memory index ROOT`"):
        asked.memory.search(QUESTION, kinds=("workspace",))


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


@pytest.mark.parametrize(
    ("row", "score"),
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
