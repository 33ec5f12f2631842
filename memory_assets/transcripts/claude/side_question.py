"""The files of agents that answer one `/btw` question (`agent-aside_question-*`).

They begin with a copy of the main conversation, under the same uuids. The question is the user
text behind a reminder that says so, else the last one; it is the human's, the answer the agent's.
"""

from __future__ import annotations

from memory_assets.models import Record
from memory_assets.transcripts.authorship import without_reminders
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.claude.records import ClaudeSession
from memory_assets.transcripts.fields import content_text, object_field, type_name
from memory_assets.transcripts.lines import JsonObject, Located
from memory_assets.transcripts.session import SIDE_QUESTION, Frame, Said

COPIED = "copied-history"
PREFIX = "aside_question"
_SAYS_SO = "side question"


class SideQuestion(ClaudeSession):
    """The state of reading one such file: all of it is held until its question is known."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._held: list[Located] = []

    def take(self, record: JsonObject, start: int, end: int) -> list[Record]:
        """Hold an object, and return nothing."""
        self._held.append((start, end, record))
        return []

    def end(self) -> list[Record]:
        """Return the records of the question and of what follows it."""
        texts = [_user_text(record) for _, _, record in self._held]
        asked = [at for at, text in enumerate(texts) if without_reminders(text)]
        named = [at for at in asked if _SAYS_SO in texts[at].partition("</system-reminder>")[0]]
        question = (named or asked[-1:] or [0])[0]
        made: list[Record] = []
        for at, (start, end, record) in enumerate(self._held):
            if at < question:
                self._report.see_type(type_name(record.get("type")))
                made += self._resolve(COPIED)
            else:
                made += super().take(record, start, end)
        self._held.clear()
        return made + super().end()

    def _said(self, frame: Frame, said: Said) -> list[Record]:
        if said.kind == "prompt":
            said = said._replace(subtype=SIDE_QUESTION)
        return super()._said(frame, said)


def _user_text(record: JsonObject) -> str:
    if record.get("type") != "user":
        return ""
    content = object_field(record, "message").get("content")
    if isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    ):
        return ""
    return content_text(content)
