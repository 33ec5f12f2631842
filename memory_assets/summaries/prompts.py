"""The human's requests: the first real one, the most important later ones, the one left open."""

from __future__ import annotations

import re

from memory_assets.models import PROGRAM, Turn
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis.commits import commits_that_stayed, makes_commits
from memory_assets.session_analysis.files import tool_kind, touched_files, turn_weights
from memory_assets.session_analysis.phrases import (
    EMPTY,
    Phrase,
    base_name,
    distinct,
    listing,
    shorten,
    with_full_stop,
)
from memory_assets.session_analysis.sentences import (
    condense,
    is_request,
    parse_sentences,
    request_sentences,
    without_frame,
)
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.shell import segments
from memory_assets.session_analysis.statements import (
    are_alike,
    is_answered,
    repeated_prompt_turns,
    vocabulary_of,
)
from memory_assets.word_lists import word_set

REQUEST_LIMIT = 600
_FIRST_REQUEST_LIMIT = 260
_LEAST_BEGINNING = 90
"""Characters that remain for the beginning of a request after its last sentence."""
_LATER_REQUEST_LIMIT = 110
_MOST_LATER_REQUESTS = 5
_SHORTEST_REQUEST = 12
_END = 1_000
"""Characters at the end of a prompt in which its last sentence is looked for."""
_HEAD = 200
"""Characters at the beginning of a request by which its information is judged."""
_FEWEST_WORDS = 3
"""Words below which a request needs `_FEWEST_STEMS` to tell anything."""
_FEWEST_STEMS = 6
"""The size of a request's vocabulary, which counts pairs of letters in scripts without blanks."""
_LONG_ENOUGH = 40
"""Characters below which a prompt whose turn made a commit only asked for that."""
_LEAST_WEIGHT = 0.1
"""Added to the weight of a turn, so that a request without any work counts, too."""

_WORD = re.compile(r"[^\W\d_]{2,}")
_PASTED = re.compile(r"\S+@\S+ .{0,60}[%$#] |[^\"\n]*\"\s*$|\W*~?/\S+/\S+\s*$")
IDLE = Phrase(
    r".{0,90}\b(?:pick up|continue|resume) (?:from )?where we\b|"
    r"\W*(?:hi|hello|good \w+|is|are|do|does|did|have|has|was|were|which|where)\b[^?\n]{0,60}\?\s*$"
)
"""Short opening questions about the state of things, other than the subject of the session."""
LOGGED = Phrase(
    r"^(?!.*\b(?:i|i'm|we|my|our|you|please)\b).*(?:[{}<>=]|\b(?:error|exception|traceback|fatal|err!|"
    r"warn(?:ing)?)\b|\d\d:\d\d)"
)
"""A pasted line of a log or of data."""
WANTS = Phrase(
    r"[?？]\W*$|^\W*(?:what|why|how|where|which)\b"
    r"|\b(?:please|(?:can|could|would) (?:you|we)|i (?:want|need)|we need|help me)\b"
    r"|[吗呢]\W*$|帮我|请|教我|怎么|如何|为什么|什么|したい|ほしい|ください|して\W*$|教えて|ですか"
    r"|\b(?:bitte|kannst du|könntest du|warum|wie|was)\b"
)
_A_FEW_RECORDS = 3
_ANNOUNCES = Phrase(
    r"\W*(?:(?:ok(?:ay)?|good|great|perfect|now|next|first|then|alright)[,.!:]* )*"
    r"let me (?!know\b)(?!.*\b(?:if|when|once|whether) you\b)"
)
"""Last sentences that announce a call, which the transcript lacks."""
_BREAKS_OFF = word_set("interrupt api-error")
_IS_A_PLAN = re.compile(r"\Afile_?path: \S*\bplan", re.IGNORECASE)
_FOR_NOTHING = Phrase(
    r"(?!.*\b(?:and|but|just|only)\b.*\b(?:fix|add|make|change|use|run)\b)"
    r"\W*(?:(?:thanks?|thank you|ok(?:ay)?|great|good|nice|please|no|and|but|then|just)[\s,.!]+)*"
    r"(?:(?:keep|leave) (?:it|this|that|them|everything)|(?:do not|don't|dont) "
    r"(?:change|touch|edit|modify|do|commit|push|delete|remove|worry))\b[^,.;:!?\n]{0,60}\W*$"
)
"""Requests to leave things as they are."""
_REMOVAL = Phrase(r"\b(?:delete|remove|clean|drop|move|rename)\b")
_ABOUT_THE_TALK = Phrase(r"\bmakes? sense\b|\bdid you mean\b|\bno need\b")
"""Questions about the conversation, which request nothing."""
ASKING = Phrase(
    r"\b(?:can|could|should|please|fix|add|make|change|implement|create|write|remove|update|use|"
    r"check|why|how|what|investigate|look|refactor|move|rename|test|run|review|explain|commit|merge|"
    r"release|deploy|build|find|show|support|debug|document|convert|replace|rebase|push)\b"
)


def _weighted_requests(session: SessionTurns) -> list[tuple[float, RedactedText]]:
    """Return the requests of humans, oldest first, with the weights of their turns; those of
    programs if there are none. Short requests that only led to a commit have no weight."""
    repeated = repeated_prompt_turns(session)
    commits_only = {call.turn.id for call in commits_that_stayed(session)}
    prompts = [
        (weight, turn.id, turn.prompt)
        for weight, turn in zip(turn_weights(session), session.turns, strict=True)
        if turn.prompt is not None and turn.id not in repeated
    ]
    of_humans = [
        weighted_prompt for weighted_prompt in prompts if weighted_prompt[2].subtype != PROGRAM
    ]
    return [
        (
            0.0
            if turn in commits_only and len(prompt.text) < _LONG_ENOUGH
            else weight + _LEAST_WEIGHT,
            text,
        )
        for weight, turn, prompt in of_humans or prompts
        if is_request(prompt) and (text := without_frame(prompt.text))
    ]


def request(session: SessionTurns) -> RedactedText:
    """Return the first real request, then the weightiest later ones, shortened."""
    requests = _weighted_requests(session)
    telling = (place for place, (_, text) in enumerate(requests) if not tells_nothing(text))
    requests = requests[next(telling, 0) :]
    if not requests:
        return EMPTY
    first = _with_its_end(requests[0][1])
    later = _weightiest(first, requests[1:], REQUEST_LIMIT - len(first) - len(" Then: "))
    if not first:
        return later
    return compose("{} Then: {}", with_full_stop(first), later) if later else first


def tells_nothing(text: str) -> bool:
    """Return True if a request has no information: few words, idle, or pasted."""
    words = _WORD.findall(text[:_HEAD])
    few = len(words) < _FEWEST_WORDS and len(vocabulary_of(text[:_HEAD])) < _FEWEST_STEMS
    return few or _PASTED.match(text) is not None or IDLE.match(text) is not None


def unanswered(session: SessionTurns) -> RedactedText:
    """Return the last request of a session if it has no answer, with a label; if files were changed
    for it, only if the work was broken off. A transcript may end with the last call of finished
    work, which returns ""."""
    places = (place for place, turn in enumerate(session.turns) if turn.prompt is not None)
    place = max(places, default=-1)
    typed = session.turns[place].typed if place >= 0 else None
    if typed is None or not is_request(typed) or any(map(_is_reported, session.turns[place:])):
        return EMPTY
    text = without_frame(typed.text)
    shortened = condense(text, _LATER_REQUEST_LIMIT)
    wants = not shortened.isascii() or ASKING.search(shortened) or WANTS.search(shortened)
    idle = IDLE.match(text) or _ABOUT_THE_TALK.search(shortened) or _FOR_NOTHING.match(text)
    pasted = LOGGED.match(shortened) and not WANTS.search(text) and not ASKING.match(shortened)
    if not wants or idle or pasted:
        return EMPTY
    records = [record for turn in session.turns[place:] for record in turn.records]
    calls = [
        record
        for record in records
        if record.kind == "tool_use" and record.tool_use_id not in session.failed_calls
    ]
    ran = [record.command for record in calls if record.command]
    if any(_publishes(command) or command in typed.text for command in ran):
        return EMPTY
    if _REMOVAL.search(text) and any(map(_removes, ran)):
        return EMPTY
    if any(record.tool_name == "ExitPlanMode" for record in records):
        return EMPTY  # a plan answers the request
    if not any(
        tool_kind(record) == "write" and not _IS_A_PLAN.search(record.text) for record in calls
    ):
        return compose("Asked last, without an answer: {}", with_full_stop(without_end(shortened)))
    results = [record for record in records if record.kind == "tool_result"]
    failed = bool(results) and results[-1].is_error
    if not failed and not any(record.subtype in _BREAKS_OFF for record in records):
        return EMPTY
    changed = distinct(base_name(path) for path in touched_files(session, records).modified)
    return compose(
        "Broken off, {} changed: {}", listing(changed, 3), with_full_stop(without_end(shortened))
    )


def _is_reported(turn: Turn) -> bool:
    """Return whether a turn ends with a message that does not only announce the next action."""
    if not is_answered(turn):
        return False
    prose = [
        record.text
        for record in turn.records
        if record.kind == "assistant_text" and not record.agent_id
    ]
    last = [record.text for record in parse_sentences(prose[-1])][-1:] if prose else []
    begun = len(turn.records) > _A_FEW_RECORDS and any(map(_ANNOUNCES.match, last))
    return not begun


def _publishes(command: RedactedText) -> bool:
    """Return True for a command with which work ends: a commit, a push, a pull request."""
    if makes_commits(command):
        return True
    return any(
        (segment.program == "git" and {"push", "merge", "tag"} & {*segment.words[1:3]})
        or (
            segment.program == "gh"
            and {"create", "merge", "comment", "edit"} & {*segment.words[1:4]}
        )
        for segment in segments(command)
    )


def _removes(command: RedactedText) -> bool:
    """Return True for a command that removes or moves files, branches or work trees."""
    return any(
        segment.program in ("rm", "mv")
        or (
            segment.program == "git"
            and {"-d", "-D", "-m", "--delete", "remove", "rm"} & {*segment.words}
        )
        for segment in segments(command)
    )


def _with_its_end(text: RedactedText) -> RedactedText:
    """Return the first sentences of a request, and its last one if that states the wish after a
    list or pasted lines; the last one comes first if the others ask for nothing."""
    beginning = condense(text, _FIRST_REQUEST_LIMIT, filled=True)
    last_sentences = request_sentences(text.cut(-_END))
    end = last_sentences[-1].text if last_sentences and not text.lstrip().startswith("#") else EMPTY
    if not ASKING.search(end) or end in beginning or len(end) > _FIRST_REQUEST_LIMIT:
        return beginning
    if WANTS.search(end) and not ASKING.search(beginning):
        return join(
            " ", (end, condense(text, max(_FIRST_REQUEST_LIMIT - len(end), _LEAST_BEGINNING)))
        )
    fits = len(beginning) + len(end) < _FIRST_REQUEST_LIMIT
    asks_only_there = WANTS.search(end) and not WANTS.search(beginning)
    return join(" ", (beginning, end)) if fits or asks_only_there else beginning


def _weightiest(
    first: RedactedText, requests: list[tuple[float, RedactedText]], room: int
) -> RedactedText:
    """Return the weightiest later requests that fit, without repetitions, in their order."""
    selected: dict[int, RedactedText] = {}
    vocabularies = [vocabulary_of(first)]
    for place in sorted(range(len(requests)), key=lambda place: -requests[place][0]):
        weight, text = requests[place][0], _begins_or_ends(requests[place][1])
        words = vocabulary_of(text)
        repeats = any(are_alike(words, other) for other in vocabularies)
        if weight > 0 and _SHORTEST_REQUEST <= len(text) <= room - 2 and not repeats:
            selected[place] = text
            vocabularies.append(words)
            room -= len(text) + 2
        if len(selected) == _MOST_LATER_REQUESTS:
            break
    return join("; ", (without_end(text) for _, text in sorted(selected.items())))


def _begins_or_ends(text: RedactedText) -> RedactedText:
    """Return the beginning of a later request, or its end, if that states the wish after pasted
    lines."""
    beginning = condense(text, _LATER_REQUEST_LIMIT, filled=True)
    last_sentences = request_sentences(text.cut(-_END))
    end = last_sentences[-1].text if last_sentences else EMPTY
    if (
        end in beginning
        or not WANTS.search(end)
        or ASKING.search(beginning)
        or WANTS.search(beginning)
    ):
        return beginning
    if _ABOUT_THE_TALK.search(end):
        return beginning
    return shorten(end, _LATER_REQUEST_LIMIT)


def without_end(text: RedactedText) -> RedactedText:
    """Return a text without the full stop, comma or colon at its end."""
    return text.cut(0, len(text) - 1) if text.endswith((".", ";", ":", ",")) else text
