"""The request in a human prompt, in its own words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory_assets.models import RedactedRecord
from memory_assets.redacted_text import RedactedText, join
from memory_assets.session_analysis.phrases import closed, shorten
from memory_assets.session_analysis.sentences import Sentence, plain_text, sentences

_SENTENCES_OF_A_REQUEST = 4
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
_PASTED = re.compile(
    r"^\s*(?:\[Image|\[Pasted|<[a-z][\w-]*[ >]|\{|Traceback|at \S+ \(|\d{4}-\d\d-\d\d[T ]|\$ "
    r"|❯|⎿|⏺)"
)
_PLAN = re.compile(r"^\s*implement the following plan:?\s*", re.IGNORECASE)
_OPENING_HEADING = re.compile(r"\s*#{1,3} +(?:Plan: *)?(\S.*)")
_IMAGE = re.compile(r"\[(?:Image|image)[^\]]*\]\s*")


def asks(prompt: RedactedRecord) -> bool:
    """Return True if a prompt is a request, not a greeting, a "go on" or a bare command."""
    text = own_words(prompt.text).strip()
    if not text or (len(text) < 60 and (_SMALL_TALK.fullmatch(text) or _MOVING.fullmatch(text))):
        return False
    return not (prompt.subtype == "command" and " " not in text and text.startswith("/"))


def own_words(text: RedactedText) -> RedactedText:
    """Return a prompt without image marks and the opening that plan mode writes."""
    return text.sub(_PLAN, "").sub(_IMAGE, "")


def request_sentences(text: RedactedText) -> Sequence[Sentence]:
    """Return a prompt's sentences without pasted output; a plan's heading counts as the first."""
    head = text.cut(0, 6_000)
    found = sentences(join("\n", (line for line in head.lines() if not _PASTED.match(line))))
    opening = _OPENING_HEADING.match(head)
    if opening:
        return [Sentence(closed(plain_text(head.cut(*opening.span(1))))), *found]
    return found


def condensed(text: RedactedText, limit: int) -> RedactedText:
    """Return the first sentences that fit; the first one alone is cut where it is too long."""
    kept: list[RedactedText] = []
    for sentence in request_sentences(text)[:_SENTENCES_OF_A_REQUEST]:
        used = sum(len(part) + 1 for part in kept)
        if used + len(sentence.text) > limit:
            if not kept:
                kept.append(shorten(sentence.text, limit))
            break
        kept.append(sentence.text)
    if not kept and text.strip():
        return shorten(text.cut(0, limit * 2).squeezed(), limit)
    return join(" ", kept)
