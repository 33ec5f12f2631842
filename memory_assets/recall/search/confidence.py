"""The probability that a hit answers its question, and from which one on it counts as weak.

A logistic regression over figures that are relative to the memory: `covered`, the share of
the question's words, weighted by rarity, in the hit's best passage (words that occur nowhere count
as the rarest); `cosine` of its nearest passage; `gap`, how far its score is above the tenth best.
Against a hit count `rarest`, the share of the question's two rarest known words that it has: these
bring a turn to the top of any question; and its `length`, because a long turn has many words.
Fitted on questions with a right first hit and on questions without an answer, asked of memories of
20 to 1,100 turns (docs/retrieval.md, "Nothing here answers this").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memory_assets.recall.search.corpus import Corpus, Floats
from memory_assets.recall.search.ranking import KeywordScores

FIELD = 20
"""Turns that there must be for the tenth best to say how others do."""
_TENTH = 9
_UNKNOWN_GAP = 0.17
"""The gap of a hit among fewer turns: what tells least."""


_LONGEST = 2_000
"""Terms of a turn from which on length makes no difference."""


@dataclass(frozen=True)
class _Model:
    intercept: float
    covered: float
    gap: float
    cosine: float
    rarest: float
    length: float
    weak_below: float


_WITH_VECTORS = _Model(-7.48, 7.91, 15.36, 6.58, -1.35, -1.12e-3, weak_below=0.35)
_WORDS_ALONE = _Model(-4.46, 9.30, 8.40, 0.0, -1.38, -1.40e-3, weak_below=0.19)


@dataclass(frozen=True)
class Confidence:
    """How probable it is that a hit answers, and whether that makes it a weak one."""

    probability: float
    weak: bool


def confidences(
    turns: Sequence[int],
    field: Sequence[int],
    corpus: Corpus,
    scores: Floats,
    words: KeywordScores,
    cosines: Floats | None,
) -> list[Confidence]:
    """Return the confidence of each of these turns: none is above that of the best one, for which
    the model was fitted. `field` are the best turns by `scores`, at least `FIELD` if there are as
    many; `cosines` (None without vectors) are by row."""
    model = _WORDS_ALONE if cosines is None else _WITH_VECTORS
    tenth = float(scores[field[_TENTH]]) if len(field) >= FIELD else None

    def probability(turn: int) -> float:
        start, stop = corpus.turn.searchsorted([turn, turn + 1])
        value = model.intercept + model.covered * float(words.covered[start:stop].max())
        value += model.gap * (_UNKNOWN_GAP if tenth is None else float(scores[turn]) - tenth)
        value += model.rarest * float(words.rarest[turn])
        value += model.length * min(float(corpus.length[turn]), _LONGEST)
        if cosines is not None:
            value += model.cosine * float(cosines[start:stop].max())
        return 1 / (1 + math.exp(-value))

    most = max(map(probability, field[:1]), default=0.0)
    judged = (min(most, probability(turn)) for turn in turns)
    return [Confidence(each, each < model.weak_below) for each in judged]
