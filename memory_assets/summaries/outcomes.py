"""The fields `completed`, `next_steps` and `notes`: how a session ended."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import chain

from memory_assets.models import ABANDONED
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis.commits import (
    CommitCall,
    commits_that_stayed,
    most_significant_first,
)
from memory_assets.session_analysis.files import TouchedFiles, touched_files
from memory_assets.session_analysis.open_ends import OFFER, is_open
from memory_assets.session_analysis.phrases import (
    EMPTY,
    Phrase,
    base_name,
    distinct,
    first_that_fit,
    listing,
    number,
    shorten,
    unescaped,
    with_full_stop,
)
from memory_assets.session_analysis.scores import (
    DID,
    NEXT_HEADING,
    NOW,
)
from memory_assets.session_analysis.sentences import plain_text, split_sentences
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.statements import (
    OPTION,
    AgentSentence,
    best_text,
    is_readable,
    vocabulary_of,
    without_colon,
)
from memory_assets.summaries.clues import Judged, stands_alone
from memory_assets.summaries.prompts import unanswered

LIMIT = 600
_NEXT_LIMIT = 400
_SHORTEST_NEXT = 6
_LONGEST_NEXT = 320
_FEWEST_WORDS = 4
"""Words of a closing question that can be read without the proposal before it."""
_PLAN_LEFT_BEHIND = 40
"""Calls after which a plan that was not updated is ignored."""
_TODO = Phrase(
    r"^\W*(?:please )?(?:(?:quit|close|stop) and )?(?:(?:relaunch|reload|refresh|rotate|revoke) "
    r"(?:the|your|this|both|all|it|\w+ (?:window|page|tab|app|server))\b"
    r"(?!(?: (?!that\b|which\b)[\w.-]+){0,3} (?:is|are|was|were)\b)|"
    r"(?:remember to|make sure (?:to|you)|be sure to)\b)|"
    r"\b(?:pop|restore|apply|tag|merge|push) (?:it|them|that) (?:when|once|after) (?:you|the)\b|"
    r"\bno commits? (?:was|were|has been) made\b|"
    r"^(?!.*\b(?:nothing|none|no|never|was|were|now|which|when|I|we)\b).*"
    r"\b(?:still (?:warns?|requires?|lacks?|running|in progress|under review)|awaiting|"
    r"(?:is|are) (?:still )?in flight)\b|"
    r"^(?!.*(?:如果|もし)).*(?:还(?:剩|需)|尚未|需要你|(?:建议|请)(?:你|去|先|手动|尽快|再)|记得|"
    r"必要なら|(?:設定|確認|実行|再起動|適用|対応|追加|更新)してください|まだ.*(?:残|い)|未(?:コミット|対応|実装))"
)
"""Actions for the person, or events to wait for, in a last message."""
_COURTESIES = Phrase(
    r"\b(?:any|some)thing else\b|\bhow can I help\b|\bwhich would you like next\b|"
    r"\b(?:questions|can I help|to (?:work on|do next)|like (?:me )?to do|clear things up|make "
    r"sense|help|clear)\W*$"
)
"""Questions with which agents routinely end."""
_OFFERS = Phrase(r"\W*(?:I can|I'll|I could|(?:just )?let me know|happy to|either (?:way|one))\b")
"""Sentences after the question at the end of a message."""
_MOST_REPORTS = 5
_PLAN_TITLE = re.compile(r"^#{1,3} +(?:Plan ?[:–—-] *)?(\S.*)", re.MULTILINE)
_IS_A_REPORT = Phrase(r": (?:analysis|findings|investigation|report|research|review|summary)\b")
"""Titles of reports that were handed over as plans."""
_PLANS = ".claude/plans/"
_COMMITS_ROOM = 260
_LONG_REPORT = 120
"""Characters of reports after which neither the plan nor the changed files need be named."""
_LEAST_WORTH = -2.1
"""The least worth of a report, as logarithm of the odds (`clues.py`)."""
_REPEAT_COST = 0.3
"""The loss of a report for each better one of its turn, so that no turn fills the field."""
_CAVEAT = Phrase(
    r"^\W*(?:note|caveat|warning|important|one caveat|heads[- ]up|be aware|keep in mind)\b|"
    r"\b(?:caveat|be aware|keep in mind|please note|one thing to (?:note|know)|"
    r"I (?:have(?: not|n't)|did(?: not|n't)|could(?: not|n't)|was(?: not|n't| unable))|"
    r"not (?:verified|tested|covered)|known (?:issue|limitation)|limitation|"
    r"(?:is|are|was|were) pre-existing|unrelated (?:to|failure)|out of scope|residual risk)\b"
)

_WHOLE_LISTS = frozenset({"todowrite", "update_plan", "todo_write"})
_PLAN_TOOLS = _WHOLE_LISTS | {"taskcreate", "taskupdate"}
_OBJECT = re.compile(r"\{(?:[^{}\"]|\"(?:[^\"\\]|\\.)*\")*\}")
_TASK = re.compile(r"\"(?:content|step|title|task)\":\s*\"((?:[^\"\\]|\\.)*)\"")
_STATUS = re.compile(r"\"status\":\s*\"(\w+)\"")
_SUBJECT_LINE = re.compile(r"^subject: (.+)$", re.MULTILINE)
_CREATED = re.compile(r"Task #?(\d+) created")
_TASK_ID = re.compile(r"^taskId: \"?(\d+)", re.MULTILINE)
_STATUS_LINE = re.compile(r"^status: (\w+)", re.MULTILINE)
_OPEN = frozenset({"pending", "in_progress", "todo", "open"})
_DONE = frozenset({"completed", "done"})


def completed(session: SessionTurns, judged: Sequence[Judged], files: TouchedFiles) -> RedactedText:
    """Return the best sentences for `completed`, and the commits; if the former say little, what is
    done in the agent's plan, and if all says little, the changed files."""
    calls = commits_that_stayed(session)
    commits = _committed(calls)
    file_names = distinct(base_name(path) for path in files.modified if _PLANS not in path)
    planned = _planned(session, compose("Wrote a plan"))
    reports = best_text(
        (
            (judgement.worth.completed, judgement.sentence)
            for judgement in judged
            if judgement.worth.is_report
            and stands_alone(judgement.sentence)
            and not _is_planned(judgement.sentence)
        ),
        room=LIMIT - len(commits) - len(planned) - 2,
        most=_MOST_REPORTS,
        threshold=_LEAST_WORTH,
        other_texts=[call.made.subject for call in calls],
        repeat_cost=_REPEAT_COST,
    )
    if len(reports) <= _LONG_REPORT:
        room = LIMIT - len(reports) - len(commits) - len(planned) - 3
        done = _of_the_plan(compose("Done in the plan"), _plan_items(session, _DONE), room)
        reports = join(" ", distinct([reports, done]))
    if (
        commits
        or not file_names
        or any(name in reports for name in file_names)
        or len(reports) > _LONG_REPORT
    ):
        return join(" ", distinct([reports, commits, planned]))
    return join(" ", distinct([reports, compose("Changed {}.", listing(file_names, 8)), planned]))


def _is_planned(sentence: AgentSentence) -> bool:
    headings = sentence.parsed.heading, sentence.parsed.lead
    return any(NEXT_HEADING.search(above) or OPTION.match(above) for above in headings)


def _planned(session: SessionTurns, label: RedactedText) -> RedactedText:
    """Return `label` with the title of the last plan that was not rejected, if no file was changed
    in its turn or later, else ""."""
    for turn in reversed(session.turns):
        if any(_PLANS not in path for path in touched_files(session, turn.records).modified):
            return EMPTY
        for record in turn.records:
            accepted = record.tool_use_id not in session.failed_calls
            if accepted and record.kind == "tool_use" and record.tool_name == "ExitPlanMode":
                title = _PLAN_TITLE.search(record.text)
                name = plain_text(record.text.cut(*title.span(1))) if title else EMPTY
                return (
                    compose("{}: {}", label, with_full_stop(shorten(name, 90))) if name else EMPTY
                )
    return EMPTY


def _committed(titles: Sequence[CommitCall]) -> RedactedText:
    """Return the most significant commits that fit, in order."""
    ranked = [shorten(call.made.subject, 90) for call in most_significant_first(titles)]
    fitting = set(first_that_fit(ranked, _COMMITS_ROOM))
    if not fitting:
        return EMPTY
    ordered = [subject for call in titles if (subject := shorten(call.made.subject, 90)) in fitting]
    listed = join("; ", ordered)
    if more := len(titles) - len(ordered):
        return compose("Committed: {} (and {} more).", listed, number(more))
    return compose("Committed: {}.", listed)


def next_steps(session: SessionTurns, sentences: list[AgentSentence]) -> RedactedText:
    """Return the remaining work and the final question of the last messages, then the last request
    without an answer, then open items of the plan."""
    last_sentences = _last_sentences(sentences)
    question = _question_at_the_end(last_sentences)
    score = partial(_next_score, question=question)
    candidates = map(without_colon, last_sentences)
    open_work = best_text(
        ((score(sentence), sentence) for sentence in candidates),
        room=_NEXT_LIMIT,
        most=4,
        threshold=1.0,
    )
    items = _plan_items(session, _OPEN)
    unanswered_request = EMPTY if items else unanswered(session)
    if not unanswered_request:
        planned = _planned(session, compose("Planned, no file changed since"))
        unanswered_request = EMPTY if _IS_A_REPORT.search(planned) else planned
    room = _NEXT_LIMIT - len(open_work) - len(unanswered_request) - 1
    plan = _of_the_plan(compose("Open in the plan"), items, room)
    return join(" ", distinct([open_work, unanswered_request, plan]))


def _last_sentences(sentences: list[AgentSentence]) -> list[AgentSentence]:
    """Return the sentences since the last turn in which the agent wrote."""
    from_turn = next((sentence.turn_number for sentence in reversed(sentences) if sentence.last), 0)
    return [sentence for sentence in sentences if sentence.turn_number >= from_turn]


def _question_at_the_end(sentences: list[AgentSentence]) -> AgentSentence | None:
    """Return the question at the end of the last message, or the proposal before a question of a
    word or two ("Go?")."""
    closing = [
        sentence
        for sentence in sentences
        if sentence.closing and not sentence.plain.startswith("(")
    ]
    if len(closing) > 1 and _OFFERS.match(closing[-1].plain) and closing[-2].plain.endswith("?"):
        closing.pop()
    last = closing[-1].plain if closing else ""
    if not last.endswith(("?", "？")) or _COURTESIES.search(last):
        return None
    few = len(vocabulary_of(last)) < _FEWEST_WORDS and len(closing) > 1
    if not few or DID.match(closing[-2].plain):
        return closing[-1]
    return closing[-2]


def _next_score(sentence: AgentSentence, *, question: AgentSentence | None) -> float:
    text = sentence.plain
    if (
        not (sentence.closing or sentence.recap)
        or not _SHORTEST_NEXT <= len(text) <= _LONGEST_NEXT
        or text.endswith(":")
        or (text.endswith("?") and _COURTESIES.search(text))
    ):
        return 0.0
    item = sentence.parsed.item
    headed = NEXT_HEADING.search(sentence.parsed.heading)
    listed = item and NEXT_HEADING.search(sentence.parsed.lead)
    if item and sentence.parsed.lead.endswith("because:"):
        return 0.0
    is_report = not item and (NOW.search(text) or DID.search(text))
    in_list_of_steps = (
        (headed or listed) and not is_report and not sentence.parsed.text.endswith(":")
    )
    score = 2.5 if in_list_of_steps else 0.0
    score += 2.0 if is_open(replace(sentence.parsed, text=sentence.text)) else 0.0
    score += 1.2 if OFFER.search(text) or (question and sentence.parsed is question.parsed) else 0.0
    score += 1.1 if not score and _TODO.search(text) and not DID.match(text) else 0.0
    return score + (0.3 if score and sentence.last else 0.0)


def notes(
    session: SessionTurns, sentences: list[AgentSentence], other_fields: Sequence[RedactedText]
) -> RedactedText:
    """Return caveats of the last messages, without repetitions of `other_fields`, pull requests,
    and counts."""
    facts = _facts(session)
    caveats = best_text(
        ((_caveat_score(sentence), sentence) for sentence in _last_sentences(sentences)),
        room=_NEXT_LIMIT - len(facts) - 1,
        most=2,
        threshold=1.5,
        other_texts=chain.from_iterable(map(split_sentences, other_fields)),
    )
    return join(" ", distinct([caveats, facts]))


def _caveat_score(sentence: AgentSentence) -> float:
    if not sentence.closing or not is_readable(sentence.plain) or sentence.plain.endswith("?"):
        return 0.0
    return 2.0 if _CAVEAT.search(sentence.plain) else 0.0


def _facts(session: SessionTurns) -> RedactedText:
    records = session.records
    links = distinct(record.text for record in records if record.subtype == "pr-link")
    parts = [compose("Pull request: {}.", listing(links, 2))] if links else []
    subtypes = Counter(record.subtype for record in records)
    agents = {record.agent_id for record in records if record.agent_id}
    redactions = sum(record.redactions for record in records)
    abandoned = sum(single.kind == "prompt" and single.subtype == ABANDONED for single in records)
    # Boundaries where the format marks them, else the summaries that replace history.
    compactions = subtypes["compact-boundary"] or subtypes["compact-summary"]
    for count, single, many in (
        (subtypes["interrupt"], compose("Interrupted once."), compose("interruptions")),
        (abandoned, compose("One prompt abandoned."), compose("prompts abandoned")),
        (compactions, compose("Compacted once."), compose("compactions")),
        (len(agents), compose("One subagent."), compose("subagents")),
        (redactions, compose("One redaction."), compose("redactions")),
    ):
        if count:
            parts.append(single if count == 1 else compose("{} {}.", number(count), many))
    return join(" ", parts)


def _of_the_plan(label: RedactedText, items: Sequence[RedactedText], room: int) -> RedactedText:
    """Return `label` with the first items that fit in `room` characters, "" if none does."""
    room -= len(label) + len(": .")
    fitting = first_that_fit((shorten(item, 90) for item in items), room)
    return compose("{}: {}.", label, join("; ", fitting)) if fitting else EMPTY


def _plan_items(session: SessionTurns, states: Set[str]) -> list[RedactedText]:
    """Return the items of the agent's own to-do list that are in one of some states, in the list's
    order: TodoWrite and update_plan as last written, then tasks. No item of a list that was left
    behind is open."""
    whole: list[RedactedText] = []
    subjects: dict[str, RedactedText] = {}
    tasks: dict[str, RedactedText] = {}
    statuses: dict[str, str] = {}
    calls = 0  # since the plan was written last
    for record in session.records:
        if record.agent_id is not None or record.kind not in ("tool_use", "tool_result"):
            continue
        text, call = record.text, record.tool_use_id
        name = record.tool_name.lower()
        calls += record.kind == "tool_use"
        if name in _PLAN_TOOLS:
            calls = 0
        if record.kind == "tool_result":
            created = _CREATED.search(text) if name == "taskcreate" else None
            if created and call in subjects:
                tasks[created.group(1)] = subjects[call]
        elif name in _WHOLE_LISTS:
            whole = _tasks(text, states)
        elif name == "taskcreate" and (subject := _SUBJECT_LINE.search(text)):
            subjects[call] = text.cut(*subject.span(1))
        elif name == "taskupdate":
            task, status = _TASK_ID.search(text), _STATUS_LINE.search(text)
            if task and status:
                statuses[task.group(1)] = status.group(1)
    single = [text for task, text in tasks.items() if statuses.get(task, "pending") in states]
    if calls > _PLAN_LEFT_BEHIND and states is _OPEN:
        return []
    return [text.squeezed() for text in (*whole, *single) if text.strip()]


def _tasks(text: RedactedText, states: Set[str]) -> list[RedactedText]:
    tasks: list[RedactedText] = []
    for item in _OBJECT.finditer(text):
        part = text.cut(*item.span())
        task, status = _TASK.search(part), _STATUS.search(part)
        if task and status and status.group(1) in states:
            tasks.append(unescaped(part.cut(*task.span(1))))
    return tasks
