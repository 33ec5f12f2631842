"""Decisions by choice: the human's answers to a tool that asks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.models import RedactedRecord, Turn
from memory_assets.observations.moments import TITLE_LIMIT, Moment, stated
from memory_assets.redacted_text import RedactedText, compose
from memory_assets.session_analysis.phrases import Phrase, shorten, unescaped

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


def chosen(turn: Turn) -> Iterator[Moment]:
    """Yield the choices of a turn: answers to a tool that asks."""
    for record, pairs in answers(turn):
        if pairs := [pair for pair in pairs if _decides(*pair)]:
            facts = [compose("{} {}", question, answer) for question, answer in pairs]
            question, answer = pairs[0]
            title = compose("{} → {}", shorten(question, TITLE_LIMIT - len(answer) - 3), answer)
            account = [compose("The user chose, when asked."), *facts[:3]]
            yield stated("decision", (turn,), record, title, account, facts, [TRADE_OFF])


def _decides(question: str, answer: str) -> bool:
    """Return True if an answer decides about the product: neither it nor its question is about how
    to go on."""
    asked, said = question.replace("’", "'"), answer.replace("’", "'")
    about_the_way = _GOES_ON.search(asked) or _NO_CHOICE.search(said)
    return not about_the_way and len(answer) <= _LONGEST_CHOICE


def answers(
    turn: Turn,
) -> Iterator[tuple[RedactedRecord, list[tuple[RedactedText, RedactedText]]]]:
    """Yield each result of a tool that asks, with its questions and answers."""
    asked: dict[str, RedactedText] = {}
    for record in turn.records:
        if record.tool_name == "request_user_input":
            if record.kind == "tool_use":
                asked = {
                    match["id"]: _unquoted(record.text, match, "question")
                    for match in _ASKED_FOR.finditer(record.text)
                }
            else:
                given = _GIVEN.finditer(record.text)
                pairs = [
                    (asked[match["id"]], _answer(_unquoted(record.text, match, "answer")))
                    for match in given
                    if match["id"] in asked
                ]
                yield record, pairs
        elif record.kind == "tool_result" and (opening := _ANSWERED.search(record.text)):
            given = _ANSWER.finditer(record.text, opening.end())
            pairs = [
                (
                    record.text.cut(*match.span("question")).squeezed(),
                    _answer(record.text.cut(*match.span("answer"))),
                )
                for match in given
            ]
            yield record, pairs


def _unquoted(text: RedactedText, match: re.Match[str], group: str) -> RedactedText:
    start, end = match.span(group)
    return unescaped(text.cut(start + 1, end - 1)).squeezed()


def _answer(text: RedactedText) -> RedactedText:
    return text.sub(_RECOMMENDED, "").squeezed()
