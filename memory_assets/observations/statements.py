"""Observations from sentences that state a decision or a finding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from memory_assets.models import RedactedRecord, Turn
from memory_assets.observations.moments import Moment, Type, asked
from memory_assets.redacted_text import RedactedText, compose
from memory_assets.session_analysis.phrases import phrase, shorten
from memory_assets.session_analysis.scores import cause_score
from memory_assets.session_analysis.sentences import (
    own_words,
    plain_text,
    request_sentences,
    sentences,
)
from memory_assets.session_analysis.statements import POINTS_BACK, Said, in_context, readable

_MOST_DISCOVERIES = 2
_TRADE_OFF = compose("trade-off")
_DECIDED = phrase(
    r"\b(?:we|I)(?:'ve| have)? (?:also |deliberately |intentionally )?"
    r"(?:decided|chose|opted|settled on)\b"
    r"|^\W*decision(?: made)?:"
    r"|\b(?:was|were) (?:deliberately )?(?:chosen|preferred) (?:because|over|to|as)\b"
    r"|\b(?:we|I)(?:'ll| will|'re going to| are going to) (?:go|stick) with .{3,120}"
)
_HUMAN_DECIDED = phrase(
    r"^\W*(?:(?:ok(?:ay)?|yes|no|actually|alright|so|and|but|hmm+|i think)[,. ]+)*"
    r"(?:let'?s (?:go with|stick with|use|keep|drop|switch to|move to|not)\b"
    r"|(?:i|we)(?:'d| would)? (?:decided|prefer|chose|rather)\b"
    r"|(?:go|going) with\b|use (?:option|approach)\b|we(?:'ll| will) (?:use|go with|stick)\b"
    r"|i want to (?:use|keep|drop|go with|avoid)\b)"
)
_UNSURE = phrase(r"\?|\b(?:if|maybe|might|perhaps|could|would you|should we|when you|whether)\b")
_ABOUT_WORK = phrase(
    r"\b(?:skills?|workflow|subagents?|sub-agents?|this turn|todo list|commit message)\b"
)
_ASKS_A_CHOICE = phrase(
    r"\b(?:should|which|prefer|approach|strategy|scope|option|want to (?:use|keep|support)|handle|"
    r"do you want (?!me to)|how (?:do|would) you (?:want|like) (?!to proceed))\b"
)
_ASKS_TO_GO_ON = phrase(
    r"like to (?:do|proceed|continue|handle this todo)|how to proceed|ready to|proceed\b|"
    r"shall I|should I (?:proceed|continue|start|run|commit|push|go)|what(?:'s| is) (?:the|your)\b|"
    r"^(?:is|are|have|has|did|does|do you have|where|who)\b|"
    r"^which (?:\w+ )?(?:prs?|pull requests?|issues?|todos?|tickets?|files?|phase)\b"
)
_NO_CHOICE = phrase(
    r"^(?:yes|no|ok(?:ay)?|sure|continue|proceed|skip|done|n/?a|none|cancel|later|\d+)\b.{0,12}$"
)
_RECOMMENDED = re.compile(r"\s*\(Recommended\).*")
_ANSWERED = re.compile(
    r"(?:User has answered your questions?|Your questions have been answered):\s*"
)
_ANSWER = re.compile(r"\"(?P<question>[^\"\n]{8,400})\"\s*=\s*\"(?P<answer>[^\"\n]{1,300})\"")
_APPROVED = phrase(r"User has approved (?:your|the) plan")
_FINDING = phrase(
    r"\broot cause\b(?! anal)"
    r"|\b(?:the|your|our|my) (?:(?:real|actual|main|core|underlying|only|other) )?"
    r"(?:problem|issue|bug|cause|culprit)\b.{0,40}?\b(?:is|was|lies|comes)\b"
    r"|\bturn(?:s|ed) out\b|\bcaused by\b|\b(?:this|that|which) (?:is|was) why\b|\bthat's why\b"
    r"|\bthis explains\b|\bthe fix (?:is|was)\b|\bthe reason .{3,60} is\b|\bculprit\b"
)
_NO_FINDING = phrase(
    r"^\W*(?:I(?:'ve)? )?found the (?:root )?(?:cause|issue|problem|bug)\b(?: and \w+ it)?\W*$|"
    r"\b(?:issue|problem|bug) (?:description|report|statement|number)\b|\bI was\b|\bthe user\b"
    r"|\bissue is (?:really )?(?:after|about|asking|tracking)\b"
    r"|\bthe (?:fix|solution) (?:is|was) (?:already|now|just|not|to)\b|\bthat's why (?:we|I)\b"
    r"|^\W*(?:note|so|but|and)\b.{0,20}$"
)
_HEADING = re.compile(r"^#{1,3} +(?:Plan:? *)?(\S.{6,200})$", re.MULTILINE)


def decisions(turn: Turn, said: Sequence[Said]) -> Iterator[Moment]:
    """Yield the decisions of a turn: the human's answers to the agent's questions, approved
    plans, and decisions that human or agent states (`said` in it)."""
    yield from _chosen(turn)
    yield from _approved(turn)
    yield from _said_by_human(turn)
    for one in said:
        if one.recap or not _DECIDED.search(one.plain) or not readable(one.plain):
            continue
        if not _UNSURE.search(one.plain) and not _ABOUT_WORK.search(one.plain):
            yield _stated(one, turn, "decision", _TRADE_OFF)


def _said_by_human(turn: Turn) -> Iterator[Moment]:
    if turn.prompt is None:
        return
    for one in request_sentences(own_words(turn.prompt.text))[:6]:
        plain = one.text.replace("’", "'")
        if 24 <= len(plain) <= 220 and _HUMAN_DECIDED.match(plain) and not _UNSURE.search(plain):
            account = [compose("The user said: {}", one.text)]
            yield _moment("decision", turn, turn.prompt, one.text, account, [one.text], _TRADE_OFF)
            return


def _chosen(turn: Turn) -> Iterator[Moment]:
    for record in turn.records:
        if record.kind != "tool_result" or not (opening := _ANSWERED.search(record.text)):
            continue
        answered = [
            (
                record.text.cut(*found.span("question")).squeezed(),
                record.text.cut(*found.span("answer")).sub(_RECOMMENDED, "").squeezed(),
            )
            for found in _ANSWER.finditer(record.text, opening.end())
        ]
        pairs = [pair for pair in answered if _is_choice(*pair)]
        if not pairs:
            continue
        facts = [compose("{} {}", question, answer) for question, answer in pairs]
        question, answer = pairs[0]
        title = compose("{} → {}", shorten(question, 90), shorten(answer, 60))
        account = [compose("The user chose, when asked."), *facts[:3]]
        yield _moment("decision", turn, record, title, account, facts, _TRADE_OFF)


def _is_choice(question: str, answer: str) -> bool:
    """Return True if an answer decides about the work, not about whether to continue."""
    if _ASKS_TO_GO_ON.search(question) or _NO_CHOICE.match(answer) or len(answer) < 3:
        return False
    return _ASKS_A_CHOICE.search(question) is not None


def _approved(turn: Turn) -> Iterator[Moment]:
    plan: RedactedRecord | None = None
    for record in turn.records:
        if record.tool_name.lower() in ("exitplanmode", "exit_plan_mode"):
            if record.kind == "tool_use":
                plan = record
            elif plan is not None and _APPROVED.search(record.text[:400]):
                moment = _plan(turn, plan, record)
                if moment is not None:
                    yield moment


def _plan(turn: Turn, plan: RedactedRecord, approval: RedactedRecord) -> Moment | None:
    source = plan if _HEADING.search(plan.text) else approval
    heading = _HEADING.search(source.text)
    if heading is None:
        return None
    title = plain_text(source.text.cut(*heading.span(1)))
    steps = [one.text for one in sentences(source.text.cut(heading.end(), heading.end() + 4_000))]
    title = compose("Plan approved: {}", shorten(title, 110))
    facts = [text for text in steps[3:8] if len(text) > 20]
    moment = _moment("decision", turn, approval, title, steps[:3], facts, compose("why-it-exists"))
    return replace(moment, began=plan)


def discoveries(turn: Turn, said: Sequence[Said]) -> Iterator[Moment]:
    """Yield the sentences of a turn that state a cause or a finding most plainly."""
    scored = [
        (cause_score(one), -place, one)
        for place, one in enumerate(said)
        if not one.recap
        and _FINDING.search(one.plain)
        and not _NO_FINDING.search(one.plain)
        and (one.sentence.before or not POINTS_BACK.match(one.plain))
    ]
    best = sorted((each for each in scored if each[0] >= 3.0), key=lambda each: each[:2])
    for _, _, one in sorted(best[-_MOST_DISCOVERIES:], key=lambda each: -each[1]):
        yield _stated(one, turn, "discovery", compose("how-it-works"))


def _stated(one: Said, turn: Turn, kind: Type, concept: RedactedText) -> Moment:
    before = [one.sentence.before] if one.sentence.before else []
    account = [*before, one.text]
    return _moment(kind, turn, one.record, in_context(one), account, [one.text], concept)


def _moment(
    kind: Type,
    turn: Turn,
    anchor: RedactedRecord,
    title: RedactedText,
    account: Sequence[RedactedText],
    facts: list[RedactedText],
    concept: RedactedText,
) -> Moment:
    return Moment(
        type=kind,
        anchor=anchor,
        began=anchor,
        turns=(turn,),
        title=title,
        narrative=[*account, asked(turn)],
        facts=facts,
        concepts=[concept],
    )
