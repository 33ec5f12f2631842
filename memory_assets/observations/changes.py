"""Observations of work: commits, and files changed that the session did not commit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from memory_assets.models import RedactedRecord, Turn
from memory_assets.observations.causes import cause, cause_of
from memory_assets.observations.moments import (
    NAME,
    Moment,
    asked,
    asked_in,
    given_plan,
    only_documents,
    only_tests,
    stated,
    type_of_work,
)
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.commits import (
    REVERT,
    CommitCall,
    commits_that_stayed,
    is_routine,
    says_little,
)
from memory_assets.session_analysis.files import touched
from memory_assets.session_analysis.phrases import (
    Phrase,
    base_name,
    closed,
    distinct,
    listing,
    shorten,
)
from memory_assets.session_analysis.scores import DOES, done_score
from memory_assets.session_analysis.sentences import sentences
from memory_assets.session_analysis.statements import (
    POINTS_BACK,
    Said,
    alike,
    vocabulary_of,
    without_colon,
)

TURNS_OF_A_COMMIT = 12
_FEWEST_LETTERS = 12
_LEAST_SCORE, _LEAST_OF_ONE_EDIT = 2.0, 2.6
"""Of a report; a single edit is mostly a step of something."""
_TITLE_PARTS = 2
_MOST_REPORTS = 3
"""Sentences that tell what a commit does whose message has a subject only."""
_OF_GIT = Phrase(r"\b(?:commit(?:s|ted)?|branch|PRs?|pull request|push(?:ed)?)\b")
_LONGEST_REPORT = 280
_FILE = re.compile(r"\W*\S*\w[./]\w\S*(?: \([^)]*\))? *[-–—:]+ (?=\S)")
"""How items begin that name the file."""
_OUTSIDE = ("/", "~", "..")
"""How paths begin of files that are not the project's."""
_NOT_THE_PRODUCT = Phrase(
    r"\blint\w*\b|\btests?\b.{0,20}\bfail|\bfail\w*\b.{0,20}\btests?\b|"
    r"\b(?:random|dummy|test purposes?|for testing|lorem ipsum)\b"
)
"""Requests to make checks green, and for something to try a tool on."""
_CAUSE_LIMIT = 100
_HEAD = 4
"""Words of a sentence in which its subject stands."""
_DASH, _SHORTEST_CLAUSE = re.compile(r" [–—] "), 32
_ENDING = re.compile(r"[.:; ]+\Z")
_BODY = re.compile(
    r"\n\s*\n(?P<body>\S.*?)"
    r"(?=\n\s*(?:EOF\b|[A-Z][\w-]+-[Bb]y:|🤖|[\w-]+-Session:|\)?[\"']\s*(?:\n|&&|;|$))"
    r"|[\"']\s*(?:&&|;|\||$)|\Z)",
    re.DOTALL,
)
_TRAILER = Phrase(r"^(?:Co-Authored-By|Signed-off-by|Generated with|[\w-]+-Session:)")
_BESIDES = Phrase(r"^\W*(?:docs?|tests?|chore|ci)(?:\([^)]*\))?!?:")
"""Prefixes of what is not of the product: attempts of the moment, unless the message says why."""
_DEED = re.compile(
    r"\W*(?:(?:I|we)(?:'ve| have)? )?(?:(?:also|now|just|then|successfully) )*"
    r"(?!(?i:need|indeed|instead|not\b|red\b|based|about|but\b|despite|unrelated|stopped|previously))"
    r"[A-Za-z-]+(?:ed|te|de|ut|lt|ot)\b"
)
_NOW_SO = Phrase(
    rf"\W*(?:(?:solution|fix|change|result): \w|"
    rf"the (?:fix|change) (?:is|was) an? |now,? \w|"
    rf"(?:\S+ ){{1,7}}(?:now (?:\w+ly )?{DOES}|(?:is|are) now [a-z]+)\b)"
)
_EMPTY_DEED = Phrase(
    r"\b(?:tests?|build|lint\w*|checks?|suite|compiles?|typecheck\w*|vet|CI)\b.{0,40}"
    r"\b(?:pass\w*|succe\w+|green|clean|0 (?:issues|errors))\b"
    r"|^\W*(?:all|everything) .{0,40}\b(?:pass|fixed|resolved|done|complete)"
    r"|^\W*(?:I(?:'ve| have)? )?(?:also |successfully )?(?:verified|ran|committed|pushed|tested|"
    r"checked|staged|started|opened|created a (?:pr|pull|branch)|rebased|merged|reviewed|confirmed|"
    r"logged|completed|finished|documented|renamed (?:the )?(?:variable|local))\b"
    r"|\b(?:the|these|those|all|both|your|\d+) (?:\w+ ){0,2}(?:fix(?:es)?(?! (?:is|was) an? )|"
    r"plan(?! to \w)|changes?|"
    r"improvements?|tasks?|todos?|items?|suggestions?|comments?|feedback|review|findings)\b"
    r"|\b(?:imports?|comments?|typos?|formatting|console\.log|hello world|gitignore|changelog|"
    r"readme|references?|doc(?:s|string|umentation)?|tests?|coverage|lint\w*|"
    r"(?:parameter|variable)s?(?: and variables?)? names?)\b"
    r"|\b(?:is|are) now (?:set up|ready|working|running|installed|configured|complete|live|up)\b"
    r"|\bmoderni[sz]|\beasier to (?:follow|read|maintain|understand)\b|\bmore readable\b"
    r"|\byou (?:provided|gave|asked|wanted|requested)\b|\bskeleton\b|\.env\b|\bredundant\b"
    r"|^\W*\w+ (?:from|to|in|on|by|for|with|as)\b"
    r"|^\W*(?:changed|updated|edited|modified) \S+\W*$"
    r"|^\W*(?:changed|set|bumped|increased|decreased|reduced|made) .*\b(?:from|to) [#\d]"
)
"""Reports that name nothing that lasts."""
_BY_THE_WAY = Phrase(
    r"^\W*(?:I(?:'ve| have)? )?(?:also\b|\w+ (?:also|that|this|it|these|those|them)\b)"
)


def work_done(
    session: SessionTurns, said: Mapping[str, Sequence[Said]], withdrawn: frozenset[str]
) -> Iterator[Moment]:
    """Yield the moments of a session's commits, of its uncommitted changes, and of stated causes
    that belong to neither. `said` has the agent's sentences by turn; `withdrawn` the turns to which
    the next prompt objects."""
    stated_in = {
        turn.id: cause(turn, said[turn.id])
        for turn in session.turns
        if turn.id not in withdrawn and not _NOT_THE_PRODUCT.search(asked_in(turn))
    }
    covered: set[int] = set()
    committed: set[str] = set()
    for moment, of_turns, is_only in _commits(session, stated_in):
        kept = _is_kept(session, moment, holds=moment.turns[-1].id not in withdrawn)
        if kept or is_routine(moment.title) or not says_little(moment.title):
            covered.update(id(record) for record in moment.records)
            committed.update(of_turns)
        if kept:
            holding = [said[turn.id] for turn in moment.turns if turn.id not in withdrawn]
            yield _with_reports(moment, holding) if is_only and not _says_why(moment) else moment
    known: list[frozenset[str]] = []
    for turn in session.turns:
        fault = stated_in.get(turn.id) if turn.id not in committed else None
        if fault is not None:
            words = vocabulary_of(fault.text)
            fault = None if any(alike(words, one) for one in known) else fault
            known.append(words)
        changed = None
        if turn.id not in withdrawn:
            changed = _uncommitted(session, turn, covered, said[turn.id], fault)
        if changed is not None:
            yield changed
        elif fault is not None:
            yield _discovery(turn, fault)


def _discovery(turn: Turn, fault: Said) -> Moment:
    before, told = fault.sentence.before, cause_of(fault)
    account, concepts = [before, told], [compose("how-it-works"), compose("gotcha")]
    return stated("discovery", (turn,), fault.record, told, account, [told], concepts)


def _commits(
    session: SessionTurns, stated_in: Mapping[str, Said | None]
) -> Iterator[tuple[Moment, list[str], bool]]:
    """Yield the moment of each commit; the ids of the turns whose stated causes are its own; and
    whether it is the only commit of its turn. If it is not, no cause is its own, else those of the
    turns in which it was worked on, and those that name one of its files."""
    by_turn: dict[str, list[CommitCall]] = {}
    for call in _lasting(commits_that_stayed(session)):
        by_turn.setdefault(call.turn.id, []).append(call)
    since: list[tuple[Turn, Sequence[RedactedRecord]]] = []
    for turn in session.turns:
        calls, start = by_turn.get(turn.id, ()), 0
        ends = {id(record): number for number, record in enumerate(turn.records, 1)}
        for call in calls:
            end = ends[id(call.record)]
            worked = [
                (earlier, records)
                for earlier, records in since
                if touched(session, records).modified
            ]
            records = (*(one for _, part in worked for one in part), *turn.records[start:end])
            turns = (*(earlier for earlier, _ in worked), turn)
            modified = touched(session, records).modified
            is_only = len(calls) == 1
            causes = {
                member.id: fault
                for member in (*(earlier for earlier, _ in since), turn)
                if is_only
                and (fault := stated_in.get(member.id)) is not None
                and (member in turns or _speaks_of(fault, modified))
            }
            faults = [cause_of(fault) for fault in causes.values()]
            moment = _commit(call, turns, records, modified, faults)
            yield moment, [*causes], is_only
            since, start = [], end
        since = [*since, (turn, turn.records[start:])][-TURNS_OF_A_COMMIT:]


def _lasting(calls: Sequence[CommitCall]) -> list[CommitCall]:
    """Return the commits that no later one reverts, without those that revert one."""
    subjects: dict[str, int] = {call.made.subject: place for place, call in enumerate(calls)}
    gone: set[int] = set()
    for place, call in enumerate(calls):
        reverted = REVERT.match(call.made.subject)
        if reverted and (first := subjects.get(reverted["subject"], place)) < place:
            gone |= {first, place}
    return [call for place, call in enumerate(calls) if place not in gone]


def _speaks_of(fault: Said, modified: Sequence[RedactedText]) -> bool:
    """Return True if a sentence, or the one before it, names one of the files."""
    told = f"{fault.sentence.before} {fault.text}"
    return any(base_name(path) in told for path in modified)


def _commit(
    call: CommitCall,
    turns: tuple[Turn, ...],
    records: Sequence[RedactedRecord],
    modified: Sequence[RedactedText],
    faults: Sequence[RedactedText],
) -> Moment:
    commit = call.made
    body = _body(call.message)
    kind = type_of_work(commit.subject, modified, " ".join(body), broken=bool(faults))
    facts: list[RedactedText] = []
    if commit.sha:
        sha = call.sha
        on_branch = compose("Commit {} on {}.", sha, commit.branch)
        facts.append(on_branch if commit.branch else compose("Commit {}.", sha))
    if modified:
        facts.append(compose("Changed: {}.", listing(modified, 8)))
    return Moment(
        type=kind,
        anchor=call.record,
        began=records[0] if records else call.record,
        turns=turns,
        title=commit.subject,
        narrative=[*(body or faults), asked(*turns)],
        facts=facts,
        concepts=[
            compose("problem-solution" if kind == "bugfix" else "what-changed"),
            *([compose("why-it-exists")] if body else []),
        ],
        records=tuple(records),
    )


def _says_why(moment: Moment) -> bool:
    """Return True if a commit's message or a cause says more than its subject."""
    return any(part and not part.startswith("Asked: ") for part in moment.narrative)


def _with_reports(moment: Moment, said: Iterable[Sequence[Said]]) -> Moment:
    """Return the moment of a commit with what the agent reports of its work, turn by turn."""
    reports = [text for of_turn in said for text in _reports(of_turn, _LEAST_SCORE)]
    telling = [text for text in reports if not _OF_GIT.search(text)][:_MOST_REPORTS]
    return replace(moment, narrative=[*telling, *moment.narrative])


def _is_kept(session: SessionTurns, moment: Moment, *, holds: bool) -> bool:
    """Return True if a commit tells something: its subject says what was done to the product, and
    the next prompt does not object to the repair that it is, or its message or a cause says why."""
    if is_routine(moment.title):
        return False
    if _says_why(moment):
        return True
    if not holds and moment.type == "bugfix":
        return False
    if _BESIDES.match(moment.title) or says_little(moment.title):
        return False
    return moment.type != "change" or not only_documents(touched(session, moment.records).modified)


def _body(command: RedactedText) -> list[RedactedText]:
    """The sentences of the commit's message below its subject."""
    at = max(command.find("git commit"), 0)
    hit = _BODY.search(command, at)
    if hit is None:
        return []
    body = command.cut(*hit.span("body"))
    paragraph = [one.text for one in sentences(body)[:6]]
    return [text for text in paragraph if not _TRAILER.match(text) and len(text) > _FEWEST_LETTERS][
        :4
    ]


def _uncommitted(
    session: SessionTurns,
    turn: Turn,
    covered: set[int],
    said: Sequence[Said],
    fault: Said | None,
) -> Moment | None:
    """Return the moment of a turn's uncommitted changes, as the agent reports them, or else the
    plan that it was given; None if nothing of the product was changed, or neither says how."""
    own = [record for record in turn.records if id(record) not in covered]
    modified = touched(session, own).modified
    modified = [path for path in modified if not path.startswith(_OUTSIDE)]
    if not modified or only_tests(modified) or _NOT_THE_PRODUCT.search(asked_in(turn)):
        return None
    writing = [one for one in own if touched(session, [one]).modified]
    reports = _reports(said, _LEAST_SCORE if len(writing) > 1 else _LEAST_OF_ONE_EDIT)
    reports = reports or _of_files(said)
    plan = [] if reports else given_plan(turn)
    if not (reports or fault or plan):
        return None
    names = listing(distinct(base_name(path) for path in modified), 3)
    reports = reports or [*plan, *_listed(said)]
    if fault:
        what = shorten(cause_of(fault).sub(_ENDING, ""), _CAUSE_LIMIT)
        title = compose("{}: fixed by changing {}", what, names)
        account = [cause_of(fault), *reports[:3]]
        kind = type_of_work(compose("Fix"), modified)
    else:
        title = reports[0] if len(reports[0]) > _CAUSE_LIMIT else join(
            " ", (closed(one) for one in reports[:_TITLE_PARTS])
        )  # fmt: skip
        account, kind = reports[1:4], type_of_work(reports[0], modified)
    return Moment(
        type=kind,
        anchor=writing[0],
        began=writing[0],
        turns=(turn,),
        title=title.squeezed(),
        narrative=[asked(turn), *account],
        facts=[compose("Changed: {}.", listing(modified, 8))],
        concepts=[compose("problem-solution" if kind == "bugfix" else "what-changed")],
        records=tuple(own),
    )


def _of_files(said: Sequence[Said]) -> list[RedactedText]:
    """Return the items that say what was done in which file: "src/gate.py: Added a bell"."""
    return [
        one.text
        for one in said
        if one.closing
        and len(one.text) <= _LONGEST_REPORT
        and not one.plain.endswith(":")
        and (path := _FILE.match(one.plain))
        and _DEED.match(one.plain[path.end() :])
        and not _EMPTY_DEED.search(one.plain[path.end() :])
    ]


def _is_named(one: Said) -> bool:
    """Return True if a sentence names something, by how it is written or by a code mark."""
    marked = (f"`{word}`" in one.record.text for word in one.plain.split()[:_HEAD])
    return NAME.search(one.plain) is not None or any(marked)


def _stated(one: Said) -> Said:
    """Return a sentence without the colon of its list; one that says what is otherwise now, without
    what follows from that."""
    whole = without_colon(one, whole_only=True)
    dash = _DASH.search(whole.text)
    if dash is None or not _NOW_SO.match(whole.plain) or dash.start() < _SHORTEST_CLAUSE:
        return whole
    return replace(whole, text=whole.text.cut(0, dash.start()), plain=whole.plain[: dash.start()])


def _listed(said: Sequence[Said]) -> list[RedactedText]:
    """Return what the last message lists, where no sentence of it says what was done to what."""
    listed = (one for one in said if one.closing and one.sentence.item)
    return [
        one.text for one in listed if NAME.search(one.plain) and len(one.text) > _CAUSE_LIMIT // 2
    ]


def _reports(said: Sequence[Said], least: float) -> list[RedactedText]:
    """Return the sentences that say what was done to what, the most telling first."""
    scored = [
        (done_score(one), -place, one)
        for place, one in enumerate(map(_stated, said))
        if not one.recap
    ]
    best = sorted((entry for entry in scored if entry[0] >= least), key=lambda entry: entry[:2])
    return [
        one.text
        for _, _, one in reversed(best)
        if len(one.text) <= _LONGEST_REPORT
        and (_DEED.match(one.plain) or _NOW_SO.match(one.plain))
        and _is_named(one)
        and not _EMPTY_DEED.search(one.plain)
        and not (_BY_THE_WAY.match(one.plain) or POINTS_BACK.match(one.plain))
    ]
