"""The probability that a hit answers its question, and from which one on it counts as weak.

A logistic regression over three figures that are relative to the memory: `covered`, the share of
the question's words, weighted by rarity, in the hit's best passage (words that occur nowhere count
as the rarest); `cosine` of its nearest passage; `gap`, how far its score is above the tenth best.
Fitted on questions with a right first hit and on questions without an answer, asked of memories of
20 to 1,200 turns (docs/retrieval.md, "Nothing here answers this").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memory_assets.recall.search.corpus import Corpus, Floats

FIELD = 10
_UNKNOWN_GAP = 0.17
"""The gap of a hit among fewer than ten turns: what tells least."""


@dataclass(frozen=True)
class _Model:
    intercept: float
    covered: float
    gap: float
    cosine: float
    weak_below: float


_WITH_VECTORS = _Model(intercept=-7.95, covered=3.47, gap=12.87, cosine=8.74, weak_below=0.3)
_WORDS_ALONE = _Model(intercept=-4.30, covered=5.53, gap=7.33, cosine=0.0, weak_below=0.2)


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
    covered: Floats,
    cosines: Floats | None,
) -> list[Confidence]:
    """Return the confidence of each of these turns. `field` are the best turns by `scores`, at
    least ten if there are as many; `covered` and `cosines` (None without vectors) are by row."""
    model = _WORDS_ALONE if cosines is None else _WITH_VECTORS
    tenth = float(scores[field[FIELD - 1]]) if len(field) >= FIELD else None
    judged = []
    for turn in turns:
        start, stop = corpus.turn.searchsorted([turn, turn + 1])
        value = model.intercept + model.covered * float(covered[start:stop].max())
        value += model.gap * (_UNKNOWN_GAP if tenth is None else float(scores[turn]) - tenth)
        if cosines is not None:
            value += model.cosine * float(cosines[start:stop].max())
        probability = 1 / (1 + math.exp(-value))
        judged.append(Confidence(probability, probability < model.weak_below))
    return judged
