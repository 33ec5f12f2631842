"""Rows of the lake as rows of the keyword index: terms, marks to filter by, metadata."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_assets.keywords import (
    TERMS_VERSION,
    date_terms,
    identifier_terms,
    pasted_terms,
    shorter_terms,
    symbol_share,
    text_terms,
)
from memory_assets.pipeline.indexes import collection_rows
from memory_assets.pipeline.indexes.indexed_tables import IndexedTable
from memory_assets.redacted_text import RedactedText
from memory_assets.stores.keyword_index.blocks import (
    BY_PROGRAM,
    TERM_UNIT,
    KeywordRow,
    facet_mark,
    file_mark,
    row_hash,
    tool_mark,
)
from memory_assets.stores.vector_store import Metadata

Vector = npt.NDArray[np.float32]

FACETS = ("file_type", "service", "domain")
"""Columns of documents that a search can filter by."""
_FACTS = ("files", "commands", "errors")
"""Columns with what a turn did. Their terms count a quarter of those in the text, where the
digest has most of them already."""

_PASTED = {"error_lines": pasted_terms, "identifiers": identifier_terms}
"""Columns whose terms are apart from those of the text: they count only for a question that is
nearly all of them."""


@dataclass(frozen=True)
class LakeRow:
    """A row of a table with its redacted text, its vector if it has one, and the hash of all
    values that its row in the index is made from."""

    values: Mapping[str, Any]
    text: RedactedText
    metadata: Metadata
    vector: Vector | None
    hash: str


def lake_rows(
    index: IndexedTable,
    values: Sequence[Mapping[str, Any]],
    texts: Sequence[RedactedText],
    vectors: Mapping[str, Vector],
    embedder_id: str,
) -> list[LakeRow]:
    """Return a session's rows with their hashes, not yet split into terms."""
    rows = []
    for row, text in zip(values, texts, strict=True):
        vector = vectors.get(row["id"])
        made_by = embedder_id if vector is not None else ""
        metadata = collection_rows.metadata(index.kind, row, made_by)
        made_from = (
            TERMS_VERSION,
            row["id"],
            json.dumps(metadata, sort_keys=True),
            json.dumps([list(row.get(name, ())) for name in (*_FACTS, *_PASTED)]),
            made_by,
            *((BY_PROGRAM,) if row.get("by_program") else ()),
        )
        rows.append(LakeRow(row, text, metadata, vector, row_hash(*made_from)))
    return rows


def keyword_row(row: LakeRow, unit: int, time: str) -> KeywordRow:
    """Return a row as the index holds it; `unit` numbers the turn that it is a passage of,
    `time` is the column that says when it was.
    A turn's date and facts stand with its first passage."""
    said = Counter(text_terms(row.text))
    found_by = said + Counter(shorter_terms(row.text))
    terms = {term: count * TERM_UNIT for term, count in found_by.items()}
    part = int(row.values.get("part", 0))
    moment: datetime | None = row.values[time]
    marks: list[str] = []
    if part == 0:
        for term in date_terms(moment):
            terms[term] = terms.get(term, 0) + TERM_UNIT
        facts = (str(fact) for name in _FACTS for fact in row.values.get(name, ()))
        for term in {term for fact in facts for term in text_terms(fact)}:
            terms[term] = terms.get(term, 0) + 1
        for name, terms_of in _PASTED.items():
            for value in row.values.get(name, ()):
                terms |= dict.fromkeys(terms_of(str(value)), TERM_UNIT)
        marks = _marks(row.values)
    return KeywordRow(
        id=str(row.values["id"]),
        turn_index=unit,
        part=part,
        ts_epoch=moment.timestamp() if moment else 0.0,
        text=row.text,
        metadata=row.metadata,
        terms=terms,
        marks=marks,
        length=said.total(),
        symbols=symbol_share(row.text),
        vector=row.vector,
        row_hash=row.hash,
    )


def _marks(row: Mapping[str, Any]) -> list[str]:
    tools: Iterable[str] = row.get("tools_used", ())
    files: Iterable[str] = row.get("files", ())
    facets = (facet_mark(name, row[name]) for name in FACETS if row.get(name))
    marks = [*{tool_mark(tool) for tool in tools}, *{file_mark(path) for path in files}, *facets]
    return [*marks, BY_PROGRAM] if row.get("by_program") else marks
