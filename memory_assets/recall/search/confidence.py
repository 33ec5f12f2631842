"""The probability that a hit answers its question, and from which one on it counts as weak.

A logistic regression over figures that are relative to the memory. Fitted by
`benchmarks/weak_fit.py` on questions with a right first hit and on questions without an answer,
asked of memories of 20 to 1,100 turns (benchmarks/notes/retrieval.md, "Nothing here answers this").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from memory_assets.keywords import content_words, named_words, text_terms
from memory_assets.recall.search.corpus import Corpus, Floats
from memory_assets.recall.search.ranking import KeywordScores

SHOWN_DIGITS = 2
"""Of a probability; two that are shown as equal count as equal."""
FIELD = 20
"""Turns that there must be for them to say how others do."""
_TENTH = 9
_UNKNOWN_GAP, _UNKNOWN_LEAD = 0.17, 0.11
"""The gap and the lead of a hit among fewer turns: what tells least."""
_FEWEST_WORDS, _MOST_WORDS = 4, 10
"""Words of a question below and above which their number makes no difference."""
_SYMBOLS_OF_CODE = 0.053
"""The share of symbols from which on turns are no prose: talk about code has .065."""


@dataclass(frozen=True)
class _Model:
    """A logistic model: a weight for each figure, and the probability below which a hit is weak."""

    intercept: float
    weights: Mapping[str, float]
    weak_below: float

    def probability(self, figures: Mapping[str, float]) -> float:
        value = sum(weight * figures[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-self.intercept - value))


_WITH_VECTORS = _Model(
    -6.04,
    {
        "said": 0.859,
        "cosine": 3.79,
        "lead": 7.98,
        "gap": 6.35,
        "rarest": -0.479,
        "unnamed": -2.1,
        "prose": 2.76,
    },
    weak_below=0.35,
)
_WORDS_ALONE = _Model(
    -4.72,
    {"said": 1.15, "gap": 6.46, "rarest": -0.737, "unnamed": -1.76, "prose": 2.21},
    weak_below=0.18,
)


@dataclass(frozen=True)
class Confidence:
    """How probable it is that a hit answers, as it is shown, to the hundredth, and from which
    probability on that makes it none of the weak ones."""

    probability: float
    enough: float

    @property
    def weak(self) -> bool:
        """Whether a hit of this probability is weak: there is no other rule."""
        return self.probability < self.enough

    def made_sure(self) -> Confidence:
        """Return the confidence of a hit that holds literally what was asked for."""
        return Confidence(max(self.probability, self.enough), self.enough)


@dataclass(frozen=True)
class Evidence:
    """What is known of a question's best turns. `field` are the best ones by `scores`, at least
    `FIELD` if there are as many; `cosines` are by row, `meaning` by turn, -inf for those that no
    filter lets through; both are None without vectors."""

    question: str
    corpus: Corpus
    field: Sequence[int]
    scores: Floats
    words: KeywordScores
    cosines: Floats | None
    meaning: Floats | None

    @cached_property
    def _nearest(self) -> float | None:
        """The mean score of the turns nearest in meaning; None if there are too few."""
        if self.meaning is None or len(self.field) < FIELD:
            return None
        return float(np.partition(self.meaning, -FIELD)[-FIELD:].mean())

    def figures(self, turn: int) -> dict[str, float]:
        """Return the figures of a turn, by name.

        said: the share of the question's words, weighted by rarity, in its best passage (words
        that occur nowhere count as the rarest), times their number, because half of ten words
        are seldom there by chance, and half of three often.
        cosine: that of its nearest passage.
        lead: how far it is above the mean of the turns nearest in meaning.
        gap: how far its score is above the tenth best.
        rarest: the share of the question's two rarest known words that it has; these bring some
        turn to the top of any question.
        unnamed: 1 if the question has a name (a capitalised word, not its first) that neither
        the turn nor those beside it have.
        prose: how little code is in the best turns, from 0 to 1; short messages of prose are
        right with less.
        """
        corpus = self.corpus
        start, stop = corpus.turn.searchsorted([turn, turn + 1])
        covered = float(self.words.covered[start:stop].max())
        asked = len(content_words(self.question))
        tenth = float(self.scores[self.field[_TENTH]]) if len(self.field) >= FIELD else None
        symbols = float(corpus.symbols[list(self.field[:FIELD])].mean())
        names = named_words(self.question)
        return {
            "said": covered * min(max(asked, _FEWEST_WORDS), _MOST_WORDS),
            "cosine": 0.0 if self.cosines is None else float(self.cosines[start:stop].max()),
            "lead": self._lead(turn),
            "gap": _UNKNOWN_GAP if tenth is None else float(self.scores[turn]) - tenth,
            "rarest": float(self.words.rarest[turn]),
            "unnamed": float(not all(self._is_near(name, turn) for name in names)),
            "prose": max(0.0, 1 - (symbols / _SYMBOLS_OF_CODE) ** 2),
        }

    def _lead(self, turn: int) -> float:
        if self.meaning is None or self._nearest is None:
            return _UNKNOWN_LEAD
        return float(self.meaning[turn]) - self._nearest

    def _is_near(self, word: str, turn: int) -> bool:
        """Return True if a turn or one beside it has a term of a word."""
        linked = self.corpus.linked
        first = turn - 1 if turn and linked[turn - 1] else turn
        last = turn + 1 if turn < len(linked) and linked[turn] else turn
        start, stop = self.corpus.turn.searchsorted([first, last + 1])
        for term in text_terms(word):
            rows, _ = self.corpus.postings(term)
            if np.any((rows >= start) & (rows < stop)):
                return True
        return False


def confidences(turns: Sequence[int], evidence: Evidence, least: float = 0.0) -> list[Confidence]:
    """Return the confidence of each of these turns: none is above that of the best one, for which
    the model was fitted, and all are 0 if no word with content of the question occurs. If that of
    the best one is below `least`, it is the confidence of the first alone."""
    words = evidence.words
    occurs = words.rarest.any() or not words.rarities
    model = _WORDS_ALONE if evidence.cosines is None else _WITH_VECTORS

    def probability(turn: int) -> float:
        return model.probability(evidence.figures(turn))

    most = max(map(probability, evidence.field[:1] if occurs else ()), default=0.0)
    if round(most, SHOWN_DIGITS) < least:
        turns = turns[:1]
    judged = (round(min(most, probability(turn)), SHOWN_DIGITS) for turn in turns)
    return [Confidence(probable, model.weak_below) for probable in judged]


def not_judged(turns: Sequence[int]) -> list[Confidence]:
    """Return the confidence of turns for a question of which nothing is known."""
    return [Confidence(0.0, _WITH_VECTORS.weak_below)] * len(turns)
