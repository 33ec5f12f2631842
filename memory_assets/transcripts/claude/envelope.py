"""The envelope of Claude Code's records: directory, branch, time, session and version."""

from __future__ import annotations

from memory_assets.transcripts.assembly import Frame
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.fields import (
    object_field,
    parse_time,
    safe_id,
    safe_name,
    text_field,
)
from memory_assets.transcripts.lines import JsonObject


class Envelopes:
    """Reads the envelopes of one file, and recognises copied records by them."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        self._source = source
        self._report = report
        self._origin = ""
        self.forked = False

    def frame(self, record: JsonObject, start: int, end: int) -> Frame:
        """Return the fields that all blocks of a record share, and note them in the report."""
        report = self._report
        timestamp = parse_time(record.get("timestamp"))
        if timestamp is not None:
            report.see_time(timestamp)
        cwd = text_field(record, "cwd")
        report.see_cwd(cwd)
        version = safe_name(text_field(record, "version"))
        report.see_version(version)
        self._origin = safe_id(record.get("sessionId"))
        if self._origin:
            report.see_session(self._origin)
        return Frame(
            byte_start=start,
            byte_end=end,
            record_uuid=safe_id(record.get("uuid")),
            timestamp=timestamp,
            parent_uuid=safe_id(record.get("parentUuid")) or None,
            cwd=cwd,
            git_branch=text_field(record, "gitBranch"),
            agent_version=version,
            is_sidechain=self._source.agent_id is not None or record.get("isSidechain") is True,
        )

    def note_origin(self, record: JsonObject) -> None:
        """Note whether the record whose frame was made last was copied from another
        session: a fork or an old resume."""
        if self._source.agent_id is not None:
            return
        forked_from = safe_id(object_field(record, "forkedFrom").get("sessionId"))
        if forked_from or (self._origin and self._origin != self._source.session_id):
            self._report.copied += 1
            self._report.see_parent(forked_from or self._origin)
            self.forked = self.forked or bool(forked_from)

    def end(self) -> None:
        """Decide which records were copied from another session, and count them."""
        report = self._report
        if not self.forked and self._source.session_id not in report.own_session_ids:
            # No record is the file's own: it was renamed, not forked.
            report.copied, report.parent_session = 0, None
