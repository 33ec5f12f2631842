"""What documents state of their subjects: who calls, consumes, publishes, reads, depends on or
replaces what. A question that asks for it is answered by the section that says so, before those
that merely contain the name.

A statement is a line of a list, a table or a mapping with what stands above it (heading, head of
the table, keys, the line that introduces the list), or a sentence, with the file's name. It states
a relation if it has a word of it, and what a question is worth is the share of its names in it.
Read when a question asks, of the chunks that may state it: nothing is stored. Measured in
benchmarks/notes/workspace.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from memory_assets.keywords import query_terms, text_terms
from memory_assets.recall.search.corpus import Corpus, Floats
from memory_assets.recall.search.ranking import best
from memory_assets.stores.keyword_index.index import IndexedRow, KeywordIndex

_RELATIONS = {
    "consume receive subscribe listen handle": "consumer receiver subscriber listener inbound",
    "publish send emit produce raise": "publisher sender emitter producer outbound",
    "call invoke": "caller client consumer send outbound inbound",
    "read write": "reader writer",
    "depend rely require": "dependency upstream downstream",
    "supersede replace": "successor obsolete",
}
"""Words that ask for a relation, with the others by which it is stated."""
_KINDS = (
    "service event channel topic queue message system component application app screen container"
)
"""Words for what is asked about, which need not be in what answers."""
_POOL = 30
"""Chunks that have a word of the relation and the most names, looked at beside the best ones."""
_ELSEWHERE = 0.5
"""What a statement counts where only its file or heading has the word of the relation, and where
only these have the names, unless the question asks what the named one does, or what replaced it."""
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
    `rarities`: how rare each of its terms is (`KeywordScores.rarities`)."""
    asked = query_terms(query).keys()
    words = frozenset[str]().union(*(said for asking, said in _words() if asking & asked))
    if not words:
        return None
    named = {_plain(term): rarity for term, rarity in rarities.items() if term not in words}
    names = {term: rarity for term, rarity in named.items() if term not in _kinds()} or named
    names = {term: max(rarity, 0.1) for term, rarity in names.items()}
    of_subject = not asked.isdisjoint({"do", *text_terms("supersede replace")})
    return Relation(words, names, of_subject) if names else None


def may_state(
    relation: Relation, corpus: Corpus, index: KeywordIndex, scores: Floats
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the chunks that have a word of the relation and most of the names, the best by these
    and by `scores` first; -inf of `scores` leaves one out."""
    stated = np.zeros(corpus.turns, dtype=np.bool_)
    for word in relation.words:
        rows, _ = corpus.postings(index, word)
        stated[corpus.turn[rows]] = True
    shares = np.zeros(corpus.turns, dtype=np.float32)
    for name, rarity in relation.names.items():
        spelled = {name, name.zfill(2), name.zfill(3), name.zfill(4)} if name.isdigit() else {name}
        held = np.zeros(corpus.turns, dtype=np.bool_)
        for spelling in spelled:
            rows, _ = corpus.postings(index, spelling)
            held[corpus.turn[rows]] = True
        shares += np.float32(rarity) * held
    return best(np.where(stated & (shares > 0), scores + shares, -np.inf), _POOL)


def relation_scores(rows: Sequence[IndexedRow | None], relation: Relation) -> Floats:
    """Return, by row, how much of the relation its best statement states, in [0, 1]; 0 for code."""
    scores = np.zeros(len(rows), dtype=np.float32)
    for at, row in enumerate(rows):
        if row is not None and row.metadata["kind"] != "code":
            said = ("file_path", "section_heading", "file_type")
            place = _terms("\n".join(str(row.metadata[name]) for name in said))
            scores[at] = max(
                (_worth(relation, statement, place) for statement in statements(str(row.text))),
                default=0.0,
            )
    return scores


def _worth(relation: Relation, statement: set[str], place: set[str]) -> float:
    says = not relation.words.isdisjoint(statement)
    if not says and relation.words.isdisjoint(place):
        return 0.0
    share = relation.share(statement | place)
    if relation.names.keys().isdisjoint(statement) and not relation.of_subject:
        share *= _ELSEWHERE
    return share if says else _ELSEWHERE * share


def statements(text: str) -> Iterator[set[str]]:
    """Yield the terms of each statement of a chunk, together with those of its context: the
    heading, the head of the table, and lines that end with a colon, as long as the lines below
    them are indented further or are items of their list."""
    heading, head = set[str](), set[str]()
    above: list[tuple[int, set[str]]] = []
    for line in text.splitlines():
        content = line.strip()
        if content.startswith("##"):
            heading, above = _terms(content), []
        elif content.startswith("|"):
            head = head or _terms(content)
            yield heading.union(head, *(terms for _, terms in above), _terms(content))
        elif content:
            head, indent = set(), len(line) - len(line.lstrip())
            while above and above[-1][0] >= indent + bool(_ITEM.match(content)):
                above.pop()
            for sentence in _SENTENCE_END.split(content):
                yield heading.union(*(terms for _, terms in above), _terms(sentence))
            if _KEY.fullmatch(content):
                above.append((indent, _terms(content)))
        else:
            head = set()


def _terms(text: str) -> set[str]:
    return set(map(_plain, text_terms(text)))


def _plain(term: str) -> str:
    """Return a number without the zeros before it: `0007` is 7."""
    return (term.lstrip("0") or term) if term.isdigit() else term


@cache
def _words() -> list[tuple[frozenset[str], frozenset[str]]]:
    return [
        (frozenset(text_terms(asking)), frozenset(text_terms(f"{asking} {stating}")))
        for asking, stating in _RELATIONS.items()
    ]


@cache
def _kinds() -> frozenset[str]:
    return frozenset(text_terms(_KINDS))
