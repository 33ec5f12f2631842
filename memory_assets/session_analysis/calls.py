"""Find the command of a tool result, also if another call polled for the output."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from memory_assets.models import RedactedRecord
from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis.phrases import EMPTY

_POLLS = re.compile(r"^session_id: \"?(\d+)", re.MULTILINE)
_STILL_RUNNING = re.compile(
    r"Process running with session ID (\d+)|Command running in background|running in the background"
)
_HEAD = 600


@dataclass(slots=True)
class Calls:
    """The open calls, and the commands that still ran when their call returned.

    Codex gives a slow command a session id and polls it by `write_stdin`. Must be passed
    every record of a session in order.
    """

    asked: dict[str, RedactedText] = field(default_factory=dict)
    _running: dict[str, RedactedText] = field(default_factory=dict)

    def ended(self, record: RedactedRecord) -> RedactedText:
        """Return the command that ended with this record; "" if none did."""
        if record.kind == "tool_use":
            self.asked[record.tool_use_id] = record.text
        if record.kind != "tool_result":
            return EMPTY
        command = record.command or self._polled(record)
        still = _STILL_RUNNING.search(record.text[:_HEAD])
        if command and still:
            self._running[still.group(1) or ""] = command
            return EMPTY
        return command

    def _polled(self, record: RedactedRecord) -> RedactedText:
        asked = self.asked.get(record.tool_use_id, EMPTY)
        polled = _POLLS.search(asked) if record.tool_name == "write_stdin" else None
        return self._running.get(polled.group(1), EMPTY) if polled else EMPTY
