"""The human's requests: the first real one, the most important later ones, the one left open."""

from __future__ import annotations

import re

from memory_assets.models import PROGRAM, Turn
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis.commits import commits_that_stayed, makes_commits
from memory_assets.session_analysis.files import tool_kind, touched, weights
from memory_assets.session_analysis.phrases import (
    EMPTY,
    Phrase,
    base_name,
    closed,
    distinct,
    listing,
    names,
    shorten,
)
from memory_assets.session_analysis.sentences import (
    asks,
    condensed,
    own_words,
    request_sentences,
    sentences,
)
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.shell import segments
from memory_assets.session_analysis.statements import alike, is_answered, routine, vocabulary_of

REQUEST_LIMIT = 600
_FIRST_REQUEST_LIMIT, _LEAST_BEGINNING = 260, 90
_LATER_REQUEST_LIMIT = 110
_MOST_LATER, _SHORTEST_REQUEST, _END = 5, 12, 1_000
_ENOUGH, _FEWEST_WORDS, _TELLING_WORDS, _LONG_ENOUGH = 200, 3, 6, 40
_LEAST = 0.1

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
_BREAKS_OFF = names("interrupt api-error")
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
    again = routine(session)
    commits_only = {call.turn.id for call in commits_that_stayed(session)}
    prompts = [
        (weight, turn.id, turn.prompt)
        for weight, turn in zip(weights(session), session.turns, strict=True)
        if turn.prompt is not None and turn.id not in again
    ]
    of_humans = [one for one in prompts if one[2].subtype != PROGRAM]
    return [
        (
            0.0 if turn in commits_only and len(prompt.text) < _LONG_ENOUGH else weight + _LEAST,
            text,
        )
        for weight, turn, prompt in of_humans or prompts
        if asks(prompt) and (text := own_words(prompt.text))
    ]


def request(session: SessionTurns) -> RedactedText:
    """Return the first real request, then the weightiest later ones, shortened."""
    asked = _weighted_requests(session)
    telling = (place for place, (_, text) in enumerate(asked) if not tells_nothing(text))
    asked = asked[next(telling, 0) :]
    if not asked:
        return EMPTY
    first = _with_its_end(asked[0][1])
    later = _weightiest(first, asked[1:], REQUEST_LIMIT - len(first) - len(" Then: "))
    if not first:
        return later
    return compose("{} Then: {}", closed(first), later) if later else first


def tells_nothing(text: str) -> bool:
    """Return True if a request has no information: few words, idle, or pasted."""
    words = _WORD.findall(text[:_ENOUGH])
    few = len(words) < _FEWEST_WORDS and len(vocabulary_of(text[:_ENOUGH])) < _TELLING_WORDS
    return few or _PASTED.match(text) is not None or IDLE.match(text) is not None


def unanswered(session: SessionTurns) -> RedactedText:
    """Return the last request of a session if it has no answer, with a label; if files were changed
    for it, only if the work was broken off. A transcript may end with the last call of finished
    work, which returns ""."""
    places = (place for place, turn in enumerate(session.turns) if turn.prompt is not None)
    place = max(places, default=-1)
    typed = session.turns[place].typed if place >= 0 else None
    if typed is None or not asks(typed) or any(map(_is_reported, session.turns[place:])):
        return EMPTY
    text = own_words(typed.text)
    asked = condensed(text, _LATER_REQUEST_LIMIT)
    wants = not asked.isascii() or ASKING.search(asked) or WANTS.search(asked)
    idle = IDLE.match(text) or _ABOUT_THE_TALK.search(asked) or _FOR_NOTHING.match(text)
    pasted = LOGGED.match(asked) and not WANTS.search(text) and not ASKING.match(asked)
    if not wants or idle or pasted:
        return EMPTY
    records = [record for turn in session.turns[place:] for record in turn.records]
    calls = [
        one
        for one in records
        if one.kind == "tool_use" and one.tool_use_id not in session.failed_calls
    ]
    ran = [one.command for one in calls if one.command]
    if any(_publishes(command) or command in typed.text for command in ran):
        return EMPTY
    if _REMOVAL.search(text) and any(map(_removes, ran)):
        return EMPTY
    if any(one.tool_name == "ExitPlanMode" for one in records):
        return EMPTY  # a plan answers the request
    if not any(tool_kind(one) == "write" and not _IS_A_PLAN.search(one.text) for one in calls):
        return compose("Asked last, without an answer: {}", closed(without_end(asked)))
    results = [one for one in records if one.kind == "tool_result"]
    failed = bool(results) and results[-1].is_error
    if not failed and not any(one.subtype in _BREAKS_OFF for one in records):
        return EMPTY
    changed = distinct(base_name(path) for path in touched(session, records).modified)
    return compose("Broken off, {} changed: {}", listing(changed, 3), closed(without_end(asked)))


def _is_reported(turn: Turn) -> bool:
    """Return whether a turn ends with a message that does not only announce the next action."""
    if not is_answered(turn):
        return False
    prose = [one.text for one in turn.records if one.kind == "assistant_text" and not one.agent_id]
    last = [one.text for one in sentences(prose[-1])][-1:] if prose else []
    begun = len(turn.records) > _A_FEW_RECORDS and any(map(_ANNOUNCES.match, last))
    return not begun


def _publishes(command: RedactedText) -> bool:
    """Return True for a command with which work ends: a commit, a push, a pull request."""
    if makes_commits(command):
        return True
    return any(
        (one.program == "git" and {"push", "merge", "tag"} & {*one.words[1:3]})
        or (one.program == "gh" and {"create", "merge", "comment", "edit"} & {*one.words[1:4]})
        for one in segments(command)
    )


def _removes(command: RedactedText) -> bool:
    """Return True for a command that removes or moves files, branches or work trees."""
    return any(
        one.program in ("rm", "mv")
        or (one.program == "git" and {"-d", "-D", "-m", "--delete", "remove", "rm"} & {*one.words})
        for one in segments(command)
    )


def _with_its_end(text: RedactedText) -> RedactedText:
    """Return the first sentences of a request, and its last one if that states the wish after a
    list or pasted lines; the last one comes first if the others ask for nothing."""
    begun = condensed(text, _FIRST_REQUEST_LIMIT, filled=True)
    last_sentences = request_sentences(text.cut(-_END))
    end = last_sentences[-1].text if last_sentences and not text.lstrip().startswith("#") else EMPTY
    if not ASKING.search(end) or end in begun or len(end) > _FIRST_REQUEST_LIMIT:
        return begun
    if WANTS.search(end) and not ASKING.search(begun):
        return join(
            " ", (end, condensed(text, max(_FIRST_REQUEST_LIMIT - len(end), _LEAST_BEGINNING)))
        )
    fits = len(begun) + len(end) < _FIRST_REQUEST_LIMIT
    asks_only_there = WANTS.search(end) and not WANTS.search(begun)
    return join(" ", (begun, end)) if fits or asks_only_there else begun


def _weightiest(
    first: RedactedText, asked: list[tuple[float, RedactedText]], room: int
) -> RedactedText:
    """Return the weightiest later requests that fit, without repetitions, in their order."""
    chosen: dict[int, RedactedText] = {}
    vocabularies = [vocabulary_of(first)]
    for place in sorted(range(len(asked)), key=lambda place: -asked[place][0]):
        weight, text = asked[place][0], _begins_or_ends(asked[place][1])
        words = vocabulary_of(text)
        repeats = any(alike(words, other) for other in vocabularies)
        if weight > 0 and _SHORTEST_REQUEST <= len(text) <= room - 2 and not repeats:
            chosen[place] = text
            vocabularies.append(words)
            room -= len(text) + 2
        if len(chosen) == _MOST_LATER:
            break
    return join("; ", (without_end(text) for _, text in sorted(chosen.items())))


def _begins_or_ends(text: RedactedText) -> RedactedText:
    """Return the beginning of a later request, or its end, if that states the wish after pasted
    lines."""
    begun = condensed(text, _LATER_REQUEST_LIMIT, filled=True)
    last_sentences = request_sentences(text.cut(-_END))
    end = last_sentences[-1].text if last_sentences else EMPTY
    if end in begun or not WANTS.search(end) or ASKING.search(begun) or WANTS.search(begun):
        return begun
    if _ABOUT_THE_TALK.search(end):
        return begun
    return shorten(end, _LATER_REQUEST_LIMIT)


def without_end(text: RedactedText) -> RedactedText:
    """Return a text without the full stop, comma or colon at its end."""
    return text.cut(0, len(text) - 1) if text.endswith((".", ";", ":", ",")) else text
