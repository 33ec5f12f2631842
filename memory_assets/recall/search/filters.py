"""The turns that pass a request's filters. Filters are exact: every turn that passes is ranked."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from memory_assets.recall.search.answer import Answer
from memory_assets.recall.search.corpus import Corpus, Mask
from memory_assets.requests.search import SearchRequest
from memory_assets.stores.keyword_index.blocks import file_name_mark, mark_term, tool_mark
from memory_assets.stores.keyword_index.index import KeywordIndex


def allowed_turns(corpus: Corpus, index: KeywordIndex, request: SearchRequest) -> Mask | None:
    """Return a mask of the turns that pass all filters; None without filters."""
    masks: list[Mask] = []
    wanted = {
        "project": request.project,
        "session_id": request.session,
        "agent": request.agent,
    }
    asked = {name: value for name, value in wanted.items() if value is not None}
    if asked:
        of_session = np.array(
            [
                all(getattr(key, name) == value for name, value in asked.items())
                for key in corpus.sessions
            ],
            dtype=np.bool_,
        )
        masks.append(of_session[corpus.session])
    if request.since is not None:
        masks.append(corpus.ts_epoch >= request.since.timestamp())
    if request.until is not None:
        before = corpus.ts_epoch < request.until.timestamp()
        masks.append(before & (corpus.ts_epoch > 0))  # 0 stands for a time that is not known
    if request.tool:
        masks.append(_marked(corpus, index, [mark_term(tool_mark(request.tool))]))
    if request.file:
        from memory_assets.chunking import file_matches

        start = mark_term(file_name_mark(request.file))
        found = [
            term
            for term in index.terms_with(start)
            if file_matches(term.removeprefix(start), request.file)
        ]
        masks.append(_marked(corpus, index, found))
    return np.logical_and.reduce(masks) if masks else None


def within_window(answer: Answer, days: int) -> Answer:
    """Return the answer with only the hits of the last days, and the number of older ones."""
    since = time.time() - days * 86_400
    recent = tuple(
        hit for hit in answer.hits if float(hit.metadata.get("ts_epoch") or 0.0) >= since
    )
    return replace(answer, hits=recent, older=len(answer.hits) - len(recent))


def _marked(corpus: Corpus, index: KeywordIndex, terms: list[str]) -> Mask:
    mask = np.zeros(corpus.turns, dtype=np.bool_)
    for term in terms:
        where, _ = corpus.postings(index, term)
        mask[corpus.turn[where]] = True
    return mask
