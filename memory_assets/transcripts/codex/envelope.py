"""The envelope of Codex's lines: thread, directory, branch, model and version, which hold
until a later line changes them; and which lines are copied from another thread."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memory_assets.transcripts.assembly import Frame, Outcome
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.checkpoint import Extent
from memory_assets.transcripts.codex.history import CopiedHistory
from memory_assets.transcripts.codex.lines import line_name, plain_text, unwrap
from memory_assets.transcripts.fields import (
    derived_id,
    object_field,
    parse_time,
    safe_id,
    safe_name,
    text_field,
)
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.resuming import Fetch

_CONTEXTS = ("meta", "cwd", "model")


class Envelopes:
    """Follows one file, and makes the frames of its lines."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        self._source = source
        self._report = report
        self.thread = source.agent_id or source.session_id
        self.history = CopiedHistory()
        self._cwd = self._branch = self._model = self._version = ""
        self._places: dict[str, Extent] = {}

    def frame(self, line: JsonObject, start: int, end: int) -> Frame:
        """Return the fields that the blocks of a line share."""
        kind, payload = unwrap(line)
        name = line_name(kind, payload)
        own_id = safe_id(payload.get("call_id")) or safe_id(payload.get("id"))
        kind = text_field(payload, "type")
        stamp = text_field(line, "timestamp") or str(start)
        text = own_id or f"{stamp}\x1f{plain_text(payload)}"
        return Frame(
            byte_start=start,
            byte_end=end,
            record_uuid=derived_id("codex", "" if own_id else self.thread, name, kind, text),
            timestamp=parse_time(line.get("timestamp")),
            cwd=self._cwd,
            git_branch=self._branch,
            model=self._model,
            agent_version=self._version,
            is_sidechain=self._source.agent_id is not None,
            message_id=safe_id(payload.get("id")) if kind == "message" else "",
            content=payload,
        )

    def session_meta(self, meta: JsonObject, timestamp: datetime | None) -> Outcome:
        """Note the fields of a `session_meta`, if it is the first."""
        report = self._report
        own = safe_id(meta.get("id"))
        if own:
            report.see_session(own)
        if "meta" in self._places:
            if own and own != self.thread and not report.kept:
                self.history.begin(timestamp)
                report.see_parent(own)
            return "session-meta"
        self._places["meta"] = report.at
        if own and self._source.agent_id is None:
            self.thread = own
        self._see_cwd(text_field(meta, "cwd"))
        self._branch = text_field(object_field(meta, "git"), "branch")
        self._version = safe_name(text_field(meta, "cli_version"))
        report.see_version(self._version)
        report.see_parent(safe_id(meta.get("forked_from_id")))
        return "session-meta"

    def turn_context(self, context: JsonObject) -> None:
        """Note the directory and the model of a turn."""
        self._see_cwd(text_field(context, "cwd"))
        if model := safe_name(text_field(context, "model")):
            self._model = model
            self._places["model"] = self._report.at

    def state(self) -> dict[str, Any]:
        """Return the byte ranges of the lines that set the present values."""
        return {"places": dict(self._places), "history": self.history.state()}

    def restore(self, state: Mapping[str, Any], fetch: Fetch) -> None:
        """Take on a state; those lines are read again."""
        places = {name: (start, end) for name, (start, end) in state["places"].items()}
        for name in _CONTEXTS:
            if at := places.get(name):
                self._report.at = at
                kind, payload = unwrap(fetch(at))
                if name == "meta":
                    self.session_meta(payload, None)
                elif kind == "turn_context":
                    model = self._model
                    self.turn_context(payload)
                    self._model = model if name == "cwd" else self._model
        self._places = places
        self.history.restore(state["history"])

    def _see_cwd(self, cwd: str) -> None:
        if cwd:
            self._cwd = cwd
            self._places["cwd"] = self._report.at
            self._report.see_cwd(cwd)
