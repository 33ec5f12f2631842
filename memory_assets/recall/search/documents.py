"""What orders documents of workspaces besides words and meaning: the type of file that a question
names, the question's words in headings and paths, copies, which are one hit, and what documents
state of their subjects: who calls, consumes, publishes, reads, depends on or replaces what. A
question that asks for such a relation is answered by the section that says so, before those that
merely contain the name. Measured in benchmarks/notes/retrieval.md and workspace.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

import numpy as np

from memory_assets.documents import KIND_OF
from memory_assets.documents.embedded import written_by_program
from memory_assets.keywords import query_terms, text_terms
from memory_assets.recall.search.corpus import Corpus, Floats
from memory_assets.recall.search.ranking import best
from memory_assets.stores.keyword_index.blocks import facet_mark, mark_term
from memory_assets.stores.keyword_index.index import IndexedRow

POOL = 30
"""Chunks at the top whose headings and texts are looked at."""
NEAREST_CODE = 200
"""Chunks of code nearest in meaning whose cosines with each other are looked at."""
_NEIGHBOURS = 10
_NEAR_COPY_SHARE = 0.9
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


def type_scores(corpus: Corpus, query: str) -> Floats:
    """Return 1 for each chunk of a file of a type that a query names, else 0."""
    asked = query_terms(query).keys()
    scores = np.zeros(corpus.turns, dtype=np.float32)
    for name, terms in _type_terms().items():
        if terms & asked:
            rows, _ = corpus.postings(mark_term(facet_mark("file_type", name)))
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


def nearest_code(corpus: Corpus, meaning: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the `NEAREST_CODE` chunks of code with the highest scores by meaning, best first."""
    nearest = np.full(corpus.turns, -np.inf, dtype=np.float32)
    for name, kind in KIND_OF.items():
        if kind == "code":
            rows, _ = corpus.postings(mark_term(facet_mark("file_type", name)))
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
            near = of_prose and _are_near_copies(words, of_first)
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


def _are_near_copies(words: Sequence[str], others: Sequence[str]) -> bool:
    of_both = set(words) & set(others)
    return len(of_both) >= _NEAR_COPY_SHARE * len({*words, *others})


@cache
def _type_terms() -> dict[str, frozenset[str]]:
    return {name: frozenset(text_terms(words)) for name, words in _WORDS.items()}


_RELATIONS = {
    "consume receive subscribe listen handle": "consumer receiver subscriber listener inbound",
    "publish send emit produce raise": "publisher sender emitter producer outbound",
    "call invoke": "caller client consumer send outbound inbound",
    "read write": "reader writer",
    "depend rely require": "dependency upstream downstream",
    "supersede replace": "successor obsolete",
}
"""Words that ask for a relation, with other words that state it."""
_GENERIC_NOUNS = (
    "service event channel topic queue message system component application app screen container"
)
"""Words for the kind of the subject, which the answer need not contain."""
_MOST_CHUNKS = 30
"""Chunks that have a word of the relation and the most names, looked at beside the best ones."""
_CONTEXT_WEIGHT = 0.5
"""Weight of a statement whose file or heading alone has the word of the relation, or, unless the
question asks what the named subject does or what replaced it, the names."""
_SENTENCE_END = re.compile(r"(?<=[.;!?])\s+")
_KEY = re.compile(r"[^:]{1,120}:(?:\*\*)?\s*(?:#.*)?")
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s")


@dataclass(frozen=True)
class Relation:
    """What a question asks for: words of the relation, the names with how rare they are, and
    whether it asks what the named one does (`which events does X consume`)."""

    words: frozenset[str]
    names: Mapping[str, float]
    of_subject: bool

    def share(self, terms: set[str]) -> float:
        """Return the share of the names, weighted by rarity, that are among terms."""
        return sum(rarity for name, rarity in self.names.items() if name in terms) / sum(
            self.names.values()
        )


def asked_relation(query: str, rarities: Mapping[str, float]) -> Relation | None:
    """Return the relation that a question asks for, None if it asks for none or names nothing.
    `rarities`: the rarity of each of its terms (`KeywordScores.rarities`)."""
    asked = query_terms(query).keys()
    words = frozenset[str]().union(*(said for asking, said in _relations() if asking & asked))
    if not words:
        return None
    named = {_unpadded(term): rarity for term, rarity in rarities.items() if term not in words}
    names = {term: rarity for term, rarity in named.items() if term not in _nouns()} or named
    names = {term: max(rarity, 0.1) for term, rarity in names.items()}
    of_subject = not asked.isdisjoint({"do", *text_terms("supersede replace")})
    return Relation(words, names, of_subject) if names else None


def may_state(
    relation: Relation, corpus: Corpus, scores: Floats
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the chunks that have a word of the relation and most of the names, the best by these
    and by `scores` first; -inf of `scores` leaves one out."""
    has_relation = np.zeros(corpus.turns, dtype=np.bool_)
    for word in relation.words:
        rows, _ = corpus.postings(word)
        has_relation[corpus.turn[rows]] = True
    shares = np.zeros(corpus.turns, dtype=np.float32)
    for name, rarity in relation.names.items():
        widths = (2, 3, 4) if name.isdigit() else ()
        spellings = {name, *map(name.zfill, widths)}
        has_name = np.zeros(corpus.turns, dtype=np.bool_)
        for spelling in spellings:
            rows, _ = corpus.postings(spelling)
            has_name[corpus.turn[rows]] = True
        shares += np.float32(rarity) * has_name
    return best(np.where(has_relation & (shares > 0), scores + shares, -np.inf), _MOST_CHUNKS)


def relation_scores(rows: Sequence[IndexedRow | None], relation: Relation) -> Floats:
    """Return, by row, how much of the relation its best statement states, in [0, 1]; 0 for code."""
    scores = np.zeros(len(rows), dtype=np.float32)
    for at, row in enumerate(rows):
        if row is not None and row.metadata["kind"] != "code":
            columns = ("file_path", "section_heading", "file_type")
            context = _plain_terms("\n".join(str(row.metadata[name]) for name in columns))
            scores[at] = max(
                (_score(relation, statement, context) for statement in statements(str(row.text))),
                default=0.0,
            )
    return scores


def _score(relation: Relation, statement: set[str], context: set[str]) -> float:
    is_stated = not relation.words.isdisjoint(statement)
    if not is_stated and relation.words.isdisjoint(context):
        return 0.0
    share = relation.share(statement | context)
    if relation.names.keys().isdisjoint(statement) and not relation.of_subject:
        share *= _CONTEXT_WEIGHT
    return share if is_stated else _CONTEXT_WEIGHT * share


def statements(text: str) -> Iterator[set[str]]:
    """Yield the terms of each statement of a chunk, which is a sentence, or a line of a list, a
    table or a mapping, together with those of its context: the
    heading, the head of the table, and lines that end with a colon, as long as the lines below
    them are indented further or are items of their list."""
    heading, head = set[str](), set[str]()
    above: list[tuple[int, set[str]]] = []
    for line in text.splitlines():
        content = line.strip()
        if content.startswith("##"):
            heading, above = _plain_terms(content), []
        elif content.startswith("|"):
            head = head or _plain_terms(content)
            yield heading.union(head, *(terms for _, terms in above), _plain_terms(content))
        elif content:
            head, indent = set(), len(line) - len(line.lstrip())
            while above and above[-1][0] >= indent + bool(_ITEM.match(content)):
                above.pop()
            for sentence in _SENTENCE_END.split(content):
                yield heading.union(*(terms for _, terms in above), _plain_terms(sentence))
            if _KEY.fullmatch(content):
                above.append((indent, _plain_terms(content)))
        else:
            head = set()


def _plain_terms(text: str) -> set[str]:
    return set(map(_unpadded, text_terms(text)))


def _unpadded(term: str) -> str:
    """Return a number without the zeros before it: `0007` is 7."""
    return (term.lstrip("0") or term) if term.isdigit() else term


@cache
def _relations() -> list[tuple[frozenset[str], frozenset[str]]]:
    return [
        (frozenset(text_terms(asking)), frozenset(text_terms(f"{asking} {stating}")))
        for asking, stating in _RELATIONS.items()
    ]


@cache
def _nouns() -> frozenset[str]:
    return frozenset(text_terms(_GENERIC_NOUNS))
