"""What the human asked: the title, the first real request, later changes of direction."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.models import RedactedRecord
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.summaries.phrases import EMPTY, closed, shorten, squeeze
from memory_assets.summaries.sentences import Sentence, plain_text, sentences
from memory_assets.summaries.session import SessionTurns

TITLE_LIMIT = 90
REQUEST_LIMIT = 400
_FIRST_REQUEST_LIMIT = 260
_LATER_REQUEST_LIMIT = 110
_SENTENCES_OF_A_REQUEST = 4
_MOST_CHANGES = 4

_TITLES = ("custom-title", "ai-title", "session-name", "thread-name", "session_info", "name")
_SMALL_TALK = re.compile(
    r"\W*(?:hi|hey|hello|hallo|test(?:ing)?|yes|yep|yeah|no|ok(?:ay)?|sure|thanks?|thank you|great|"
    r"good|nice|perfect|cool|please|continue|go(?: on| ahead)?|resume(?: last "
    r"session)?|proceed|do it|resume|retry|try "
    r"again|"
    r"next|done|lgtm|looks? good|stop|wait|warmup)\b[\s\w,.!]{0,12}$",
    re.IGNORECASE,
)
_MOVING = re.compile(
    r"(?:ok(?:ay)?,? )?(?:(?:let'?s )?(?:get|go) back to|(?:git "
    r")?(?:switch|checkout|pull|fetch)(?: to)?|"
    r"open|cd)\b[\w\s./-]{0,40}",
    re.IGNORECASE,
)
"""Moving about in the repository before the work begins."""
_ANSWERING = re.compile(r"\W*(?:yes|no|ok(?:ay)?|sure|yep|\d+)\b[\s,.]", re.IGNORECASE)
_TURNING = re.compile(
    r"^\W*(?:no\b|actually|instead|wait|stop|but\b|don'?t|do not|not\b|now\b|also\b|let'?s|"
    r"rather|forget|on second thought|one more|another|next\b|then\b|and (?:then|also|now))",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"\b(?:can|could|should|please|fix|add|make|change|implement|create|write|remove|update|use|"
    r"check|why|how|what|investigate|look|refactor|move|rename|test|run|review|explain|commit|merge|"
    r"release|deploy|build|find|show|support|debug|document|convert|replace|rebase|push)\b",
    re.IGNORECASE,
)
_PASTED = re.compile(
    r"^\s*(?:\[Image|\[Pasted|<[a-z][\w-]*[ >]|\{|Traceback|at \S+ \(|\d{4}-\d\d-\d\d[T ]|\$ "
    r"|❯|⎿|⏺)"
)
_PLAN = re.compile(r"^\s*implement the following plan:?\s*", re.IGNORECASE)
_OPENING_HEADING = re.compile(r"\s*#{1,3} +(?:Plan: *)?(\S.*)")
_IMAGE = re.compile(r"\[(?:Image|image)[^\]]*\]\s*")


def title(session: SessionTurns) -> RedactedText:
    """Return the best title there is, at most `TITLE_LIMIT` characters.

    In order: the user's own, the agent's, the one that the session's own leaf names, the
    first request's first sentence; without a human the first sentence of an agent's.
    """
    given: dict[str, RedactedText] = {}
    for record in session.records:
        if record.kind == "title" and record.text.strip():
            given[record.subtype] = record.text
    for subtype in (*_TITLES, *sorted(given)):
        if subtype in given:
            return shorten(squeeze(given[subtype]), TITLE_LIMIT)
    leaf = _leaf_summary(session)
    if leaf:
        return shorten(squeeze(leaf), TITLE_LIMIT)
    asked = sorted(requests(session), key=lambda text: _ANSWERING.match(text) is not None)
    for text in (*asked, *_without_a_human(session)):
        for sentence in _request_sentences(text):
            return shorten(_open(sentence.text), TITLE_LIMIT)
        if text.strip():
            return shorten(squeeze(text.cut(0, 400)), TITLE_LIMIT)
    return EMPTY


def _without_a_human(session: SessionTurns) -> Iterator[RedactedText]:
    """What may stand for a request: an agent's prompt to this one, then what it said."""
    for record in session.records:
        if record.subtype == "agent-prompt" and not record.text.startswith("Message Type"):
            yield record.text
    for record in session.records:
        text = record.text.strip()
        if record.kind == "assistant_text" and len(text) > 24 and text[0] not in "{[":
            yield record.text


def _leaf_summary(session: SessionTurns) -> RedactedText:
    """The last `leaf-summary` whose leaf is a record of this session; others are foreign."""
    own = {record.record_uuid for record in session.records}
    found = EMPTY
    for record in session.records:
        if record.subtype == "leaf-summary" and record.parent_uuid in own:
            found = record.text
    return found


def requests(session: SessionTurns) -> list[RedactedText]:
    """Return the human's prompts that ask for something, oldest first."""
    return [_stripped(prompt.text) for prompt in _prompts(session) if _asks(prompt)]


def _prompts(session: SessionTurns) -> Iterator[RedactedRecord]:
    for turn in session.turns:
        if turn.prompt is not None:
            yield turn.prompt


def _asks(prompt: RedactedRecord) -> bool:
    text = _stripped(prompt.text).strip()
    if not text or (len(text) < 60 and (_SMALL_TALK.fullmatch(text) or _MOVING.fullmatch(text))):
        return False
    return not (prompt.subtype == "command" and " " not in text and text.startswith("/"))


def _stripped(text: RedactedText) -> RedactedText:
    """A prompt without image marks and the opening that plan mode writes."""
    plan = _PLAN.match(text)
    text = text.cut(plan.end()) if plan else text
    parts: list[RedactedText] = []
    at = 0
    for image in _IMAGE.finditer(text):
        parts.append(text.cut(at, image.start()))
        at = image.end()
    return join("", [*parts, text.cut(at)]) if parts else text


def _request_sentences(text: RedactedText) -> list[Sentence]:
    """A prompt's own words: no pasted output; a plan's heading counts as its first sentence."""
    head = text.cut(0, 6_000)
    lines, at = [], 0
    for raw in head.split("\n"):
        if not _PASTED.match(raw):
            lines.append(head.cut(at, at + len(raw)))
        at += len(raw) + 1
    found = sentences(join("\n", lines))
    opening = _OPENING_HEADING.match(head)
    if opening:
        return [Sentence(closed(plain_text(head.cut(*opening.span(1))))), *found]
    return found


def request(session: SessionTurns) -> RedactedText:
    """Return the first real request, then the later changes of direction, shortened."""
    asked = requests(session)
    if not asked:
        return EMPTY
    first = _condensed(asked[0], _FIRST_REQUEST_LIMIT)
    later = _changes_of_direction(asked[1:], REQUEST_LIMIT - len(first) - len(" Then: "))
    if not first:
        return later
    return compose("{} Then: {}", closed(first), later) if later else first


def _condensed(text: RedactedText, limit: int) -> RedactedText:
    """The first sentences that fit; the first one alone is cut where it is too long."""
    kept: list[RedactedText] = []
    for sentence in _request_sentences(text)[:_SENTENCES_OF_A_REQUEST]:
        used = sum(len(part) + 1 for part in kept)
        if used + len(sentence.text) > limit:
            if not kept:
                kept.append(shorten(sentence.text, limit))
            break
        kept.append(sentence.text)
    if not kept and text.strip():
        return shorten(squeeze(text.cut(0, limit * 2)), limit)
    return join(" ", kept)


def _changes_of_direction(asked: list[RedactedText], room: int) -> RedactedText:
    """As many of the later requests as fit, those first that turn the work elsewhere."""
    condensed = [_condensed(text, _LATER_REQUEST_LIMIT) for text in asked]
    order = sorted(range(len(condensed)), key=lambda place: (-_weight(condensed[place]), place))
    chosen: list[int] = []
    for place in order:
        cost = len(condensed[place]) + 2
        if len(chosen) < _MOST_CHANGES and _weight(condensed[place]) > 0 and cost <= room:
            chosen.append(place)
            room -= cost
    return join("; ", (_open(condensed[place]) for place in sorted(chosen)))


def _weight(text: RedactedText) -> float:
    if len(text) < 12:
        return 0.0
    turning = 1.5 if _TURNING.search(text) else 0.0
    return turning + (1.0 if _ASKING.search(text) else 0.0) + (0.2 if len(text) > 40 else 0.0)


def _open(text: RedactedText) -> RedactedText:
    return text.cut(0, len(text) - 1) if text.endswith((".", ";", ":", ",")) else text
