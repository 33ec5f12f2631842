"""Observations from commits, and from changed files in turns without a commit."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from memory_assets.models import RedactedRecord, Turn
from memory_assets.observations.moments import (
    Moment,
    Type,
    asked,
    asked_in,
    may_repair,
    only_tests,
    type_asked_for,
    type_of_work,
)
from memory_assets.observations.repairs import repaired
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.commits import MadeCommit, made_in
from memory_assets.session_analysis.files import tool_kind, touched
from memory_assets.session_analysis.phrases import (
    EMPTY,
    Phrase,
    base_name,
    closed,
    distinct,
    listing,
)
from memory_assets.session_analysis.scores import done_score
from memory_assets.session_analysis.sentences import sentences
from memory_assets.session_analysis.session import Calls
from memory_assets.session_analysis.statements import Said

_BODY = re.compile(
    r"\n\s*\n(?P<body>\S.*?)"
    r"(?=\n\s*(?:EOF\b|[A-Z][\w-]+-[Bb]y:|🤖|[\w-]+-Session:|\)?[\"']\s*(?:\n|&&|;|$))"
    r"|[\"']\s*(?:&&|;|\||$)|\Z)",
    re.DOTALL,
)
_TRAILER = Phrase(r"^(?:Co-Authored-By|Signed-off-by|Generated with|[\w-]+-Session:)")
_DEED = re.compile(
    r"\W*(?:(?:I|we)(?:'ve| have)? )?(?:(?:also|now|just|then) )*"
    r"(?!need|indeed|instead|not\b|red\b|based|about|but\b|despite|unrelated)"
    r"[A-Za-z-]+(?:ed|te|de|ut|lt|ot)\b"
)
_BY_THE_WAY = Phrase(
    r"^\W*(?:I(?:'ve| have)? )?(?:also\b|\w+ (?:also|that|this|it|these|those|them)\b)"
)
_QUESTION = re.compile(
    r"^\W*(?:(?:but|so+|and|ok(?:ay)?|hm+|wait|like)[, ]+)*"
    r"(?:why|what|how|where|which|who|is|are|was|were|does|do|did|didn't|don't|isn't|if|we didn't)"
    r"\b.*\?|^\W*\S*(?:fuck|wtf|hell)",
    re.IGNORECASE | re.DOTALL,
)
_SMALL_REQUEST = 160
_CHECKED = Phrase(
    r"\b(?:tests?|build|lint\w*|checks?|suite|compiles?|typecheck\w*|vet|CI)\b.{0,40}"
    r"\b(?:pass\w*|succe\w+|green|clean|0 (?:issues|errors))\b"
    r"|^\W*(?:all|everything) .{0,40}\b(?:pass|fixed|resolved|done|complete)"
    r"|^\W*(?:I(?:'ve| have)? )?(?:verified|ran|committed|pushed|tested|checked|staged|started)\b"
    r"|^\W*(?:added|removed|updated) (?:the |an? )?(?:[\w-]+ ){0,2}imports?\b"
)


def commits_made(
    session: SessionTurns,
    turn: Turn,
    earlier: Sequence[tuple[Turn, Sequence[RedactedRecord]]],
    fault: RedactedText | None,
) -> Iterator[tuple[Moment, RedactedRecord]]:
    """Yield a moment for each commit of a turn, the last of those with one subject, with the
    record that made it. `earlier` are the turns since the commit before, and their records
    since then; `fault` is what was broken, if the turn repaired something."""
    calls = Calls()
    found: dict[RedactedText, tuple[MadeCommit, RedactedRecord, RedactedText]] = {}
    for record in turn.records:
        command = calls.ended(record)
        for made in made_in(record, command):
            found[made.subject] = (made, record, command)
    start = 0
    ends = {id(record): number for number, record in enumerate(turn.records, 1)}
    for made, record, command in found.values():
        end = ends[id(record)]
        own = turn.records[start:end]
        before = [] if start else list(earlier)
        start = end
        since = [*(one for _, records in before for one in records), *own]
        modified = touched(session, since).modified
        worked = [one for one, records in before if touched(session, records).modified]
        turns = (*worked, turn)
        body = _body(command)
        kind = type_of_work(made.subject, modified, " ".join(body))
        alone = len(found) == 1 and may_repair(made.subject) and not only_tests(modified)
        if fault is not None and alone:
            kind = "bugfix"
            body = distinct([*body, fault])
        moment = Moment(
            type=kind,
            anchor=record,
            began=since[0] if since else record,
            turns=turns,
            title=made.subject,
            narrative=[*body, asked(*turns)],
            facts=_commit_facts(made, record, modified),
            concepts=[compose("what-changed")],
            records=tuple(since),
        )
        yield moment, record


def _commit_facts(
    made: MadeCommit, record: RedactedRecord, modified: Sequence[RedactedText]
) -> list[RedactedText]:
    facts = []
    if made.sha:
        sha = made.sha_in(record.text)
        on_branch = compose("Commit {} on {}.", sha, made.branch)
        facts.append(on_branch if made.branch else compose("Commit {}.", sha))
    if modified:
        facts.append(compose("Changed: {}.", listing(modified, 8)))
    return facts


def _body(command: RedactedText) -> list[RedactedText]:
    """The sentences of the commit's message below its subject."""
    at = max(command.find("git commit"), 0)
    found = _BODY.search(command, at)
    if found is None:
        return []
    body = command.cut(*found.span("body"))
    paragraph = [one.text for one in sentences(body)[:6]]
    return [text for text in paragraph if not _TRAILER.match(text) and len(text) > 12][:4]


def files_changed(
    session: SessionTurns,
    turn: Turn,
    since: Sequence[RedactedRecord],
    said: Sequence[Said],
    fixed: Collection[str],
    fault: RedactedText | None,
) -> Moment | None:
    """Return the moment of a turn that changed files after its last commit; None if it did
    not, or nothing says why. `since` are the turn's records after that commit, `said` what the
    agent said in the turn, `fixed` the files that an error's end in this turn tells of, `fault`
    what was broken."""
    modified = touched(session, since).modified
    if not modified:
        return None
    calls = (record for record in since if tool_kind(record) in ("write", "shell"))
    writing = next((call for call in calls if touched(session, [call]).modified), None)
    if writing is None:
        return None
    said = [one for one in said if not one.recap and len(one.text) <= 200]
    scored = [(done_score(one), -place, one) for place, one in enumerate(said)]
    best = sorted((each for each in scored if each[0] >= 2.5), key=lambda each: each[:2])
    reports = [one for _, _, one in reversed(best)]
    deeds = [one for one in reports if _DEED.match(one.plain) and not _CHECKED.search(one.plain)]
    deeds = [one for one in deeds if not _BY_THE_WAY.match(one.plain)]
    title, kind = _title_and_type(deeds, asked_in(turn), modified)
    account = [one.text for one in reports[:3] if one.text != title]
    if fault is not None and not (kind == "bugfix" and deeds) and not only_tests(modified):
        account = distinct([title, *account])
        title, kind = repaired(fault, modified), "bugfix"
    if not title or (not deeds and set(modified) <= set(fixed)):
        return None
    return Moment(
        type=kind,
        anchor=writing,
        began=writing,
        turns=(turn,),
        title=title.squeezed(),
        narrative=[asked(turn), *account],
        facts=[compose("Changed: {}.", listing(modified, 8))],
        concepts=[compose("problem-solution" if kind == "bugfix" else "what-changed")],
        records=tuple(since),
    )


def is_small(turn: Turn) -> bool:
    """Return True if a turn's prompt says too little to stand for a change by itself."""
    return len(asked_in(turn)) <= _SMALL_REQUEST


def _title_and_type(
    deeds: Sequence[Said], request: RedactedText, modified: Sequence[RedactedText]
) -> tuple[RedactedText, Type]:
    """Return title and type of a turn's changes, from the best sentence about the work. A list
    item covers only a part, so files and request are preferred to it. The title is "" if
    neither gives a reason."""
    whole = [one for one in deeds if not one.sentence.item]
    if whole or len(deeds) == 1:
        best = (whole or list(deeds))[0].text
        return best, type_of_work(best, modified)
    if request and not _QUESTION.search(request):
        names = listing(distinct(base_name(path) for path in modified), 4)
        return compose("Changed {}: {}", names, request), type_asked_for(request, modified)
    if deeds:
        best = join(" ", (closed(one.text) for one in deeds[:2]))
        return best, type_of_work(best, modified)
    return EMPTY, "change"
