"""Observations of work: commits, files changed that the session did not commit, and the causes and
findings that the agent states."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from memory_assets.models import RedactedRecord, Turn
from memory_assets.observations.moments import (
    NAME,
    Moment,
    moment_of,
    only_documents,
    only_tests,
    plan_heading,
    request_line,
    request_of,
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
from memory_assets.session_analysis.files import touched_files
from memory_assets.session_analysis.phrases import (
    Phrase,
    base_name,
    distinct,
    listing,
    shorten,
    with_full_stop,
)
from memory_assets.session_analysis.scores import (
    CAUSE,
    DID,
    DOES,
    GUESSED,
    cause_score,
    done_score,
    states_nothing,
)
from memory_assets.session_analysis.sentences import parse_sentences
from memory_assets.session_analysis.statements import (
    POINTS_BACK,
    AgentSentence,
    are_alike,
    in_context,
    is_readable,
    vocabulary_of,
    without_colon,
)

_LEAST_CAUSE_SCORE = 3.0
"""The `cause_score` from which a sentence states a cause."""
_LABELLED = re.compile(
    r"\W*(?:[Tt]he )?(?:[Rr]oot [Cc]ause|[Pp]roblem|[Bb]ug|[Cc]ause|[Ww]hat happened): (?=\S)"
)
_HEADING = Phrase(r"^\W*(?:the )?(?:root cause|problem|bug|cause|what (?:was|went) wrong)\W*$")
_SAID_BEFORE = Phrase(r"\b(?:that|this) (?:is|was) a (?:real )?bug\W*$")
"""What makes the sentence that it introduces one that states a fault."""
_OF_THE_MOMENT = Phrase(r"\b(?:difference|catch|blocker)\b")
"""What is called so holds until the next step, or between two things."""


def find_cause(turn: Turn, sentences: Sequence[AgentSentence]) -> AgentSentence | None:
    """Return the sentence of a turn that states most plainly why something of the product is or was
    as it is; None if there is none, or the agent looked at nothing before it."""
    first_result_seq = next(
        (sentence.seq for sentence in turn.records if sentence.kind == "tool_result"), None
    )
    if first_result_seq is None:
        return None
    scored = [
        (_score(sentence), -place, sentence)
        for place, sentence in enumerate(sentences)
        if not sentence.recap
        and sentence.record.seq > first_result_seq
        and is_readable(sentence.plain)
        if (not sentence.parsed.item and CAUSE.search(sentence.plain)) or _is_introduced(sentence)
        if not any(rule.search(sentence.plain) for rule in (DID, GUESSED, _OF_THE_MOMENT))
        and not POINTS_BACK.match(cause_text(sentence))
    ]
    score, _, best = max(scored, key=lambda entry: entry[:2], default=(0.0, 0, None))
    return best if score >= _LEAST_CAUSE_SCORE else None


def _score(sentence: AgentSentence) -> float:
    """Return the score of a cause; one that is introduced as such is one in any words."""
    if _is_introduced(sentence) and not states_nothing(sentence.plain):
        return cause_score(sentence) + _LEAST_CAUSE_SCORE
    return cause_score(sentence)


def _is_introduced(sentence: AgentSentence) -> bool:
    """Return True if a label, a heading, or the sentence before calls a sentence the cause."""
    parsed = sentence.parsed
    return (
        _LABELLED.match(sentence.plain) is not None
        or (not parsed.item and _HEADING.match(parsed.heading) is not None)
        or _SAID_BEFORE.search(parsed.before) is not None
    )


def cause_text(sentence: AgentSentence) -> RedactedText:
    """Return a sentence that states a cause without its label, after the one it points to."""
    text = in_context(sentence)
    label = _LABELLED.match(text)
    return text.cut(label.end()) if label else text


TURNS_OF_A_COMMIT = 12
_FEWEST_LETTERS = 12
_LEAST_SCORE = 2.0
"""The `done_score` from which a sentence reports work."""
_LEAST_OF_ONE_EDIT = 2.6
"""That of a turn with one edit, which is mostly a step of something larger."""
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
_DASH = re.compile(r" [–—] ")
_SHORTEST_CLAUSE = 32
"""Characters that a clause before a dash must have to be shown alone."""
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
    session: SessionTurns,
    sentences_by_turn: Mapping[str, Sequence[AgentSentence]],
    withdrawn: frozenset[str],
) -> Iterator[Moment]:
    """Yield the moments of a session's commits, of its uncommitted changes, and of stated causes
    that belong to neither. `sentences_by_turn` has those of the agent by the id of their turn;
    `withdrawn` the ids of the turns to which the next prompt objects."""
    causes_by_turn = {
        turn.id: find_cause(turn, sentences_by_turn[turn.id])
        for turn in session.turns
        if turn.id not in withdrawn and not _NOT_THE_PRODUCT.search(request_of(turn))
    }
    covered: set[int] = set()
    committed: set[str] = set()
    for moment, of_turns, is_only in _commits(session, causes_by_turn):
        kept = _is_kept(session, moment, is_uncontested=moment.turns[-1].id not in withdrawn)
        if kept or is_routine(moment.title) or not says_little(moment.title):
            covered.update(id(record) for record in moment.records)
            committed.update(of_turns)
        if kept:
            sentences_of_turns = [
                sentences_by_turn[turn.id] for turn in moment.turns if turn.id not in withdrawn
            ]
            yield (
                _with_reports(moment, sentences_of_turns)
                if is_only and not _says_why(moment)
                else moment
            )
    vocabularies: list[frozenset[str]] = []
    for turn in session.turns:
        fault = causes_by_turn.get(turn.id) if turn.id not in committed else None
        if fault is not None:
            words = vocabulary_of(fault.text)
            if any(are_alike(words, other) for other in vocabularies):
                fault = None  # told before
            vocabularies.append(words)
        changed = None
        if turn.id not in withdrawn:
            changed = _uncommitted(session, turn, covered, sentences_by_turn[turn.id], fault)
        if changed is not None:
            yield changed
        elif fault is not None:
            yield _discovery(turn, fault)


def _discovery(turn: Turn, fault: AgentSentence) -> Moment:
    cause = cause_text(fault)
    account = [fault.parsed.before, cause]
    concepts = [compose("how-it-works"), compose("gotcha")]
    return moment_of("discovery", (turn,), fault.record, cause, account, [cause], concepts)


def _commits(
    session: SessionTurns, causes_by_turn: Mapping[str, AgentSentence | None]
) -> Iterator[tuple[Moment, list[str], bool]]:
    """Yield the moment of each commit; the ids of the turns whose stated causes are its own; and
    whether it is the only commit of its turn. If it is not, no cause is its own, else those of the
    turns in which it was worked on, and those that name one of its files."""
    by_turn: dict[str, list[CommitCall]] = {}
    for call in _lasting(commits_that_stayed(session)):
        by_turn.setdefault(call.turn.id, []).append(call)
    earlier_turns: list[tuple[Turn, Sequence[RedactedRecord]]] = []
    for turn in session.turns:
        calls = by_turn.get(turn.id, ())
        start = 0
        ends = {id(record): number for number, record in enumerate(turn.records, 1)}
        for call in calls:
            end = ends[id(call.record)]
            worked = [
                (earlier, records)
                for earlier, records in earlier_turns
                if touched_files(session, records).modified
            ]
            records = (*(record for _, part in worked for record in part), *turn.records[start:end])
            turns = (*(earlier for earlier, _ in worked), turn)
            modified = touched_files(session, records).modified
            is_only = len(calls) == 1
            causes: dict[str, RedactedText] = {}
            for member in (*(earlier for earlier, _ in earlier_turns), turn) if is_only else ():
                fault = causes_by_turn.get(member.id)
                if fault and (member in turns or _speaks_of(fault, modified)):
                    causes[member.id] = cause_text(fault)
            yield _commit(call, turns, records, modified, [*causes.values()]), [*causes], is_only
            earlier_turns = []
            start = end
        earlier_turns = [*earlier_turns, (turn, turn.records[start:])][-TURNS_OF_A_COMMIT:]


def _lasting(calls: Sequence[CommitCall]) -> list[CommitCall]:
    """Return the commits that no later one reverts, without those that revert one."""
    subjects: dict[str, int] = {call.made.subject: place for place, call in enumerate(calls)}
    gone: set[int] = set()
    for place, call in enumerate(calls):
        reverted = REVERT.match(call.made.subject)
        if reverted and (first := subjects.get(reverted["subject"], place)) < place:
            gone |= {first, place}
    return [call for place, call in enumerate(calls) if place not in gone]


def _speaks_of(fault: AgentSentence, modified: Sequence[RedactedText]) -> bool:
    """Return True if a sentence, or the one before it, names one of the files."""
    text = f"{fault.parsed.before} {fault.text}"
    return any(base_name(path) in text for path in modified)


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
        narrative=[*(body or faults), request_line(*turns)],
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


def _with_reports(moment: Moment, sentences_of_turns: Iterable[Sequence[AgentSentence]]) -> Moment:
    """Return the moment of a commit with what the agent reports of its work, turn by turn."""
    reports = [text for of_turn in sentences_of_turns for text in _reports(of_turn, _LEAST_SCORE)]
    reports_of_work = [text for text in reports if not _OF_GIT.search(text)][:_MOST_REPORTS]
    return replace(moment, narrative=[*reports_of_work, *moment.narrative])


def _is_kept(session: SessionTurns, moment: Moment, *, is_uncontested: bool) -> bool:
    """Return True if a commit tells something: its subject says what was done to the product, and
    the next prompt does not object to the repair that it is, or its message or a cause says why."""
    if is_routine(moment.title):
        return False
    if _says_why(moment):
        return True
    if not is_uncontested and moment.type == "bugfix":
        return False
    if _BESIDES.match(moment.title) or says_little(moment.title):
        return False
    return moment.type != "change" or not only_documents(
        touched_files(session, moment.records).modified
    )


def _body(command: RedactedText) -> list[RedactedText]:
    """The sentences of the commit's message below its subject."""
    at = max(command.find("git commit"), 0)
    hit = _BODY.search(command, at)
    if hit is None:
        return []
    body = command.cut(*hit.span("body"))
    paragraph = [sentence.text for sentence in parse_sentences(body)[:6]]
    return [text for text in paragraph if not _TRAILER.match(text) and len(text) > _FEWEST_LETTERS][
        :4
    ]


def _uncommitted(
    session: SessionTurns,
    turn: Turn,
    covered: set[int],
    sentences: Sequence[AgentSentence],
    fault: AgentSentence | None,
) -> Moment | None:
    """Return the moment of a turn's uncommitted changes, as the agent reports them, or else the
    plan that it was given; None if nothing of the product was changed, or neither says how."""
    uncovered = [record for record in turn.records if id(record) not in covered]
    modified = touched_files(session, uncovered).modified
    modified = [path for path in modified if not path.startswith(_OUTSIDE)]
    if not modified or only_tests(modified) or _NOT_THE_PRODUCT.search(request_of(turn)):
        return None
    writing = [record for record in uncovered if touched_files(session, [record]).modified]
    reports = _reports(sentences, _LEAST_SCORE if len(writing) > 1 else _LEAST_OF_ONE_EDIT)
    reports = reports or _of_files(sentences)
    plan = [] if reports else plan_heading(turn)
    if not (reports or fault or plan):
        return None
    file_names = listing(distinct(base_name(path) for path in modified), 3)
    reports = reports or [*plan, *_listed(sentences)]
    if fault:
        cause = shorten(cause_text(fault).sub(_ENDING, ""), _CAUSE_LIMIT)
        title = compose("{}: fixed by changing {}", cause, file_names)
        account = [cause_text(fault), *reports[:3]]
        kind = type_of_work(compose("Fix"), modified)
    else:
        title = reports[0] if len(reports[0]) > _CAUSE_LIMIT else join(
            " ", (with_full_stop(record) for record in reports[:_TITLE_PARTS])
        )  # fmt: skip
        account, kind = reports[1:4], type_of_work(reports[0], modified)
    return Moment(
        type=kind,
        anchor=writing[0],
        began=writing[0],
        turns=(turn,),
        title=title.squeezed(),
        narrative=[request_line(turn), *account],
        facts=[compose("Changed: {}.", listing(modified, 8))],
        concepts=[compose("problem-solution" if kind == "bugfix" else "what-changed")],
        records=tuple(uncovered),
    )


def _of_files(sentences: Sequence[AgentSentence]) -> list[RedactedText]:
    """Return the items that say what was done in which file: "src/gate.py: Added a bell"."""
    return [
        sentence.text
        for sentence in sentences
        if sentence.closing
        and len(sentence.text) <= _LONGEST_REPORT
        and not sentence.plain.endswith(":")
        and (path := _FILE.match(sentence.plain))
        and _DEED.match(sentence.plain[path.end() :])
        and not _EMPTY_DEED.search(sentence.plain[path.end() :])
    ]


def _is_named(sentence: AgentSentence) -> bool:
    """Return True if a sentence names something, by how it is written or by a code mark."""
    marked = (f"`{word}`" in sentence.record.text for word in sentence.plain.split()[:_HEAD])
    return NAME.search(sentence.plain) is not None or any(marked)


def _stated(sentence: AgentSentence) -> AgentSentence:
    """Return a sentence without the colon of its list; one that says what is otherwise now, without
    what follows from that."""
    whole = without_colon(sentence, whole_only=True)
    dash = _DASH.search(whole.text)
    if dash is None or not _NOW_SO.match(whole.plain) or dash.start() < _SHORTEST_CLAUSE:
        return whole
    return replace(whole, text=whole.text.cut(0, dash.start()), plain=whole.plain[: dash.start()])


def _listed(sentences: Sequence[AgentSentence]) -> list[RedactedText]:
    """Return what the last message lists, where no sentence of it says what was done to what."""
    items = (item for item in sentences if item.closing and item.parsed.item)
    return [
        item.text
        for item in items
        if NAME.search(item.plain) and len(item.text) > _CAUSE_LIMIT // 2
    ]


def _reports(sentences: Sequence[AgentSentence], least: float) -> list[RedactedText]:
    """Return the sentences that say what was done to what, the most telling first."""
    scored = [
        (done_score(sentence), -place, sentence)
        for place, sentence in enumerate(map(_stated, sentences))
        if not sentence.recap
    ]
    ranked = sorted((entry for entry in scored if entry[0] >= least), key=lambda entry: entry[:2])
    return [
        sentence.text
        for _, _, sentence in reversed(ranked)
        if len(sentence.text) <= _LONGEST_REPORT
        and (_DEED.match(sentence.plain) or _NOW_SO.match(sentence.plain))
        and _is_named(sentence)
        and not _EMPTY_DEED.search(sentence.plain)
        and not (_BY_THE_WAY.match(sentence.plain) or POINTS_BACK.match(sentence.plain))
    ]
