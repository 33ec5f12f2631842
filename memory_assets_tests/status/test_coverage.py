"""What is told of how much can be found."""

from __future__ import annotations

from typing import Any

from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.status import in_words
from memory_assets.status.status import coverage


def _of(*, chunks: int, indexed: int, keywords: int, vectors: bool) -> dict[str, dict[str, Any]]:
    kind = SEARCH_KINDS["sessions"]
    rows = {kind.table: chunks, kind.asset: indexed, kind.keywords: keywords}
    stages = {name: {"rows": count} for name, count in rows.items()}
    return coverage(stages, quarantined=0, vectors=vectors)


def test_rows_without_vectors_can_be_found_by_words() -> None:
    """Where none are made that is all there is to do; where they are, it is half of it."""
    without = _of(chunks=32, indexed=0, keywords=32, vectors=False)
    assert without["sessions"]["complete"]
    ((well, line),) = in_words(without)
    assert well and "by its words; no vectors are made" in line
    ((well, line),) = in_words(_of(chunks=32, indexed=0, keywords=32, vectors=True))
    assert not well
    assert line.startswith("sessions: 32 of 32 rows can be found by their words, 0 by their mean")


def test_rows_without_words_are_missing_with_or_without_vectors() -> None:
    """What is in Chroma only is not found by its words."""
    assert not _of(chunks=3, indexed=3, keywords=2, vectors=True)["sessions"]["complete"]
    ((well, line),) = in_words(_of(chunks=3, indexed=3, keywords=2, vectors=False))
    assert (well, line) == (
        False,
        "sessions: 2 of 3 rows can be found by their words; run `memory ingest`",
    )


def test_all_of_it_is_told_in_one_line() -> None:
    """By words and by meaning."""
    told = list(in_words(_of(chunks=3, indexed=3, keywords=3, vectors=True)))
    assert told == [(True, "Everything on record can be found.")]
