"""Whether an answer to a question decides something about the product.

A linear model says so: the weights of what question and answer are about are summed. They are in
`answered.txt`, as benchmarks/answered_fit.py fits them to answers that were judged by reading.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from memory_assets.observations.linear import NAME, Linear
from memory_assets.session_analysis.phrases import Phrase

WEIGHTS = Path(__file__).with_name("answered.txt")
_LONGEST_OPTION = 60
"""Characters of an option; what is longer was typed, and says more than that it is chosen."""
_SHORT, _FOREIGN = 5, 0.1
_PLACES = (
    r"\b(?:button|page|screen|field|column|table|menu|modal|list|view|panel|endpoint|config\w*|"
    r"database|schema|package|module|file|folder|directory|env|api|model|flag|option|command|default|"
    r"storage|auth\w*|class|function|parameter|name|format|style|color|layout|library|framework|"
    r"provider|service|key|token|cache)s?\b"
)
_WORK = (
    r"\b(?:commit\w*|branch\w*|prs?|pull requests?|push\w*|merge[ds]?|rebase|worktree|git|session|"
    r"tasks?|todos?|plan(?:s|ning)?|phases?|milestone|sprint|roadmap|review|deploy\w*|run|restart|"
    r"install\w*|audit|verify|investigat\w+|analy[sz]\w+|check|progress|workflow|steps?|ticket|"
    r"backlog|scope)\b"
)
_IN_QUESTION: dict[str, Phrase | re.Pattern[str]] = {
    "<asks for a choice>": Phrase(
        r"\b(?:should|which|prefer|approach|strategy|scope|option|want to (?:use|keep|support)|"
        r"handle|do you want (?!me to (?:proceed|continue|start|run|commit|push|go))|"
        r"how (?:do|would) you (?:want|like) (?!to proceed)|channel|build|where|what kind|model)\b"
    ),
    "<asks how to go on>": Phrase(
        r"like to (?:do|proceed|continue|handle this todo)|how to proceed|ready to|proceed\b|"
        r"shall I|should I (?:proceed|continue|start|run|commit|push|go|access)|"
        r"what(?:'s| is) (?:the|your)\b|please run|did you run|\bsudo\b|"
        r"^(?:is|are|have|has|did|does|do you have|who)\b|"
        r"^which (?:\w+ )?(?:prs?|pull requests?|issues?|todos?|tickets?|files?|phase)\b|"
        r"how (?:do you want to work|thorough|autonomous|deep|much)|should i know|matters most|"
        r"\b(?:start with|first|focus|sequence|priorit\w+|tackle|upload|track(?:ed)?|milestone|"
        r"sprint|session|branch|commit|worktree|plan(?:ning)?|want to access|"
        r"(?:this|next) (?:phase|step|fix|push|release|round|change)|"
        r"work on next|before continuing|phase \d|add (?:\w+ )?tests|initiali[sz]e)\b"
    ),
    "<asks what is to be>": Phrase(
        r"\b(?:how |where )?should (?!i\b|we\b|you\b)|\bhappen (?:to|when|with|if)\b"
    ),
    "<asks of a kind>": Phrase(
        r"\b(?:should|approach|strategy|prefer|language|format|style|stored?|live|storage|named?|use|"
        r"default|handle|structure|architecture|framework|library|method|mode|source|type|layout|"
        r"scope|support)\b"
    ),
    "<asks what you have>": Phrase(
        r"\b(?:do you (?:have|already)|is your|are you|did you|are there|"
        r"what is the (?:ip|name|email|url|exact))\b"
    ),
    "<question of I>": Phrase(r"\b(?:me|my|I)\b"),
    "<question of you>": Phrase(r"\b(?:you|your|you're|claude|llm)\b"),
    "<question of documents>": Phrase(
        r"\b(?:docs?|documentation|readme|comments?|changelog|guide|document|report|\w+\.md)\b"
    ),
    "<question of a part>": Phrase(_PLACES),
    "<question of work>": Phrase(_WORK),
    "<question with a name>": NAME,
}
_IN_ANSWER: dict[str, Phrase | re.Pattern[str]] = {
    "<no choice>": Phrase(
        r"^(?:yes|no|ok(?:ay)?|sure|continue|proceed|done|n/?a|none|stop|restore|cancel|later|all|"
        r"everything|\d+)\b.{0,12}$|^skip\b|^both(?: options)?$|^there (?:is|are)\b|^i'll\b|"
        r"^(?:help|explain|show|what|how|why|can|could|wait|i think|i would|i'd|let me|all of)\b|"
        r"\b(?:these|above|branch|milestone|commit|session)\b|[?,]$"
    ),
    "<talks>": Phrase(
        r"\b(?:i|you|we|my|me|what|how|why|is it|can you|please|think|don'?t|should)\b"
    ),
    "<goes on>": Phrase(
        r"\b(?:execute|proceed|continue|start|stop|skip|later|done|now|first|next|commit|push|plan|"
        r"let me|discuss|looks good|draft|create it|run|verif\w+|research|analysis|map|help me|"
        r"explain|not yet|not sure|recommend|standard|quick|deep|thorough|none|everything|both|"
        r"all)\b"
    ),
    "<does>": Phrase(
        r"^(?:use|remove|rename|replace|change|keep|make|add|move|put|drop|delete|set|switch|store|"
        r"show|display|update|create|allow|enable|disable|include|return|hide|write|support)\b"
    ),
    "<answer of a part>": Phrase(_PLACES),
    "<answer of work>": Phrase(_WORK),
    "<answer with a name>": NAME,
}


_ABOUT_THE_WAY = {
    "<asks how to go on>",
    "<no choice>",
    "<goes on>",
    "<answer of work>",
    "<question of work>",
    "<typed>",
}
"""An answer of which none of these is seen decides, too: of 15 such ones in 323 sessions 13 did."""


def decides(question: str, answer: str) -> bool:
    """Return True if an answer decides about the product, and its question tells about what."""
    seen = features(question, answer)
    return _model().takes(seen) or not seen & _ABOUT_THE_WAY


def features(question: str, answer: str) -> set[str]:
    """Return what the model sees of an answer: between `<>` what it and its question are about."""
    names = {name for name, pattern in _IN_QUESTION.items() if pattern.search(question)}
    names |= {name for name, pattern in _IN_ANSWER.items() if pattern.search(answer)}
    if len(answer) > _LONGEST_OPTION:
        names.add("<typed>")
    if len(answer.split()) < _SHORT:
        names.add("<few words>")
    if sum(not one.isascii() for one in question) > _FOREIGN * len(question):
        names.add("<foreign>")
    chosen = "<asks for a choice>" in names and 3 <= len(answer) <= _LONGEST_OPTION
    if chosen and not names & {"<asks how to go on>", "<no choice>"}:
        names.add("<a choice>")
    return names


@lru_cache(maxsize=1)
def _model() -> Linear:
    return Linear(WEIGHTS)
