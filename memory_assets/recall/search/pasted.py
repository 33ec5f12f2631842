"""Turns that contain a line which was pasted into the question: an error or a sentence, in tool
output or in prose, or an identifier in code.

A turn counts only if it has nearly all of a line, so that questions in prose are ranked as if
there were no tool output. Pairs of words are indexed of tool output alone; passages with nearly all
words of a line are read, to see whether these stand together there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Set
from functools import lru_cache

import numpy as np

from memory_assets.keywords import content_words, identifier_terms, pasted_terms, query_terms
from memory_assets.recall.search.corpus import Corpus, Floats
from memory_assets.recall.search.ranking import best

_NEARLY_ALL = 0.5
"""Share of a line's terms, weighted by rarity, from which on it is the same line with another
number or path: of 116 lines it was .6 or more, of 204 questions in prose at most .42."""
_FEWEST_PAIRS = 3
_READ_SHARE = 0.6
"""Share of a line's words, weighted by rarity, that a passage must have to be read."""
_SAID_SHARE = 0.65
"""Share of its pairs of words from which on the line was said in a passage."""
_MOST_PASSAGES = 10
"""Passages read for a line: those with most of its words."""
_WORTH = 0.9
"""Share of the score that a pasted line decides; the rest orders the turns that have it."""


def pasted_shares(corpus: Corpus, query: str, scope: slice, *, in_words: bool) -> Floats | None:
    """Return by turn the largest share of a line of the query that it contains in output, code or
    prose, 0 where that is too little; None if all are 0. The rarity of a term is that in `scope`.
    `in_words`: prose counts, too; not for documents, where a short question is as good as the
    heading of many."""
    shares = np.zeros(corpus.turns, dtype=np.float32)
    for line in query.splitlines():
        pairs, names = pasted_terms(line), identifier_terms(line)
        if names or len(pairs) >= _FEWEST_PAIRS:
            np.maximum(shares, _share_of_terms(corpus, pairs | names, scope), out=shares)
    shares[shares < _NEARLY_ALL] = 0
    for line in query.splitlines() if in_words else ():
        for row, share in _rows_with_line(corpus, line, scope):
            turn = corpus.turn[row]
            shares[turn] = max(shares[turn], share)
    return shares if shares.any() else None


def pasted_lines_first(scores: Floats, shares: Floats | None) -> Floats:
    """Return scores by turn in which the turns that have a pasted line stand first."""
    if shares is None:
        return scores
    lifted = _WORTH * shares + (1 - _WORTH) * np.maximum(scores, 0)
    return np.where(shares > 0, np.maximum(scores, lifted), scores).astype(np.float32)


def holds_literally(query: str, text: str) -> bool:
    """Return whether a text contains a line of the query word for word, or all identifiers of a
    line that has little else."""
    words = text.lower()
    for pairs, parts, names in _literal_lines(query):
        # Most texts lack a word, which is cheaper to see than all of their pairs.
        if pairs and all(part in words for part in parts) and pairs <= pasted_terms(text):
            return True
        if names and all(re.search(rf"\b{re.escape(name[1:])}\b", words) for name in names):
            return True
    return False


@lru_cache(maxsize=64)  # of one question by each hit
def _literal_lines(query: str) -> list[tuple[set[str], set[str], set[str]]]:
    """Return for each line its pairs of words, the words of these, and its identifiers; none where
    there are too few to tell."""
    lines = []
    for line in query.splitlines():
        pairs, names = pasted_terms(line), identifier_terms(line)
        pairs = pairs if len(pairs) >= _FEWEST_PAIRS else set()
        names = names if 2 * len(names) >= len(content_words(line)) else set()
        lines.append((pairs, {word for pair in pairs for word in pair[1:].split(" ")}, names))
    return lines


def _share_of_terms(corpus: Corpus, terms: Set[str], scope: slice) -> Floats:
    shares = np.zeros(corpus.turns, dtype=np.float32)
    occurring = sorted(corpus.index.occurring(terms))
    if len(occurring) < _NEARLY_ALL * len(terms):  # the others are as rare as can be
        return shares
    turn_count = scope.stop - scope.start
    total_rarity = (len(terms) - len(occurring)) * _rarity(0, turn_count)
    for term in occurring:
        where, _ = corpus.postings(term)
        turns = np.unique(corpus.turn[where])
        holding = int(np.count_nonzero((turns >= scope.start) & (turns < scope.stop)))
        rarity = _rarity(holding, turn_count)
        total_rarity += rarity
        shares[turns] += rarity
    return shares / max(total_rarity, 1e-6)


def _rows_with_line(corpus: Corpus, line: str, scope: slice) -> Iterator[tuple[int, float]]:
    """Yield the rows whose prose contains a line, with the share of its pairs of words."""
    pairs = pasted_terms(line)
    if len(pairs) < _FEWEST_PAIRS:
        return
    covered = np.zeros(corpus.rows, dtype=np.float32)
    total_rarity, turn_count = 0.0, scope.stop - scope.start
    for term, weight in query_terms(line).items():
        where, _ = corpus.postings(term)
        rarity = weight * _rarity(min(len(where), turn_count), turn_count)
        covered[where] += rarity
        total_rarity += rarity
    start, stop = corpus.turn.searchsorted([scope.start, scope.stop])
    enough = start + np.flatnonzero(covered[start:stop] >= _READ_SHARE * total_rarity)
    rows = enough[best(covered[enough], _MOST_PASSAGES)].tolist()
    for row, stored in zip(rows, corpus.rows_at(rows), strict=True):
        share = len(pairs & pasted_terms(stored.text)) / len(pairs) if stored else 0.0
        if share >= _SAID_SHARE:
            yield row, share


def _rarity(holding: int, turn_count: int) -> float:
    return math.log(1 + (turn_count - holding + 0.5) / (holding + 0.5))
