"""Favour documents of the type that a question names: "which endpoint" is asked of interfaces, "why
was it decided" of decision records. Measured in docs/retrieval.md."""

from __future__ import annotations

from functools import cache

import numpy as np

from memory_assets.keywords import query_terms, text_terms
from memory_assets.recall.search.corpus import Corpus, Floats
from memory_assets.stores.keyword_index.blocks import facet_mark, mark_term
from memory_assets.stores.keyword_index.index import KeywordIndex

_NAMED = 0.1
_CODE = "code class method function"
_WORDS = {
    "adr": "adr decision decide chose choose alternative",
    "openapi": "openapi api endpoint operation http rest",
    "asyncapi": "asyncapi channel event message",
    "java": f"java {_CODE}",
    "python": f"python {_CODE}",
    "typescript": f"typescript {_CODE}",
    "javascript": f"javascript {_CODE}",
    "go": f"golang {_CODE}",
    "rust": f"rust {_CODE}",
}


def type_scores(corpus: Corpus, index: KeywordIndex, query: str) -> Floats:
    """Return what is added to each chunk's score because a query names the type of its file."""
    asked = query_terms(query).keys()
    scores = np.zeros(corpus.turns, dtype=np.float32)
    for name, terms in _terms().items():
        if terms & asked:
            rows, _ = corpus.postings(index, mark_term(facet_mark("file_type", name)))
            scores[corpus.turn[rows]] = _NAMED
    return scores


@cache
def _terms() -> dict[str, frozenset[str]]:
    return {name: frozenset(text_terms(words)) for name, words in _WORDS.items()}
