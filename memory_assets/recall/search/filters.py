"""Which turns pass the filters of a request."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from memory_assets.errors import BadArgument
from memory_assets.recall.search.corpus import Corpus, Mask
from memory_assets.requests.search import SearchRequest
from memory_assets.stores.keyword_index.blocks import (
    BY_PROGRAM,
    facet_mark,
    file_name_mark,
    mark_term,
    tool_mark,
)
from memory_assets.stores.keyword_index.index import KeywordIndex


def allowed_turns(corpus: Corpus, request: SearchRequest) -> Mask | None:
    """Return a mask of the turns that pass all filters; None without filters."""
    masks: list[Mask] = []
    if wanted := request.of_session.items():
        passing = [
            all(getattr(key, name) == value for name, value in wanted) for key in corpus.sessions
        ]
        masks.append(np.array(passing, dtype=np.bool_)[corpus.session])
    if request.since is not None:
        masks.append(corpus.ts_epoch >= request.since.timestamp())
    if request.until is not None:
        before = corpus.ts_epoch < request.until.timestamp()
        masks.append(before & (corpus.ts_epoch > 0))  # 0 stands for a time that is not known
    if request.tool:
        masks.append(_turns_with_any(corpus, [mark_term(tool_mark(request.tool))]))
    if request.file:
        masks.append(_turns_with_any(corpus, _file_terms(corpus.index, request.file)))
    if not request.machine and request.session is None:
        asked_by_programs = _turns_with_any(corpus, [mark_term(BY_PROGRAM)])
        if asked_by_programs.any():
            masks.append(~asked_by_programs)
    for name, value in request.of_documents.items():
        masks.append(_turns_with_any(corpus, _facet_terms(corpus.index, name, value)))
    return np.logical_and.reduce(masks) if masks else None


def left_out(corpus: Corpus, request: SearchRequest) -> int:
    """Return the number of turns that pass all filters, but were started by a program."""
    if request.machine or request.session is not None:
        return 0
    allowed = allowed_turns(corpus, replace(request, machine=True))
    asked_by_programs = _turns_with_any(corpus, [mark_term(BY_PROGRAM)])
    return int((asked_by_programs if allowed is None else asked_by_programs & allowed).sum())


def _facet_terms(index: KeywordIndex, name: str, value: str) -> list[str]:
    """Return the term of a value that documents are filtered by.

    Raises:
        BadArgument: no document has it; lists what there is.
    """
    start = mark_term(facet_mark(name, ""))
    known = sorted(term.removeprefix(start) for term in index.terms_with(start))
    if value.lower() not in known:
        what = name.replace("_", " ")
        listed = ", ".join(known) or "none, run `memory index ROOT`"
        raise BadArgument(f"no document has the {what} {value!r}; there are: {listed}")
    return [mark_term(facet_mark(name, value))]


def _file_terms(index: KeywordIndex, file: str) -> list[str]:
    """Return the terms of the files of that name, or else of those in the directory of that
    name."""
    from memory_assets.chunking import touched_by

    named, any_file = mark_term(file_name_mark(file)), mark_term(file_name_mark(""))[:-1]
    for start in (named, any_file):
        terms = {term.rpartition("\x01")[2]: term for term in index.terms_with(start)}
        if paths := touched_by(terms, file):
            return [terms[path] for path in paths]
    return []


def files_beginning(index: KeywordIndex, name: str) -> list[str]:
    """Return the paths of the files that turns touched whose name begins so, in any case of the
    first letter, the shortest first."""
    starts = {name, name.lower(), name[:1].upper() + name[1:]}
    prefixes = [mark_term(file_name_mark(start))[:-1] for start in starts]
    terms = {term for prefix in prefixes for term in index.terms_with(prefix)}
    return sorted(
        {term.rpartition("\x01")[2] for term in terms}, key=lambda path: (len(path), path)
    )


def _turns_with_any(corpus: Corpus, terms: list[str]) -> Mask:
    mask = np.zeros(corpus.turns, dtype=np.bool_)
    for term in terms:
        where, _ = corpus.postings(term)
        mask[corpus.turn[where]] = True
    return mask
