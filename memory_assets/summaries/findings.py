"""The fields `investigated` (files, commands, searches) and `learned` (findings)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from memory_assets.models import RedactedRecord
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis.files import TouchedFiles, files_changed
from memory_assets.session_analysis.open_ends import OFFER
from memory_assets.session_analysis.phrases import (
    EMPTY,
    Phrase,
    base_name,
    distinct,
    listing,
    shorten,
)
from memory_assets.session_analysis.scores import DID, GUESSED
from memory_assets.session_analysis.sentences import split_sentences
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.statements import best_text
from memory_assets.summaries.clues import Judged, stands_alone

LEARNED_LIMIT = 600
_LEARNED_MOST = 4
_LEAST_WORTH = -2.9
"""The least worth of a sentence, as logarithm of the odds (`clues.py`)."""
_LEAST_OF_THE_BEST = -2.0
"""The least worth of the best one, where files were changed: other work taught nothing."""
_REPEAT_COST = 0.3
"""The loss of a sentence for each better one of its turn, so that one turn does not fill the field.
"""
_INVESTIGATED_LIMIT = 400
_TASK_LIMIT = 70
_HEAD_OF_A_PROMPT = 600
_SHORT_PROMPT = 200
_WANTS_A_TEXT = Phrase(
    r"\b(?:draft|write|compose|rewrite|rephrase|reword|formulate|prepare|shorten|give me)\b"
    r"[^.?!\n]{0,40}?\b(?:messages?|repl(?:y|ies)|responses?|e-?mails?|mail|comments?|posts?|tweets?|"
    r"announcements?|letters?|essays?|stor(?:y|ies)|poems?|haikus?|lyrics|blurbs?|bio|pitch|"
    r"(?:pr|issue|ticket|pull request) (?:description|text|body)|bug reports?|paragraphs?)\b"
)
_REWORDS = Phrase(
    r"\b(?:it|shorter|longer|bit more|formal|friendlier|tone|again|another|casual|version|"
    r"wording)\b"
)
_GIT_STATUS = Phrase(
    r"\b(?:unstaged|untracked|uncommitted|working tree)\b|(?<!-)\bcommitted\b|"
    r"\bcommit (?:\S+ )?(?:created|succeeded|successful)\b|\bcommits? (?:ahead|behind)\b"
)
_EXPLAINS = Phrase(
    r"\b(?:though|but|because|since|fail\w*|error|wrong|caused|however|instead|why|so)\b"
)
"""Words of a status that is worth knowing."""


def learned(
    session: SessionTurns, judged: Sequence[Judged], other_fields: Sequence[RedactedText]
) -> RedactedText:
    """Return the best sentences for `learned`, without repetitions of `other_fields` and without
    guesses made before files were changed."""
    changes = files_changed(session)
    candidates = [
        (judgement.worth.learned, judgement.sentence)
        for judgement in _without_drafts(session, judged)
        if not judgement.worth.is_report
        and stands_alone(judgement.sentence)
        and not _asks(judgement.sentence.plain)
        and not _is_git_status(judgement.sentence.plain)
        and not (judgement.sentence.parsed.item and DID.search(judgement.sentence.parsed.lead))
        and not (
            changes[judgement.sentence.turn_number + 1 :].count(True)
            and GUESSED.search(judgement.sentence.plain)
        )
    ]
    if any(changes) and all(worth < _LEAST_OF_THE_BEST for worth, _ in candidates):
        return EMPTY
    return best_text(
        candidates,
        room=LEARNED_LIMIT,
        most=_LEARNED_MOST,
        threshold=_LEAST_WORTH,
        other_texts=chain.from_iterable(map(split_sentences, other_fields)),
        repeat_cost=_REPEAT_COST,
    )


def _is_git_status(text: str) -> bool:
    return _GIT_STATUS.search(text) is not None and _EXPLAINS.search(text) is None


def _asks(text: str) -> bool:
    return text.endswith(("?", "？")) or OFFER.search(text) is not None


def _without_drafts(session: SessionTurns, judged: Sequence[Judged]) -> Iterator[Judged]:
    """Yield the sentences that are not in texts that the agent drafted for the person to send."""
    drafts: set[int] = set()
    for place, turn in enumerate(session.turns):
        prompt = turn.typed.text[:_HEAD_OF_A_PROMPT] if turn.typed else ""
        goes_on = place - 1 in drafts and len(prompt) < _SHORT_PROMPT and _REWORDS.search(prompt)
        if _WANTS_A_TEXT.search(prompt) or goes_on:
            drafts.add(place)
    for judgement in judged:
        if judgement.sentence.changed or judgement.sentence.turn_number not in drafts:
            yield judgement


_GLOB = re.compile(r"^\*|\*\*/|/\*")
_QUERY = re.compile(r"^(?:query|url): (.{4,120})$", re.MULTILINE)
_DESCRIPTION = re.compile(r"^description: (.{4,120})$", re.MULTILINE)


def investigated(session: SessionTurns, files: TouchedFiles) -> RedactedText:
    """Return "Read …; searched for …; looked up …; had subagents do: …", without empty parts."""
    searches = [text for text in files.searches if len(text) <= 40 and not _GLOB.search(text)]
    web = [record for record in session.records if "web" in record.tool_name.lower()]
    looked_up = _inputs((record for record in web if record.agent_id is None), _QUERY)
    tasks = (record for record in session.records if record.tool_name.lower() in ("task", "agent"))
    parts: list[RedactedText] = []
    for first, later, texts, most in (
        ("Read {}", "read {}", distinct(base_name(path) for path in files.read), 6),
        ("Searched for {}", "searched for {}", searches, 3),
        ("Looked up {}", "looked up {}", looked_up, 3),
        ("Had subagents do: {}", "had subagents do: {}", _inputs(tasks, _DESCRIPTION), 3),
    ):
        if texts:
            parts.append(compose(later if parts else first, listing(texts, most)))
    while parts and sum(len(part) + 2 for part in parts) > _INVESTIGATED_LIMIT:
        parts.pop()
    return compose("{}.", join("; ", parts)) if parts else EMPTY


def _inputs(records: Iterable[RedactedRecord], field: re.Pattern[str]) -> list[RedactedText]:
    """Return the values of a field in the inputs of calls, shortened, each once."""
    texts = (record.text for record in records if record.kind == "tool_use")
    matches = ((text, value) for text in texts if (value := field.search(text)))
    return distinct(
        shorten(text.cut(*value.span(1)).squeezed(), _TASK_LIMIT) for text, value in matches
    )
