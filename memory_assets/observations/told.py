"""Whether a sentence of the agent tells by itself what was decided.

A linear model says so: the weights of the words and features of a sentence are summed. They are in
`told.txt`, as benchmarks/told_fit.py fits them to sentences that were judged by reading.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from math import inf
from pathlib import Path

from memory_assets.observations.linear import NAME, Linear
from memory_assets.observations.moments import TITLE_LIMIT
from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis.phrases import Phrase, shorten
from memory_assets.session_analysis.statements import Said, in_context

WEIGHTS = Path(__file__).with_name("told.txt")
_MAY_TELL = Phrase(
    r"\b(?:instead|rather than|decided|decisions?|chose|chosen|choosing|opt(?:s|ed)?|settled|"
    r"went with|go(?:ing)? with|stick(?:ing)? with|deliberate(?:ly)?|intentional(?:ly)?|"
    r"by design|on purpose|"
    r"prefer(?:red)?|trade-?offs?|no longer|in favou?r of|only|never|always|must|should|"
    r"(?:I'll|I will|we'll|we will|I'm going to|let's) (?:just |simply |also )?(?:keep|leave|use|"
    r"pass|put|make|replace|skip|drop|treat|switch|store|preserve|apply|reject|move|remove|persist)|"
    r"(?:simplest|cleanest|right|simpler|correct|minimal|clean|cleaner|safest)(?: and \w+ \w+)? "
    r"(?:approach|fix|solution|way)|not \w+[^.]{0,40} but|the user (?:wants|prefers|chose|said))\b"
)
_LISTS_DECISIONS = Phrase(
    r"\b(?:key|locked|prior|constraining|design|technical|architectur\w+|implementation|main)\b"
    r".{0,24}\bdecisions?\b|\bdecisions? (?:made|taken|implemented)\b|\b(?:decided|locked)\b"
)
_STILL_OPEN = Phrase(
    r"\b(?:open|before|needed|to make|you'll|you will|required|points?|finali[sz]e|rationale|"
    r"proceed|course|risks?|questions?|discuss)\b|\?"
)
_WORD = re.compile(r"[a-z']+")
_MOST_NAMES = 3
_LENGTHS = (5, 8, 12, 18, 26)
_DECIDES_AT_WORK = Phrase(
    r"(?:\b(?:I'll|I will|we'll|I'm going to|let's) (?:just |simply |also )?(?:keep|leave|use|pass|"
    r"put|make|replace|skip|drop|treat|switch|store|add|change|preserve|apply|reject|move|remove|"
    r"persist) (?!it\b|this\b|that\b|these\b|those\b|them\b)"
    r"|^(?:Since|Because|To (?:preserve|keep|avoid|stay)|Given)\b.{5,160}?\bI'll (?!need|assume)\w+"
    r"|\b(?:simplest|cleanest|right|simpler|correct|minimal|clean|cleaner|safest)"
    r"(?: and \w+ \w+)? (?:approach|fix|solution|way)\b)"
    r".{3,200}?\b(?:instead of|rather than) \w{3}"
)
_IN_TEXT: dict[str, Phrase | re.Pattern[str]] = {
    "<alternative>": Phrase(
        r"\b(?:instead of|rather than) (?:the |an? |per-|our |using |its )*(?!it\b|that\b|this\b|"
        r"these\b|those\b|just\b|what\b|being\b|\w+ing (?:it|them)\b)(?=\S*[^\W\d_]{3})\S+"
    ),
    "<imperative>": Phrase(
        r"^\W*(?:(?:please|now|then|and|also|so|ok(?:ay)?|yes|no)[,. ]+)*(?:use|remove|rename|"
        r"replace|change|keep|make|add|move|put|drop|delete|set|switch|store|show|display|update|modify|"
        r"refactor|create|implement|allow|enable|disable|include|extend|grant|return|hide|write|"
        r"support|turn)\b"
    ),
    "<announced>": Phrase(
        r"\b(?:I|we)(?:'ll| will|'m going to) (?:just |simply |also )?(?:use|keep|leave|remove|"
        r"replace|make|store|add|drop|switch|treat|put|skip|move|modify|change|set)\b"
    ),
    "<done>": Phrase(
        r"\b(?:now|no longer) (?:\w+s|\w+ed|in|only)\b|\b(?:updated|changed|replaced|switched|"
        r"moved|removed|renamed|added|uses|reads|stores|returns|runs)\b"
    ),
    "<found so>": Phrase(
        r"\b(?:is|are|was|were) (?:\w+ )?(?:using|being|looking|trying|reading|getting|returning|"
        r"showing|calling|creating|expecting|checking|pointing|treating|likely|currently|still|"
        r"actually)\b|\b(?:expects|tries|currently)\b"
    ),
    "<broken>": Phrase(
        r"\b(?:errors?|fail\w*|bugs?|broken?|issues?|problem|wrong|crash\w*|incorrect\w*|mistake|"
        r"doesn't work|not working|missing|conflict|exception|fix(?:e[sd]|ing)?)\b"
    ),
    "<unsure>": Phrase(
        r"\b(?:maybe|might|perhaps|could|would|whether|wonder|not sure|probably|likely|if|unless|"
        r"or|either|consider|seems?|appears?|looks like|suggest|recommend\w*|potential\w*|"
        r"ideally|try)\b"
    ),
    "<question>": re.compile(r"\?"),
    "<tests>": Phrase(
        r"\b(?:tests?|testing|specs?|e2e|coverage|mock\w*|lint\w*|benchmarks?|fixture)\b"
        r"|\.(?:spec|test)\."
    ),
    "<documents>": Phrase(
        r"\b(?:docs?|documentation|readme|comments?|changelog|guide|paragraph|section|manuscript|"
        r"writing|document|report|\w+\.md)\b"
    ),
    "<points>": Phrase(
        r"\b(?:its?|it's|this|that|these|those|them|they|here|there|above|below|same|other|ones?|"
        r"everything|all)\b"
    ),
    "<points first>": Phrase(
        r"^\W*(?:(?:and|so|but|then|yes|no|ok)[, ]+)*(?:its?|it's|this|that|these|those|them|they|"
        r"here|there|he|she)\b"
    ),
    "<says decided>": Phrase(
        r"\b(?:we|I)(?:'ve| have)? (?:also |deliberately |intentionally )?"
        r"(?:decided|chose|opted|settled on)\b|\bI picked \S+ deliberately\b"
        r"|\b(?:was|were) (?:deliberately )?(?:chosen|preferred) (?:because|over|to|as)\b"
        r"|\b(?:we|I)(?:'ll| will|'re going to| are going to) (?:go|stick) with .{3,120}"
        r"\b(?:instead of|rather than)\b"
        r"|\bthe user wants .{3,120}\b(?:instead|rather than)\b"
        r"|\bintentionally (?:deferred|left out|out of scope)\b"
    ),
    "<of work>": Phrase(
        r"\b(?:test server|tests? first|add an? (?:\w+ )?tests?|re-?run|task list|agent|let me|"
        r"would be|either|commit the|work through|file by file|in parallel|guidance|tool|unused|"
        r"no longer (?:used|needed)|"
        r"tests? (?:live|use|file)|already)\b|_test\b|\.(?:spec|test)\."
    ),
}
_NO_DECISION = ("<unsure>", "<question>", "<of work>")
_IN_HEADING = {
    "<below changes>": Phrase(r"change|updated|implement|files|what|summary|done|complete"),
    "<below problems>": Phrase(
        r"issue|problem|bug|finding|cause|analysis|error|risk|concern|option"
    ),
}


def told_by(one: Said) -> float:
    """Return how surely a sentence tells a decision; from 0 on it is taken for one."""
    if decides_at_work(one):
        return inf
    seen = features(one)
    return _model().value(seen) if seen else -inf


def decides_at_work(one: Said) -> bool:
    """Return True if a sentence says, while files are changed, how it is done and how not."""
    if not one.changed or one.closing or not _DECIDES_AT_WORK.search(one.plain):
        return False
    return not any(_IN_TEXT[each].search(one.plain) for each in _NO_DECISION)


def features(one: Said) -> set[str]:
    """Return `features_of` a sentence and its heading."""
    return features_of(in_context(one), one.sentence.heading or one.sentence.lead)


def features_of(sentence: RedactedText, heading: str = "") -> set[str]:
    """Return the words of a sentence as a title has it, its pairs of words, and between `<>` what
    it is about; none if it cannot tell a decision."""
    text = shorten(sentence, TITLE_LIMIT).replace("’", "'")
    if not _MAY_TELL.search(text) and not _lists_decisions(heading):
        return set()
    words = _WORD.findall(text.lower())
    found = {*words, *(f"{one} {other}" for one, other in pairwise(words))}
    found |= {name for name, pattern in _IN_TEXT.items() if pattern.search(text)}
    length = len(text.split())
    found.add(f"<below {next((most for most in _LENGTHS if length < most), 'any')} words>")
    named = min(len(NAME.findall(text)), _MOST_NAMES)
    found |= {f"<{count} names>" for count in range(1, named + 1)}
    if heading:
        found |= {name for name, pattern in _IN_HEADING.items() if pattern.search(heading)}
    if _lists_decisions(heading):
        found.add("<below decisions>")
    return found


def _lists_decisions(heading: str) -> bool:
    listed = _LISTS_DECISIONS.search(heading) if heading else None
    return listed is not None and not _STILL_OPEN.search(heading)


@lru_cache(maxsize=1)
def _model() -> Linear:
    return Linear(WEIGHTS)
