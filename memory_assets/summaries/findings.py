"""The fields `investigated` (files, commands, searches) and `learned` (findings)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory_assets.models import RedactedRecord
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis.files import Touched
from memory_assets.session_analysis.phrases import (
    EMPTY,
    Phrase,
    base_name,
    distinct,
    listing,
    shorten,
)
from memory_assets.session_analysis.scores import PLANNING, cause_score
from memory_assets.session_analysis.sentences import split
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.statements import Said, choose, readable

LEARNED_LIMIT = 400
_LEARNED_MOST = 3
_INVESTIGATED_LIMIT = 400
_TASK_LIMIT = 70


def learned(said: list[Said], done: RedactedText) -> RedactedText:
    """Return the sentences that state a cause or a finding, none that `done` holds already."""
    return choose(
        said,
        cause_score,
        room=LEARNED_LIMIT,
        most=_LEARNED_MOST,
        threshold=1.2,
        beside=split(done),
    )


def answered(session: SessionTurns, said: list[Said]) -> RedactedText:
    """Return how the last message begins, if it answers a question."""
    asked = [turn.typed.text for turn in session.turns if turn.typed is not None]
    if not asked or not _QUESTION.search(asked[-1][:2_000]):
        return EMPTY
    return choose(said, _answer_score, room=LEARNED_LIMIT, most=2, threshold=1.0)


def _answer_score(one: Said) -> float:
    if not (one.closing and one.last) or not readable(one.plain) or one.plain.endswith("?"):
        return 0.0
    return 0.0 if PLANNING.search(one.plain) else 1.0


_QUESTION = Phrase(
    r"\?|^\W*(?:how|what|why|which|where|who|when|can|is|are|does|do|did|should|could|explain)\b"
)
_GLOB = re.compile(r"^\*|\*\*/|/\*")
_QUERY = re.compile(r"^(?:query|url): (.{4,120})$", re.MULTILINE)
_DESCRIPTION = re.compile(r"^description: (.{4,120})$", re.MULTILINE)


def investigated(session: SessionTurns, files: Touched) -> RedactedText:
    """Return "Read …; searched for …; looked up …; subagents: …", as far as there is any."""
    searches = [text for text in files.searches if len(text) <= 40 and not _GLOB.search(text)]
    web = [one for one in session.records if "web" in one.tool_name.lower()]
    looked_up = _inputs((one for one in web if one.agent_id is None), _QUERY)
    tasks = (one for one in session.records if one.tool_name.lower() in ("task", "agent"))
    parts: list[RedactedText] = []
    for first, later, found, most in (
        ("Read {}", "read {}", distinct(base_name(path) for path in files.read), 6),
        ("Searched for {}", "searched for {}", searches, 3),
        ("Looked up {}", "looked up {}", looked_up, 3),
        ("Had subagents do: {}", "had subagents do: {}", _inputs(tasks, _DESCRIPTION), 3),
    ):
        if found:
            parts.append(compose(later if parts else first, listing(found, most)))
    while parts and sum(len(part) + 2 for part in parts) > _INVESTIGATED_LIMIT:
        parts.pop()
    return compose("{}.", join("; ", parts)) if parts else EMPTY


def _inputs(records: Iterable[RedactedRecord], field: re.Pattern[str]) -> list[RedactedText]:
    """Return the values of a field in the inputs of calls, shortened, each once."""
    texts = (record.text for record in records if record.kind == "tool_use")
    found = ((text, value) for text in texts if (value := field.search(text)))
    return distinct(
        shorten(text.cut(*value.span(1)).squeezed(), _TASK_LIMIT) for text, value in found
    )
