"""Observations from decisions: choices, and what the human says is to be."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.models import RedactedRecord, Turn
from memory_assets.observations.choices import TRADE_OFF, chosen
from memory_assets.observations.moments import NAME, Moment, stated
from memory_assets.redacted_text import RedactedText, compose
from memory_assets.session_analysis.phrases import Phrase
from memory_assets.session_analysis.sentences import own_words, request_sentences

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
    yield from chosen(turn)
    if turn.typed is not None and len(turn.typed.text) <= _LONGEST_PROMPT:
        yield from _decided_by_human(turn, turn.typed, own_words(turn.typed.text))


def _decided_by_human(turn: Turn, record: RedactedRecord, words: RedactedText) -> Iterator[Moment]:
    """Yield the decisions in what the human said, as one."""
    told = [one.text for one in request_sentences(words)[:12] if not one.text.startswith("/")]
    is_short = len(words) <= _LONGEST_CONSTRAINED
    statements = [text for text in told if _settles(text) or (is_short and _constrains(text))]
    if statements:
        account = [compose("The user said: {}", text) for text in statements[:3]]
        yield stated(
            "decision", (turn,), record, statements[0], account, statements[:4], [TRADE_OFF]
        )


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
