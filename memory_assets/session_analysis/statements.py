"""The agent's sentences: listing them, choosing the best-scored ones, and finding withdrawn
ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from memory_assets.models import RedactedRecord, Turn
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis.files import tool_kind
from memory_assets.session_analysis.phrases import (
    EMPTY,
    Phrase,
    has_no_blanks,
    shorten,
    unescaped,
    with_full_stop,
)
from memory_assets.session_analysis.sentences import Sentence, parse_sentences
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.word_lists import word_set
from memory_assets.writing_systems import UNSPACED, pieces

_SHORTEST = 24
"""Characters of the shortest sentence that is read by itself."""
_LONGEST = 280
"""Characters of the longest one; a longer one is cut to its first clauses."""
_SENTENCES_OF_A_MESSAGE = 120
_WORD = re.compile(r"[^\W\d_]{3,}")
STEM = 6
"""Letters of a word that its forms share."""
POINTS_BACK = Phrase(
    r"(?:that|this|it|its|they|these|those|so|hence|therefore)\b|"
    r"(?:这|那|它|因此|所以|于是|これ|それ|その|そこで|こちら)"
)
_UNFINISHED = (*":,;(-–—…：，、；（",)
_FEWEST_SYLLABLES = 8
_OPENING = re.compile(
    r"\A\W*(?:Done|Good(?: \w+)?|Great|Thanks|Perfect|Fixed|Ok(?:ay)?|Yes|All set)"
    r"\s*(?:[—–-]|[,:])\s+(?=[A-Z`])"
)
"""A word in front of what an agent says."""
OPTION = Phrase(
    r"\W*(?:option|approach|alternative|choice|variant) (?:\d|[a-z]\b)|.*\b(?:pros|cons)\b"
)
"""Beginnings of options, or their headings."""
_IS_JSON = re.compile(r"^\{\s*\"", re.MULTILINE)
_BLOCK_OF_JSON = re.compile(r"\A\s*```(?:json)?\s*\n(?P<json>\{[^`]*\})\s*```\s*\Z")
_JSON_SUMMARY = re.compile(r'"(?:change_?)?summary": *"((?:[^"\\]|\\.)+)"', re.IGNORECASE)
_SHORTEST_LEAD = 32
"""Characters that a lead-in, or the first clauses of a sentence, must have to be shown alone."""
_LONG_CLAUSES = 220
"""Characters of the first clauses to which a long sentence is cut."""
_END_OF_A_LEAD = 60
"""Characters at the end of a lead-in in which words are looked for that continue in its list."""
_CLAUSE_END = re.compile(r";\s|,\s(?=(?:and|so|but|which|while|with)\s)|\s[–—]\s|\.\s")
_CUT_OFF = re.compile(
    r"(?:,? (?:now|except|to|that|by|with|for|and|so|it|as|of|in|on|at|from|into|the|are|is|was|"
    r"were|be|setting|use|using|via|following|follows|including|like|called|"
    r"both|has|have|shows?|includes?|contains?|supports?|adds?|(?:new |these )?fields))*[\s:]*\Z"
)
LEADS_TO_WISHES = Phrase(
    r"\b(?:possib\w+|potential\w*|likely|might|may|could|should|would|because|ways|options?|choices?|"
    r"either|recommend\w*|suggest\w*|propos\w*|plan\w*|next|needs?|if|want|not|no|none|nor|neither|nothing|"
    r"except\w*|exclud\w+|rule[sd]? out|ruling out|reject\w*|dismiss\w*|eliminat\w+)\b|n't\b"
)
"""Lead-ins of lists of possibilities, plans or negations."""
_PLAN_TOOLS = word_set("todowrite todo_write update_plan taskupdate exitplanmode")
"""Calls that may follow the last message of a turn."""
_LONGEST_OBJECTION = 600
"""Characters of a prompt that objects; a longer one brings something of its own."""
_LONG_PROMPT = 200
"""Characters of a prompt that nobody types twice."""
CORRECTS = Phrase(
    r"\W*(?:(?:ok(?:ay)?|uh+|um+|well|but|hm+)[\s,.!]+)*"
    r"(?:no[.!]|no,? (?:wait|not|it|that|this|the|i)\b|nope\b|"
    r"(?:hm+|oh|ah),? (?:no|wait|actually)\b|"
    r"wait,? (?:no|that|this|it|why|are|is|wtf)\b|not quite\b|"
    r"actually\b(?!,? (?:one more|one other|another|also|can|could|let|please|i'?m)\b)|"
    r"sorry\b(?=.{0,40}\b(?:would|should|meant|wrong|not)\b)|this should(?:n't| not)\b|"
    r"that'?s (?:not|wrong|incorrect)\b|you(?:'re| are) wrong\b|"
    r"i (?:meant|mean)\b)"
)
"""How prompts begin that object to the reply before them."""
_ALL_WORK = (
    r"(?:all (?:of )?)?(?:it|your (?:\w+ )?(?:changes?|edits?|work)|"
    r"(?:this|that|those)(?! (?!(?:back|by|and|but|because|so|since|again|for|myself|now)\b)\w))\b"
)
"""Words of a person for all of the agent's work, which they undid; "that line" is only a part."""
_STILL = Phrase(
    r"\bstill (?:see\w*|get\w*|show\w*|not|no|fail\w*|broken|happen\w*|the same|there|wrong|"
    r"do(?:es)?(?:n't| not)|ha(?:s|ve|ving)|an? (?:error|issue))\b|"
    r"\b(?:does|did|do)(?:n't| not) (?:work|help|fix|seem)\b|\bnot (?:fixed|working|right|it)\b|"
    r"\bthis is what (?:i|we) (?:see|get)\b|\bsame (?:error|issue|problem|thing|result)\b|"
    r"\b(?:revert|undo|roll back) (?:it|this|that|the|your)\b|"
    r"(?:^|[.,;:!?] )(?:(?:so|and|but|then) )?i(?:'ve| have)? (?:(?:just|already|manually) )?"
    rf"(?:(?:undid|undone|reverted|discarded|rolled back) {_ALL_WORK}|rolled {_ALL_WORK} back)"
    r"(?! by (?:accident|mistake)\b)|"
    r"\bnow (?:it|there|we|i)\b.{0,40}\b(?:error|fail\w*|broken|crash\w*)\b"
)
_THINKS = Phrase(
    r"\W*the user(?:'s\b| (?:is|wants|has|said|says|asked|asks|now|just|also|mentioned|clarified|"
    r"provided|confirmed|approved|thinks|needs|added)\b)"
)
"""Beginnings of an agent's thoughts, which some exports append to its report."""
_CONCEDES = Phrase(
    r"\W*(?:you'?re|you are) (?:\w+ )?(?:right|correct)\b.{0,80}\b(?:apologi[sz]e|sorry|confusion|"
    r"mistake|wrong|mis(?:read|understood))\b|\W*(?:i apologi[sz]e|my mistake|i was wrong)\b"
)
"""How replies begin that take back the one before."""
_APPROVES = Phrase(
    r"\W*(?:great|perfect|thanks?|thank you|nice|awesome|excellent|lgtm|cool|(?:that |it )?works|"
    r"good|looks good|love it)\b(?![^.!?\n]*\b(?:but|except|however|though)\b)"
)
"""How prompts begin that accept the reply before them, whatever they ask for next."""


@dataclass(frozen=True, slots=True)
class AgentSentence:
    """One sentence of the agent. `closing`: it is part of its turn's last message."""

    parsed: Sentence
    record: RedactedRecord
    turn_number: int
    """The place of its turn among those that were asked for, from 0."""
    closing: bool
    last: bool
    """Whether its turn is the last one in which the agent said anything."""
    changed: bool
    """Whether a file was changed in its turn."""
    recap: bool
    """Whether it stands in a recap that the CLI wrote (away-summary)."""
    text: RedactedText
    plain: str
    """The text as the patterns expect it: straight apostrophes."""
    sentences_before: int
    """The number of earlier sentences of its message, without short ones."""


def agent_sentences(turns: Sequence[Turn]) -> list[AgentSentence]:
    """Return every sentence that the main agent said in some turns, and its recaps, in order."""
    last = max((n for n, turn in enumerate(turns) if any(map(_is_prose, turn.records))), default=-1)
    sentences: list[AgentSentence] = []
    for turn_number, turn in enumerate(turns):
        closing_from = _closing_from(turn)
        changed = any(r.kind == "tool_use" and tool_kind(r) == "write" for r in turn.records)
        for at, record in enumerate(turn.records):
            recap = record.subtype == "away-summary"
            if not recap and not _is_prose(record):
                continue
            sentences_before = 0
            for parsed in parse_sentences(_summary_in_json(record.text))[:_SENTENCES_OF_A_MESSAGE]:
                text = parsed.text.sub(_OPENING, "")
                sentences.append(
                    AgentSentence(
                        parsed=parsed,
                        record=record,
                        turn_number=turn_number,
                        closing=at >= closing_from,
                        last=turn_number == last,
                        changed=changed,
                        recap=recap,
                        text=text,
                        plain=text.replace("’", "'"),
                        sentences_before=sentences_before,
                    )
                )
                sentences_before += len(text) >= _SHORTEST or has_no_blanks(text)
    return sentences


def _summary_in_json(text: RedactedText) -> RedactedText:
    """Return the summary in a JSON object at the end of a report, unless it is shown as code; any
    other text unchanged."""
    if block := _BLOCK_OF_JSON.match(text):
        text = text.cut(*block.span("json"))
    shown = text.count("```") % 2 or not text.rstrip().endswith("}")
    report = None if shown else _IS_JSON.search(text, text.rfind("```") + 1)
    summary = _JSON_SUMMARY.search(text, report.start()) if report else None
    return unescaped(text.cut(*summary.span(1))) if summary else text


def _is_prose(record: RedactedRecord) -> bool:
    if record.kind != "assistant_text" or record.agent_id is not None:
        return False
    return _THINKS.match(record.text[:80]) is None


def is_answered(turn: Turn) -> bool:
    """Return whether a turn ends with a message, not with calls."""
    return _closing_from(turn) < len(turn.records)


def _closing_from(turn: Turn) -> int:
    """Return the index of the first record of the turn's last message, which follows its last call;
    the number of records if the turn ends with calls."""
    begin = len(turn.records)
    for at in range(len(turn.records) - 1, -1, -1):
        record = turn.records[at]
        if _is_prose(record):
            begin = at
        elif record.kind != "tool_use" or record.agent_id is not None:
            continue
        elif begin < len(turn.records) or record.tool_name.lower() not in _PLAN_TOOLS:
            break
    return begin


def best_text(
    scored: Iterable[tuple[float, AgentSentence]],
    *,
    room: int,
    most: int,
    threshold: float,
    other_texts: Iterable[RedactedText] = (),
    repeat_cost: float = 0.0,
) -> RedactedText:
    """Return the best of the scored sentences that fit in `room` characters, in session order.

    Sentences that repeat another one, or one of `other_texts`, are dropped. A single sentence that
    is too long is shortened. A sentence loses `repeat_cost` for each better one of its turn.
    """
    ranked = [
        (score, place, sentence)
        for place, (score, sentence) in enumerate(scored)
        if score >= threshold
    ]
    ranked.sort(key=lambda entry: (-entry[0], entry[1]))
    if repeat_cost:
        better: Counter[tuple[object, ...]] = Counter()
        for at, (worth, place, sentence) in enumerate(ranked):
            turn = (sentence.turn_number,)
            part = (sentence.turn_number, sentence.parsed.heading, sentence.parsed.lead)
            ranked[at] = worth - repeat_cost * (better[turn] + better[part] / 2), place, sentence
            better.update((turn, part))
        ranked.sort(key=lambda entry: (-entry[0], entry[1]))
    selected: list[tuple[int, AgentSentence, RedactedText]] = []
    vocabularies = [vocabulary_of(text) for text in other_texts]
    for _, place, sentence in ranked:
        if len(selected) == most:
            break
        text = with_full_stop(in_context(sentence))
        if POINTS_BACK.match(text):
            continue
        text = text if selected else shorten(text, room - 2)
        vocabulary = vocabulary_of(text)
        if len(text) + 1 > room or any(are_alike(vocabulary, other) for other in vocabularies):
            continue
        selected.append((place, sentence, text))
        vocabularies.append(vocabulary)
        room -= len(text) + 1
    leads_shown: set[RedactedText] = set()
    shown: list[RedactedText] = []
    for _, sentence, text in sorted(selected, key=lambda entry: entry[0]):
        is_lead_shown = ends_its_lead(sentence) and sentence.parsed.lead in leads_shown
        shown.append(with_full_stop(sentence.text) if is_lead_shown else text)
        leads_shown.add(sentence.parsed.lead)
    return join(" ", shown)


def in_context(sentence: AgentSentence) -> RedactedText:
    """Return a sentence; one that points back ("That is why ...") after the one it points to, an
    item after a lead-in that it ends ("The command now: ...")."""
    if OPTION.match(sentence.parsed.heading):
        return compose("{}: {}", sentence.parsed.heading, sentence.text)
    if ends_its_lead(sentence):
        return compose("{} {}", sentence.parsed.lead, sentence.text)
    before = sentence.parsed.before
    if before and POINTS_BACK.match(sentence.text) and not before.endswith((":", "?")):
        return join(" ", (before, sentence.text))
    return sentence.text


def ends_its_lead(sentence: AgentSentence) -> bool:
    """Return whether a sentence is an item of a list whose lead-in is no sentence without it."""
    lead = sentence.parsed.lead
    if not (lead and sentence.parsed.item):
        return False
    cut = _CUT_OFF.search(lead, len(lead) - _END_OF_A_LEAD)
    return cut is not None and cut[0].rstrip(": ") != ""


def vocabulary_of(text: str) -> frozenset[str]:
    """Return the words of a text with more than two letters; in scripts without blanks all pairs of
    adjacent letters."""
    words = (word.lower() for word in _WORD.findall(text))
    if text.isascii():
        return frozenset(words)
    return frozenset(
        piece for word in words for piece in (pieces(word) if UNSPACED.search(word) else (word,))
    )


def word_stems(text: str) -> frozenset[str]:
    """Return the beginnings of a text's longer words, which most forms of a word share; of scripts
    without blanks every two letters."""
    words = vocabulary_of(text)
    return frozenset(word[:STEM] for word in words if len(word) > 3 or not word.isascii())


def are_alike(words: frozenset[str], other_words: frozenset[str]) -> bool:
    """Return whether the one has most words of the other."""
    smaller = min(len(words), len(other_words))
    return smaller > 0 and len(words & other_words) / smaller >= 0.7


def without_colon(sentence: AgentSentence, *, whole_only: bool = False) -> AgentSentence:
    """Return the lead-in of a list as a sentence of its own, without words that continue in the
    list ("by setting:"), if enough is left; with `whole_only`, a lead-in with such words stays
    unchanged."""
    whole = sentence.text.sub(_CUT_OFF, "") if sentence.plain.endswith(":") else EMPTY
    if len(whole) < _SHORTEST_LEAD or (whole_only and len(whole) < len(sentence.text) - 1):
        return sentence
    return _with_text(sentence, whole)


def cut_to_clauses(sentence: AgentSentence) -> AgentSentence:
    """Return a long sentence as its first clauses, if these are long enough."""
    if len(sentence.text) <= _LONGEST:
        return sentence
    clauses = _clauses(sentence.text, _LONG_CLAUSES)
    return _with_text(sentence, clauses) if clauses else sentence


def _clauses(text: RedactedText, limit: int) -> RedactedText:
    ends = [end.start() for end in _CLAUSE_END.finditer(text, _SHORTEST_LEAD, limit)]
    ends = [end for end in ends if text.count("(", 0, end) == text.count(")", 0, end)]
    return text.cut(0, ends[-1]) if ends else EMPTY


def _with_text(sentence: AgentSentence, text: RedactedText) -> AgentSentence:
    return replace(sentence, text=text, plain=text.replace("’", "'"))


def is_readable(text: str) -> bool:
    """Return True if a sentence is readable by itself: neither a fragment nor too long."""
    if len(UNSPACED.findall(text)) >= _FEWEST_SYLLABLES:
        return len(text) <= _LONGEST and not text.endswith(_UNFINISHED)
    if not _SHORTEST <= len(text) <= _LONGEST or text.endswith(_UNFINISHED):
        return False
    return len(_WORD.findall(text)) >= 4


def withdrawn_turns(session: SessionTurns) -> frozenset[str]:
    """Return the ids of the turns to which the next prompt objects, or which the next reply takes
    back."""
    return frozenset(
        turn.id
        for turn, after in pairwise(session.turns)
        if after.typed is not None
        and (is_objection(after.typed.text.squeezed()) or _takes_back(after.records))
    )


def repeated_prompt_turns(session: SessionTurns) -> frozenset[str]:
    """Return the ids of the turns with a long prompt that recurs between others, as one that is
    pasted or sent by a hook after each piece of work; without the first prompt of the session."""
    places: dict[str, list[int]] = {}
    for place, turn in enumerate(session.turns):
        if turn.prompt is not None and len(turn.prompt.text) > _LONG_PROMPT:
            places.setdefault(turn.prompt.text.strip(), []).append(place)
    recurring = [place for place in places.values() if any(b > a + 1 for a, b in pairwise(place))]
    first_place = next((at for at, turn in enumerate(session.turns) if turn.prompt is not None), -1)
    return frozenset(
        session.turns[at].id for repeats in recurring for at in repeats if at != first_place
    )


def _takes_back(records: Sequence[RedactedRecord]) -> bool:
    first = next(filter(_is_prose, records), None)
    return first is not None and _CONCEDES.match(first.text[:300].replace("’", "'")) is not None


def is_objection(prompt: str) -> bool:
    """Return whether a prompt objects to the reply before it."""
    if len(prompt) > _LONGEST_OBJECTION:
        return False
    prompt = prompt.replace("’", "'")
    if _APPROVES.match(prompt):
        return False
    return (CORRECTS.match(prompt) or _STILL.search(prompt)) is not None
