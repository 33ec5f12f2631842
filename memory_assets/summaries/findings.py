"""The fields `investigated` (files, commands, searches) and `learned` (findings)."""

from __future__ import annotations

import re

from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis.causes import PLANNING, cause_score
from memory_assets.session_analysis.files import Touched
from memory_assets.session_analysis.phrases import base_name, distinct, listing, shorten, squeeze
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
    asked = [turn.prompt.text for turn in session.turns if turn.prompt is not None]
    if not asked or not _QUESTION.search(asked[-1][:2_000]):
        return join("", ())
    return choose(said, _answer_score, room=LEARNED_LIMIT, most=2, threshold=1.0)


def _answer_score(one: Said) -> float:
    if not (one.closing and one.last) or not readable(one.plain) or one.plain.endswith("?"):
        return 0.0
    return 0.0 if PLANNING.search(one.plain) else 1.0


_QUESTION = re.compile(
    r"\?|^\W*(?:how|what|why|which|where|who|when|can|is|are|does|do|did|should|could|explain)\b",
    re.IGNORECASE,
)
_GLOB = re.compile(r"^\*|\*\*/|/\*")
_QUERY = re.compile(r"^(?:query|url): (.{4,120})$", re.MULTILINE)
_DESCRIPTION = re.compile(r"^description: (.{4,120})$", re.MULTILINE)


def investigated(session: SessionTurns, files: Touched) -> RedactedText:
    """Return "Read …; searched for …; looked up …; subagents: …", as far as there is any."""
    parts: list[RedactedText] = []
    names = distinct(base_name(path) for path in files.read)
    if names:
        parts.append(compose("Read {}", listing(names, 6)))
    searches = [text for text in files.searches if len(text) <= 40 and not _GLOB.search(text)]
    if searches:
        parts.append(compose("searched for {}", listing(searches, 3)))
    looked_up = _looked_up(session)
    if looked_up:
        parts.append(compose("looked up {}", listing(looked_up, 3)))
    tasks = _subagent_tasks(session)
    if tasks:
        parts.append(compose("had subagents do: {}", listing(tasks, 3)))
    while parts and sum(len(part) + 2 for part in parts) > _INVESTIGATED_LIMIT:
        parts.pop()
    return compose("{}.", _capital(join("; ", parts))) if parts else join("", ())


def _capital(text: RedactedText) -> RedactedText:
    """Our own lead-ins begin small; only the first of them opens the field."""
    for small, large in (
        ("searched", compose("Searched")),
        ("looked", compose("Looked")),
        ("had", compose("Had")),
    ):
        if text.startswith(small):
            return compose("{}{}", large, text.cut(len(small)))
    return text


def _looked_up(session: SessionTurns) -> list[RedactedText]:
    found: list[RedactedText] = []
    for record in session.records:
        name = record.tool_name.lower()
        if record.kind == "tool_use" and record.agent_id is None and "web" in name:
            query = _QUERY.search(record.text)
            if query:
                found.append(shorten(squeeze(record.text.cut(*query.span(1))), _TASK_LIMIT))
    return distinct(found)


def _subagent_tasks(session: SessionTurns) -> list[RedactedText]:
    found: list[RedactedText] = []
    for record in session.records:
        if record.kind == "tool_use" and record.tool_name.lower() in ("task", "agent"):
            task = _DESCRIPTION.search(record.text)
            if task:
                found.append(shorten(squeeze(record.text.cut(*task.span(1))), _TASK_LIMIT))
    return distinct(found)
