"""Build `Record`s: fields shared by all blocks of one JSON object, and sequence numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory_assets.models import Kind, Record, Role
from memory_assets.transcripts.base import ReadReport, Source


@dataclass(slots=True)
class Frame:
    """The fields that all blocks of one JSON object have in common."""

    byte_start: int
    byte_end: int
    record_uuid: str
    timestamp: datetime | None = None
    parent_uuid: str | None = None
    cwd: str = ""
    git_branch: str = ""
    model: str = ""
    agent_version: str = ""
    is_sidechain: bool = False
    message_id: str = ""
    content: Any = None
    """The object, or the part of it, that has the texts; see `contents.py`."""


Outcome = list[Record] | str
"""What became of one object: its records, or the reason why there are none."""

EMPTY = "empty"
UNKNOWN_TYPE = "unknown-type"


class Assembler:
    """Numbers the records of one file and keeps the report's counts."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        self._source = source
        self._report = report

    def record(self, frame: Frame, role: Role, kind: Kind, text: str, **details: Any) -> Record:
        """Return the next record; `details` are further fields of `Record`.

        In a sidechain nobody is human: what would be a prompt there is an agent's.
        """
        if kind == "prompt" and frame.is_sidechain:
            role, kind, details["subtype"] = "system", "system", "agent-prompt"
        source = self._source
        record = Record(
            agent=source.agent,
            session_id=source.session_id,
            agent_id=source.agent_id,
            seq=self._report.blocks,
            record_uuid=frame.record_uuid,
            parent_uuid=frame.parent_uuid,
            byte_start=frame.byte_start,
            byte_end=frame.byte_end,
            timestamp=frame.timestamp,
            role=role,
            kind=kind,
            text=text,
            cwd=frame.cwd,
            git_branch=frame.git_branch,
            model=frame.model,
            agent_version=frame.agent_version,
            is_sidechain=frame.is_sidechain,
            message_id=frame.message_id,
            content=frame.content,
            **details,
        )
        self._report.blocks += 1
        if kind == "prompt":
            self._report.prompts += 1
        return record

    def resolve(self, outcome: Outcome) -> list[Record]:
        """Count one object in the report as kept or dropped, and return its records."""
        if isinstance(outcome, str):
            self._report.dropped[outcome] += 1
            return []
        if outcome:
            self._report.kept += 1
        else:
            self._report.dropped[EMPTY] += 1
        return outcome
