"""The records of a session, as the stages behind redaction are given them.

Those stages read the same sessions one after the other. What was read is kept while a run
is at one project, as far as it fits, by the hash of what was written: a session that has
changed meanwhile is read again. Checks do not come here, they read what lies on disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from memory_assets.chunking import as_said, build_turns
from memory_assets.errors import NotFound
from memory_assets.models import RedactedRecord, Turn
from memory_assets.session_analysis import SessionTurns, session_turns
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.lake import Lake, rows_from_arrow
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

_TOOL_OUTPUT_HEAD = 8_000
"""Characters of a tool's output that the stages look at: its first error, its commits."""
_KEPT_BYTES = 20 << 20
"""So much is kept of a project, as Arrow counts it; as Python objects it is some five times
that. The stages go through the sessions in the same order: what came first stays."""

Records = Sequence[RedactedRecord]


class SessionReading:
    """Reads sessions of the lake; keeps those of the project that was asked for last."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._project = ""
        self._records: dict[str, Records] = {}
        self._sessions: dict[str, SessionTurns | None] = {}
        self._bytes = 0

    def records(self, source: Product, *, skip: int = 0) -> Records:
        """Return the records that `source` (a redacted_records product) holds, behind the
        first `skip`, in file order, long tool output cut to its head.

        Raises:
            NotFound, DamagedFile: the lake lacks the session's file.
        """
        if skip:
            return self._read(source, skip)[0]
        self._turn_to(source.project)
        kept = self._records.get(source.output_hash)
        if kept is not None:
            return kept
        records, size = self._read(source, 0)
        if self._bytes + size <= _KEPT_BYTES:
            self._bytes += size
            self._records[source.output_hash] = records
        return records

    def session(self, source: Product) -> SessionTurns | None:
        """Return the whole session, by source file, without what this memory answered; None
        if it has no turn. Raises as `records`."""
        self._turn_to(source.project)
        if source.output_hash in self._sessions:
            return self._sessions[source.output_hash]
        read = self.records(source)
        said = sorted(as_said(read), key=by_source_file)
        turns = list(turns_of(source, said))
        session = session_turns(said, turns) if turns else None
        if source.output_hash in self._records:
            self._sessions[source.output_hash] = session
        return session

    def forget(self) -> None:
        """Let go of what was read."""
        self._records.clear()
        self._sessions.clear()
        self._bytes = 0

    def _turn_to(self, project: str) -> None:
        if project != self._project:
            self.forget()
            self._project = project

    def _read(self, source: Product, skip: int) -> tuple[Records, int]:
        try:
            table = self._lake.read(REDACTED_RECORDS, source.project, source.session_id, skip=skip)
        except NotFound:
            if source.rows:
                raise
            return (), 0
        is_output = pc.is_in(table["kind"], value_set=pa.array(["tool_result"]))
        head = pc.utf8_slice_codeunits(table["text"], 0, _TOOL_OUTPUT_HEAD)
        text = pc.if_else(is_output, head, table["text"])
        position = table.schema.get_field_index("text")
        table = table.set_column(position, "text", text)
        return tuple(rows_from_arrow(REDACTED_RECORDS, table)), table.nbytes


def turns_of(source: Product, records: Sequence[RedactedRecord]) -> Iterator[Turn]:
    """Yield the turns of the session that `source` holds, from its records."""
    if source.facts.get("copied_blocks") and all(record.agent_id for record in records):
        return iter(())  # a mere copy: what its subagents said belongs to another's turns
    return build_turns(records, first_index=source.facts.get("copied_prompts", 0))


def by_source_file(record: RedactedRecord) -> tuple[str, int]:
    """Sort key: in the file they stand in the order in which the sources grew."""
    return record.agent_id or "", record.seq
