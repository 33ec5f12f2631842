"""The six types of observations, and their choice by the words and files of the work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, get_args

from memory_assets.session_analysis.phrases import names

Type = Literal["bugfix", "feature", "refactor", "change", "decision", "discovery"]
OBSERVATION_TYPES = get_args(Type)

_CONVENTIONAL = re.compile(r"^\W*([\w./+-]+)(?:\([^)]*\))?!?: ")
_PREFIXES: dict[str, Type] = {
    **dict.fromkeys(names("feat feature"), "feature"),
    **dict.fromkeys(names("fix bugfix hotfix"), "bugfix"),
    **dict.fromkeys(names("refactor refact"), "refactor"),
    **dict.fromkeys(
        names("perf docs doc test tests chore build ci style revert release wip deps lint"),
        "change",
    ),
}
"""Conventional commits; other words before a colon name a part of the product."""
_FIX = re.compile(
    r"(?:also )?(?:fix(?:e[sd])?|correct(?:s|ed)?|resolve[sd]?|repair(?:s|ed)?|prevent(?:s|ed)?|"
    r"avoid(?:s|ed)? (?!redundant|duplicat|unnecessar|extra)|guard|hotfix|"
    r"(?:don't|do not|never|stop) |keep .{3,60} from )",
    re.IGNORECASE,
)
_REFACTOR = re.compile(
    r"(?:also )?(?:refactor(?:s|ed)?|rename[sd]?|extract(?:s|ed)?|simplif(?:y|ies|ied)|"
    r"restructure[sd]?|reorgani[sz]e[sd]?|consolidate[sd]?|deduplicate[sd]?|inline[sd]?|"
    r"split|fold|move[sd]?|clean(?:s|ed)? ?up(?! (?:failed|after|leaked))|cleanup|tidy|"
    r"decouple[sd]?|modulari[sz]e[sd]?|unify|unified|centrali[sz]e[sd]?|(?:remove[sd]?|"
    r"drop(?:s|ped)?) (?:the )?(?:now-)?(?:dead|unused|duplicate|redundant|obsolete)\w*|"
    r"reduce[sd]? (?:the )?duplicat\w*|share[sd]? (?:the )?helpers?)\b",
    re.IGNORECASE,
)
_FEATURE = re.compile(
    r"(?:also )?(?:add(?:s|ed)?|implement(?:s|ed)?|introduce[sd]?|support(?:s|ed)?|"
    r"create[sd]?|enable[sd]?|allow(?:s|ed)?|build|built|integrate[sd]?|provide[sd]?|"
    r"expose[sd]?|show|display|accept|offer|stream|let users?|"
    r"initial (?:implementation|version))\b",
    re.IGNORECASE,
)
_BY_VERB: tuple[tuple[re.Pattern[str], Type], ...] = (
    (_FIX, "bugfix"),
    (_REFACTOR, "refactor"),
    (_FEATURE, "feature"),
)
_NOT_THE_PRODUCT = re.compile(
    r"^\w+(?: [\w-]+){0,4}? (?:test\w*|coverage|specs?|examples?|docs?|documentation|readme|"
    r"comments?|docstrings?|lint\w*|(?<!npm )ci|workflows?|typos?|format\w*|whitespace|gitignore|"
    r"dependenc(?:y|ies)|todos?|logging|debug|imports?|feedback|review)\b",
    re.IGNORECASE,
)
_WAS_BROKEN = re.compile(
    r"\b(?:panic(?:s|ked)?|crash(?:es|ed)?|deadlock\w*|data race|leak(?:s|ed)|regression|"
    r"wrongly|incorrectly|silently (?:dropped|ignored|failed)|nil[- ]pointer|null[- ]pointer|"
    r"bugs?|broke|was broken|would (?:fail|reject|crash|abort|overwrite)|mutated? the caller)\b",
    re.IGNORECASE,
)
_SAID_BROKEN = re.compile(
    r"\b(?:something broke|(?:is|are|was|still) broken|(?:does|do|did)(?: not|n't) work\b|"
    r"not working|(?:have|found|is|there's) a bug|bombing out|crash(?:es|ed|ing)?)\b",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"^\W*(?:(?:please|(?:can|could) (?:you|we)|we (?:need to|should)|yes|yeah|great|now|"
    r"ok(?:ay)?|let'?s|go ahead and|i want (?:you )?to|i'd like (?:you )?to|then|and|also|next)"
    r"[,:]? )+",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"^[\W_]*(?:(?:I|we)(?:'ve|’ve| have)? )?(?:(?:also|now|just|then) )*", re.IGNORECASE
)
_DOCUMENT = re.compile(
    r"(?<!SKILL)\.(?:md|mdx|rst|txt|adoc)$|(?:^|/)(?:LICENSE|NOTICE|CODEOWNERS)$"
)
_TEST = re.compile(r"(?:^|[/_.-])(?:tests?|specs?|__tests__|e2e|fixtures?)(?:[/_.-]|$)", re.I)


def type_of_work(sentence: str, modified: Sequence[str], why: str = "") -> Type:
    """Return the type of a piece of work from its commit's subject, or a sentence that says
    what was done: by its conventional prefix, else by its first verb, else by what `why` says
    was broken. What changed documents or tests alone is a change, whatever its verb."""
    conventional = _CONVENTIONAL.match(sentence)
    if conventional and conventional.group(1).lower() in _PREFIXES:
        return _PREFIXES[conventional.group(1).lower()]
    rest = sentence[conventional.end() :] if conventional else sentence
    rest = _LEADING.sub("", rest, count=1)
    if only_documents(modified) or only_tests(modified) or _NOT_THE_PRODUCT.match(rest):
        return "change"
    for pattern, kind in _BY_VERB:
        if pattern.match(rest):
            return kind
    return "bugfix" if _WAS_BROKEN.search(why) else "change"


def type_asked_for(request: str, modified: Sequence[str]) -> Type:
    """Return the type of work that a request's first words ask for, or that it calls
    something broken; else "change"."""
    kind = type_of_work(_POLITE.sub("", request), modified)
    if kind == "change" and _SAID_BROKEN.search(request) and not only_tests(modified):
        return "bugfix"
    return kind


def only_documents(modified: Sequence[str]) -> bool:
    """Return True if files were changed and all are documents."""
    return bool(modified) and all(_DOCUMENT.search(path) for path in modified)


def only_tests(modified: Sequence[str]) -> bool:
    """Return True if files were changed and all are tests or documents."""
    return bool(modified) and all(_TEST.search(path) or _DOCUMENT.search(path) for path in modified)
