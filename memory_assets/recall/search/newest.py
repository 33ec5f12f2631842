"""The newest turns that pass the filters of a search without a query: nothing is ranked, so neither
the model nor Chroma is needed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from memory_assets.recall.search.answer import Hit
from memory_assets.recall.search.corpus import Corpora
from memory_assets.recall.search.filters import allowed_turns
from memory_assets.recall.search.folding import with_summaries_last
from memory_assets.recall.search.hybrid import hit_ids
from memory_assets.requests.search import SearchRequest


def find_newest(request: SearchRequest, corpora: Corpora) -> list[Hit]:
    """Return the newest turns of all requested kinds, newest first, each with its first passage."""
    hits: list[Hit] = []
    with corpora.index.reading():
        for kind in request.kinds:
            corpus = corpora.corpus(kind)
            allowed = allowed_turns(corpus, corpora.index, request)
            turns = np.arange(corpus.turns) if allowed is None else np.flatnonzero(allowed)
            newest = turns[np.lexsort((-turns, -corpus.ts_epoch[turns]))][: request.n]
            places = np.searchsorted(corpus.turn, newest).tolist()
            for row in corpus.rows_at(corpora.index, places):
                if row is not None:
                    hits.append(Hit(*hit_ids(row), 0.0, row.text, row.metadata))
    return with_summaries_last(newest_first(hits))[: request.n]


def newest_first(hits: Iterable[Hit]) -> list[Hit]:
    """Return hits by time, those whose time is not known last."""
    return sorted(hits, key=lambda hit: -float(hit.metadata.get("ts_epoch") or 0.0))
