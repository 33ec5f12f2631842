"""Search in the keyword index by words, by meaning, or by both, comparing all turns.

The question's vector is compared with every row's: at 100,000 rows that costs 13 ms, misses
nothing, and makes every filter exact. An approximate index with a filter took 57 to 217 ms
(docs/recall.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from memory_assets.keywords import query_terms
from memory_assets.recall.search.answer import Answer, Hit, with_summaries_last
from memory_assets.recall.search.confidence import (
    FIELD,
    Confidence,
    Evidence,
    confidences,
    not_judged,
)
from memory_assets.recall.search.corpus import Corpora, Corpus, Floats, Mask
from memory_assets.recall.search.documents import (
    POOL,
    asked_relation,
    heading_scores,
    hubness,
    may_state,
    nearest_code,
    relation_scores,
    type_scores,
    without_copies,
)
from memory_assets.recall.search.excerpts import best_sentences, lists_calls
from memory_assets.recall.search.filters import allowed_turns
from memory_assets.recall.search.pasted import holds_literally, pasted_lines_first, pasted_shares
from memory_assets.recall.search.ranking import (
    KeywordScores,
    best,
    best_passages,
    keyword_scores,
    meaning_scores,
    meaning_weight,
    worded_for_meaning,
)
from memory_assets.recall.search.spelling import (
    Vocabulary,
    corrections,
    in_english,
    missing_words,
    with_corrections,
)
from memory_assets.requests.search import SearchRequest
from memory_assets.stores.keyword_index.index import IndexedRow, KeywordIndex
from memory_assets.writing_systems import in_one_form

if TYPE_CHECKING:
    from datetime import datetime

    from memory_assets.embedding import Embedder

_GATHER_BELOW = 0.3
_DOCUMENT_WEIGHT = 0.1
"""Weight of a file type that the question names, and of its words in heading and path."""
_DOCUMENT_WEIGHT_BY_WORDS = 0.28
"""That weight in a search by words alone, which then count .72."""
_HITS_READ = 3
"""Hits whose other passages are read, too."""
_WORD_PASSAGES = 3
"""Passages of such a hit that are read because they have most words of the question."""
_LAST_PASSAGES = 3
"""Passages at the end of its turn that are read."""
_FIRST_PASSAGES = 3
"""Passages at the beginning of the turn of any hit that lists calls alone."""
_MIN_TERMS = 2
"""A turn of fewer terms is a hit only by a word of the question."""
_RELATION_WEIGHT = 0.3
"""Score of a chunk that states the relation which the question asks for."""
_HUB_WEIGHT = 0.1
"""The share of its hubness that is taken from code."""


def within_window(answer: Answer, begin: datetime) -> Answer:
    """Return the answer with only the hits from this time on, and the number of older ones."""
    since = begin.timestamp()
    recent = tuple(
        hit for hit in answer.hits if float(hit.metadata.get("ts_epoch") or 0.0) >= since
    )
    return replace(answer, hits=recent, older=len(answer.hits) - len(recent))


@dataclass(frozen=True)
class Outcome:
    """The best hits of all requested kinds, best first, whether vectors were compared, the words
    of the query that were replaced, and where no hit is sure, those that occur nowhere."""

    hits: tuple[Hit, ...]
    compared: bool
    corrected: dict[str, str]
    missing: tuple[str, ...]


def find(request: SearchRequest, corpora: Corpora, embedder: Embedder | None) -> Outcome:
    """Return what answers a request. Without `embedder`, hits are ranked by words alone.

    Raises:
        StoreMismatch: the vectors were made by another embedder.
    """
    hits: list[Hit] = []
    compared = embedder is not None
    with corpora.index.reading():
        pasted = {kind: _score_pasted_lines(request, kind, corpora) for kind in request.kinds}
        corrected: dict[str, str] = {}
        if all(shares is None for shares in pasted.values()):
            vocabulary = Vocabulary(corpora, request.kinds, request.project)
            if translated := in_english(request.query, vocabulary.knows):
                query, corrected = translated
                request = replace(request, query=query)
            elif corrected := corrections(plain := in_one_form(request.query), vocabulary):
                request = replace(request, query=with_corrections(plain, corrected))
        question = None if embedder is None else _Question(embedder)
        for kind in request.kinds:
            kind_hits, by_meaning = _find_kind(request, kind, corpora, question, pasted[kind])
            hits += kind_hits
            compared = compared and by_meaning
        hits = with_summaries_last(sorted(hits, key=lambda hit: (-hit.score, hit.id)))
        hits = hits[: request.n]
        unsure = all(hit.weak for hit in hits)
        missing = missing_words(request.query, corpora.index) if unsure else ()
    return Outcome(tuple(hits), compared, corrected, missing)


class _Question:
    """Embeds the wordings of a question, each once: that of most kinds is the same."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder_id = embedder.embedder_id
        self.vector = cache(lambda text: embedder.embed([text])[0])
        self.knows = cache(embedder.knows)


def _score_pasted_lines(request: SearchRequest, kind: str, corpora: Corpora) -> Floats | None:
    if request.mode == "semantic":
        return None
    corpus = corpora.corpus(kind)
    scope, in_words = corpus.scope(request.project), kind != "workspace"
    return pasted_shares(corpus, request.query, scope, in_words=in_words)


def _find_kind(
    request: SearchRequest,
    kind: str,
    corpora: Corpora,
    question: _Question | None,
    pasted: Floats | None,
) -> tuple[list[Hit], bool]:
    corpus = corpora.corpus(kind)
    if not corpus.turns:
        return [], True
    allowed = allowed_turns(corpus, request)
    vectors = corpora.vectors(kind, question.embedder_id) if question is not None else None
    scope = corpus.scope(request.project)
    words = keyword_scores(corpus, query_terms(request.query), scope)
    model_knows = question is None or question.knows(request.query)
    if question is None or vectors is None or not (model_knows or request.mode == "semantic"):
        ranking = judged_by = _rank_by_words(corpus, words, pasted)
        cosines = None
    else:
        wording = request.query
        if request.mode == "hybrid":
            wording = worded_for_meaning(wording, corpus, scope)
        cosines = _cosines(corpus, vectors, question.vector(wording), allowed)
        ranking = judged_by = _rank_by_both(corpus, words, cosines, allowed, pasted)
        if request.mode == "semantic":
            ranking = _rank_by_meaning(corpus, words, cosines)
    copies: Mapping[int, Sequence[str]] = {}
    if kind == "workspace":
        before = ranking
        if request.mode == "hybrid" and vectors is not None:
            ranking = _demote_hubs(ranking, vectors, allowed)
        ranking, copies = _rank_documents(request, ranking, words, allowed)
        judged_by = ranking if judged_by is before else judged_by
    scores = _mask_scores(allowed, ranking.scores)
    nearest = best(scores, max(request.n, FIELD)).tolist()
    if kind == "workspace":
        turns = list(copies)[: request.n]
    else:
        content = _mask_scores(_turns_with_content(corpus, words), scores)
        turns = best(content, request.n).tolist() or nearest[: request.n]
    verdicts: Sequence[Confidence | None] = [None] * len(turns)
    if request.query.strip():  # filters alone ask nothing that could be left unanswered
        if judged_by is not ranking:
            nearest = best(_mask_scores(allowed, judged_by.scores), FIELD).tolist()
        meaning = None if judged_by.meaning is None else _mask_scores(allowed, judged_by.meaning)
        evidence = Evidence(
            request.query, corpus, nearest, judged_by.scores, words, cosines, meaning
        )
        can_judge = model_knows or cosines is None
        judged = confidences(turns, evidence, request.least) if can_judge else not_judged(turns)
        turns = turns[: len(judged)]
        verdicts = _sure_if_pasted(turns, judged, pasted)
    # By meaning alone a turn is shown by its nearest passage, documents by their chunks.
    excerpt_query = "" if request.mode == "semantic" or copies else request.query
    hits = _hits(turns, verdicts, ranking, copies, excerpt_query)
    hits = [_sure_if_literal(hit, request.query, verdicts) for hit in hits]
    if ranking.meaning is None and pasted is None and len(request.kinds) > 1:
        # A kind with one of the question's words is not the equal of one with all of them.
        hits = [replace(hit, score=hit.score * words.occurring) for hit in hits]
    return hits, vectors is not None


def _sure_if_pasted(
    turns: Sequence[int], verdicts: Sequence[Confidence], pasted: Floats | None
) -> Sequence[Confidence]:
    """Return the verdicts on turns, those sure that hold a pasted line."""
    if pasted is None:
        return verdicts
    return [
        verdict.made_sure() if pasted[turn] else verdict
        for turn, verdict in zip(turns, verdicts, strict=True)
    ]


def _turns_with_content(corpus: Corpus, words: KeywordScores) -> Mask:
    """Return which turns can be hits: those of more than one word, unlike "/" or "hi", or of one
    that is asked for."""
    has_asked_word = best_passages(corpus, words.covered) > 0
    return has_asked_word | (corpus.length >= _MIN_TERMS)


def _mask_scores(allowed: Mask | None, scores: Floats) -> Floats:
    return scores if allowed is None else np.where(allowed, scores, -np.inf)


@dataclass(frozen=True)
class _Ranking:
    """Scores of a corpus by turn and by row, and the parts of each turn's score: by words, by
    meaning (None where the mode does not use it), and what else counts, by the name that a hit
    shows it under."""

    corpus: Corpus
    scores: Floats
    rows: Floats
    words: Floats
    meaning: Floats | None = None
    weight: float | None = None
    also: Mapping[str, Floats] = field(default_factory=dict)

    def why(self, turn: int) -> dict[str, float | str]:
        """Return the parts of a turn's score that are not 0; words and meaning in any case."""
        parts = {"words": float(self.words[turn])}
        if self.meaning is not None and self.weight is not None:
            parts |= {"meaning": float(self.meaning[turn]), "meaning_weight": round(self.weight, 2)}
        parts |= {name: float(part[turn]) for name, part in self.also.items() if part[turn]}
        return {name: round(part, 4) for name, part in parts.items()}

    def plus(self, **parts: Floats) -> _Ranking:
        """Return the ranking with these parts added to its scores."""
        scores = sum(parts.values(), self.scores)
        return replace(self, scores=scores, also={**self.also, **parts})

    def best_rows(self, turns: Sequence[int]) -> list[int]:
        """Return the row of the best passage of each turn."""
        starts: list[int] = np.searchsorted(self.corpus.turn, turns).tolist()
        return [
            start + int(np.argmax(self.rows[start : start + int(self.corpus.passages[turn])]))
            for turn, start in zip(turns, starts, strict=True)
        ]


def _pasted_scores(pasted: Floats | None) -> dict[str, Floats]:
    return {} if pasted is None else {"pasted": pasted}


def _rank_by_words(corpus: Corpus, words: KeywordScores, pasted: Floats | None) -> _Ranking:
    scores = pasted_lines_first(np.where(words.turns > 0, words.turns, -np.inf), pasted)
    also = _pasted_scores(pasted)
    return _Ranking(corpus, scores.astype(np.float32), words.rows, words.turns, also=also)


def _rank_by_meaning(corpus: Corpus, words: KeywordScores, cosines: Floats) -> _Ranking:
    nearest = np.full(corpus.turns, -1.0, dtype=np.float32)
    np.maximum.at(nearest, corpus.turn, cosines)
    return _Ranking(corpus, nearest, cosines, words.turns, nearest, 1.0)


def _rank_by_both(
    corpus: Corpus,
    words: KeywordScores,
    cosines: Floats,
    allowed: Mask | None,
    pasted: Floats | None,
) -> _Ranking:
    meaning = meaning_scores(corpus, cosines)
    weight = meaning_weight(corpus, meaning, allowed)
    return _Ranking(
        corpus,
        pasted_lines_first(weight * meaning + (1 - weight) * words.turns, pasted),
        weight * cosines + (1 - weight) * words.rows,
        words.turns,
        meaning,
        weight,
        _pasted_scores(pasted),
    )


def _demote_hubs(ranking: _Ranking, vectors: Floats, allowed: Mask | None) -> _Ranking:
    """Return a ranking that lowers code which is similar to much other code near the question, and
    raises code which is similar to little of it."""
    if ranking.meaning is None or ranking.weight is None:
        return ranking
    turns = nearest_code(ranking.corpus, _mask_scores(allowed, ranking.meaning))
    relative = hubness(vectors[ranking.best_rows(turns.tolist())])
    of_hubs = np.zeros(ranking.corpus.turns, dtype=np.float32)
    of_hubs[turns] = -_HUB_WEIGHT * ranking.weight * relative
    return ranking.plus(hubness=of_hubs)


def _rank_documents(
    request: SearchRequest,
    ranking: _Ranking,
    words: KeywordScores,
    allowed: Mask | None,
) -> tuple[_Ranking, dict[int, list[str]]]:
    """Return a ranking of documents, unless by meaning alone also by type, heading and path; and
    the best chunks, best first, with the ids of their copies."""
    corpus = ranking.corpus
    if request.mode != "semantic":
        share = _DOCUMENT_WEIGHT if ranking.meaning is not None else _DOCUMENT_WEIGHT_BY_WORDS
        of_types = share * type_scores(corpus, request.query)
        scores = ranking.scores if ranking.meaning is not None else (1 - share) * ranking.scores
        ranking = replace(ranking, scores=scores).plus(type=of_types)
    among = _mask_scores(allowed, ranking.scores)
    turns = best(among, max(POOL, 3 * request.n))
    relation = asked_relation(request.query, words.rarities) if request.mode != "semantic" else None
    if relation is not None:
        also = may_state(relation, corpus, among)
        turns = np.concatenate([turns, also[~np.isin(also, turns)]])
    rows = corpus.rows_at(ranking.best_rows(turns.tolist()))
    if request.mode != "semantic":
        of_headings = np.zeros(corpus.turns, dtype=np.float32)
        of_headings[turns] = share * heading_scores(rows, words.rarities)
        of_relations = np.zeros(corpus.turns, dtype=np.float32)
        if relation is not None:
            of_relations[turns] = _RELATION_WEIGHT * relation_scores(rows, relation)
        ranking = ranking.plus(heading=of_headings, relation=of_relations)
        order = np.argsort(-ranking.scores[turns], kind="stable")
        turns, rows = turns[order], [rows[at] for at in order]
    return ranking, {
        int(turns[first]): [hit_ids(row)[0] for row in map(rows.__getitem__, others) if row]
        for first, *others in without_copies(rows)
    }


def _cosines(corpus: Corpus, vectors: Floats, vector: Floats, allowed: Mask | None) -> Floats:
    """Return each row's cosine with the question. If few turns are allowed, only theirs are
    computed and the others are -1."""
    if allowed is None:
        return _dot_products(vectors, vector)
    rows = np.flatnonzero(allowed[corpus.turn])
    if len(rows) > _GATHER_BELOW * corpus.rows:
        return _dot_products(vectors, vector)
    cosines = np.full(corpus.rows, -1.0, dtype=np.float32)
    cosines[rows] = _dot_products(vectors[rows], vector)
    return cosines


def _dot_products(vectors: Floats, vector: Floats) -> Floats:
    """Return the dot products, on one thread: 7 ms of CPU at 100,000 rows, where BLAS takes
    13 on one thread and 30 on two of a busy machine, which wait for each other."""
    products: Floats = np.einsum("ij,j->i", vectors, vector)
    return products


def _hits(
    turns: Sequence[int],
    verdicts: Sequence[Confidence | None],
    ranking: _Ranking,
    copies: Mapping[int, Sequence[str]],
    query: str,
) -> list[Hit]:
    """Return the turns as hits, each shown by the passage that answers best."""
    hits = []
    rows = ranking.corpus.rows_at(ranking.best_rows(turns))
    others = [""] * len(rows)
    if query.strip():
        others = _other_passages(turns, rows, ranking, query)
    prompts = _prompt_lengths(rows, ranking.corpus.index)
    for turn, row, other, confidence in zip(turns, rows, others, verdicts, strict=True):
        if row is None:
            continue
        why = ranking.why(turn)
        if confidence is not None:
            why["answers"] = confidence.probability
        weak = confidence is not None and confidence.weak
        score = float(ranking.scores[turn])
        prompt = prompts[row.id]
        metadata: Mapping[str, Any] = row.metadata
        if also := copies.get(turn):
            metadata = {**metadata, "copies": also}
        hit = Hit(*hit_ids(row), score, row.text, metadata, why, weak, prompt, other)
        hits.append(hit)
    return hits


def _other_passages(
    turns: Sequence[int],
    rows: Sequence[IndexedRow | None],
    ranking: _Ranking,
    query: str,
) -> list[str]:
    """Return for each turn the sentences of its other passages that answer a question; only for the
    first turns, and not for documents, where it was not measured."""
    corpus = ranking.corpus
    texts_by_turn = [""] * len(rows)
    for at, (turn, row) in enumerate(zip(turns, rows, strict=True)):
        passages = int(corpus.passages[turn])
        if row is None or passages == 1 or "chunk_id" in row.metadata:
            continue
        only_calls = lists_calls(row.text)
        if at >= _HITS_READ and not only_calls:
            continue
        start = int(np.searchsorted(corpus.turn, turn))
        by_words = best(ranking.rows[start : start + passages], _WORD_PASSAGES)
        first = range(min(_FIRST_PASSAGES, passages) if only_calls else 0)
        places = sorted(
            {*by_words.tolist(), *first, *range(max(0, passages - _LAST_PASSAGES), passages)}
        )
        stored = corpus.rows_at([start + place for place in places])
        others = [passage for passage in stored if passage is not None and passage.id != row.id]
        lengths = _prompt_lengths(others, corpus.index)
        texts = [(other.text, lengths[other.id]) for other in others]
        texts_by_turn[at] = best_sentences(texts, query, only_calls=only_calls)
    return texts_by_turn


def _sure_if_literal(hit: Hit, query: str, verdicts: Sequence[Confidence | None]) -> Hit:
    if not (hit.weak and verdicts[0] and holds_literally(query, hit.text)):
        return hit
    return replace(hit, weak=False, why={**hit.why, "answers": verdicts[0].enough})


def hit_ids(row: IndexedRow) -> tuple[str, str]:
    """Return the id of a hit, which is the chunk's for a passage of a document, and that of its
    turn or chunk."""
    chunk_id = row.metadata.get("chunk_id")
    return str(chunk_id or row.id), str(chunk_id or row.metadata.get("turn_id") or row.id)


def _prompt_lengths(rows: Sequence[IndexedRow | None], index: KeywordIndex) -> dict[str, int]:
    """Return how many characters at the start of each passage are the prompt of its turn, by id. A
    prompt is cut into passages where its turn is."""
    lengths = {row.id: 0 for row in rows if row is not None}
    prompt_of = {}
    for row in rows:
        if row is not None and row.metadata.get("role") in ("user", "turn"):
            session_id, _, place = row.id.removeprefix("session::").partition("::turn::")
            prompt = f"prompt::{session_id}::{place.replace('part::', '')}"
            prompt_of[row.id] = (str(row.metadata["project"]), session_id, prompt)
    texts = index.texts("prompts", prompt_of.values())
    for row in rows:
        prompt = texts.get(prompt_of[row.id][2], "") if row and row.id in prompt_of else ""
        if row and prompt and (row.text.startswith(prompt) or prompt.startswith(row.text)):
            lengths[row.id] = min(len(prompt), len(row.text))
    return lengths
