"""Score sentences that report finished work."""

from __future__ import annotations

import re

from memory_assets.session_analysis.statements import Said, readable

_PAST = (
    r"(?:added|fixed|updated|created|implemented|removed|committed|pushed|refactored|renamed|replaced|"
    r"wrote|merged|moved|changed|extracted|simplified|converted|deleted|rebased|resolved|installed|"
    r"configured|introduced|switched|documented|tightened|extended|rewrote|reverted|verified|opened|"
    r"published|deployed|released|migrated|integrated|enabled|disabled|cleaned|corrected|addressed|"
    r"completed|finished|ran|made|bumped|dropped|wired|registered|improved|patched|"
    r"filled|restored|aligned|applied|expanded|standardized|upgraded|hardened|consolidated|trimmed|"
    r"shortened|tested|normalized|flattened|inlined|reduced|reworked|restructured|stripped|swapped|"
    r"unified|wrapped|scoped|staged|stopped|started|cleared|granted|uploaded|downloaded)"
)
DID = re.compile(
    rf"^\W*(?:done[.!:,]? |all (?:done|set)[.!:,]? |fixed[.!:,]+ )?"
    rf"(?:(?:and|also|then|successfully) )*"
    rf"(?:(?:I|we)(?:'ve| have)?(?: (?:also|now|just|then|successfully))* )?"
    rf"{_PAST}\b(?!\s*[-–—:]\s)|"
    rf"(?<!did )\b(?:I(?:'ve| have)?|we(?:'ve| have))(?: (?:also|now|just))* "
    rf"{_PAST}\b(?!\s*[-–—:]\s)|"
    rf"\b(?:has|have) been (?:\w+ly )?\w+ed\b",
    re.IGNORECASE,
)
_WAS_DONE = re.compile(rf"^\W*\S+(?: \S+)? (?:was|were) {_PAST}\b", re.IGNORECASE)
NOW = re.compile(
    r"\b(?:is|are) (?:now|all|complete|done|fixed|in place|merged|pushed)\b|\bnow \w+s\b|"
    r"\bnow (?:work|pass|use|have|support|return|go|set|start|end|install|accept|show|wait|run)\b|"
    r"\b(?:is|are) \w+ now\b|"
    r"\b(?:tests?|build|checks?|suite|lint|it|everything|all) (?:\w+ "
    r")?(?:pass(?:es|ed)?|succeed(?:s|ed))\b",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(
    r"^(?:no|if|depending|then)\b|"
    r"\b(?:will|would|should|could|might|going to|need(?:s)? to|todo|want me|let me|I'll|let's|"
    r"if you|you can|you could|unless|before (?:you|we)|not yet|haven'?t|hasn'?t|didn'?t|"
    r"couldn'?t|cannot|can'?t|can(?! now)|fail(?:s|ed|ing)?|next step)\b|\?[\"')\]]*$",
    re.IGNORECASE,
)
_EMPTY_CLAIM = re.compile(
    r"^(?:all|the|everything|your)?\s*(?:\w+\s)?(?:changes?|tasks?|steps?|everything|work|todos?)?\s*"
    r"(?:is|are|has been|have been) (?:now )?(?:complete|completed|done|ready|in "
    r"place|implemented)[.!]*$",
    re.IGNORECASE,
)
_SUMMARY_HEADING = re.compile(
    r"summary|change|done|complete|implement|fix|what "
    r"(?:I|was|changed)|result|deliver|shipped|ship",
    re.IGNORECASE,
)
NEXT_HEADING = re.compile(
    r"^\W*next\W*$|\bnext (?:steps?|up|actions?)\b|what'?s next|remaining|to-?do\b|follow-?up|"
    r"still (?:to|open)|open (?:item|question|issue)|not (?:yet )?(?:done|covered)|outstanding|"
    r"what'?s left|recommend|future work",
    re.IGNORECASE,
)


def done_score(one: Said) -> float:
    """Return a score: 1.5 and more for a sentence that tells of work done."""
    text = one.plain
    if not (one.closing or one.recap) or not readable(text) or _NOT_DONE.search(text):
        return 0.0
    if NEXT_HEADING.search(one.sentence.heading) or NEXT_HEADING.search(one.sentence.lead):
        return 0.0
    did = DID.search(text)
    # A small letter where a code mark stood: "completed runs ..." may be an adjective.
    score = (2.0 if did.start() or text[0].isupper() else 0.5) if did else 0.0
    if score or one.changed or one.last:  # else it may be told of how things are anyway
        score += 1.0 if NOW.search(text) or (not did and _WAS_DONE.search(text)) else 0.0
    if score == 0 or _EMPTY_CLAIM.search(text):
        return 0.0
    if _SUMMARY_HEADING.search(one.sentence.heading) or _SUMMARY_HEADING.search(one.sentence.lead):
        score += 0.7
    score += 1.0 if one.last else 0.0
    score += 0.4 if one.changed else 0.0
    score += 0.6 if one.recap else 0.0
    score += 0.3 if not one.sentence.item else 0.0
    score -= 0.5 if len(text) > 200 else 0.0
    return score
