"""Observations from decisions: choices, and what the human says is to be."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.models import RedactedRecord, Turn
from memory_assets.observations.moments import NAME, TITLE_LIMIT, Moment, moment_of
from memory_assets.redacted_text import RedactedText, compose
from memory_assets.session_analysis.phrases import Phrase, shorten, unescaped
from memory_assets.session_analysis.sentences import request_sentences, without_frame

TRADE_OFF = compose("trade-off")
_RECOMMENDED = re.compile(r"\s*\(Recommended\).*")
_ANSWERED = re.compile(
    r"(?:User has answered your questions?|Your questions have been answered):\s*"
)
_ANSWER = re.compile(
    r"\"(?P<question>[^\n]{8,600}?)\"\s*=\s*\"(?P<answer>[^\"\n]{1,300})\"(?!\s*=)"
)
_JSON = r"\"(?:[^\"\\]|\\.)"
_ASKED_FOR = re.compile(rf"\"id\":\"(?P<id>[\w-]+)\"[^{{}}]*?\"question\":(?P<question>{_JSON}*\")")
_GIVEN = re.compile(rf"\"(?P<id>[\w-]+)\":\{{\"answers\":\[(?P<answer>{_JSON}{{1,300}}\")")
_GOES_ON = Phrase(
    r"like to (?:do|proceed|continue|handle)\b|\bproceed\b|\bready to\b|\b(?:shall|should) i\b|"
    r"^(?:is|are|have|has|did|does|do you (?:have|mean)|can|could|who)\b|"
    r"\bwhat(?:'s| is) (?:\S+ ){0,2}(?:your|ip|name|email|url|address)\b|\bplease run\b|\bsudo\b|"
    r"^which (?:\w+ )?(?:prs?|pull requests?|issues?|todos?|tickets?|files?|phases?|claims?)\b|"
    r"\b(?:look|sound)s? right\b|\bre(?:work|start|produce)\b|\b(?:do|did) you mean\b|"
    r"\b(?:start with|first|next|today|focus|sequence|priorit\w+|tackle|autonomous|thorough|"
    r"upload|track(?:ed)?|commit\w*|branch\w*|prs?|pull requests?|push\w*|merge[ds]?|rebase|"
    r"worktree|sessions?|tasks?|todos?|planning|phases?|milestones?|sprint|roadmap|review|"
    r"restart|install\w*|audit\w*|verify|investigat\w+|analy[sz]\w+|progress|backlog|"
    r"(?:the|of|in) scope|dispatch\w*|budget|spend|docs?|documentation|readme|changelog|guide|"
    r"report|add (?:\w+ )?tests|initiali[sz]e)\b"
)
"""Questions about how to go on with the work, or for what the human knows."""
_NO_CHOICE = Phrase(
    r"^(?:yes|no|ok(?:ay)?|sure|continue|proceed|done|n/?a|none|stop|restore|cancel|later|all|"
    r"everything|#?\d+)\b.{0,12}$|^both(?: options)?$|"
    r"^(?:skip|there (?:is|are)|i'll|help|explain|show|what|how|why|can|could|wait|i think|i would|"
    r"i'd|let me|all of|confirm|approve|revise|honestly)\b|"
    r"\b(?:these|above|branch|milestone|commit|session|execute|proceed|continue|start|stop|skip|"
    r"later|done|now|first|next|push|plan|discuss|looks good|draft|run|verif\w+|research|analysis|"
    r"help me|explain|not yet|not sure|recommend|everything)\b|[?,]$"
)
"""Answers that choose nothing, or only how to go on."""
_LONGEST_CHOICE = 60
"""Characters of an answer; what is longer was typed, and has no room in a title."""


def choices_in(turn: Turn) -> Iterator[Moment]:
    """Yield the choices of a turn: answers to a tool that asks."""
    for record, pairs in answers(turn):
        if pairs := [pair for pair in pairs if _decides(*pair)]:
            facts = [compose("{} {}", question, answer) for question, answer in pairs]
            question, answer = pairs[0]
            title = compose("{} → {}", shorten(question, TITLE_LIMIT - len(answer) - 3), answer)
            account = [compose("The user chose, when asked."), *facts[:3]]
            yield moment_of("decision", (turn,), record, title, account, facts, [TRADE_OFF])


def _decides(question: str, answer: str) -> bool:
    """Return True if an answer decides about the product: neither it nor its question is about how
    to go on."""
    if _GOES_ON.search(question.replace("’", "'")) or _NO_CHOICE.search(answer.replace("’", "'")):
        return False
    return len(answer) <= _LONGEST_CHOICE


def answers(
    turn: Turn,
) -> Iterator[tuple[RedactedRecord, list[tuple[RedactedText, RedactedText]]]]:
    """Yield each result of a tool that asks, with its questions and answers."""
    questions: dict[str, RedactedText] = {}
    for record in turn.records:
        if record.tool_name == "request_user_input":
            if record.kind == "tool_use":
                questions = {
                    match["id"]: _unquoted(record.text, match, "question")
                    for match in _ASKED_FOR.finditer(record.text)
                }
            else:
                matches = _GIVEN.finditer(record.text)
                pairs = [
                    (questions[match["id"]], _answer(_unquoted(record.text, match, "answer")))
                    for match in matches
                    if match["id"] in questions
                ]
                yield record, pairs
        elif record.kind == "tool_result" and (opening := _ANSWERED.search(record.text)):
            matches = _ANSWER.finditer(record.text, opening.end())
            pairs = [
                (
                    record.text.cut(*match.span("question")).squeezed(),
                    _answer(record.text.cut(*match.span("answer"))),
                )
                for match in matches
            ]
            yield record, pairs


def _unquoted(text: RedactedText, match: re.Match[str], group: str) -> RedactedText:
    start, end = match.span(group)
    return unescaped(text.cut(start + 1, end - 1)).squeezed()


def _answer(text: RedactedText) -> RedactedText:
    return text.sub(_RECOMMENDED, "").squeezed()


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
_RULED = Phrase(
    rf"{_SOFTLY}(?!(?:it|this|that|these|those|you|they|and)\b)(?:[\w.`@/-]+ ){{1,8}}?"
    r"(?:should|must|shall) (?:just )?(?:be )?(?:only|always|never|not be)\b(?=\W+\w+)"
    rf"|{_SOFTLY}(?:we|there) (?:should|must) only\b"
)
_PREFERS = Phrase(
    r"\b(?:(?:it'?s|its|it is|would be) better (?:to|not|if)|(?:i|we)(?: would)? (?:only|just) "
    r"want (?!to\b|you\b)|ideally we|(?:the|our) (?:main )?goal is to|"
    r"(?:i|we) (?:really |explicitly )?(?:don'?t|do not) want "
    r"(?!to (?!use|pay|store|depend|rely|lose|add|"
    r"require|break|expose)|you\b)|"
    r"i(?:'d| would) prefer(?! not\b)|i(?:'m| am) (?:comfortable|fine) with)\b"
)
_FEWEST_OF_A_WISH = 7
_ALTERNATIVE = Phrase(
    rf"{_SOFTLY}(?:(?:(?:let'?s|we should|we can|(?:can|could) (?:we|you)|i'?d|i want(?: you)? to|"
    r"we(?:'ll| will)) (?:just |also )?(?!check|see|look|explain|tell|help)\w+"
    rf" {_NAMED}.*\b(?:instead|rather than)\b)"
    r"|(?:use|do|make|add|show|put|move|keep|replace|set|redact|return|call|store|remove|update|"
    r"mark|change|write|create|implement|rename|switch|capture|have|give|read|include|print|bump)"
    rf" {_NAMED}.*\b(?:instead of|rather than) {_NAMED})"
)
_FORBIDS = Phrase(
    r"(?:^|[,;:(—–-] ?|\b(?:and|but|however|please|also|as always|only thing is) )"
    r"(?:(?:please |ever )?(?:do not|don't|dont|never|must not|mustn't) (?!worry|know|think|forget|"
    r"mind|see|have|understand|care|get|like|need|skip|bother|just)\w+ \w+"
    r"|(?:i|we) (?:really |only |still )?(?:don't|dont|do not|never) (?:want|use|ship|allow|"
    r"support|push|store) (?!you\b|it\b|that\b|this\b)\w+"
    r"|(?:bitte )?(?:niemals|nie|immer) \w+)"
    r"|\b(?:must|should) (?:not|never|always|only)\b(?! be \w+ing)"
    r"|^\W*(?:also )?only \w+ (?!if you).* (?:if|when|while|where)\b"
    r"|\balways (?!\w+(?:ed|s)\b)\w+ the\b|\bwithout my\b|\balways preferred\b"
    r"|\bshould be (?:the|an?) (?:primary|secondary|default|fallback|source of truth)\b"
    r"|\bstanding (?:item|rule|instruction)\b"
    r"|やっぱり(?!.*(?:エラー|失敗|動か|ダメ|だめ))[^。]{0,40}(?:やめ(?:る|て|よう|ます|ましょう)|にする|"
    r"にします|にして|使う|使います|使って)(?:ください|下さい|ね|よ)*(?=\W|$)"
    r"|\b(?:bitte|du|wir) [^.!?]{0,60}\b(?:nicht|keine?n?)\b"
    r"|(?:不要|别(?!人|的|处)|不准|禁止|必须|不能)(?!.*(?:吗|？|么))|只(?:需要?|要|能|用|做|留)[^，。]{3,}就"
    r"|ないで|しないこと|禁止|使わな|だけ[^。は]{0,12}して|必ず"
)
"""What is not to be done, or only in one way, in the words of a person."""
_NO_CONSTRAINT = Phrase(
    r"^\W*(?:it|this|that|they)\b|\b(?:these|those|yet|error|warning|for now|why|doesn'?t|"
    r"isn'?t|can'?t|won'?t|if you|anything else|summari[sz]e|amend\w*|create a new one)\b"
    r"|\?\W*$|[？吗]"
)
_LONGEST_CONSTRAINED = 700
"""Characters of a prompt; longer ones are instructions of a program, or the work's description."""
_UNSURE = Phrase(
    r"\b(?:maybe|might|perhaps|could|would you|should (?:we|i)|when you|whether|wonder|not sure|"
    r"guess(?:ing)?|i think at|any idea|or|question|why|should it|clearly|must be some|"
    r"there should be another|can'?t be \w+ing|should be able)\b|^\W*if\b"
)
_ANY_WORD = re.compile(r"\w+")
_FEWEST_OF_A_RULE = 5
_OTHER = Phrase(r"\b(?:instead of|rather than)\b")
_QUESTION = re.compile(r"\?\W*$")
_ABOUT_WORK = Phrase(
    r"\b(?:rebase|revert|cherry-pick|merge|branch|worktree|commit|pr|pull requests?|push|"
    r"branches)\b|"
    r"\b(?:make|add) (?:a|an|the) (?:new )?rule\b|\bfor example\b|\bmention that\b|"
    r"\b(?:create|add|write) (?:a|an|the) .{0,40}\b(?:section|docs?|documentation)\b|"
    r"\b(?:changelog|skills?|workflow|quick task|sub-?agents?|agents? in parallel|this turn|"
    r"todo list|commit message|nolint|sed|grep|your next reply|overwhelm|full file|approve)\b"
    r"|\blet'?s (?:get back|go back)\b|\b(?:do|use|try) (?:this|that|it) instead\b"
    r"|\bof type '|\bwell-tested\b|\breadme\b|\b(?:last|previous) message\b"
    r"|\b(?:add|include) .*\bexplanations?\b"
    r"|\b(?:first|second|third|last|other) (?:approach|option|one|way)\b|\boption [a-z\d]\b"
    r"|\b(?:your recommendation|(?:that|this|a \w+ different) (?:model|strategy))\W*$|\bone step\b"
    r"|\bhere\W*$|\b(?:rather than|instead of) (?:this|that|these|those)\b"
)


def decisions(turn: Turn) -> Iterator[Moment]:
    """Yield the decisions of a turn: choices, and what the human says is to be."""
    yield from choices_in(turn)
    if turn.typed is not None and len(turn.typed.text) <= _LONGEST_PROMPT:
        yield from _decided_by_human(turn, turn.typed, without_frame(turn.typed.text))


def _decided_by_human(turn: Turn, record: RedactedRecord, words: RedactedText) -> Iterator[Moment]:
    """Yield the decisions in what the human said, as one."""
    sentences = [
        sentence.text
        for sentence in request_sentences(words)[:12]
        if not sentence.text.startswith("/")
    ]
    is_short = len(words) <= _LONGEST_CONSTRAINED
    decided = [text for text in sentences if _settles(text) or (is_short and _constrains(text))]
    if decided:
        account = [compose("The user said: {}", text) for text in decided[:3]]
        yield moment_of("decision", (turn,), record, decided[0], account, decided[:4], [TRADE_OFF])


def _settles(text: str) -> bool:
    """Return True if a sentence of the human says how something is to be."""
    plain = text.replace("’", "'")
    if not 12 <= len(plain) <= 420 or _UNSURE.search(plain) or _ABOUT_WORK.search(plain):
        return False
    if _ALTERNATIVE.match(plain):
        return _OTHER.search(plain) is not None or NAME.search(plain) is not None
    if _QUESTION.search(plain):
        return False
    words = len(_ANY_WORD.findall(plain))
    if words >= _FEWEST_OF_A_RULE and _RULED.match(plain):
        return True
    return words >= _FEWEST_OF_A_WISH and _PREFERS.search(plain) is not None


def _constrains(text: str) -> bool:
    """Return True if a sentence of the human says what must not be done, or only in one way."""
    plain = text.replace("’", "'")
    if not 8 <= len(plain) <= 420 or _NO_CONSTRAINT.search(plain):
        return False
    return _FORBIDS.search(plain) is not None
