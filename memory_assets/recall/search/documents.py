"""What orders documents of workspaces besides words and meaning: the type of file that a question
names, the question's words in headings and paths, and copies, which are one hit. Measured in
benchmarks/notes/retrieval.md."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath

import numpy as np

from memory_assets.documents import KIND_OF
from memory_assets.documents.embedded import written_by_program
from memory_assets.keywords import query_terms, text_terms
from memory_assets.recall.search.corpus import Corpus, Floats
from memory_assets.recall.search.ranking import best
from memory_assets.stores.keyword_index.blocks import facet_mark, mark_term
from memory_assets.stores.keyword_index.index import IndexedRow, KeywordIndex

POOL = 30
"""Chunks at the top whose headings and texts are looked at."""
NEAREST_CODE = 200
"""Chunks of code nearest in meaning whose cosines with each other are looked at."""
_NEIGHBOURS = 10
_SAME = 0.9
_WORD = re.compile(r"\w+")
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
    """Return 1 for each chunk of a file of a type that a query names, else 0."""
    asked = query_terms(query).keys()
    scores = np.zeros(corpus.turns, dtype=np.float32)
    for name, terms in _terms().items():
        if terms & asked:
            rows, _ = corpus.postings(index, mark_term(facet_mark("file_type", name)))
            scores[corpus.turn[rows]] = 1
    return scores


def heading_scores(rows: Sequence[IndexedRow | None], rarities: Mapping[str, float]) -> Floats:
    """Return by row the share of the question's terms, weighted by rarity, that are in its heading
    and path; of code in its path alone, because the names in code are its text. One less for what
    a program wrote (patches, drawings, lock files), which repeats other files, unless its type is
    asked for."""
    asked = max(sum(rarities.values()), 1e-6)
    scores = np.zeros(len(rows), dtype=np.float32)
    for at, row in enumerate(rows):
        if row is not None:
            heading, path = row.metadata["section_heading"], str(row.metadata["file_path"])
            names = f"{path}\n{'' if row.metadata['kind'] == 'code' else heading}"
            named = rarities.keys() & set(text_terms(names))
            asked_for = {"patch", *text_terms(path.rpartition(".")[2])}
            repeats = written_by_program(path) and not rarities.keys() & asked_for
            scores[at] = sum(rarities[term] for term in named) / asked - repeats
    return scores


def nearest_code(
    corpus: Corpus, index: KeywordIndex, meaning: Floats
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the `NEAREST_CODE` chunks of code with the highest scores by meaning, best first."""
    nearest = np.full(corpus.turns, -np.inf, dtype=np.float32)
    for name, kind in KIND_OF.items():
        if kind == "code":
            rows, _ = corpus.postings(index, mark_term(facet_mark("file_type", name)))
            turns = corpus.turn[rows]
            nearest[turns] = meaning[turns]
    return best(nearest, NEAREST_CODE)


def hubness(vectors: Floats) -> Floats:
    """Return by vector, of those nearest to a question, the mean cosine with its ten nearest among
    them, less the mean of all. A hub, which is like many others, is near to any question about
    them; cross-domain similarity local scaling (CSLS) takes the same from a cosine."""
    if len(vectors) <= _NEIGHBOURS:
        return np.zeros(len(vectors), dtype=np.float32)
    cosines = np.stack([vectors @ vector for vector in vectors])  # at once BLAS would start threads
    np.fill_diagonal(cosines, -1)
    nearest = np.partition(cosines, -_NEIGHBOURS, axis=1)[:, -_NEIGHBOURS:].mean(axis=1)
    relative: Floats = nearest - nearest.mean()
    return relative


def without_copies(rows: Sequence[IndexedRow | None]) -> list[list[int]]:
    """Return the places of rows, those of copies with that of the first: rows under one heading
    with the same words in the same order; of prose, with nine tenths of their words in common; of
    an interface that stands beside itself in another format, all. Elsewhere in an interface or a
    setting one other word may be all the difference."""
    groups: list[list[int]] = []
    firsts: list[tuple[object, PurePosixPath, list[str]]] = []
    for at, row in enumerate(rows):
        if row is None:
            continue
        heading, words = row.metadata["section_heading"], _WORD.findall(row.text)
        of_prose = row.metadata["kind"] == "docs"
        path = PurePosixPath(str(row.metadata["file_path"]))
        in_formats = row.metadata["kind"] == "api"
        for group, (other, beside, of_first) in zip(groups, firsts, strict=True):
            near = of_prose and _near(words, of_first)
            twins = in_formats and path != beside and _stem(path) == _stem(beside)
            if heading == other and (words == of_first or near or twins):
                group.append(at)
                break
        else:
            groups.append([at])
            firsts.append((heading, path, words))
    return groups


def _stem(path: PurePosixPath) -> PurePosixPath:
    return path.parent / path.stem


def _near(words: Sequence[str], others: Sequence[str]) -> bool:
    of_both = set(words) & set(others)
    return len(of_both) >= _SAME * len({*words, *others})


@cache
def _terms() -> dict[str, frozenset[str]]:
    return {name: frozenset(text_terms(words)) for name, words in _WORDS.items()}
