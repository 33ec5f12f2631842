"""Decide whether two short texts say the same, contradict each other, or neither.

A wrong merge loses information: "npm instead of pnpm" after "pnpm instead of npm" would confirm
what it corrects. So texts say the same only if they have the same words in the same order, apart
from a closed list of words without weight; "X is owned by Y" has the words of "Y owns X". Vectors
cannot distinguish such texts; they only show that two texts are about one thing.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import Literal

from memory_assets.keywords import is_weak, text_terms
from memory_assets.word_lists import word_set
from memory_assets.word_lists import words as word_list

Relation = Literal["same", "contradiction", "other"]
ABOUT_ONE_THING_FROM = 0.6
"""Cosine from which two texts are about one thing: they say the same if their words do, and
contradict each other if they differ in a number, a negation or a word of a common frame
(`python -m benchmarks.memory_pairs`)."""
NEAR_FROM = 0.25
"""Cosine from which a memory is about a message, for the packaged model (`python -m
benchmarks.memory_near`)."""
_COMMON_FRAME = 0.5
_NEGATIONS = re.compile(
    r"\b(?:not|no|never|none|nothing|neither|nor|without|cannot|avoids?|avoided|stop(?:s|ped)?"
    r"|dislikes?|refuses?|forbid(?:s|den)?|disabled?|off|against|instead|rather)\b|n['’]t\b",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"\b(?:over|than|before|after|from|to|instead|rather|but|not|never|until|since|then)\b",
    re.IGNORECASE,
)
"""Words at which an order matters: tabs over spaces, spaces over tabs."""
_NUMBERED = re.compile(r"\d")
_TOKEN = re.compile(r"[^\W_]+(?:[._/:@+#'’-][^\W_]+)*%?|[<>=!]+")
_NAME = re.compile(r"[^\W\d_]+")
_BEFORE_A_VERB = re.compile(
    r"\b(?:has|have|needs?|wants?|is|are|ought|going|gets?|supposed) to\b", re.IGNORECASE
)
_PER = re.compile(r"\ban? (?=(?:second|minute|hour|day|week|month|year)\b)", re.IGNORECASE)
_NOT = re.compile(r"\b(?:do|does|did|is|are|was|were|should|must|will|would|has|have|had)n['’]t\b")

_FIRST_NUMBERS = word_list(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty"
)
_TENS = word_list("thirty forty fifty sixty seventy eighty ninety")
_NUMBERS = {word: str(number) for number, word in enumerate(_FIRST_NUMBERS)} | {
    word: str(10 * number) for number, word in enumerate(_TENS, 3)
}
_SAME_WORDS = {
    word: alike[0]
    for alike in map(
        word_list,
        (
            "not never without cannot dislikes dislike avoid avoids",
            "every each all",
            "until till",
            "keep keeps kept store stores stored save saves saved live lives located held",
            "called named name call calls",
        ),
    )
    for word in alike
}
"""The representative of each group of synonyms: "stored in UTC", "saved as UTC"."""
_DECIDES_NOTHING = word_set(
    "a an the this that these those there here it its our ours we us my your their his her"
    " is are be being am do does get gets has have must should shall need needs"
    " please also just currently of as in on at for with by and it's that's use uses using"
    " prefer prefers like likes want wants wish wishes"
)
"""Articles, pronouns, present forms of be, do and have, verbs that ask for something, prepositions
of place and means, and verbs that say only that something is so or is liked. No word of order,
direction, number, degree, condition, negation or the past is among them, and no noun."""
_SUBJECT = re.compile(
    r"^(?:(?:the|our) )?(?:user|team|project)(?:['’]s)? (?=[a-z])(?!and\b|or\b)", re.IGNORECASE
)
"""Whom most memories are about, as the subject of the sentence."""
_BE = word_set("is are be get gets being")
_BETWEEN = word_set("not always never only usually still")
_PREPOSITIONS = word_set(
    "in on at for with from to after before until since per of into as via under over"
)
_VERBS = _BE | word_set("has have had was were must should may can will needs need")
_UNITS = word_set(
    "ms second seconds minute minutes hour hours day days week weeks month months year years"
    " kb mb gb tb bytes char chars character characters percent dollars euros and or"
)
_CLAUSES = re.compile(r"[,;:]|\b(?:and|but|because|if|unless|when|while|than)\b", re.IGNORECASE)
_PARTICIPLE = re.compile(
    r"\w{2,}ed|(?:writ|tak|giv|driv|brok|chos|froz|hidd)en|kept|sent|built|run|done|made|held|read"
    r"|set|put|known|shown|paid|cut|found|left|lost|bound|thrown|begun|drawn|sold|told|spent"
)


def relation(newer: str, older: str, cosine: float) -> Relation:
    """Return how two texts with this cosine relate to each other."""
    if " ".join(newer.lower().split()) == " ".join(older.lower().split()):
        return "same"
    if cosine < ABOUT_ONE_THING_FROM:
        return "other"
    if _content_words(newer) == _content_words(older):
        return "same"
    return "contradiction" if difference(newer, older) else "other"


def _content_words(text: str) -> tuple[str, ...]:
    """Return the words of a text in order, as stems, with numbers as digits, without those of
    `_DECIDES_NOTHING`; all its words if no others are left."""
    plain = _SUBJECT.sub("", _NOT.sub("not", text.strip()))
    plain = _PER.sub("per ", _BEFORE_A_VERB.sub(" be ", plain))
    words = [word.lower().replace("’", "'") for word in _TOKEN.findall(plain)]
    words = [word.removesuffix("'s") for word in words]
    in_order = words if _CLAUSES.search(plain) else _in_active_order(words)
    content = [
        _stem(word) + _past_mark(word, before)
        for before, word in pairwise(["", *in_order])
        if word not in _DECIDES_NOTHING
    ]
    return tuple(content) or tuple(words)


def _in_active_order(words: list[str]) -> list[str]:
    """Return the words of a passive sentence in the order of the active one: "Logs are kept by X
    for a week" as "X be kept logs for a week"; other sentences as they are."""
    for index, word in enumerate(words[:-1]):
        if word not in _BE:
            continue
        verb = index + 1
        while verb < len(words) - 1 and words[verb] in _BETWEEN:
            verb += 1
        if _PARTICIPLE.fullmatch(words[verb]) is None:
            return words
        agent_end = verb + 1
        if words[verb + 1 : verb + 2] == ["by"]:
            agent_end = verb + 2
            while agent_end < len(words) and words[agent_end] not in _PREPOSITIONS:
                agent_end += 1
        agent = words[verb + 2 : agent_end]
        return [
            *agent,
            *words[index + 1 : verb],
            "be",
            words[verb],
            *words[:index],
            *words[agent_end:],
        ]
    return words


def _past_mark(word: str, before: str) -> str:
    """Return a mark for a verb in the past: "we deployed" differs from "we deploy", "is deployed"
    does not."""
    return "+ed" if word.endswith("ed") and len(word) > 4 and before not in _BE else ""


@cache
def _stem(word: str) -> str:
    word = _NUMBERS.get(word, _SAME_WORDS.get(word, word))
    if _NAME.fullmatch(word) is None or word in _SAME_WORDS.values():
        return word
    return next(iter(text_terms(word)), word)


def difference(newer: str, older: str) -> str:
    """Return the contradiction between two texts about one thing, such as `5 instead of 3`: they
    differ in a number, a negation or a word. "" if there is none."""
    if bool(_NEGATIONS.search(newer)) != bool(_NEGATIONS.search(older)):
        return "only one of them negates it"
    newer_words = set(_content_words(newer))
    older_words = set(_content_words(older))
    if newer_words == older_words:
        orders = _ORDERS.search(newer) and _ORDERS.search(older)
        return "the same words in another order" if orders else ""
    differing = _differing_words(newer, older, newer_words, older_words)
    newer_numbers = set(filter(_NUMBERED.search, newer_words))
    older_numbers = set(filter(_NUMBERED.search, older_words))
    if newer_numbers - older_numbers and older_numbers - newer_numbers:
        return differing if _of_one_subject(newer, older) else ""
    newer_words = {word for word in newer_words if not is_weak(word)}
    older_words = {word for word in older_words if not is_weak(word)}
    shared = len(newer_words & older_words)
    common = shared / max(min(len(newer_words), len(older_words)), 1)
    if common < _COMMON_FRAME or newer_words <= older_words or older_words <= newer_words:
        return ""
    return differing


def _differing_words(newer: str, older: str, newer_words: set[str], older_words: set[str]) -> str:
    """Return `A instead of B`: the words of only the newer text, and of only the older one."""

    def only_in(text: str, without: set[str]) -> str:
        words = dict.fromkeys(_TOKEN.findall(_SUBJECT.sub("", text)))
        differing = (word for word in words if _stem(word.lower()) not in without)
        return " ".join(word for word in differing if word.lower() not in _DECIDES_NOTHING)

    return f"{only_in(newer, older_words)} instead of {only_in(older, newer_words)}"


def _of_one_subject(newer: str, older: str) -> bool:
    """Return True if the numbers of two texts are about one thing: not about two subjects ("the API
    has 3 replicas", "the database has 5"), nor about two kinds of things ("3 replicas", "2
    databases"). The subject is the words before the verb or the number; all words if there are
    none."""
    newer_subject, newer_counted = _subject_and_counted(newer)
    older_subject, older_counted = _subject_and_counted(older)
    if not newer_subject or not older_subject:
        newer_subject = {word for word in _content_words(newer) if not _NUMBERED.search(word)}
        older_subject = {word for word in _content_words(older) if not _NUMBERED.search(word)}
    elif newer_counted and older_counted and newer_counted != older_counted:
        return False
    return newer_subject <= older_subject or older_subject <= newer_subject


def _subject_and_counted(text: str) -> tuple[set[str], str]:
    """Return the words before the verb or the first number of a text, and the noun that the number
    counts; "" for a unit or if nothing follows."""
    tokens = [word.lower() for word in _TOKEN.findall(text)]
    stems = [_stem(word) for word in tokens]
    number = next((index for index, stem in enumerate(stems) if _NUMBERED.search(stem)), len(stems))
    verb = next((index for index, word in enumerate(tokens) if word in _VERBS), number)
    subject = {
        stem
        for word, stem in zip(tokens[: min(verb, number)], stems, strict=False)
        if word not in _DECIDES_NOTHING
    }
    after = tokens[number + 1 : number + 2]
    is_noun = bool(after) and after[0] not in _DECIDES_NOTHING | _PREPOSITIONS | _UNITS
    return subject, stems[number + 1] if is_noun else ""
