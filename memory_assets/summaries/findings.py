"""The fields `investigated` and `learned`: what was looked into, and what came of it."""

from __future__ import annotations

import re

from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.summaries.files import Touched
from memory_assets.summaries.phrases import base_name, distinct, listing, shorten, squeeze
from memory_assets.summaries.sentences import split
from memory_assets.summaries.session import SessionTurns
from memory_assets.summaries.statements import Said, choose, readable

LEARNED_LIMIT = 400
_LEARNED_MOST = 3
_INVESTIGATED_LIMIT = 400
_TASK_LIMIT = 70

_CAUSE = re.compile(
    r"\broot cause|\b(?:the|your|our|my) "
    r"(?:(?:real|actual|main|core|underlying|only|exact|other) )?"
    r"(?:problem|issue|bug|cause|culprit|reason|difference|catch)\b.{0,40}?"
    r"\b(?:is|was|lies|seems|comes)\b|\bturn(?:s|ed) out\b|\bcaused by\b|"
    r"\b(?:this|that|which) (?:is|was) why\b|\bthat's why\b|\bthis explains\b|"
    r"\bthe (?:fix|solution|trick) (?:is|was)\b|\bthe key (?:is|was) (?:that|to)\b|\bculprit\b",
    re.IGNORECASE,
)
_FOUND = re.compile(
    r"\b(?:found (?:it\b|out|why|that|(?:the|a) (?:\w+ )?(?:problem|issue|bug|cause|culprit|reason|"
    r"error|hang|leak|race|gap|mismatch|difference))|discovered|I (?:can )?(?:now )?see (?:the "
    r"(?:problem|issue|bug)|why)|"
    r"it appears that|the (?:logs?|output|test|trace|error) (?:show|say|indicate|confirm)s?|"
    r"key (?:insight|finding|observation)|important(?:ly)?:)",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\bbecause\b|\bdue to\b|\bsince (?:the|it|this|we|there)\b|\bso "
    r"(?:that|the|it|every|each|no)\b|"
    r"\bmeans (?:that|the|it|we)\b|\bonly (?:when|if)\b|\bhappens when\b|\binstead of\b|"
    r"\brather than\b|\bdoes(?:n't| not)\b|\bisn't\b|\bnever\b|\bactually\b|\bwhereas\b|"
    r"\b(?:this|that|which) explains\b|\bexplains (?:it|why|the)\b|\btherefore\b|\bby default\b",
    re.IGNORECASE,
)
_PLANNING = re.compile(
    r"^\W*(?:(?:now|next|first|then|ok(?:ay)?|so|great|good|perfect)[,.!]* )*"
    r"(?:using|let me|let's|I'll|I will|I'm (?:now |also )?\w+ing\b|I am \w+ing\b|I need to|I "
    r"want to|"
    r"I should|we should|we need to|going to|should I|shall I|would you|do you|if|you can|"
    r"you could|you may|sorry|you're (?:absolutely )?right|only \w+ \w+ \w+ if)",
    re.IGNORECASE,
)
_VERDICT = re.compile(
    r"\bthe (?:fix|solution) (?:is|was) (?:in|correct|complete|good|clean|ready)\b|"
    r"\b(?:issue|problem|bug) (?:is|was) (?:now )?(?:fixed|resolved|gone)\b",
    re.IGNORECASE,
)
_DOUBTFUL = re.compile(
    r"\b(?:might|maybe|perhaps|probably|possibly|could be|may be|seems? (?:like|to)|I think|"
    r"I suspect|wonder|would|will)\b|\?$",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(r"\b(?:if|when|options?|could|either|pros|cons)\b.*:\W*$", re.IGNORECASE)
_LABELLED = re.compile(r"^[A-Z][\w -]{2,30}: ")
_AT_WORK = re.compile(r"\b(?:I'll|I'm \w+ing|I am \w+ing|I will|let me)\b", re.IGNORECASE)
_ABOUT_WORK = re.compile(
    r": [A-Z][a-z]+ed\b|^\W*(?:(?:I|we)(?:'ve| have)? (?:also |now "
    r")?(?:\w+ed|wrote|made|ran|did)\b|could|can|would|needs?|I'd|I would|next|[a-z]{3,}ed|"
    r"requires?|does(?:n't| not)|not)\b",
    re.IGNORECASE,
)
_CODE_LIKE = re.compile(r"\w+[._/]\w+|\w+\(\)|[a-z][A-Z]|\b\d+\b|--\w")


def learned(said: list[Said], done: RedactedText) -> RedactedText:
    """Return the sentences that state a cause or a finding, none that `done` holds already."""
    return choose(
        said,
        _learned_score,
        room=LEARNED_LIMIT,
        most=_LEARNED_MOST,
        threshold=1.2,
        beside=split(done),
    )


def answered(session: SessionTurns, said: list[Said]) -> RedactedText:
    """Return how the last message begins, if it answers a question."""
    asked = [turn.prompt.text for turn in session.turns if turn.prompt is not None]
    if not asked or not _QUESTION.search(asked[-1][:2_000]):
        return join("", ())
    return choose(said, _answer_score, room=LEARNED_LIMIT, most=2, threshold=1.0)


def _answer_score(one: Said) -> float:
    if not (one.closing and one.last) or not readable(one.plain) or one.plain.endswith("?"):
        return 0.0
    return 0.0 if _PLANNING.search(one.plain) else 1.0


def _learned_score(one: Said) -> float:
    text = one.plain
    if not readable(text) or _PLANNING.search(text) or _VERDICT.search(text):
        return 0.0
    if one.sentence.item and _CONDITIONAL.search(one.sentence.lead):
        return 0.0
    score = 3.0 if _CAUSE.search(text) else 0.0
    score += 1.5 if _FOUND.search(text) else 0.0
    score += min(2, len(_REASON.findall(text))) * 0.7
    if score == 0:
        return 0.0
    score += 0.5 if _CODE_LIKE.search(text) else 0.0
    score += 0.5 if one.closing or one.recap else -0.8
    score -= 1.2 if _DOUBTFUL.search(text) else 0.0
    score -= 0.6 if len(text) > 220 else 0.0
    score -= 0.6 if score < 2 and _LABELLED.search(text) else 0.0
    score -= 1.5 if _AT_WORK.search(text) else 0.0
    score -= 1.0 if _ABOUT_WORK.search(text) else 0.0
    return score


_QUESTION = re.compile(
    r"\?|^\W*(?:how|what|why|which|where|who|when|can|is|are|does|do|did|should|could|explain)\b",
    re.IGNORECASE,
)
_GLOB = re.compile(r"^\*|\*\*/|/\*")
_QUERY = re.compile(r"^(?:query|url): (.{4,120})$", re.MULTILINE)
_DESCRIPTION = re.compile(r"^description: (.{4,120})$", re.MULTILINE)


def investigated(session: SessionTurns, files: Touched) -> RedactedText:
    """Return "Read …; searched for …; looked up …; subagents: …", as far as there is any."""
    parts: list[RedactedText] = []
    names = distinct(base_name(path) for path in files.read)
    if names:
        parts.append(compose("Read {}", listing(names, 6)))
    searches = [text for text in files.searches if len(text) <= 40 and not _GLOB.search(text)]
    if searches:
        parts.append(compose("searched for {}", listing(searches, 3)))
    looked_up = _looked_up(session)
    if looked_up:
        parts.append(compose("looked up {}", listing(looked_up, 3)))
    tasks = _subagent_tasks(session)
    if tasks:
        parts.append(compose("had subagents do: {}", listing(tasks, 3)))
    while parts and sum(len(part) + 2 for part in parts) > _INVESTIGATED_LIMIT:
        parts.pop()
    return compose("{}.", _capital(join("; ", parts))) if parts else join("", ())


def _capital(text: RedactedText) -> RedactedText:
    """Our own lead-ins begin small; only the first of them opens the field."""
    for small, large in (
        ("searched", compose("Searched")),
        ("looked", compose("Looked")),
        ("had", compose("Had")),
    ):
        if text.startswith(small):
            return compose("{}{}", large, text.cut(len(small)))
    return text


def _looked_up(session: SessionTurns) -> list[RedactedText]:
    found: list[RedactedText] = []
    for record in session.records:
        name = record.tool_name.lower()
        if record.kind == "tool_use" and record.agent_id is None and "web" in name:
            query = _QUERY.search(record.text)
            if query:
                found.append(shorten(squeeze(record.text.cut(*query.span(1))), _TASK_LIMIT))
    return distinct(found)


def _subagent_tasks(session: SessionTurns) -> list[RedactedText]:
    found: list[RedactedText] = []
    for record in session.records:
        if record.kind == "tool_use" and record.tool_name.lower() in ("task", "agent"):
            task = _DESCRIPTION.search(record.text)
            if task:
                found.append(shorten(squeeze(record.text.cut(*task.span(1))), _TASK_LIMIT))
    return distinct(found)
