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
from memory_assets.session_analysis.files import files_changed, touched, weights
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
    Said,
    all_said,
    ends_its_lead,
    fitting,
    in_context,
    readable,
    stems,
    without_colon,
)

BASE = "base"
"""The clue that every sentence has."""
IS_PAST = Phrase(r"\b(?:was|were|wasn't|weren't|had|did|didn't)\b|^\W*(?:i|pick|run|use)\b")
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
    "past": (IS_PAST.search,),
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
_SHORT_NAME, _HEAD_OF_A_PROMPT = 3, 600
_CUE_CHARACTERS = 500
"""Characters of a sentence in which words are looked for: some rules take the square of its length.
"""
_FIELD_MARGIN = 0.5
"""A sentence is left out of a field if its worth for the other one is higher by this."""
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
    def is_finding(self) -> bool:
        """Whether it may stand in `learned`."""
        return self.learned > self.completed - _FIELD_MARGIN

    @property
    def is_report(self) -> bool:
        """Whether it may stand in `completed`."""
        return self.completed > self.learned - _FIELD_MARGIN


class Judged(NamedTuple):
    """A sentence, as it can be shown, and what it is worth."""

    said: Said
    worth: Worth


def judge(session: SessionTurns, gone: Set[str]) -> list[Judged]:
    """Return the sentences of a session's last messages and recaps with their worth, long ones as
    their first clauses, without the turns `gone` and states that a later turn tells anew."""
    said = [one for one in all_said(session.turns) if one.closing or one.recap]
    figures_of_sentences = (
        [WEIGHTS[clue] for clue in its if clue in WEIGHTS] for its in clues(session, said)
    )
    worths = [Worth(*map(sum, zip(*figures, strict=True))) for figures in figures_of_sentences]
    states = [_subject_of_a_state(one) for one in said]
    told_last = {state: one.turn for state, one in zip(states, said, strict=True) if state}
    return [
        Judged(without_colon(fitting(one)), worth)
        for one, worth, state in zip(said, worths, states, strict=True)
        if session.turns[one.turn].id not in gone and told_last.get(state, one.turn) == one.turn
    ]


def _subject_of_a_state(one: Said) -> str:
    """Return the first words of a sentence on how something is ("The PR now contains"), else ""."""
    state = _STATE.match(one.plain)
    return state[0] if state and not CAUSE.search(one.plain) else ""


def clues(session: SessionTurns, said: Sequence[Said]) -> Iterator[list[str]]:
    """Yield the clues of each sentence; `said` must be all of a session's last messages and recaps,
    in order, because other sentences are clues, too."""
    about = _SessionClues(session, said)
    before: Counter[object] = Counter()
    for number, one in enumerate(said):
        message = id(one.record)
        a_list = (message, one.sentence.heading, one.sentence.lead)
        yield [
            BASE,
            *about.place(one, before[message]),
            *_form(one, before[a_list]),
            *about.work(one),
            *about.words(one, about.bags[number]),
            *_cues(one),
        ]
        before.update((message, a_list) if one.sentence.item else (message,))


def stands_alone(one: Said) -> bool:
    """Return True if a sentence can be read without its neighbours."""
    text = in_context(one)
    if not readable(one.plain) or text.count('"') % 2:  # of a quotation that goes on
        return False
    if f"`{one.text}`" in one.record.text:  # only a command or a name
        return False
    if _HOLLOW.match(one.plain) or OPTION.match(one.plain):
        return False
    lead = one.sentence.lead
    if ends_its_lead(one) and (one.sentence.indent or LEADS_TO_WISHES.search(lead)):
        return False
    if has_no_blanks(text):
        return POINTS_BACK.match(text) is None
    fragment = _FRAGMENT.match(text)
    if fragment and f"`{fragment[0].strip()}" not in one.record.text:
        return False
    return not (POINTS_BACK.match(text) or _GOES_ON.match(text))


def is_deed(judgement: Judged) -> bool:
    """Return True if a sentence reports work, by changed files of its turn or by its words, and is
    not mainly a cause."""
    one, worth = judgement
    if CAUSE.search(one.plain) and worth.is_finding:
        return False
    cues = chain.from_iterable(_CUES[cue] for cue in ("did", "was done", "now", "change"))
    return one.changed or one.recap or any(finds(one.plain) for finds in cues)


def _prompt_of(session: SessionTurns, turn: int) -> str:
    """Return the head of the prompt that a turn answers, the one before a notice."""
    heads = (
        one.prompt.text[:_HEAD_OF_A_PROMPT] if one.prompt is not None else ""
        for one in reversed(session.turns[: turn + 1])
    )
    return next((head for head in heads if not is_notice(head)), "")


class _SessionClues:
    """Computes clues that depend on the whole session."""

    def __init__(self, session: SessionTurns, said: Sequence[Said]) -> None:
        self._turns = {turn: at for at, turn in enumerate(sorted({one.turn for one in said}))}
        self._changed = files_changed(session)
        heavy = weights(session)
        self._weight = [int(4 * one / (max(heavy) or 1.0)) for one in heavy]
        ranked = sorted(range(len(heavy)), key=lambda turn: -heavy[turn])
        self._rank = {turn: place for place, turn in enumerate(ranked)}
        calls = commits_that_stayed(session)
        committed = {call.turn.id for call in calls}
        self._committed = [turn.id in committed for turn in session.turns]
        self._subjects = {stem for call in calls for stem in stems(call.made.subject)}
        files = touched(session).modified
        self._files = [name for path in files if len(name := base_name(path)) > _SHORT_NAME]
        self._asked = [stems(_prompt_of(session, at)) for at in range(len(heavy))]
        self._asked_at_all = frozenset(chain.from_iterable(self._asked))
        self.bags = [stems(one.plain) for one in said]
        self._frequency = Counter(chain.from_iterable(self.bags))
        self._length = Counter(id(one.record) for one in said)

    def place(self, one: Said, place: int) -> list[str]:
        """Return the clues of a sentence's place in the session and in its message."""
        turn, turns = self._turns[one.turn], len(self._turns)
        when = {turns - 1: "last", turns - 2: "previous"}.get(turn, "middle" if turn else "first")
        length = self._length[id(one.record)]
        return [
            f"turn={when}",
            f"turns={min(_size(turns), 5)}",
            f"sentences={_size(len(self.bags))}",
            f"message={_size(length)}",
            f"place={next((end for end in (0, 1, 2, 5, 11) if place <= end), 12)}",
        ]

    def work(self, one: Said) -> list[str]:
        """Return the clues of the work in the sentence's turn, and after it."""
        return [
            f"changed={one.changed}",
            f"weight={self._weight[one.turn]}",
            f"rank={min(_size(self._rank[one.turn]), 4)}",
            f"committed={self._committed[one.turn]}",
            f"later={any(self._changed[one.turn + 1 :])}",
            f"recap={one.recap}",
        ]

    def words(self, one: Said, bag: frozenset[str]) -> list[str]:
        """Return the clues of a sentence's words, and of those that requests, commits and other
        sentences share."""
        subject = _fifths(bag, self._subjects) if self._subjects else "none"
        others = sum(self._frequency[stem] - 1 for stem in bag) / max(len(bag), 1)
        return [
            f"code={min(len(_CODE.findall(one.plain[:_CUE_CHARACTERS])), 3)}",
            f"number={_DIGIT.search(one.plain) is not None}",
            f"file={any(name in one.plain for name in self._files)}",
            f"words={min(len(bag) // 3, 6)}",
            f"asked={_fifths(bag, self._asked[one.turn])}",
            f"asked at all={_fifths(bag, self._asked_at_all)}",
            f"subject={subject}",
            f"shared={min(int(4 * others / math.sqrt(len(self.bags))), 6)}",
        ]


def _form(one: Said, items_before: int) -> Iterator[str]:
    sentence = one.sentence
    if sentence.item:
        yield from (f"item={min(items_before, 4)}", f"item,{one.changed}")
    for name, is_there in (
        ("indented", sentence.item and sentence.indent > 0),
        ("goes on", bool(sentence.before)),
        ("heading", bool(sentence.heading)),
        ("lead", bool(sentence.lead)),
        ("unreadable", not readable(one.plain)),
    ):
        if is_there:
            yield name
    letters = len(one.plain) * (2 if has_no_blanks(one.plain) else 1)
    yield f"length={min(letters // 30, 9)}"
    yield f"ends={_ENDS.get(one.plain[-1:], '')}"


def _cues(one: Said) -> Iterator[str]:
    plain, above, leads = (
        text[:_CUE_CHARACTERS] for text in (one.plain, one.sentence.heading, one.sentence.lead)
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
        if (heading or lead) and one.last:
            yield f"last,{name}"


def _size(number: int) -> int:
    return int(math.log2(number + 1))


def _fifths(bag: frozenset[str], others: set[str] | frozenset[str]) -> int:
    return 5 * len(bag & others) // max(len(bag), 1)
