"""A moment: the facts of one observation before its text is composed; the words it is made of,
and its type, chosen by the words and files of the work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from memory_assets.models import PLAN, RedactedRecord, Turn
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis.phrases import (
    EMPTY,
    Phrase,
    cut_to_room,
    distinct,
    with_full_stop,
)
from memory_assets.session_analysis.sentences import condense, is_request, plain_text, without_frame
from memory_assets.word_lists import word_set

Type = Literal["bugfix", "feature", "refactor", "change", "decision", "discovery"]
OBSERVATION_TYPES = get_args(Type)
CONCEPTS = (
    "how-it-works",
    "why-it-exists",
    "what-changed",
    "problem-solution",
    "gotcha",
    "trade-off",
)
"""Claude-mem's kinds of knowledge, as far as they can be told."""

NAME = re.compile(
    r"\w[./_:@#-]\w|[a-z][A-Z]|\w\(|\b[A-Z]{2,}\b|[a-z]\d|\d[a-z]|--\w"
    r"|(?<=[^.!?:→] )[A-Z][a-z]\w+|<redacted|\"[^\"]{2,40}\""
)
"""What has a name of its own, by how it is written: `auth.py`, MCP, getUser, --flag, Redis."""
_CONVENTIONAL = re.compile(r"^\W*([\w./+-]+)(?:\([^)]*\))?!?: ")
_PREFIXES: dict[str, Type] = {
    **dict.fromkeys(word_set("feat feature"), "feature"),
    **dict.fromkeys(word_set("fix bugfix hotfix"), "bugfix"),
    **dict.fromkeys(word_set("refactor refact"), "refactor"),
    **dict.fromkeys(
        word_set("perf docs doc test tests chore build ci style revert release wip deps lint"),
        "change",
    ),
}
"""Conventional commits; other words before a colon name a part of the product."""
_OF_THE_BUILD = word_set("build ci")
"""Prefixes of what can be broken and repaired like the product."""
_FIX = Phrase(
    r"(?:also )?(?:fix(?:e[sd])?|correct(?:s|ed)?|resolve[sd]?|repair(?:s|ed)?|prevent(?:s|ed)?|"
    r"avoid(?:s|ed)? (?!redundant|duplicat|unnecessar|extra)|guard|hotfix|"
    r"(?:don't|do not|never|stop) |keep .{3,60} from )"
)
_REFACTOR = Phrase(
    r"(?:also )?(?:refactor(?:s|ed)?|rename[sd]?|extract(?:s|ed)?|simplif(?:y|ies|ied)|"
    r"restructure[sd]?|reorgani[sz]e[sd]?|consolidate[sd]?|deduplicate[sd]?|inline[sd]?|"
    r"split|fold|move[sd]?|clean(?:s|ed)? ?up(?! (?:failed|after|leaked))|cleanup|tidy|"
    r"decouple[sd]?|modulari[sz]e[sd]?|unify|unified|centrali[sz]e[sd]?|(?:remove[sd]?|"
    r"drop(?:s|ped)?) (?:the )?(?:now-)?(?:dead|unused|duplicate|redundant|obsolete)\w*|"
    r"reduce[sd]? (?:the )?duplicat\w*|share[sd]? (?:the )?helpers?)\b"
)
_FEATURE = Phrase(
    r"(?:also )?(?:add(?:s|ed)?|implement(?:s|ed)?|introduce[sd]?|support(?:s|ed)?|create[sd]?|"
    r"enable[sd]?|allow(?:s|ed)?|build|built|integrate[sd]?|provide[sd]?|expose[sd]?|show|display|"
    r"accept|offer|stream|let users?|initial (?:implementation|version))\b"
)
_BY_VERB: tuple[tuple[Phrase, Type], ...] = (
    (_FIX, "bugfix"),
    (_REFACTOR, "refactor"),
    (_FEATURE, "feature"),
)
_NOT_THE_PRODUCT = Phrase(
    r"^\w+(?: [\w-]+){0,4}? (?:test\w*|coverage|specs?|examples?|docs?|documentation|readme|"
    r"comments?|docstrings?|lint\w*|(?<!npm )ci|workflows?|typos?|format\w*|whitespace|gitignore|"
    r"dependenc(?:y|ies)|todos?|logging|debug|imports?|feedback|review)\b"
)
_WAS_BROKEN = Phrase(
    r"\b(?:panic(?:s|ked)?|crash(?:es|ed)?|deadlock\w*|data race|leak(?:s|ed)|regression|"
    r"wrongly|incorrectly|silently (?:dropped|ignored|failed)|nil[- ]pointer|null[- ]pointer|"
    r"bugs?|broke|was broken|would (?:fail|reject|crash|abort|overwrite)|mutated? the caller)\b"
)
_NO_FIX = Phrase(
    r"(?:clarif\w+|document\w*|reword\w*|(?:\w+-)?deprecat\w*|bump\w*|format\w*|"
    r"remove (?:the )?(?:now-)?(?:unused|stale|dead))\b|.*\bfor debugging\b"
)
"""Subjects of commits that have the prefix of a fix and are none."""
_LEADING = re.compile(
    r"^[\W_]*(?:(?:I|we)(?:'ve|’ve| have)? )?(?:(?:also|now|just|then) )*", re.IGNORECASE
)
_DOCUMENT = re.compile(
    r"(?<!SKILL)\.(?:md|mdx|rst|txt|adoc)$|(?:^|/)(?:LICENSE|NOTICE|CODEOWNERS)$"
)
_TEST = Phrase(r"(?:^|[/_.-])(?:tests?|specs?|__tests__|e2e|fixtures?)(?:[/_.-]|$)")
_HEADING = re.compile(r"^#{1,3} +(?:Plan:? *)?(\S.{6,200})$", re.MULTILINE)
_GIVEN_PLAN = Phrase(r"\s*(?:please )?implement (?:the following|this) plan:?\s*\n")
_NO_DEED = Phrase(r"\W*(?:review|analysis|plan|investigat\w+|research|summary|report|overview)\b")
NARRATIVE_LIMIT = 700
TITLE_LIMIT = 140
_ASKED_LIMIT = 220
_NO_REQUEST = Phrase(
    r"\S*@\S+ .{0,60}[%$#] |\W*~?/\S+/\S+"
    r"|\W*(?:(?:ok(?:ay)?|yes|great|good|now|please|can you|and|then|go ahead|let'?s)\W+)*"
    r"(?:/?commit|push|merge|ship|stage|tag|(?:open|create|make|update) (?:an? |the )?(?:pr|pull)"
    r"|continue|go on|next|proceed)\b[^.?!\n]{0,50}[.?!]?\W*$"
)


def type_of_work(
    sentence: str, modified: Sequence[str], why: str = "", *, broken: bool = False
) -> Type:
    """Return the type of a piece of work from its commit's subject, or a sentence that says
    what was done: by its conventional prefix, else by its first verb, else a bugfix if something
    was `broken` or `why` says so. What changed documents or tests alone is a change, whatever its
    verb."""
    conventional = _CONVENTIONAL.match(sentence)
    prefix = conventional.group(1).lower() if conventional else ""
    if conventional and prefix in _OF_THE_BUILD and _FIX.match(sentence[conventional.end() :]):
        return "bugfix"
    if prefix in _PREFIXES:
        worded = conventional is not None and _NO_FIX.match(sentence[conventional.end() :])
        return "change" if worded and _PREFIXES[prefix] == "bugfix" else _PREFIXES[prefix]
    rest = sentence[conventional.end() :] if conventional else sentence
    rest = _LEADING.sub("", rest, count=1)
    if only_tests(modified) or _NOT_THE_PRODUCT.match(rest):
        return "change"
    for pattern, kind in _BY_VERB:
        if pattern.match(rest):
            return kind
    return "bugfix" if broken or _WAS_BROKEN.search(why) else "change"


def only_tests(modified: Sequence[str]) -> bool:
    """Return True if files were changed and all are tests or documents."""
    return bool(modified) and all(_TEST.search(path) or _DOCUMENT.search(path) for path in modified)


def only_documents(modified: Sequence[str]) -> bool:
    """Return True if files were changed and all are documents."""
    return bool(modified) and all(_DOCUMENT.search(path) for path in modified)


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing worth remembering. `anchor` is the record that completed it, `began` the one
    it began with; `turns` are those it comes from, in order; `records` those whose files it read
    and modified; `concepts` are claude-mem's kinds of knowledge."""

    type: Type
    anchor: RedactedRecord
    began: RedactedRecord
    turns: tuple[Turn, ...]
    title: RedactedText
    narrative: list[RedactedText]
    facts: list[RedactedText] = field(default_factory=list)
    concepts: list[RedactedText] = field(default_factory=list)
    records: tuple[RedactedRecord, ...] = ()


def request_of(*turns: Turn) -> RedactedText:
    """Return what the last of the prompts that ask for work asks for, shortened; "" if none
    does. "Commit and push" is no work."""
    for turn in reversed(turns):
        if turn.prompt is not None and is_request(turn.prompt):
            request = condense(without_frame(turn.prompt.text), _ASKED_LIMIT)
            if len(request.split()) > 2 and not _NO_REQUEST.match(request):
                return request
    return EMPTY


def plan_heading(turn: Turn) -> list[RedactedText]:
    """Return the heading of the plan that a turn was given as its prompt; none if it was given no
    plan that says what it is for."""
    prompt = turn.prompt
    if prompt is None or not (prompt.subtype == PLAN or _GIVEN_PLAN.match(prompt.text)):
        return []
    heading = _HEADING.search(prompt.text)
    title = plain_text(prompt.text.cut(*heading.span(1))) if heading else EMPTY
    return [] if not title or _NO_DEED.match(title) else [title]


def request_line(*turns: Turn) -> RedactedText:
    """Return "Asked: ..." of `request_of`, or ""."""
    request = request_of(*turns)
    return compose("Asked: {}", request) if request else request


def one_paragraph(parts: list[RedactedText]) -> RedactedText:
    """Return the parts as one paragraph that fits."""
    return join(
        " ", cut_to_room((with_full_stop(part) for part in distinct(parts)), NARRATIVE_LIMIT)
    )


def moment_of(
    kind: Type,
    turns: tuple[Turn, ...],
    anchor: RedactedRecord,
    title: RedactedText,
    account: Sequence[RedactedText],
    facts: list[RedactedText],
    concepts: list[RedactedText],
) -> Moment:
    """Return the moment of a record that states something, with what its turn was asked for, unless
    that is what is stated."""
    request = request_of(turns[-1])
    known = any(request.rstrip(".") in sentence for sentence in account)
    return Moment(
        type=kind,
        anchor=anchor,
        began=anchor,
        turns=turns,
        title=title,
        narrative=[*account, EMPTY if known else request_line(turns[-1])],
        facts=facts,
        concepts=concepts,
    )
