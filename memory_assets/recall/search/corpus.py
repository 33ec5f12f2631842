"""The rows of the keyword index as arrays, which ranking computes with.

A corpus is all rows of one kind at one moment, in reading order, session after session. Rows are
grouped into turns (a prompt or summary is a turn of one or a few rows). It is kept between searches
and updated when the index has changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from memory_assets.errors import StoreMismatch
from memory_assets.http.model_endpoint import same_space
from memory_assets.stores.keyword_index.blocks import COLUMNS, unpack_postings
from memory_assets.stores.keyword_index.index import Block, IndexedRow, KeywordIndex

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Postings = tuple[Integers, Floats]

_EPISODE_TURNS = 12
_CACHED_TERMS = 1_000


@dataclass(frozen=True)
class SessionKey:
    """The project, agent and id of a turn's session."""

    project: str
    session_id: str
    agent: str


@dataclass(frozen=True)
class Corpus:
    """All rows of a kind. Arrays by turn: `session` and `episode` (numbers of its session, and of
    its stretch of at most 12 turns), `length` (terms), `symbols` (share of symbols), `ts_epoch` (0
    if unknown), `passages` (rows); `linked[i]` is True if turns i and i + 1 are neighbours in one
    session. Array by row: `turn`."""

    index: KeywordIndex
    generation: int
    blocks: Sequence[Block]
    bases: Integers
    sessions: Sequence[SessionKey]
    turn: Integers
    session: Integers
    episode: Integers
    linked: Mask
    length: Floats
    symbols: Floats
    ts_epoch: npt.NDArray[np.float64]
    passages: Integers
    base_of: Mapping[int, int]
    cached_postings: dict[str, Postings] = field(default_factory=dict)

    @property
    def turns(self) -> int:
        """The number of turns."""
        return len(self.session)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.turn)

    def scope(self, project: str | None) -> slice:
        """Return the slice of turns of a project (they are contiguous), or of all turns."""
        if project is None:
            return slice(0, self.turns)
        numbers = [at for at, key in enumerate(self.sessions) if key.project == project]
        if not numbers:
            return slice(0, 0)
        start, stop = np.searchsorted(self.session, [numbers[0], numbers[-1] + 1])
        return slice(int(start), int(stop))

    def episodes(self, scope: slice) -> int:
        """Return the number of episodes of the turns in `scope`."""
        if scope.stop <= scope.start:
            return 0
        return int(self.episode[scope.stop - 1] - self.episode[scope.start]) + 1

    def postings(self, term: str) -> Postings:
        """Return the rows that contain a term, and how often."""
        if term not in self.cached_postings:
            if len(self.cached_postings) >= _CACHED_TERMS:
                self.cached_postings.clear()
            places = [
                (self.base_of[block], blob)
                for block, blob in self.index.postings(term)
                if block in self.base_of
            ]
            self.cached_postings[term] = unpack_postings(
                [base for base, _ in places], [blob for _, blob in places]
            )
        return self.cached_postings[term]

    def rows_at(self, positions: Sequence[int]) -> list[IndexedRow | None]:
        """Return the stored texts and metadata of rows, with None for a row that was deleted."""
        within = np.searchsorted(self.bases, positions, side="right") - 1
        return self.index.rows(
            [
                (self.blocks[at].block, position - int(self.bases[at]))
                for at, position in zip(within.tolist(), positions, strict=True)
            ]
        )


class Corpora:
    """The corpora of one keyword index, each read when it is first used."""

    def __init__(self, index: KeywordIndex) -> None:
        self.index = index
        self._corpora: dict[str, Corpus] = {}
        self._vectors: dict[str, tuple[Corpus, Floats]] = {}

    def corpus(self, kind: str) -> Corpus:
        """Return the present rows of a kind; to be called within `index.reading()`."""
        corpus = self._corpora.get(kind)
        if corpus is None or corpus.generation != self.index.generation:
            corpus = self._corpora[kind] = _read_corpus(self.index, kind)
        return corpus

    def vectors(self, kind: str, embedder_id: str) -> Floats | None:
        """Return the vectors of a kind's rows (zeros for a row without one), or None if no row has
        one.

        Raises:
            StoreMismatch: an embedder of another family made them.
        """
        corpus = self.corpus(kind)
        before, cached = self._vectors.get(kind, (None, None))
        if before is corpus and cached is not None:
            return cached
        kept = {} if before is None else before.base_of
        new = [part.block for part in corpus.blocks if part.block not in kept]
        read = self.index.vectors(new)
        makers = {made_by for made_by, _ in read.values()}
        other = next((maker for maker in makers if not same_space(maker, embedder_id)), None)
        if other is not None:
            raise StoreMismatch(
                f"the vectors in memory were made by {other}, the settings ask for {embedder_id}. "
                "Set MEMORY_EMBEDDER back, or run `memory ingest`, which embeds everything again."
            )
        if not read and cached is None:
            return None
        width = cached.shape[1] if cached is not None else _width(corpus, read)
        matrix = np.zeros((corpus.rows, width), dtype=np.float32)
        ends = [*corpus.bases[1:].tolist(), corpus.rows]
        for part, start, end in zip(corpus.blocks, corpus.bases.tolist(), ends, strict=True):
            if part.block in kept and cached is not None:
                old = kept[part.block]
                matrix[start:end] = cached[old : old + end - start]
            elif part.block in read:
                data = np.frombuffer(read[part.block][1], dtype=np.float16)
                matrix[start:end] = data.reshape(end - start, width)
        self._vectors[kind] = (corpus, matrix)
        return matrix


def _read_corpus(index: KeywordIndex, kind: str) -> Corpus:
    """Return the corpus of a kind's blocks, which are in order of their sessions."""
    blocks = index.blocks(kind)
    joined = np.frombuffer(b"".join(block.columns for block in blocks), dtype=COLUMNS)
    sizes = np.array([len(block.columns) // COLUMNS.itemsize for block in blocks], dtype=np.int64)
    bases = np.concatenate(([0], np.cumsum(sizes)[:-1])) if len(blocks) else sizes
    sessions = list(
        dict.fromkeys(SessionKey(block.project, block.session_id, block.agent) for block in blocks)
    )
    numbers = {key: number for number, key in enumerate(sessions)}
    of_block = [
        numbers[SessionKey(block.project, block.session_id, block.agent)] for block in blocks
    ]
    session_of_row = np.repeat(np.array(of_block, dtype=np.int64), sizes)
    starts = _starts(session_of_row, joined["turn_index"])
    turn = np.cumsum(starts) - 1
    session = session_of_row[starts]
    turns = len(session)
    passages = np.bincount(turn, minlength=turns)
    symbols = np.bincount(turn, joined["symbols"], turns) / np.maximum(passages, 1)
    return Corpus(
        index=index,
        generation=index.generation,
        blocks=blocks,
        bases=bases.astype(np.int64),
        sessions=sessions,
        turn=turn,
        session=session,
        episode=_episodes(session),
        linked=session[1:] == session[:-1],
        length=np.bincount(turn, joined["length"], turns).astype(np.float32),
        symbols=symbols.astype(np.float32),
        ts_epoch=joined["ts_epoch"][starts],
        passages=passages,
        base_of={part.block: int(base) for part, base in zip(blocks, bases, strict=True)},
    )


def _starts(session_of_row: Integers, turn_index: npt.NDArray[np.int32]) -> Mask:
    starts = np.ones(len(session_of_row), dtype=np.bool_)
    starts[1:] = (session_of_row[1:] != session_of_row[:-1]) | (turn_index[1:] != turn_index[:-1])
    return starts


def _episodes(session: Integers) -> Integers:
    """Return the number of each turn's episode, a stretch of at most 12 turns: a long session has
    several topics."""
    if not len(session):
        return session
    first = np.ones(len(session), dtype=np.bool_)
    first[1:] = session[1:] != session[:-1]
    begins = np.flatnonzero(first)
    place = np.arange(len(session)) - np.repeat(begins, np.diff([*begins, len(session)]))
    return np.cumsum(first | (place % _EPISODE_TURNS == 0)) - 1


def _width(corpus: Corpus, read: Mapping[int, tuple[str, bytes]]) -> int:
    for part in corpus.blocks:
        if part.block in read:
            rows = len(part.columns) // COLUMNS.itemsize
            return len(read[part.block][1]) // 2 // rows
    return 0
