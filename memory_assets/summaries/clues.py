"""Scoring sentences of the agent for a summary's fields `learned` and `completed`.

Each sentence has clues, such as `cue=cause`: of its place (turn, message, list), of its form, of
the work in its turn, of its words, and of the heading and the lead-in above it. The weights of
clues, in `weights.txt`, were fitted to sentences that readers had marked
(`benchmarks/summary_fit.py`); their sum is the logarithm of the odds that a reader quotes the
sentence.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from memory_assets.session_analysis.commits import commits_that_stayed
from memory_assets.session_analysis.files import files_changed, touched_files, turn_weights
from memory_assets.session_analysis.open_ends import NOT_LEFT, OFFER, OPEN
from memory_assets.session_analysis.phrases import Phrase, base_name, has_no_blanks
from memory_assets.session_analysis.scores import (
    ABOUT_WORK,
    CAUSE,
    CAUSE_HEADING,
    CHANGES,
    DEEDS,
    DOUBTFUL,
    GOES_BACK,
    GUESSED,
    NEXT_HEADING,
    NOT_DONE,
    NOW,
    PLANNING,
    REASON,
    SUMMARY_HEADING,
    WAS_DONE,
)
from memory_assets.session_analysis.sentences import is_notice
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.statements import (
    LEADS_TO_WISHES,
    OPTION,
    POINTS_BACK,
    AgentSentence,
    agent_sentences,
    cut_to_clauses,
    ends_its_lead,
    in_context,
    is_readable,
    without_colon,
    word_stems,
)

BASE = "base"
"""The clue that every sentence has."""
_IS_PAST = Phrase(r"\b(?:was|were|wasn't|weren't|had|did|didn't)\b|^\W*(?:i|pick|run|use)\b")
_DENIES = Phrase(
    r"\b(?:no|not|never|none|nope|without|missing|only|yet)\b|n't\b|不|没|未|ない|ません|"
    r"\b(?:nicht|kein\w*)\b"
)
_GOES_ON = Phrase(
    r"\W*(?:no(?=[,.:;!—–]| [—–-]| problem| remaining)|(?:but|and|or|also|plus|great|perfect|"
    r"right|ok|however|instead|worse|still|called|same|if (?:not|so)|uses|adds|returns|makes|runs|"
    r"follows|mirrors|builds|passes|matches|works|takes|shows|handles|keeps|sets|calls|gets|has|"
    r"does|allows|prevents|ensures|highlights|covers|includes|contains|supports|provides|reads|"
    r"writes|checks|creates)\b)"
)
_STATE = Phrase(r"(?:the|your|our|all) (?=.*\b(?:now|is|are|still|currently|remains?)\b)\S+ \S+")
_FRAGMENT = re.compile(
    r"[a-z]+ |(?!Everything |Nothing |According |Missing |Staging )"
    r"[A-Z][a-z]+ing (?!is |was |the \w+ (?:is|was) )"
)
_HOLLOW = Phrase(
    r"\W*(?:here(?:'s| is| are)\b|based on .*\bhere (?:is|are)\b|I(?:'m| am) ready\b|reply with\b|"
    r"(?:now )?I (?:now )?have (?:the|a|all) |(?:your )?(?:task|goal):|thank|my (?:lean|take)\b|"
    r"I (?:can|could|will)\b(?!')|I'll\b|if you(?:'d)? (?:prefer|like)\b|let me\b|not committed)|"
    r".*\b(?:will|already|should|can|must|may|would|you|we|they)$"
)
"""Sentences without content, offers, and beginnings of sentences that end in a list."""
_LEADS_IN = Phrase(
    r"\W*(?:here(?:'s| is| are)\b|(?:I|you|we|assumption)(?:'\w+| \w+)?\b|你|我|建议|"
    r".*\b(?:let me know|happy to)\b|(?:both|all|some) \w+ \w+ \w+\W*$|以下|下面)"
)
_NAMED = re.compile(r"(?:[A-Z]|\S*[\w)][./_()]\S*).*(?: [—–→-]+|:) ")
_CUES: dict[str, tuple[Callable[[str], object], ...]] = {
    "cause": (CAUSE.search,),
    "reason": (REASON.search,),
    "denies": (_DENIES.search,),
    "past": (_IS_PAST.search,),
    "did": tuple(rule.search for rule in DEEDS),
    "was done": (WAS_DONE.search,),
    "now": (NOW.search,),
    "change": (CHANGES.search,),
    "work": (ABOUT_WORK.search,),
    "not done": (NOT_DONE.search,),
    "open": (OPEN.search,),
    "settled": (NOT_LEFT.search,),
    "offer": (OFFER.search,),
    "plan": (PLANNING.search,),
    "doubt": (DOUBTFUL.search, GUESSED.search),
    "leads in": (_LEADS_IN.match,),
    "named": (_NAMED.match,),
    "back": (POINTS_BACK.match, GOES_BACK.match),
}
_ABOVE_CUES = {
    "next": NEXT_HEADING,
    "cause": CAUSE_HEADING,
    "summary": SUMMARY_HEADING,
    "found": Phrase(
        r"\b(?:findings?|issues?|problems?|bugs?|concerns?|risks?|gaps?|suggestions?|"
        r"improvements?|required|important|critical|worth fixing|nits?|should (?:fix|remove)|"
        r"redundant|potential\w*)\b"
    ),
    "proposal": Phrase(
        r"\b(?:plan|recommend\w*|propos\w*|suggest\w*|i(?:'d| would)|next|steps?|options?|"
        r"decisions?|implement\w*|optimi[sz]ations?)\b|建议|计划|提案|おすすめ|vorschl\w*"
    ),
}
"""Subjects of headings and lead-ins."""
_CODE = re.compile(r"\w+[._/]\w+|\w+\(\)|[a-z][A-Z]|--\w")
_DIGIT = re.compile(r"\d")
_SHORT_NAME = 3
"""Characters of a file's name that is no clue, because it occurs in words."""
_HEAD_OF_A_PROMPT = 600
_CUE_CHARACTERS = 500
"""Characters of a sentence in which words are looked for: some rules take the square of its length.
"""
_MORE_AS_A_REPORT = 0.5
"""By how much a report must be worth more in `completed` than in `learned`."""
_ENDS = {**{end: end for end in ".?:!"}, "。": ".", "？": "?", "：": ":", "！": "!"}
WEIGHTS = {
    clue: tuple(map(float, figures))
    for clue, *figures in (
        line.split("\t")
        for line in Path(__file__).with_name("weights.txt").read_text("utf-8").splitlines()
    )
}


class Worth(NamedTuple):
    """The logarithms of the odds that a reader quotes a sentence, by field."""

    learned: float
    completed: float

    @property
    def is_report(self) -> bool:
        """Whether it may stand in `completed`; else it may in `learned`."""
        return self.completed > self.learned + _MORE_AS_A_REPORT


class Judged(NamedTuple):
    """A sentence, as it can be shown, and what it is worth."""

    sentence: AgentSentence
    worth: Worth


def judge(session: SessionTurns, withdrawn: Set[str]) -> list[Judged]:
    """Return the sentences of a session's last messages and recaps with their worth, long ones as
    their first clauses. Left out are those of `withdrawn` turns, by their ids, and descriptions of
    a state that a later turn describes again."""
    spoken = agent_sentences(session.turns)
    sentences = [sentence for sentence in spoken if sentence.closing or sentence.recap]
    states = [_subject_of_a_state(sentence) for sentence in sentences]
    last_turn = {state: one.turn_number for state, one in zip(states, sentences, strict=True)}
    judged: list[Judged] = []
    for sentence, state, names in zip(sentences, states, clues(session, sentences), strict=True):
        is_current = not state or last_turn[state] == sentence.turn_number
        if is_current and session.turns[sentence.turn_number].id not in withdrawn:
            figures = [WEIGHTS[name] for name in names if name in WEIGHTS]
            worth = Worth(*map(sum, zip(*figures, strict=True)))
            judged.append(Judged(without_colon(cut_to_clauses(sentence)), worth))
    return judged


def _subject_of_a_state(sentence: AgentSentence) -> str:
    """Return the first words of a sentence on how something is ("The PR now contains"), else ""."""
    state = _STATE.match(sentence.plain)
    return state[0] if state and not CAUSE.search(sentence.plain) else ""


def clues(session: SessionTurns, sentences: Sequence[AgentSentence]) -> Iterator[list[str]]:
    """Yield the clues of each sentence. `sentences` must be all of a session's last messages and
    recaps, in order, because a sentence's neighbours are clues, too."""
    session_clues = _SessionClues(session, sentences)
    before: Counter[object] = Counter()
    for number, sentence in enumerate(sentences):
        message = id(sentence.record)
        a_list = (message, sentence.parsed.heading, sentence.parsed.lead)
        yield [
            BASE,
            *session_clues.place(sentence, before[message]),
            *_form(sentence, before[a_list]),
            *session_clues.work(sentence),
            *session_clues.words(sentence, session_clues.bags[number]),
            *_cues(sentence),
        ]
        before.update((message, a_list) if sentence.parsed.item else (message,))


def stands_alone(sentence: AgentSentence) -> bool:
    """Return True if a sentence can be read without its neighbours."""
    text = in_context(sentence)
    if not is_readable(sentence.plain) or text.count('"') % 2:  # of a quotation that goes on
        return False
    if f"`{sentence.text}`" in sentence.record.text:  # only a command or a name
        return False
    if _HOLLOW.match(sentence.plain) or OPTION.match(sentence.plain):
        return False
    lead = sentence.parsed.lead
    if ends_its_lead(sentence) and (sentence.parsed.indent or LEADS_TO_WISHES.search(lead)):
        return False
    if has_no_blanks(text):
        return True
    fragment = _FRAGMENT.match(text)
    if fragment and f"`{fragment[0].strip()}" not in sentence.record.text:
        return False
    return _GOES_ON.match(text) is None


def _prompt_of(session: SessionTurns, turn: int) -> str:
    """Return the head of the prompt that a turn answers, the one before a notice."""
    heads = (
        earlier.prompt.text[:_HEAD_OF_A_PROMPT] if earlier.prompt is not None else ""
        for earlier in reversed(session.turns[: turn + 1])
    )
    return next((head for head in heads if not is_notice(head)), "")


class _SessionClues:
    """Computes clues that depend on the whole session."""

    def __init__(self, session: SessionTurns, sentences: Sequence[AgentSentence]) -> None:
        self._turns = {
            turn: at for at, turn in enumerate(sorted({one.turn_number for one in sentences}))
        }
        self._changed = files_changed(session)
        heavy = turn_weights(session)
        self._weight = [int(4 * one / (max(heavy) or 1.0)) for one in heavy]
        ranked = sorted(range(len(heavy)), key=lambda turn: -heavy[turn])
        self._rank = {turn: place for place, turn in enumerate(ranked)}
        calls = commits_that_stayed(session)
        committed = {call.turn.id for call in calls}
        self._committed = [turn.id in committed for turn in session.turns]
        self._subjects = {stem for call in calls for stem in word_stems(call.made.subject)}
        files = touched_files(session).modified
        self._files = [name for path in files if len(name := base_name(path)) > _SHORT_NAME]
        self._asked = [word_stems(_prompt_of(session, at)) for at in range(len(heavy))]
        self._asked_at_all = frozenset(chain.from_iterable(self._asked))
        self.bags = [word_stems(one.plain) for one in sentences]
        self._frequency = Counter(chain.from_iterable(self.bags))
        self._length = Counter(id(one.record) for one in sentences)

    def place(self, sentence: AgentSentence, place: int) -> list[str]:
        """Return the clues of a sentence's place in the session and in its message."""
        turn, turns = self._turns[sentence.turn_number], len(self._turns)
        when = {turns - 1: "last", turns - 2: "previous"}.get(turn, "middle" if turn else "first")
        length = self._length[id(sentence.record)]
        return [
            f"turn={when}",
            f"turns={min(_size(turns), 5)}",
            f"sentences={_size(len(self.bags))}",
            f"message={_size(length)}",
            f"place={next((end for end in (0, 1, 2, 5, 11) if place <= end), 12)}",
        ]

    def work(self, sentence: AgentSentence) -> list[str]:
        """Return the clues of the work in the sentence's turn, and after it."""
        return [
            f"changed={sentence.changed}",
            f"weight={self._weight[sentence.turn_number]}",
            f"rank={min(_size(self._rank[sentence.turn_number]), 4)}",
            f"committed={self._committed[sentence.turn_number]}",
            f"later={any(self._changed[sentence.turn_number + 1 :])}",
            f"recap={sentence.recap}",
        ]

    def words(self, sentence: AgentSentence, bag: frozenset[str]) -> list[str]:
        """Return the clues of a sentence's words, and of those that requests, commits and other
        sentences share."""
        subject = _fifths(bag, self._subjects) if self._subjects else "none"
        others = sum(self._frequency[stem] - 1 for stem in bag) / max(len(bag), 1)
        return [
            f"code={min(len(_CODE.findall(sentence.plain[:_CUE_CHARACTERS])), 3)}",
            f"number={_DIGIT.search(sentence.plain) is not None}",
            f"file={any(name in sentence.plain for name in self._files)}",
            f"words={min(len(bag) // 3, 6)}",
            f"asked={_fifths(bag, self._asked[sentence.turn_number])}",
            f"asked at all={_fifths(bag, self._asked_at_all)}",
            f"subject={subject}",
            f"shared={min(int(4 * others / math.sqrt(len(self.bags))), 6)}",
        ]


def _form(one: AgentSentence, items_before: int) -> Iterator[str]:
    sentence = one.parsed
    if sentence.item:
        yield from (f"item={min(items_before, 4)}", f"item,{one.changed}")
    for name, is_there in (
        ("indented", sentence.item and sentence.indent > 0),
        ("goes on", bool(sentence.before)),
        ("heading", bool(sentence.heading)),
        ("lead", bool(sentence.lead)),
        ("unreadable", not is_readable(one.plain)),
    ):
        if is_there:
            yield name
    letters = len(one.plain) * (2 if has_no_blanks(one.plain) else 1)
    yield f"length={min(letters // 30, 9)}"
    yield f"ends={_ENDS.get(one.plain[-1:], '')}"


def _cues(sentence: AgentSentence) -> Iterator[str]:
    plain, above, leads = (
        text[:_CUE_CHARACTERS]
        for text in (sentence.plain, sentence.parsed.heading, sentence.parsed.lead)
    )
    for cue, rules in _CUES.items():
        if any(finds(plain) for finds in rules):
            yield f"cue={cue}"
    for name, about in _ABOVE_CUES.items():
        heading, lead = about.search(above), about.search(leads)
        if heading:
            yield f"heading={name}"
        if lead:
            yield f"lead={name}"
        if (heading or lead) and sentence.last:
            yield f"last,{name}"


def _size(number: int) -> int:
    return int(math.log2(number + 1))


def _fifths(bag: frozenset[str], others: set[str] | frozenset[str]) -> int:
    return 5 * len(bag & others) // max(len(bag), 1)
