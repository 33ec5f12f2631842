"""The excerpt of a long passage that answers a question best: whole sentences, and the assistant's
prose rather than the prompt, code or the digest of tool calls.

The weights were fitted on 198 questions: docs/retrieval.md, "Excerpts" (`benchmarks/excerpts.py`).
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache

from memory_assets.keywords import IDENTIFIER, indexed_terms, pasted_terms, query_terms

_FIRST = 4.0
"""Score of a first sentence that has all words of the question: the answer is in it or next to it.
Scores count words of the question; a question word, such as "how", counts .2."""
_ANSWERS, _CONCRETE, _DIGEST = 1.9, 1.2, -2.5
"""Score of a first sentence that opens like an answer; that names something (a number, a path,
code); and of an excerpt that is all digest of tool calls."""
_LATER = -0.8
"""Score by the logarithm of the number of sentences before the excerpt: answers come early."""
_IN_CODE, _IN_PLAN = 0.3, 0.4
"""Score of a word of the question in code or in a digest, and in a sentence that says what will be
done next: it repeats the question, and the report at the end answers it."""
_FEWEST_PAIRS, _NEARLY_ALL = 3, 0.65
"""Pairs of words that a line has to be a pasted one, and the share of them that repeats it."""
_FULL_ENOUGH = 0.6
"""The share of the room that whole sentences must fill; else part of the next one is added."""
_LEAST_BESIDE, _BESIDE, _LONGEST_BESIDE = 40, 100, 240
"""Characters of another passage of a turn that are shown beside an excerpt: the fewest, those for
which it is chosen, and the most."""
_PROMISING = 1.0
"""What the best excerpt of a passage is worth that is shown beside another one."""
_LEAST_SENTENCE = 12
"""Characters: "1." or "No." belongs to the sentence that follows."""

_SENTENCE_END = re.compile(r"[.!?][\"')\]*_`]*\s+|[。！？]")
_JOINTS = re.compile(r"([-_.]+)")
_BETWEEN_WORDS = re.compile(r"([\s/\\`\"'“”‘’*()\[\]{}<>|=,;:!?…]+|\.(?=\s|$))")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_DIGEST_LINE = re.compile(r"[A-Za-z_][\w.-]*(?: error)?: \S")
_OPENS_WITH_ANSWER = re.compile(
    r"\W*(?:yes|no|not|correct|found|confirmed|because|fixed|done|added|summary|unfortunately|so"
    r"|root causes?|you['’]re right|(?:it|this|that)(?: is|['’]s)|removed|updated|created|committed"
    r"|changed|replaced|moved|renamed|restored|implemented|merged|released|problem|fix|solution"
    r"|result|all (?:tests|checks)|verdict|recommendation"
    r"|the (?:issue|problem|bug|cause|root|reason|fix|answer|real|key))\b",
    re.IGNORECASE,
)
_PLANS = re.compile(
    r"\b(?:let me|let['’]s|i['’]ll|i['’]m (?:now |also )?\w+ing|i (?:will|need to|want to))\b",
    re.IGNORECASE,
)
_NAMES_SOMETHING = re.compile(r"`|\d|https?:|\w/\w|[→—=]")
_NO_TEXT = re.compile(r"[\W_]*\Z|`?★ Insight ─+`?\Z")


@dataclass(frozen=True)
class _Sentence:
    """A sentence, or a line of code or of a digest, on one line."""

    text: str
    code: bool = False
    digest: bool = False

    @cached_property
    def terms(self) -> frozenset[str]:
        """The terms that it is found by."""
        return frozenset(indexed_terms(self.text))

    @cached_property
    def announces(self) -> bool:
        """Whether it says what will be done next."""
        return _PLANS.search(self.text) is not None

    @cached_property
    def as_opening(self) -> float:
        """Score of the sentence as the first one of an excerpt."""
        if self.code:
            return 0.0
        worth = _CONCRETE if _NAMES_SOMETHING.search(self.text) else 0.0
        answers = not self.digest and _OPENS_WITH_ANSWER.match(self.text)
        return worth + (_ANSWERS if answers else 0.0)

    def worth(self, query: _Query) -> dict[str, float]:
        """Return what the words of a question in it are worth, by term."""
        held = self.terms & query.terms.keys()
        if not held or query.is_repeated_by(self.text, held):
            return {}
        share = 1.0
        if self.code or self.digest:
            share = _IN_CODE
        elif self.announces:
            share = _IN_PLAN
        return {
            term: query.terms[term] * (1.0 if self.code and term in query.names else share)
            for term in held
        }


class _Query:
    """The terms of a question with their weights, the names of code among them, and the pairs of
    words of each line of it that may have been pasted."""

    def __init__(self, text: str) -> None:
        self.terms = query_terms(text)
        self.weight = max(1e-6, sum(self.terms.values()))
        self.names = {term for name in IDENTIFIER.findall(text) for term in indexed_terms(name)}
        lines = map(pasted_terms, text.splitlines())
        self._pairs = [pairs for pairs in lines if len(pairs) >= _FEWEST_PAIRS]

    def is_repeated_by(self, text: str, held: Set[str]) -> bool:
        """Return whether a text that has these terms repeats a pasted line, which is no answer to
        it."""
        if not self._pairs or len(held) < _FEWEST_PAIRS:
            return False
        there = pasted_terms(text)
        return any(len(pairs & there) >= _NEARLY_ALL * len(pairs) for pairs in self._pairs)


@lru_cache(maxsize=16)
def _query(text: str) -> _Query:
    return _Query(text)


def excerpt(text: str, query: str, most: int, prompt_length: int = 0, beside: str = "") -> str:
    """Return the part of a text, on one line and at most `most` characters long, that answers a
    question best; without a question, the beginning. The first `prompt_length` characters are a
    human's prompt, which is shown only if there is nothing else. `beside`, which another passage of
    the turn says, has the room that is left. `…` marks what was left out."""
    shown = _excerpt(text, query, most, prompt_length)
    begun = shown.removesuffix("…").rstrip()
    room = most - len(begun) - len(" … …")
    if not beside or room < _LEAST_BESIDE:
        return shown
    return f"{begun} … {_cut(beside, room)}…"


def _excerpt(text: str, query: str, most: int, prompt_length: int) -> str:
    skipped = prompt_length if text[prompt_length:].strip() else 0
    sentences = _sentences(text[skipped:])
    if not sentences:
        return ""
    room = most - 2
    start = 0
    if query.strip() and _stop(sentences, 0, room) < len(sentences):
        start = _best_start(sentences, _query(query), room)[0]
    stop = _stop(sentences, start, room)
    shown = " ".join(sentence.text for sentence in sentences[start:stop])
    if stop < len(sentences) and (len(shown) < _FULL_ENOUGH * room or shown.endswith(":")):
        shown, stop = f"{shown} {sentences[stop].text}", stop + 1
    before = "…" if start or text[:skipped].strip() else ""
    if len(shown) <= room:
        end = " …" if shown.endswith((".", "!", "?")) else "…"
        return f"{before}{shown}{end if stop < len(sentences) else ''}"
    return f"{before}{_cut(shown, room)}…"


def _cut(text: str, room: int) -> str:
    """Return a text, or as many of its words as fit; where those would fill less than half of the
    room, as in a script without blanks, as many characters."""
    blank = text.rfind(" ", 0, room + 1)
    return text if len(text) <= room else text[: blank if 2 * blank > room else room]


Passage = tuple[str, int]
"""The text of a passage, and the length of the prompt at its beginning."""


def may_answer(passage: Passage, query: str, most: int) -> bool:
    """Return whether the excerpt of a passage may answer: not if it would begin in code or a
    digest, or announce what is done next, or if it is all prompt or repeats a pasted line."""
    text, prompt_length = passage
    sentences, asked = _sentences(text[prompt_length:]), _query(query)
    if not sentences:
        return False
    opening = sentences[_best_start(sentences, asked, most - 2)[0]]
    return not (
        opening.announces
        or opening.digest
        or opening.code
        or any(asked.is_repeated_by(sentence.text, sentence.terms) for sentence in sentences)
    )


def answering_passage(passages: Sequence[Passage], query: str, most: int) -> int:
    """Return which passage of a turn has the excerpt that answers a question best."""
    worth = [_best_stretch(passage, query, most - 2)[1] for passage in passages]
    return worth.index(max(worth))


def beside(passages: Sequence[Passage], query: str) -> str:
    """Return what the other passages of a turn say to a question, the prompt left out: the stretch
    of one that answers best, or nothing if none promises to."""
    stretches = [_best_stretch(passage, query, _BESIDE) for passage in passages]
    text, worth = max(stretches, key=operator.itemgetter(1), default=("", -math.inf))
    return _cut(text, _LONGEST_BESIDE) if worth > _PROMISING else ""


def _best_stretch(passage: Passage, query: str, room: int) -> tuple[str, float]:
    """Return what a passage says from the beginning of its best excerpt on, on one line, and what
    the excerpt is worth."""
    text, prompt_length = passage
    if not (sentences := _sentences(text[prompt_length:])):
        return "", -math.inf
    start, worth = _best_start(sentences, _query(query), room)
    return " ".join(sentence.text for sentence in sentences[start:]), worth


def marked_words(line: str, query: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of a line and what stands between them, which add up to the line, with True
    for words that the question has, in whatever form they occur; words that merely ask, such as
    "how", do not count. Of a name that is joined of words only those are words here."""
    terms = query_terms(query)
    asked = {term for term, weight in terms.items() if weight == max(terms.values())}

    def has(text: str) -> bool:
        return not asked.isdisjoint(indexed_terms(text))

    for piece in filter(None, _BETWEEN_WORDS.split(line)):
        parts = _JOINTS.split(piece) if has(piece) else [piece]
        marks = [has(part) for part in parts]
        marks[1::2] = map(operator.and_, marks[:-1:2], marks[2::2])  # a joint of two of them
        if any(marks):
            yield from ((part, mark) for part, mark in zip(parts, marks, strict=True) if part)
        else:
            yield piece, has(piece)


@lru_cache(maxsize=1_000)
def _sentences(text: str) -> Sequence[_Sentence]:
    """Return the sentences of a text in reading order; kept, with their terms, for the next
    question."""
    whole = " ".join(text.split())
    return tuple(_split(text)) or ((_Sentence(whole),) if whole else ())


def _split(text: str) -> Iterator[_Sentence]:
    last_paragraph = text.rstrip().rpartition("\n\n")[2].strip().splitlines()
    digest = len(last_paragraph) if all(map(_is_of_digest, last_paragraph)) else 0
    lines = [" ".join(line.split()) for line in text.splitlines()]
    lines = [line for line in lines if line]
    fenced = False
    for number, line in enumerate(lines):
        is_fence = _FENCE.match(line) is not None
        if number >= len(lines) - digest:
            yield _Sentence(line, digest=True)
        elif fenced and not is_fence:
            yield _Sentence(line, code=True)
        elif not (is_fence or _NO_TEXT.match(line)):
            start = 0
            for end in _SENTENCE_END.finditer(line):
                if end.end() - start >= _LEAST_SENTENCE and end.end() < len(line):
                    yield _Sentence(line[start : end.end()].strip())
                    start = end.end()
            yield _Sentence(line[start:])
        fenced ^= is_fence


def _is_of_digest(line: str) -> bool:
    """Return whether a line begins with a tool's name, and not as "Fixed: " does."""
    return bool(_DIGEST_LINE.match(line)) and not _OPENS_WITH_ANSWER.match(line)


def _stop(sentences: Sequence[_Sentence], start: int, room: int) -> int:
    """Return where an excerpt of whole sentences ends that begins with sentence `start`."""
    size, stop = len(sentences[start].text), start + 1
    while stop < len(sentences) and size + 1 + len(sentences[stop].text) <= room:
        size += 1 + len(sentences[stop].text)
        stop += 1
    return stop


def _best_start(sentences: Sequence[_Sentence], asked: _Query, room: int) -> tuple[int, float]:
    """Return the sentence with which the best excerpt begins, the first one of the best, and what
    that is worth."""
    held = [sentence.worth(asked) for sentence in sentences]
    worth = []
    for start, opening in enumerate(sentences):
        highest: dict[str, float] = {}
        stop = _stop(sentences, start, room)
        for terms in held[start:stop]:
            for term, value in terms.items():
                highest[term] = max(highest.get(term, 0.0), value)
        digest = sum(sentence.digest for sentence in sentences[start:stop]) / (stop - start)
        worth.append(
            sum(highest.values())
            + _FIRST * sum(held[start].values()) / asked.weight
            + opening.as_opening
            + _DIGEST * digest
            + _LATER * math.log1p(start)
        )
    return worth.index(max(worth)), max(worth)
