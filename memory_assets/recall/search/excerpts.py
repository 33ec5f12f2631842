"""The excerpt of a long passage that answers a question best: whole sentences, and the assistant's
prose rather than the prompt, code or the digest of tool calls.

What each weight is worth: benchmarks/notes/retrieval.md, "Excerpts" (`benchmarks/excerpts.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory_assets.keywords import indexed_terms, query_terms

_ANSWERS = 1.0
"""Score of a first sentence that gives an answer. Scores count words of the question; a question
word, such as "how", counts .2."""
_ANNOUNCES = -0.5
"""Score of a first sentence that says what will be looked at next."""
_LATER = -0.15
"""Score of each of the first `_EARLY` sentences before the excerpt: answers come early, but one
word of the question outweighs all of them."""
_EARLY = 6
_IN_CODE = 0.3
"""Score of a word of the question in code or in a digest."""
_DIGEST = -1.0
"""Score of an excerpt that begins in the digest of tool calls."""
_FULL_ENOUGH = 0.6
"""The share of the room that whole sentences must fill; else part of the next one is added."""
_LEAST_SENTENCE = 12
"""Characters: "1." or "No." belongs to the sentence that follows."""

_SENTENCE_END = re.compile(r"[.!?][\"')\]*_`]*\s+|[。！？]")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_DIGEST_LINE = re.compile(r"[A-Za-z_][\w.-]*(?: error)?: \S")
_OPENS_WITH_ANSWER = re.compile(
    r"\W*(?:yes|no|not|correct|found|confirmed|because|fixed|done|added|summary|unfortunately|so"
    r"|root cause|you['’]re right|(?:it|this|that)(?: is|['’]s)"
    r"|the (?:issue|problem|bug|cause|root|reason|fix|answer|real|key))\b",
    re.IGNORECASE,
)
_OPENS_WITH_PLAN = re.compile(
    r"\W*(?:let me|let['’]s|i['’](?:ll|m)|i (?:will|need to|have)|now|next|good|great|perfect"
    r"|okay|ok|looking at|checking|starting|got it)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Sentence:
    """A sentence, or a line of code or of a digest, on one line."""

    text: str
    code: bool = False
    digest: bool = False

    @property
    def as_opening(self) -> float:
        """Score of the sentence as the first one of an excerpt."""
        if self.digest:
            return _DIGEST
        if self.code:
            return 0.0
        if _OPENS_WITH_ANSWER.match(self.text):
            return _ANSWERS
        return _ANNOUNCES if _OPENS_WITH_PLAN.match(self.text) else 0.0


def excerpt(text: str, query: str, most: int, prompt_length: int = 0) -> str:
    """Return the part of a text, on one line and at most `most` characters long, that answers a
    question best; without a question, the beginning. The first `prompt_length` characters are a
    human's prompt, which is shown only if there is nothing else. `…` marks what was left out."""
    skipped = prompt_length if text[prompt_length:].strip() else 0
    sentences = list(_sentences(text[skipped:]))
    if not sentences:
        return ""
    room = most - 2
    start = _best_start(sentences, query_terms(query), room) if query.strip() else 0
    stop = _stop(sentences, start, room)
    shown = " ".join(each.text for each in sentences[start:stop])
    if stop < len(sentences) and len(shown) < _FULL_ENOUGH * room:
        shown, stop = f"{shown} {sentences[stop].text}", stop + 1
    before = "…" if start or text[:skipped].strip() else ""
    if len(shown) <= room:
        return f"{before}{shown}{'…' if stop < len(sentences) else ''}"
    shown = shown[: room + 1]
    return f"{before}{shown[: shown.rfind(' ')] if ' ' in shown else shown[:room]}…"


def marked_words(line: str, query: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of a line, with True for those that the question has, in whatever form they
    occur; words that merely ask, such as "how", do not count."""
    terms = query_terms(query)
    asked = {term for term, weight in terms.items() if weight == max(terms.values())}
    for word in line.split(" "):
        yield word, not asked.isdisjoint(indexed_terms(word))


def _sentences(text: str) -> Iterator[_Sentence]:
    """Yield the sentences of a text in reading order."""
    last_paragraph = text.rstrip().rpartition("\n\n")[2].strip().splitlines()
    digest = len(last_paragraph) if all(map(_DIGEST_LINE.match, last_paragraph)) else 0
    lines = [" ".join(line.split()) for line in text.splitlines()]
    lines = [line for line in lines if line]
    fenced = False
    for number, line in enumerate(lines):
        is_fence = _FENCE.match(line) is not None
        if number >= len(lines) - digest:
            yield _Sentence(line, digest=True)
        elif fenced or is_fence:
            yield _Sentence(line, code=True)
        else:
            start = 0
            for end in _SENTENCE_END.finditer(line):
                if end.end() - start >= _LEAST_SENTENCE and end.end() < len(line):
                    yield _Sentence(line[start : end.end()].strip())
                    start = end.end()
            yield _Sentence(line[start:])
        fenced ^= is_fence


def _stop(sentences: Sequence[_Sentence], start: int, room: int) -> int:
    """Return where an excerpt of whole sentences ends that begins with sentence `start`."""
    size, stop = len(sentences[start].text), start + 1
    while stop < len(sentences) and size + 1 + len(sentences[stop].text) <= room:
        size += 1 + len(sentences[stop].text)
        stop += 1
    while stop > start + 1 and _FENCE.match(sentences[stop - 1].text):
        stop -= 1
    return stop


def _best_start(sentences: Sequence[_Sentence], asked: dict[str, float], room: int) -> int:
    """Return the sentence with which the best excerpt begins: the first one of the best."""
    held = [
        {
            term: asked[term] * (_IN_CODE if each.code or each.digest else 1.0)
            for term in indexed_terms(each.text)
            if term in asked
        }
        for each in sentences
    ]
    worth = []
    for start, opening in enumerate(sentences):
        found: dict[str, float] = {}
        for terms in held[start : _stop(sentences, start, room)]:
            for term, value in terms.items():
                found[term] = max(found.get(term, 0.0), value)
        worth.append(sum(found.values()) + opening.as_opening + _LATER * min(start, _EARLY))
    return worth.index(max(worth))
