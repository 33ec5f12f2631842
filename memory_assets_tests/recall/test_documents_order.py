"""What orders documents of a workspace besides words and meaning."""

from __future__ import annotations

import numpy as np
import pytest

from memory_assets.recall.search.documents import heading_scores, hubness, without_copies
from memory_assets.redacted_text import compose
from memory_assets.serving.answer_lines import hit_lines
from memory_assets.stores.keyword_index.index import IndexedRow

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
        (None, 0.0),
    ],
)
def test_a_heading_and_a_path_count_by_the_rare_words_they_have(
    row: IndexedRow | None, score: float
) -> None:
    """Of code the path alone; a patch is behind what it repeats."""
    assert heading_scores([row], RARITIES) == pytest.approx([score])


def test_a_patch_that_is_asked_for_is_not_set_back() -> None:
    """The question names it."""
    (score,) = heading_scores([_row("0001-orders.patch", "")], {**RARITIES, "patch": 4.0})
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


def test_what_is_like_many_others_is_a_hub() -> None:
    """Of twelve vectors of which eleven point one way, the one that points elsewhere is the least;
    the mean is 0. Of ten or fewer none is."""
    vectors = np.zeros((12, 3), dtype=np.float32)
    vectors[:11, 0] = vectors[11, 1] = 1
    relative = hubness(vectors)
    assert relative.argmin() == 11 and relative[0] == pytest.approx(1 / 12, abs=1e-6)
    assert relative.mean() == pytest.approx(0, abs=1e-6)
    assert not hubness(vectors[2:]).any() and not len(hubness(vectors[:0]))
