"""Observations from decisions: choices, plans, and what human or agent says is to be done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from memory_assets.models import RedactedRecord, Turn
from memory_assets.observations.choices import TRADE_OFF, chosen
from memory_assets.observations.moments import Moment, stated
from memory_assets.observations.statements import statement
from memory_assets.redacted_text import RedactedText, compose
from memory_assets.session_analysis.phrases import EMPTY, names, phrase, shorten
from memory_assets.session_analysis.sentences import (
    own_words,
    plain_text,
    request_sentences,
    sentences,
)
from memory_assets.session_analysis.statements import Said, readable

_MOST_OF_THE_AGENT = 2
_LONGEST_PROMPT = 2_500
_SOFTLY = (
    r"^\W*(?:(?:ok(?:ay)?|yes|yeah|no|nope|actually|alright|so|and|but|hmm+|i think|ideally|sure|"
    r"agreed|also|or better|better|please|for now|well|wait|oh|then|now|just)\b[,:.! ]*)*"
)
_HUMAN_DECIDED = phrase(
    rf"{_SOFTLY}(?:"
    r"let'?s (?:just )?(?:go (?:with|for)|stick|use|keep (?!\w+ing\b|on\b)|drop|skip|"
    r"switch to|move (?:to|the)|not (?!mess|worry)|limit|leave|remove|ignore|call|go \d)"
    r"|(?:i|we)(?:'d| would)?(?: still)? (?:decided|prefer|chose|rather|go (?:with|for))\b"
    r"|(?:i|we)(?:'d| would)? (?:still )?like (?:to (?:still|keep|switch|use|go)|it to)\b"
    r"|i want (?:to (?:use|keep|drop|go with|avoid)|only)\b"
    r"|(?:go|going) with\b|use (?:option|approach)\b|we(?:'ll| will) (?:use|go with|stick)\b"
    r"|(?:skip|ignore|leave|omit|drop) (?!it\b|that\b|this\b)(?=.{6})"
    r"|(?:never|always) \w+(?=.{6})"
    r"|(?:we|it|this|there|that|the [^,?]{2,60}?|(?!you\b)\w+(?: \w+)?) (?:should|must|shall) "
    r"(?:be )?(?:only|always|never|not be|still|stay|remain|just)\b"
    r")"
    r"|^\W*no,? let'?s \w+|\b(?:would|i'd) prefer (?:not |that |to )"
    r"|, skip (?!to\b)(?:the |#)?\w+|\bi think (?:it'?s|it is) better (?:not )?to\b"
    r"|\bwe should (?:just|only|never|not|always|still|keep|use)\b|\blet'?s go (?:with|for|\d)"
)
_HUMAN_REFUSES = phrase(rf"{_SOFTLY}i (?:only want|don'?t want|do not want)\b")
_CONTRAST = phrase(
    rf"{_SOFTLY}(?:(?:let'?s|we should|we can|you should|(?:can|could) (?:we|you)|i'?d|"
    r"i want(?: you)? to|we(?:'ll| will)) (?:just |also )?(?!check|see|look|explain|tell|help)\w+"
    r"|(?:use|do|make|add|show|put|move|keep|replace|set|redact|return|call|store|remove|update|"
    r"mark|change|write|create|implement|rename|switch|capture|have|give|read|include|print|bump)"
    r") .*\b(?:instead|rather than|because)\b|.{0,20}\bi think we (?:can|should) .* instead\b"
)
_UNSURE = phrase(
    r"\b(?:maybe|might|perhaps|could|would you|should (?:we|i)|when you|whether|wonder|not sure|"
    r"i guess|any idea)\b|^\W*if\b"
)
_SAYS_NOTHING = names(
    "skip rest fix leave keep stay stays yeah yes okay per previous respond response reply let the "
    "and but not just then them they this that these those all both should can will would with for "
    "don default you your our was were are has have had been being its now too only very more most "
    "about from there one instead return move"
)
_WORD = re.compile(r"[^\W\d_]{3,}")
"""Words that do not say what a decision is about."""
_FEWEST_WORDS = 2
_OF_NUMBERS = re.compile(r"\b(?:skip|fix|do)\b.*\d")
"""Items of a list are done or not: what they are is not in the sentence before."""
_QUESTION = re.compile(r"\?\W*$")
_ABOUT_WORK = phrase(
    r"\b(?:skills?|workflow|subagents?|sub-agents?|agents? in parallel|this turn|todo list|"
    r"commit message|nolint|sed|grep|your next reply|overwhelm|full file|approve)\b"
    r"|\blet'?s (?:get back|go back)\b|\b(?:do|use|try) (?:this|that|it) instead\b"
    r"|\b(?:last|previous) message\b|\b(?:add|include) .*\bexplanations?\b"
    r"|\b(?:first|second|third|last|other) (?:approach|option|one|way)\b|\boption [a-z\d]\b"
    r"|\b(?:your recommendation|(?:that|this|a \w+ different) (?:model|strategy))\W*$|\bone step\b"
)
_REFUSED = re.compile(r"the user said:\s*(?!The user wants to clarify)(?P<words>\S)")
_AGENT_DECIDED = phrase(
    r"\b(?:we|I)(?:'ve| have)? (?:also |deliberately |intentionally )?"
    r"(?:decided|chose|opted|settled on)\b|\bI picked \S+ deliberately\b"
    r"|^\W*(?:decision(?: made)?:|going with (?!the flow)|confirmed direction\b)"
    r"|\b(?:was|were) (?:deliberately )?(?:chosen|preferred) (?:because|over|to|as)\b"
    r"|\b(?:we|I)(?:'ll| will|'re going to| are going to) (?:go|stick) with .{3,120}"
    r"|\bthe user wants .{3,120}\b(?:instead|rather than)\b"
    r"|\bintentionally (?:deferred|left out|kept|out of scope)\b"
)
_AT_WORK_DECIDED = phrase(
    r"\b(?:I'll|I will|we'll|I'm going to|let's) (?:just |simply |also )?(?:keep|leave|use|pass|"
    r"put|make|replace|skip|drop|treat|switch|store|add|change|preserve|apply|reject|move|remove|"
    r"persist)\b.{3,200}?\b(?:instead|rather than|since|because|so that|as-is)\b"
    r"|^(?:Since|Because|To (?:preserve|keep|avoid|stay)|Given)\b.{5,160}?"
    r"\bI'll (?!need|assume)\w+"
    r"|\b(?:simplest|cleanest|right|simpler|correct|minimal|clean|cleaner|safest)"
    r"(?: and \w+ \w+)? (?:approach|fix|solution|way)\b.{0,60}?"
    r"(?:\bis (?:an? |to |just )|: (?:just |simply )?(?:use|change|add|include|store|make|keep|"
    r"switch|replace|put|pass|persist|remove|"
    r"drop|disable|return|call|move|skip|read|write|let|treat)\b).{12}"
)
_PROCESS = phrase(
    r"\b(?:test server|tests? first|add an? (?:\w+ )?tests?|re-?run|task list|agent|let me|"
    r"would be|either|commit the|work through|file by file|in parallel|guidance|tool|unused|"
    r"no longer (?:used|needed)|"
    r"tests? (?:live|use|file)|already)\b|_test\b|\.(?:spec|test)\."
)
_APPROVED = phrase(r"User has approved (?:your|the) plan")
_HEADING = re.compile(r"^#{1,3} +(?:Plan:? *)?(\S.{6,200})$", re.MULTILINE)
_GIVEN_PLAN = phrase(r"\s*(?:please )?implement (?:the following|this) plan:?\s*\n")


def decisions(turn: Turn, before: Turn | None, said: Sequence[Said]) -> Iterator[Moment]:
    """Yield the decisions of a turn: choices and approved plans, and decisions that human or
    agent states (`said` in it). `before` is the turn before it."""
    yield from chosen(turn, before)
    yield from _approved(turn)
    yield from _said_by_human(turn, before)
    yield from _said_by_agent(turn, said)


def _said_by_human(turn: Turn, before: Turn | None) -> Iterator[Moment]:
    """Yield the decisions in a prompt, as one, and those in what was said to refuse a call."""
    if turn.prompt is not None and len(turn.prompt.text) <= _LONGEST_PROMPT:
        told = [] if before is None else [r for r in before.records if r.kind == "assistant_text"]
        last = [one.text for one in sentences(told[-1].text)][-1:] if told else []
        yield from _decided_by_human(turn, turn.prompt, own_words(turn.prompt.text), last)
    for record in turn.records:
        refusal = record.kind == "tool_result" and record.is_error
        if refusal and (words := _REFUSED.search(record.text)):
            yield from _decided_by_human(turn, record, record.text.cut(words.start("words")), [])


def _decided_by_human(
    turn: Turn, record: RedactedRecord, words: RedactedText, last: Sequence[RedactedText]
) -> Iterator[Moment]:
    """Yield the decisions in what the human said, as one: each sentence by itself, or with the one
    before it (`last`: the agent's last one), of which it says what is to be."""
    told = [one.text for one in request_sentences(words)[:12]]
    found = []
    for text, earlier in zip(told, [*(last or [EMPTY]), *told], strict=False):
        if _settles(text) and _stands_alone(text):
            found.append(text)
        elif _settles(text) and _stands_alone(earlier) and not _OF_NUMBERS.search(text):
            found.append(compose("{} → {}", shorten(earlier, 120), text))
    if found:
        account = [compose("The user said: {}", text) for text in found[:3]]
        yield stated("decision", (turn,), record, found[0], account, found[:4], TRADE_OFF)


def _settles(text: str) -> bool:
    """Return True if a sentence of the human says how something is to be."""
    plain = text.replace("’", "'")
    if not 12 <= len(plain) <= 320 or _UNSURE.search(plain) or _ABOUT_WORK.search(plain):
        return False
    if _CONTRAST.match(plain) or _HUMAN_REFUSES.match(plain):
        return True
    return _HUMAN_DECIDED.search(plain) is not None and not _QUESTION.search(plain)


def _stands_alone(text: str) -> bool:
    """Return False for a sentence that says nothing without what was said before it ("let's go
    100")."""
    about = (word.lower() for word in _WORD.findall(text))
    return sum(word not in _SAYS_NOTHING for word in about) >= _FEWEST_WORDS


def _said_by_agent(turn: Turn, said: Sequence[Said]) -> Iterator[Moment]:
    """Yield the first sentences that say what was decided, and the first one that says how
    and why it is done while files are changed."""
    own = [one for one in said if not one.recap and readable(one.plain)]
    told = [one for one in own if _AGENT_DECIDED.search(one.plain) and _is_clear(one)]
    told = told[:_MOST_OF_THE_AGENT]
    done = [
        one
        for one in own
        if one.changed
        and not one.closing
        and _AT_WORK_DECIDED.search(one.plain)
        and not _PROCESS.search(one.plain)
        and _is_clear(one)
    ][: _MOST_OF_THE_AGENT - len(told)][:1]
    for one in dict.fromkeys([*told, *done]):
        yield statement(one, turn, "decision", TRADE_OFF)


def _is_clear(one: Said) -> bool:
    return not any(each.search(one.plain) for each in (_QUESTION, _UNSURE, _ABOUT_WORK))


def _approved(turn: Turn) -> Iterator[Moment]:
    """Yield the plans that a turn's human approved: shown by the agent, or given as the prompt."""
    if turn.prompt is not None and _GIVEN_PLAN.match(turn.prompt.text):
        yield from _plan(turn, turn.prompt, turn.prompt)
    plan: RedactedRecord | None = None
    for record in turn.records:
        if record.tool_name.lower() in ("exitplanmode", "exit_plan_mode"):
            if record.kind == "tool_use":
                plan = record
            elif plan is not None and _APPROVED.search(record.text[:400]):
                yield from _plan(turn, plan, record)


def _plan(turn: Turn, plan: RedactedRecord, approval: RedactedRecord) -> Iterator[Moment]:
    source = plan if _HEADING.search(plan.text) else approval
    heading = _HEADING.search(source.text)
    if heading is None:
        return
    title = plain_text(source.text.cut(*heading.span(1)))
    steps = [one.text for one in sentences(source.text.cut(heading.end(), heading.end() + 4_000))]
    title = compose("Plan approved: {}", shorten(title, 110))
    facts = [text for text in steps[3:8] if len(text) > 20]
    why = compose("why-it-exists")
    moment = stated("decision", (turn,), approval, title, steps[:3], facts, why)
    yield replace(moment, began=plan)
