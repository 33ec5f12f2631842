"""Score each turn for a question: by words, by meaning, or by both.

Every constant was measured; the ablation is in benchmarks/notes/retrieval.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from memory_assets.keywords import is_weak, text_terms
from memory_assets.recall.search.corpus import Corpus, Floats, Mask

_K1 = 0.9
"""The saturation of a word's count in BM25."""
_B = 0.4
"""The share of the normalization by length in BM25."""
_NEIGHBOUR_WEIGHT = 0.8
"""The words of a neighbouring turn count as the turn's own, weighted by `_NEIGHBOUR_WEIGHT` *
`_SHORT_TURN` / (`_SHORT_TURN` + its length): a short turn needs its context."""
_SHORT_TURN = 50.0
_PASSAGE_WEIGHT = 0.3
"""The share of a turn's score by words that its best passage decides, if it has several: words
that stand together say more than the same words scattered over a long turn."""
_TEMPERATURE = 0.05
_PROSE_WEIGHT, _SYMBOL_WEIGHT, _MOST_WEIGHT = 0.42, 50.0, 0.95
_LOOKED_AT = 20
_RAREST = 2
_NAME_SHARE, _FEWEST_EPISODES = 0.5, 5
_POSSESSIVE = re.compile(r"['’]s$")
_EDGES = ".,?!:;\"'()[]`"


@dataclass(frozen=True)
class KeywordScores:
    """BM25 as a share of the highest score that the question allows, in [0, 1]: by turn with its
    neighbours and its best passage, and by row alone. `covered`, by row: the share of the
    question's terms that the row contains, weighted by rarity, of all terms, those that occur
    nowhere included. `rarest`, by turn: the share that it has of the two rarest terms that occur
    and are no question words. `rarities`: how rare each term is that is no question word.
    `occurring`: the share of the question's terms, weighted by rarity, that occur at all."""

    turns: Floats
    rows: Floats
    covered: Floats
    rarest: Floats
    rarities: Mapping[str, float]
    occurring: float


def keyword_scores(corpus: Corpus, terms: Mapping[str, float], scope: slice) -> KeywordScores:
    """Score every turn by the terms of a question. Terms that occur nowhere do not count. The
    rarity of a term and the relative length of a turn are those among the turns in `scope`."""
    turns = np.zeros(corpus.turns, dtype=np.float32)
    rows = np.zeros(corpus.rows, dtype=np.float32)
    covered = np.zeros(corpus.rows, dtype=np.float32)
    turn_count = scope.stop - scope.start
    if not turn_count:
        return KeywordScores(turns, rows, covered, np.zeros_like(turns), {}, 0.0)
    share = _NEIGHBOUR_WEIGHT * _SHORT_TURN / (_SHORT_TURN + corpus.length)
    length = corpus.length + share * _sum_of_neighbours(corpus, corpus.length)
    norm = _K1 * (1 - _B + _B * length / max(float(length[scope].mean()), 1.0))
    highest = total_rarity = 0.0
    rarities: dict[str, float] = {}
    occurring: list[tuple[float, Floats]] = []
    for term, weight in terms.items():
        where, counts = corpus.postings(term)
        counts_by_turn = np.bincount(corpus.turn[where], counts, corpus.turns).astype(np.float32)
        with_term = int(np.count_nonzero(counts_by_turn[scope]))
        rarity = weight * math.log(1 + (turn_count - with_term + 0.5) / (with_term + 0.5))
        total_rarity += rarity
        if weight >= 1:
            rarities[term] = rarity
        if not with_term:
            continue
        covered[where] += rarity
        worth = rarity * (_K1 + 1)
        nearby = counts_by_turn + share * _sum_of_neighbours(corpus, counts_by_turn)
        turns += worth * nearby / (nearby + norm)
        rows[where] += worth * counts / (counts + norm[corpus.turn[where]])
        highest += worth
        if weight >= 1:
            occurring.append((rarity, counts_by_turn))
    occurring.sort(key=lambda scored: -scored[0])
    highest, total_rarity = max(highest, 1e-6), max(total_rarity, 1e-6)
    share_occurring = highest / (_K1 + 1) / total_rarity
    rarest = np.zeros_like(turns)
    for _, counts_by_turn in occurring[:_RAREST]:
        rarest += (counts_by_turn > 0) / np.float32(min(_RAREST, len(occurring)))
    passage_weight = np.where(corpus.passages > 1, np.float32(_PASSAGE_WEIGHT), np.float32(0))
    turns += passage_weight * (best_passages(corpus, rows) - turns)
    return KeywordScores(
        turns / highest, rows / highest, covered / total_rarity, rarest, rarities, share_occurring
    )


def worded_for_meaning(query: str, corpus: Corpus, scope: slice) -> str:
    """Return a question without names that occur in over half of the episodes in `scope`: they say
    nothing about the topic, and move the vector towards the person who speaks."""
    if corpus.episodes(scope) < _FEWEST_EPISODES:
        return query
    kept = []
    for word in query.split():
        name = _POSSESSIVE.sub("", word.strip(_EDGES))
        if _is_name(name) and _is_in_most_episodes(name, corpus, scope):
            continue
        kept.append(word)
    return " ".join(kept) or query


def meaning_scores(corpus: Corpus, similarities: Floats) -> Floats:
    """Score every turn by the cosines of its rows: about the highest one, a little more if several
    passages fit."""
    heat = np.exp(similarities / _TEMPERATURE)
    pooled = np.bincount(corpus.turn, heat, corpus.turns)
    spread = np.sqrt(np.maximum(corpus.passages, 1))
    scores: Floats = (_TEMPERATURE * np.log(pooled / spread)).astype(np.float32)
    return scores


def meaning_weight(corpus: Corpus, meaning: Floats, allowed: Mask | None) -> float:
    """Return the weight of meaning against words, by how much code is in the turns nearest in
    meaning: .42 for prose, .6 for talk about code, .95 for code, because questions about code use
    other words than the code."""
    if allowed is not None:
        meaning = np.where(allowed, meaning, -np.inf)
    looked_at = best(meaning, _LOOKED_AT)
    code = float(corpus.symbols[looked_at].mean()) if len(looked_at) else 0.0
    return min(_MOST_WEIGHT, _PROSE_WEIGHT + _SYMBOL_WEIGHT * code * code)


def best(scores: Floats, n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the indices of the `n` highest scores, best first, the earlier first among equals;
    scores of -inf are left out."""
    if n < len(scores):
        places = np.sort(np.argpartition(-scores, n - 1)[:n])
    else:
        places = np.arange(len(scores))
    places = places[np.isfinite(scores[places])]
    return places[np.argsort(-scores[places], kind="stable")]


def best_passages(corpus: Corpus, rows: Floats) -> Floats:
    """Return the highest value among the rows of each turn."""
    starts = np.cumsum(corpus.passages) - corpus.passages
    highest: Floats = np.maximum.reduceat(rows, starts)
    return highest


def _sum_of_neighbours(corpus: Corpus, values: Floats) -> Floats:
    """Return the sum of each turn's neighbours' values."""
    around = np.zeros_like(values)
    around[:-1] += values[1:] * corpus.linked
    around[1:] += values[:-1] * corpus.linked
    return around


def _is_name(word: str) -> bool:
    """Return True if a word looks like a name (`Mara`): no acronym, and not `Go`, which the index
    cannot tell from the verb."""
    return len(word) > 2 and word[0].isupper() and word[1:].islower() and not is_weak(word)


def _is_in_most_episodes(name: str, corpus: Corpus, scope: slice) -> bool:
    terms = list(text_terms(name))
    if len(terms) != 1:
        return False
    where, _ = corpus.postings(terms[0])
    if not len(where):
        return False
    turns = corpus.turn[where]
    episodes = corpus.episode[turns[(turns >= scope.start) & (turns < scope.stop)]]
    return len(np.unique(episodes)) > _NAME_SHARE * corpus.episodes(scope)
