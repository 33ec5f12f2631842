"""Turns whose tool output or code has what was pasted: an error line, or an identifier.

A turn counts only if it has nearly all of a line, so that questions in prose are ranked as if
there were no tool output.
"""

from __future__ import annotations

import math
from collections.abc import Set

import numpy as np

from memory_assets.keywords import identifier_terms, pasted_terms
from memory_assets.recall.search.corpus import Corpus, Floats
from memory_assets.stores.keyword_index.index import KeywordIndex

_NEARLY_ALL = 0.5
"""Share of a line's terms, weighted by rarity, from which on it is the same line with another
number or path: of 116 lines it was .6 or more, of 204 questions in prose at most .42."""
_FEWEST_PAIRS = 3
_WORTH = 0.9
"""Share of the score that a pasted line decides; the rest orders the turns that have it."""


def pasted_shares(corpus: Corpus, index: KeywordIndex, query: str, scope: slice) -> Floats | None:
    """Return by turn the share of the query's best line that its output or code has, 0 below
    `_NEARLY_ALL`; None if that is so for all turns. How rare a term is, is judged in `scope`."""
    shares = np.zeros(corpus.turns, dtype=np.float32)
    for line in query.splitlines():
        pairs, names = pasted_terms(line), identifier_terms(line)
        if names or len(pairs) >= _FEWEST_PAIRS:
            np.maximum(shares, _shares(corpus, index, pairs | names, scope), out=shares)
    shares[shares < _NEARLY_ALL] = 0
    return shares if shares.any() else None


def with_pasted(scores: Floats, shares: Floats | None) -> Floats:
    """Return scores by turn in which the turns that have a pasted line stand first."""
    if shares is None:
        return scores
    lifted = _WORTH * shares + (1 - _WORTH) * np.maximum(scores, 0)
    return np.where(shares > 0, np.maximum(scores, lifted), scores).astype(np.float32)


def _shares(corpus: Corpus, index: KeywordIndex, terms: Set[str], scope: slice) -> Floats:
    shares = np.zeros(corpus.turns, dtype=np.float32)
    occurring = sorted(index.occurring(terms))
    if len(occurring) < _NEARLY_ALL * len(terms):  # the others are as rare as can be
        return shares
    among = scope.stop - scope.start
    asked = (len(terms) - len(occurring)) * _rarity(0, among)
    for term in occurring:
        where, _ = corpus.postings(index, term)
        turns = np.unique(corpus.turn[where])
        found = int(np.count_nonzero((turns >= scope.start) & (turns < scope.stop)))
        rarity = _rarity(found, among)
        asked += rarity
        shares[turns] += rarity
    return shares / max(asked, 1e-6)


def _rarity(found: int, among: int) -> float:
    return math.log(1 + (among - found + 0.5) / (found + 0.5))
