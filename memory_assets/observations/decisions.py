"""Observations from decisions: choices, plans, and what human or agent says is to be done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from memory_assets.models import PLAN, RedactedRecord, Turn
from memory_assets.observations.choices import TRADE_OFF, chosen
from memory_assets.observations.linear import NAME
from memory_assets.observations.moments import Moment, stated
from memory_assets.observations.statements import statement
from memory_assets.observations.told import told_by
from memory_assets.redacted_text import RedactedText, compose
from memory_assets.session_analysis.phrases import Phrase, names, shorten
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
_NAMED = (
    r"(?!(?:to )?(?:not|it|this|that|these|those|them|both|all|your|my|something|anything|nothing|"
    r"whatever|everything|th(?:e|at) (?:same|other|first|second|third|last|current|latest|"
    r"existing)|an? \w+ different|option|approach|\w+ing)\b)"
    r"(?:(?:an?|the|our|one) )?(?=\S*[^\W\d_]{3})"
)
"""A thing with a name, not one that was pointed to, nor a number or an activity."""
_USED = Phrase(
    rf"{_SOFTLY}(?:(?:i|we)(?:'d| would)? (?:still )?(?:like|want)(?: it)? to (?:still )?(?:use|"
    r"switch to|avoid|only use)|we(?:'ll| will) (?:use|go with|stick (?:to|with))) "
    rf"{_NAMED}"
)
_CHOSEN = Phrase(
    rf"{_SOFTLY}(?:let'?s (?:just )?(?:go (?:with|for)|stick (?:to|with)|use|keep|call it|drop|"
    r"remove|switch to|not use|limit|change|get rid of|move(?! on)|rename|replace|simplify|"
    rf"turn off)|going with) {_NAMED}"
)
"""What needs a name in it: of other sentences that begin so, half tell nothing by themselves."""
_RULED = Phrase(
    rf"{_SOFTLY}(?!(?:it|this|that|these|those|you|they|and)\b)(?:[\w.`@/-]+ ){{1,8}}?"
    r"(?:should|must|shall) (?:just )?(?:be )?(?:only|always|never|not be)\b(?=\W+\w+)"
)
"""A rule needs words that tell what it is about: of short ones, half tell nothing."""
_ALTERNATIVE = Phrase(
    rf"{_SOFTLY}(?:(?:(?:let'?s|we should|we can|(?:can|could) (?:we|you)|i'?d|i want(?: you)? to|"
    r"we(?:'ll| will)) (?:just |also )?(?!check|see|look|explain|tell|help)\w+"
    rf" {_NAMED}.*\b(?:instead|rather than)\b)"
    r"|(?:use|do|make|add|show|put|move|keep|replace|set|redact|return|call|store|remove|update|"
    r"mark|change|write|create|implement|rename|switch|capture|have|give|read|include|print|bump)"
    rf" {_NAMED}.*\b(?:instead of|rather than) {_NAMED})"
)
_UNSURE = Phrase(
    r"\b(?:maybe|might|perhaps|could|would you|should (?:we|i)|when you|whether|wonder|not sure|"
    r"i guess|any idea|or)\b|^\W*if\b"
)
_SAYS_NOTHING = names(
    "skip rest fix leave keep stay stays yeah yes okay per previous respond response reply let the "
    "and but not just then them they this that these those all both should can will would with for "
    "don default you your our was were are has have had been being its now too only very more most "
    "about from there one instead return move prefer want like would drop option"
)
"""Words that do not say what a decision is about."""
_WORD, _ANY_WORD = re.compile(r"[^\W\d_]{3,}"), re.compile(r"\w+")
_FEWEST_WORDS = 2
_FEWEST_NAMED, _FEWEST_OF_A_RULE = 6, 14
_OTHER = Phrase(r"\b(?:instead of|rather than)\b")
_QUESTION = re.compile(r"\?\W*$")
_ABOUT_WORK = Phrase(
    r"\b(?:rebase|revert|cherry-pick|merge|branch|worktree|commit|pr|pull requests?|push|"
    r"branches)\b|"
    r"\b(?:make|add) (?:a|an|the) (?:new )?rule\b|\bfor example\b|\bmention that\b|"
    r"\b(?:create|add|write) (?:a|an|the) .{0,40}\b(?:section|docs?|documentation)\b|"
    r"\b(?:skills?|workflow|subagents?|sub-agents?|agents? in parallel|this turn|todo list|"
    r"commit message|nolint|sed|grep|your next reply|overwhelm|full file|approve)\b"
    r"|\blet'?s (?:get back|go back)\b|\b(?:do|use|try) (?:this|that|it) instead\b"
    r"|\b(?:last|previous) message\b|\b(?:add|include) .*\bexplanations?\b"
    r"|\b(?:first|second|third|last|other) (?:approach|option|one|way)\b|\boption [a-z\d]\b"
    r"|\b(?:your recommendation|(?:that|this|a \w+ different) (?:model|strategy))\W*$|\bone step\b"
    r"|\bhere\W*$|\b(?:rather than|instead of) (?:this|that|these|those)\b"
)
_REFUSED = re.compile(r"the user said:\s*(?!The user wants to clarify)(?P<words>\S)")
_APPROVED = Phrase(r"User has approved (?:your|the) plan")
_HEADING = re.compile(r"^#{1,3} +(?:Plan:? *)?(\S.{6,200})$", re.MULTILINE)
_PLANNED = Phrase(
    r"^\W*(?:add|allow|always|batch|block|build|change|combine|consolidate|convert|create|decouple|"
    r"delete|detect|disable|drop|embed|enable|expose|extract|filter|group|hide|implement|integrate|"
    r"introduce|invert|limit|make|merge|migrate|move|pass|persist|port|propagate|redesign|"
    r"remove|rename|replace|restore|route|run|separate|show|simplify|split|store|"
    r"support|surface|switch|turn|unify|use|validate)\b(?!.*\b(?:git|push|commit|phase|session|docs?|"
    r"documentation|readme|branch|folder|markdown)\b)(?=(?:.*?\s\S*?[^\W\d_]{3}){3})"
)
"""A heading that says what is done, not only what it is about."""
_GIVEN_PLAN = Phrase(r"\s*(?:please )?implement (?:the following|this) plan:?\s*\n")


def decisions(turn: Turn, before: Turn | None, said: Sequence[Said]) -> Iterator[Moment]:
    """Yield the decisions of a turn: choices and approved plans, and decisions that human or
    agent states (`said` in it). `before` is the turn before it."""
    yield from chosen(turn, before)
    yield from _approved(turn)
    yield from _said_by_human(turn)
    yield from _said_by_agent(turn, said)


def _said_by_human(turn: Turn) -> Iterator[Moment]:
    """Yield the decisions in a prompt, as one, and those in what was said to refuse a call."""
    if turn.typed is not None and len(turn.typed.text) <= _LONGEST_PROMPT:
        yield from _decided_by_human(turn, turn.typed, own_words(turn.typed.text))
    for record in turn.records:
        refusal = record.kind == "tool_result" and record.is_error
        if refusal and (words := _REFUSED.search(record.text)):
            yield from _decided_by_human(turn, record, record.text.cut(words.start("words")))


def _decided_by_human(turn: Turn, record: RedactedRecord, words: RedactedText) -> Iterator[Moment]:
    """Yield the decisions in what the human said, as one."""
    told = [one.text for one in request_sentences(words)[:12]]
    found = [text for text in told if _settles(text) and _stands_alone(text)]
    if found:
        account = [compose("The user said: {}", text) for text in found[:3]]
        yield stated("decision", (turn,), record, found[0], account, found[:4], TRADE_OFF)


def _settles(text: str) -> bool:
    """Return True if a sentence of the human says how something is to be."""
    plain = text.replace("’", "'")
    if not 12 <= len(plain) <= 320 or _UNSURE.search(plain) or _ABOUT_WORK.search(plain):
        return False
    if _ALTERNATIVE.match(plain):
        return _OTHER.search(plain) is not None or NAME.search(plain) is not None
    if _QUESTION.search(plain):
        return False
    words = len(_ANY_WORD.findall(plain))
    if _CHOSEN.match(plain) and NAME.search(plain) and words >= _FEWEST_NAMED:
        return True
    ruled = words >= _FEWEST_OF_A_RULE and _RULED.match(plain)
    return _USED.match(plain) is not None or bool(ruled)


def _stands_alone(text: str) -> bool:
    """Return False for a sentence that says nothing without what was said before it ("let's go
    100")."""
    about = (word.lower() for word in _WORD.findall(text))
    return sum(word not in _SAYS_NOTHING for word in about) >= _FEWEST_WORDS


def _said_by_agent(turn: Turn, said: Sequence[Said]) -> Iterator[Moment]:
    """Yield the sentences that tell most surely what was decided, one of a message, in order."""
    surest: dict[int, tuple[float, int]] = {}
    for at, one in enumerate(said):
        if not one.recap and readable(one.plain):
            sure = told_by(one), -at
            surest[one.record.seq] = max(sure, surest.get(one.record.seq, sure))
    best = sorted(each for each in surest.values() if each[0] >= 0)[-_MOST_OF_THE_AGENT:]
    for at in sorted(-each[1] for each in best):
        yield statement(said[at], turn, "decision", TRADE_OFF)


def _approved(turn: Turn) -> Iterator[Moment]:
    """Yield the plans that a turn's human approved: shown by the agent, or given as the prompt."""
    if turn.prompt is not None and (
        turn.prompt.subtype == PLAN or _GIVEN_PLAN.match(turn.prompt.text)
    ):
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
    if not _PLANNED.match(title):
        return
    steps = [one.text for one in sentences(source.text.cut(heading.end(), heading.end() + 4_000))]
    title = compose("Plan approved: {}", shorten(title, 110))
    facts = [text for text in steps[3:8] if len(text) > 20]
    why = compose("why-it-exists")
    moment = stated("decision", (turn,), approval, title, steps[:3], facts, why)
    yield replace(moment, began=plan)
