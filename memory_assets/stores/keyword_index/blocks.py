"""Rows of the keyword index, and blocks of them as bytes.

A block holds up to 64 consecutive rows of one session: small enough that a new turn
rewrites little, large enough that the commonest term has few entries to fetch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from memory_assets.redacted_text import RedactedText

BLOCK_ROWS = 64
TERM_UNIT = 4
"""Occurrences are counted in quarters, so that a term of a turn's facts (its files,
commands, errors) can weigh less than one of its text."""

COLUMNS = np.dtype(
    [
        ("turn_index", "<i4"),
        ("part", "<i4"),
        ("length", "<f4"),
        ("symbols", "<f4"),
        ("ts_epoch", "<f8"),
    ]
)
"""The columns that ranking reads of every row: turn and passage, terms, share of symbols, time
(0 if not known)."""
_POSTING = np.dtype([("row", "u1"), ("count", "u1")])


@dataclass(frozen=True)
class KeywordRow:
    """One row to index. `terms` counts terms in quarters (`TERM_UNIT`), `length` terms of
    the text; `marks` are exact values to filter by, such as `tool=Bash`."""

    id: str
    turn_index: int
    part: int
    ts_epoch: float
    text: RedactedText
    metadata: Mapping[str, str | int | float | bool]
    terms: Mapping[str, int]
    marks: Sequence[str]
    length: int
    symbols: float
    vector: npt.NDArray[np.float32] | None
    row_hash: str


def row_hash(*parts: str) -> str:
    """Return the hash of a row's parts."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def pack_columns(rows: Sequence[KeywordRow]) -> bytes:
    """Return the columns of a block's rows."""
    return np.array(
        [(row.turn_index, row.part, row.length, row.symbols, row.ts_epoch) for row in rows],
        dtype=COLUMNS,
    ).tobytes()


def pack_vectors(rows: Sequence[KeywordRow]) -> bytes | None:
    """Return the vectors of a block's rows as float16 (cosines change by less than 1e-4),
    zeros where a row has none; None if no row has any."""
    dimension = next((len(row.vector) for row in rows if row.vector is not None), 0)
    if not dimension:
        return None
    stacked = np.zeros((len(rows), dimension), dtype=np.float16)
    for at, row in enumerate(rows):
        if row.vector is not None:
            stacked[at] = row.vector
    return stacked.tobytes()


def pack_postings(rows: Sequence[KeywordRow]) -> dict[str, bytes]:
    """Return, for each term and mark of a block's rows, where it occurs and how often."""
    postings: dict[str, bytes] = {}
    for at, row in enumerate(rows):
        of_marks = dict.fromkeys(map(mark_term, row.marks), TERM_UNIT)
        for term, count in chain(row.terms.items(), of_marks.items()):
            place = bytes((at, count if count < 255 else 255))
            postings[term] = postings[term] + place if term in postings else place
    return postings


def unpack_postings(
    bases: Sequence[int], blobs: Sequence[bytes]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Return positions and occurrences of a term; `bases` says where each block begins."""
    if not blobs:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    joined = np.frombuffer(b"".join(blobs), dtype=_POSTING)
    sizes = np.fromiter((len(blob) // 2 for blob in blobs), np.int64, len(blobs))
    rows = joined["row"].astype(np.int64) + np.repeat(np.asarray(bases, np.int64), sizes)
    counts = joined["count"].astype(np.float32) / np.float32(TERM_UNIT)
    return rows, counts


BY_PROGRAM = "by=program"
"""The mark of a turn or a session in which a program asked, and no human."""


def mark_term(mark: str) -> str:
    """Return the term under which a mark is kept; no text yields such a term."""
    return f"\x01{mark}"


def tool_mark(tool: str) -> str:
    """Return the mark of a turn that called a tool."""
    return f"tool={tool.lower()}"


def facet_mark(name: str, value: str) -> str:
    """Return the mark of a row with this value in a column that is filtered by."""
    return f"{name}={value.lower()}"


def file_mark(path: str) -> str:
    """Return the mark of a turn that touched a file: its name, then its path, composed."""
    return f"{file_name_mark(path)}{normalize('NFC', path)}"


def file_name_mark(path: str) -> str:
    """Return the common prefix of the marks of all files of that name."""
    return f"file={normalize('NFC', path.rpartition('/')[2])}\x01"
