"""The envelope of Codex's lines: thread, directory, branch, model and version, which hold
until a later line changes them; and which lines are copied from another thread.

In a fork or a spawned agent the parent's `session_meta` is the second line, followed by the
parent's history, with all timestamps rewritten to the moment of copying. It ends before the
first turn whose id (a UUIDv7, ordered by time) is younger than the thread's own id. Where
the copied turns have no such ids, it ends at the first pause in the timestamps, because a
copy is written at once.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.codex.lines import line_name, plain_text, unwrap
from memory_assets.transcripts.fields import object_field, text_field
from memory_assets.transcripts.ids import derived_id, safe_id, safe_name
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import Frame, SessionParser

PAUSE = timedelta(milliseconds=300)


class CopiedHistory:
    """Follows one file through its copied lines, if it begins with any."""

    def __init__(self) -> None:
        self.goes_on = False
        self._has_turn_ids = False
        self._last: datetime | None = None

    def begin(self, timestamp: datetime | None) -> None:
        """The parent's `session_meta` was read."""
        self.goes_on = True
        self._last = timestamp

    def covers(self, payload: JsonObject, timestamp: datetime | None, thread: str) -> bool:
        """Return whether this line is still copied; `thread` is the file's own thread."""
        if not self.goes_on:
            return False
        last, self._last = self._last, timestamp or self._last
        turn = payload.get("turn_id")
        if isinstance(turn, str) and turn[14:15] == thread[14:15] == "7":
            self._has_turn_ids = True
            self.goes_on = turn < thread
        elif not self._has_turn_ids and last is not None and timestamp is not None:
            self.goes_on = timestamp - last < PAUSE
        return self.goes_on


class EnvelopeParser(SessionParser):
    """The state of reading one file, as far as the envelopes of its lines say it."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._thread = source.agent_id or source.session_id
        self._history = CopiedHistory()
        self._has_meta = False

    def _frame_of(self, line: JsonObject) -> Frame:
        """Return the fields that the blocks of a line share."""
        kind, payload = unwrap(line)
        name = line_name(kind, payload)
        own_id = safe_id(payload.get("call_id")) or safe_id(payload.get("id"))
        kind = text_field(payload, "type")
        stamp = text_field(line, "timestamp") or str(self._byte_start)
        text = own_id or f"{stamp}\x1f{plain_text(payload)}"
        frame = self._frame(payload, at=line.get("timestamp"))
        thread = "" if own_id else self._thread
        frame.record_uuid = derived_id("codex", thread, name, kind, text)
        frame.message_id = safe_id(payload.get("id")) if kind == "message" else ""
        return frame

    def _see_meta(self, meta: JsonObject, timestamp: datetime | None) -> None:
        """Note the fields of a `session_meta`, if it is the first."""
        report = self._report
        own = safe_id(meta.get("id"))
        report.see_session(own)
        if self._has_meta:
            if own and own != self._thread and not report.kept:
                self._history.begin(timestamp)
                report.see_parent(own)
            return
        self._has_meta = True
        if own and self._source.agent_id is None:
            self._thread = own
        self._see_context(meta)
        self._git_branch = text_field(object_field(meta, "git"), "branch")
        self._version = safe_name(text_field(meta, "cli_version"))
        report.see_version(self._version)
        report.see_parent(safe_id(meta.get("forked_from_id")))

    def _see_context(self, context: JsonObject) -> None:
        """Note the directory and the model of a turn."""
        self._cwd = text_field(context, "cwd") or self._cwd
        self._report.see_cwd(self._cwd)
        self._model = safe_name(text_field(context, "model")) or self._model
