"""The sentences of a turn that answer a question best, as many as there is room for.

How the weights were fitted: docs/retrieval.md, "Excerpts" (`benchmarks/excerpts.py`).
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from operator import itemgetter

from memory_assets.keywords import REDACTION_TAG, indexed_terms, pasted_terms, query_terms
from memory_assets.tool_names import digest_lines

_ALL_WORDS_SCORE = 4.5
"""Score of a sentence that has all words of the question, the rarer ones counting more."""
_HEADING_SCORE = 1.6
"""Score of a sentence below a heading that has them."""
_OWN_PASSAGE_SCORE = 0.6
"""Score of a sentence of the passage that was found rather than of one beside it."""
_EMPHASIS_SCORE = 0.7
"""Score of a sentence that emphasises."""
_CONCRETE_SCORE = 0.7
"""Score of a sentence that names something: a number, a path, code."""
_ANSWERS_SCORE = 0.7
"""Score of a sentence that opens like an answer."""
_LENGTH_SCORE = -0.3
"""Score by the logarithm of a sentence's length."""
_PLACE_SCORE = -0.2
"""Score by the logarithm of the number of sentences before it."""
_NOTHING_SCORE = -9.0
"""Score of a sentence that repeats a pasted line, of a digest of calls, and of what will be done
next, which repeats the question: they are shown if there is nothing else."""
_MOST_BELOW_BEST = 3.0
"""A sentence whose score is so much below the best one's is left out."""
_FEWEST_PAIRS = 3
"""Pairs of words that a line has to have to be a pasted one."""
_PASTED_SHARE = 0.65
"""The share of the pairs of a pasted line, and of those of a sentence, that both have."""
_LEAST_CUT = 60
"""Characters of room for which a sentence that is longer is cut."""
_MOST_BESIDE = 720
"""Characters of what stands beside a hit."""
_MOST_BEFORE_CALLS = 120
"""Characters of a sentence without a word of the question that stands before calls."""
_LEAST_SENTENCE = 12
"""Characters: "1." or "No." belongs to the sentence that follows."""
_GAP = " … "
_BOLD = "**"

_SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)[.!?][\"')\]*_`]*\s+|[。！？]")
_JOINTS = re.compile(r"([-_.]+)")
_BETWEEN_WORDS = re.compile(
    rf"({REDACTION_TAG.pattern}|[\s/\\`\"'“”‘’*()\[\]{{}}>|=,;:!?…]+|<|\.(?=\s|$))"
)
_FENCE = re.compile(r"\s*(?:`{3,}[^`]*|~~~.*)\Z")
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
_IS_HEADING = re.compile(r"#+ |\*\*[^*]+\*\*:?\Z|.*:\Z")
_CODE_OR_STARS = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|(?<![*\\/])\*{2,3}(?!\*|/\*)")
_NO_TEXT = re.compile(r"[\W_]*\Z|`?★ Insight ─+`?\Z")


@dataclass(frozen=True)
class _Sentence:
    """A sentence, or a line of code or of a digest, on one line."""

    text: str
    digest: bool = False

    @cached_property
    def terms(self) -> frozenset[str]:
        """The index terms of the sentence."""
        return frozenset(indexed_terms(self.text))

    @cached_property
    def says_nothing(self) -> bool:
        """Whether the sentence is a digest of calls, or says what will be done next."""
        return self.digest or _PLANS.search(self.text) is not None

    @cached_property
    def alone(self) -> float:
        """Score of the sentence whatever the question is."""
        score = _LENGTH_SCORE * math.log(len(self.text) + 1)
        score += _EMPHASIS_SCORE * bool(_bold_runs(self.text))
        score += _CONCRETE_SCORE * (_NAMES_SOMETHING.search(self.text) is not None)
        return score + _ANSWERS_SCORE * (_OPENS_WITH_ANSWER.match(self.text) is not None)


class _Query:
    """The terms of a question with their weights, and the pairs of words of each line of it that
    may have been pasted."""

    def __init__(self, text: str) -> None:
        self.terms = query_terms(text)
        lines = map(pasted_terms, text.splitlines())
        self._pairs = [pairs for pairs in lines if len(pairs) >= _FEWEST_PAIRS]

    def is_repeated_by(self, text: str, terms: Set[str]) -> bool:
        """Return whether a text, which has `terms` of the question, repeats a pasted line and says
        little else: that is no answer."""
        if not self._pairs or len(terms) < _FEWEST_PAIRS:
            return False
        pairs_of_text = pasted_terms(text)
        return any(
            2 * len(pairs & pairs_of_text) >= _PASTED_SHARE * (len(pairs) + len(pairs_of_text))
            for pairs in self._pairs
        )


_query = lru_cache(maxsize=16)(_Query)


def excerpt(text: str, query: str, most: int, prompt_length: int = 0, beside: str = "") -> str:
    """Return the sentences of a text, on one line and at most `most` characters long, that answer a
    question best, in their order; without a question, the beginning. The first `prompt_length`
    characters are a human's prompt, which is shown only if there is nothing else but calls.
    `beside` has sentences of other passages of the turn, which come first if the text lists calls
    alone. `…` marks what was left out."""
    only_calls = lists_calls(text[prompt_length:])
    skipped = prompt_length if beside or not (only_calls or not text[prompt_length:].strip()) else 0
    own, others = _sentences(text[skipped:]), _sentences(beside)
    sentences = [*others, *own] if only_calls else [*own, *others]
    first = len(others) if only_calls else 0
    in_text = range(first, first + len(own))
    scores = _score_sentences(sentences, in_text.stop, query)
    chosen = _choose_sentences(
        sentences, scores, most - len("… …"), least=-math.inf if only_calls else None
    )
    parts = ["…"] if text[:skipped].strip() else []
    last = -1
    for at in sorted(chosen):
        if last >= 0:
            is_next = at == last + 1 and at in in_text and last in in_text
            goes_on = is_next and chosen[last] == sentences[last].text
            parts.append(" " if goes_on else _GAP)
        elif at > 0 and not parts:
            parts.append("…")
        parts.append(chosen[at])
        last = at
    if chosen and chosen[last] != sentences[last].text:
        parts.append("…")
    elif last + 1 < len(sentences):
        parts.append(" …")
    return "".join(parts)[: max(most, 0)]


def lists_calls(text: str) -> bool:
    """Return True if a text has a digest of calls and nothing else."""
    return all(sentence.digest for sentence in _sentences(text)) and bool(text.strip())


def says_nothing(text: str) -> bool:
    """Return True if a text says only what will be done next, or has calls alone, or is empty."""
    return all(sentence.says_nothing for sentence in _sentences(text))


def breaks_off(text: str) -> bool:
    """Return True if a text ends by saying what will be done next, or is empty."""
    last = _sentences(text)[-1:]
    return not last or last[0].says_nothing or last[0].text.endswith(":")


def best_sentences(
    passages: Sequence[tuple[str, int]], query: str, *, only_calls: bool = False
) -> str:
    """Return the sentences of a turn's other passages that answer a question best, a line each;
    none if no sentence has a word of it, but the one that says most where the passage that was
    found lists calls alone (`only_calls`). Each passage is a text and the length of the prompt at
    its beginning."""
    sentences = [
        sentence
        for text, prompt_length in passages
        if text[prompt_length:].strip()
        for sentence in _sentences(text[prompt_length:])
    ]
    question_terms = _query(query).terms.keys()
    if all(question_terms.isdisjoint(sentence.terms) for sentence in sentences):
        telling = [sentence for sentence in sentences if only_calls and not sentence.says_nothing]
        best = max(telling, key=lambda sentence: sentence.alone, default=_Sentence(""))
        return _cut(best.text, _MOST_BEFORE_CALLS)
    chosen = _choose_sentences(sentences, _score_sentences(sentences, 0, query), _MOST_BESIDE)
    return "\n".join(chosen[at] for at in sorted(chosen))


def _score_sentences(sentences: Sequence[_Sentence], own: int, query: str) -> list[float]:
    """Return how probably each sentence answers a question; the first `own` ones are of the passage
    that was found. Without a question, or where none has a word of it, the first ones come
    first."""
    question = _query(query)
    matched = [sentence.terms & question.terms.keys() for sentence in sentences]
    occurring = Counter(term for terms in matched for term in terms)
    if not occurring:
        return [-at / (len(sentences) + 1) for at in range(len(sentences))]
    weights = {
        term: weight / math.sqrt(occurring[term] or 1) for term, weight in question.terms.items()
    }
    scores, heading = [], 0.0
    for at, (sentence, terms) in enumerate(zip(sentences, matched, strict=True)):
        words = sum(map(weights.__getitem__, terms)) / sum(weights.values())
        score = (
            sentence.alone
            + _ALL_WORDS_SCORE * words
            + _HEADING_SCORE * heading
            + _OWN_PASSAGE_SCORE * (at < own)
        )
        score += _PLACE_SCORE * math.log1p(at if at < own else at - own)
        is_nothing = sentence.says_nothing or question.is_repeated_by(sentence.text, terms)
        scores.append(_NOTHING_SCORE if is_nothing else score)
        if _IS_HEADING.match(sentence.text):
            heading = words
    return scores


def _choose_sentences(
    sentences: Sequence[_Sentence], scores: Sequence[float], room: int, least: float | None = None
) -> dict[int, str]:
    """Return the best sentences that fit in `room` characters, by their place; the last one is cut
    if there is room for a part of it. A repeated sentence is taken once. If not all fit, those with
    a score below `least` are left out; without `least`, those much worse than the best one."""
    chosen: dict[int, str] = {}
    fits = sum(len(sentence.text) + 1 for sentence in sentences) <= room + 1
    if least is None:
        least = -math.inf if fits else max(scores, default=0.0) - _MOST_BELOW_BEST
    for at in sorted(range(len(sentences)), key=lambda at: (-scores[at], at)):
        text = sentences[at].text
        if scores[at] < least or text in chosen.values():
            continue
        if chosen and len(text) > room and room < _LEAST_CUT:
            continue
        chosen[at] = _cut(text, room)
        room -= len(chosen[at]) + len(_GAP)
        if room <= 0:
            break
    return chosen


def _bold_runs(line: str) -> Sequence[tuple[int, int]]:
    """Return where each run of strong words of a line begins, behind its `**`, and where it ends,
    before the other. As in CommonMark a `**` opens before a word and closes behind one; one that
    does both, as in a power or a path's pattern, opens only between letters of a script without
    blanks."""
    opened: list[int] = []
    runs = []
    for stars in _CODE_OR_STARS.finditer(line) if _BOLD in line else ():
        if stars[1]:
            continue
        before, after = line[: stars.start()][-1:] or " ", line[stars.end() :][:1] or " "
        opens = not after.isspace() and (after.isalnum() or not before.isalnum())
        closes = not before.isspace() and (before.isalnum() or not after.isalnum())
        if closes and opened:
            runs.append((opened.pop(), stars.start()))
        elif opens and (not closes or not (before + after).isascii()):
            opened.append(stars.end())
    return runs


def _is_bold(at: int, runs: Sequence[tuple[int, int]]) -> bool:
    """Return whether a place in a line is inside of one of the runs of strong words."""
    return any(begin < at <= end for begin, end in runs)


def _cut(text: str, room: int) -> str:
    """Return a text, or as many of its words as fit; where those would fill less than half of the
    room, as in a script without blanks, as many characters."""
    room = max(room, 0)
    if len(text) <= room:
        return text
    blank = text.rfind(" ", 0, room + 1)
    end = blank if 2 * blank > room else room
    return f"{text[:end]}{_BOLD * _is_bold(end, _bold_runs(text))}"


def share_of_words(text: str, query: str) -> float:
    """Return the share of the words of a query, but those that merely ask, that a text has."""
    query_set = _telling_terms(query)
    return len(query_set.intersection(indexed_terms(text))) / len(query_set) if query_set else 0.0


def _telling_terms(query: str) -> set[str]:
    terms = query_terms(query)
    return {term for term, weight in terms.items() if weight == max(terms.values())}


def marked_words(line: str, query: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of a line and what stands between them, which add up to the line, with True
    for words that the question has, in whatever form they occur; words that merely ask, such as
    "how", do not count. Of a name that is joined of words only those are words here."""
    query_set = _telling_terms(query)

    def has(text: str) -> bool:
        return not query_set.isdisjoint(indexed_terms(text))

    for piece in filter(None, _BETWEEN_WORDS.split(line)):
        parts = _JOINTS.split(piece) if has(piece) else [piece]
        marks = [has(part) for part in parts]
        marks[1::2] = map(operator.and_, marks[:-1:2], marks[2::2])  # a joint of two of them
        if any(marks):
            pairs = (pair for pair in zip(parts, marks, strict=True) if pair[0])
            for mark, run in groupby(pairs, key=itemgetter(1)):
                yield "".join(part for part, _ in run), mark
        else:
            yield piece, has(piece)


@lru_cache(maxsize=1_000)
def _sentences(text: str) -> Sequence[_Sentence]:
    """Return the sentences of a text in reading order; kept, with their terms, for the next
    question."""
    whole = " ".join(text.split())
    return tuple(_split_sentences(text)) or ((_Sentence(whole),) if whole else ())


def _split_sentences(text: str) -> Iterator[_Sentence]:
    lines = [" ".join(line.split()) for line in text.splitlines()]
    lines = [line for line in lines if line]
    digest = digest_lines(text)
    fenced = False
    for number, line in enumerate(lines):
        is_fence = _FENCE.match(line) is not None
        if number >= len(lines) - digest:
            yield _Sentence(line, digest=True)
        elif fenced and not is_fence:
            yield _Sentence(line)
        elif not (is_fence or _NO_TEXT.match(line)):
            start, runs = 0, _bold_runs(line)
            ends = (end.end() for end in _SENTENCE_END.finditer(line))
            for end in [*(end for end in ends if end < len(line)), len(line)]:
                if end - start >= _LEAST_SENTENCE or end == len(line):
                    opening, closing = (_BOLD * _is_bold(at, runs) for at in (start, end))
                    yield _Sentence(f"{opening}{line[start:end].strip()}{closing}")
                    start = end
        fenced ^= is_fence
