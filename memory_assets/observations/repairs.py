"""What a turn repaired: the fault that somebody met, as the agent explains it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory_assets.models import RedactedRecord, Turn
from memory_assets.redacted_text import RedactedText, compose
from memory_assets.session_analysis.phrases import Phrase, base_name, distinct, listing, shorten
from memory_assets.session_analysis.scores import DID, cause_score
from memory_assets.session_analysis.sentences import asks, own_words, request_sentences
from memory_assets.session_analysis.statements import Said, in_context, readable

_SHORT_PROMPT = 80
_FAULT_LIMIT = 100
_LEAST_SCORE = 0.5
_HEAD = 4_000
_ENDING = re.compile(r"[.:; ]+\Z")
_COMPLAINT = Phrase(
    r"\b(?:bugs?|buggy|broken?|breaks|crash\w*|errors?|fail(?:s|ed|ing|ures?)?|exceptions?|wrong|"
    r"incorrect\w*|misleading|regression|leaks?|hang|hangs|traceback|fatal|panic|fucked|"
    r"(?:is|are|was|were|does|did|has|have|wo)(?:n't| not|nt) (?!to|we|you|want|forget|need)\w+|"
    r"don'?t (?:see|get|work|show)|not working|missing|goes wrong|used to|no longer|"
    r"still (?:see|seeing|shows?|fail\w*|not|broken)|can(?:'t|not) (?:see|get|find|open))\b"
)
_NO_COMPLAINT = Phrase(
    r"\b(?:should|let'?s|instead|please|i want|we need|i'd like|(?:can|could) (?:you|we) add|"
    r"would (?:also )?be \w+|"
    r"comments?|inaccurate|accurate|dead|unreachable|unused|duplicat\w*|implementations|naming|"
    r"lint\w*)\b|^\W*(?:if|when|ensure|add|use|consider|make)\b|\?\W*$"
)
_FAULT = Phrase(
    r"\broot cause\b(?! anal)|\b(?:the|your|our|a) (?:\w+ )?(?:problem|issue|bug|culprit)\b"
    r".{0,60}?\b(?:is|was|lies|comes)\b|\bbecause\b|\bthat's why\b|\bwhich (?:is|was) why\b|"
    r"\bcaused by\b|\bso (?:it|the|that|we)\b.{0,40}\b(?:never|always|fail\w*|lost|wrong)\b|"
    r"\b(?:is|was|are|were) (?:hardcoded|missing|wrong|never|overriding|ignored|not "
    r"(?:being )?\w+ed)\b|\bonly (?:looks?|reads?|checks?|works?|has|had)\b|\binstead of\b|"
    r"\b(?:doesn't|does not|didn't|did not|never) \w+|\bfails? (?:to|with|when)\b"
)
_TIDYING = Phrase(r"\bdead code\b|\bnow-dead\b|\bunreachable\b|\bduplicat\w+ (?:code|logic)\b")
_ADMITS = Phrase(
    r"\bfix(?:e[sd]|ing)?\b|\bgood (?:catch|point)\b|\byou(?:'re| are) (?:absolutely )?right\b|"
    r"\b(?:real|valid) (?:bug|issue|finding|concern|point)|\bresolved\b|\broot cause\b|"
    r"\bfound (?:it|the (?:\w+ )?(?:issue|problem|bug|cause))\b|"
    r"\bthe (?:bug|culprit|issue|problem) (?:is|was)\b"
)
_EXPLAINED = Phrase(
    r"\bfound the (?:\w+ )?(?:bug|issue|problem|cause)\b|\broot cause\b|\bthere's a bug\b|"
    r"\bthe (?:bug|issue|problem) (?:is|was) that\b"
)
_NO_FAULT = Phrase(
    r"\?\W*$|\b(?:might|maybe|perhaps|possibly|probably|could be|likely)\b|^\W*if\b|"
    r"^\W*(?:[-+$>❯#{}]|at \S+|\d+[:.]\d)|\b(?:lint\w*|gofmt|goconst)\b|"
    r"\bthe (?:\w+ )?fix\b"
)


def fault_repaired(
    turn: Turn, said: Sequence[Said], before: Turn | None, said_before: Sequence[Said]
) -> RedactedText | None:
    """Return what was broken, in a sentence of the agent or else of the human, if the agent
    explains it, or the human complains of it and the agent agrees; else None. After a short
    prompt ("continue", "yes") complaint or explanation may be those of the turn before."""
    if turn.prompt is None or not said:
        return None
    if any(_EXPLAINED.search(one.plain) for one in said):
        return _best(said)
    prompts = [turn.prompt]
    if len(turn.prompt.text) <= _SHORT_PROMPT and before is not None:
        if any(_EXPLAINED.search(one.plain) for one in said_before):
            return _best(said_before)
        if before.prompt is not None and not asks(turn.prompt):
            prompts.append(before.prompt)
    complaints = [text for prompt in prompts for text in _complaints(prompt)]
    if not complaints or not any(_ADMITS.search(one.plain) for one in said):
        return None
    told = [text for text in complaints if readable(text) and not _NO_FAULT.search(text)]
    return _best(said) or (told[0] if told else None)


def _complaints(prompt: RedactedRecord) -> list[RedactedText]:
    """Return the sentences of a prompt that say that something is broken."""
    if _TIDYING.search(prompt.text[:_HEAD]):
        return []
    found = [one.text for one in request_sentences(own_words(prompt.text))[:12]]
    return [
        text
        for text in found
        if _COMPLAINT.search(text.replace("’", "'")) and not _NO_COMPLAINT.search(text)
    ]


def _best(said: Sequence[Said]) -> RedactedText | None:
    """Return the sentence with the best score among those that state a fault."""
    faults = [
        (cause_score(one), -place, one)
        for place, one in enumerate(said)
        if not one.recap
        and readable(one.plain)
        and _FAULT.search(one.plain)
        and not _NO_FAULT.search(one.plain)
        and not DID.match(one.plain)
    ]
    score, _, best = max(faults, key=lambda each: each[:2], default=(0.0, 0, None))
    return in_context(best) if best is not None and score >= _LEAST_SCORE else None


def repaired(fault: RedactedText, modified: Sequence[RedactedText]) -> RedactedText:
    """Return the title of a repair: what was broken, and the files that were changed."""
    names = listing(distinct(base_name(path) for path in modified), 3)
    return compose("{}: fixed by changing {}", shorten(fault.sub(_ENDING, ""), _FAULT_LIMIT), names)
