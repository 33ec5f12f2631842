"""Dropping prompts of Claude Code's `history.jsonl` that name no session and that a
transcript has.

They are compared by time with the records in the ledger, which also has those of deleted
files. While transcripts of a project are not yet in the ledger, its unnamed prompts are not
taken in.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from memory_assets.errors import TranscriptError
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.records import RECORD_DTYPE
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets.stores.catalog.sources import source_key
from memory_assets.transcripts import HISTORY_FILE, Source
from memory_assets.transcripts.claude.history import unnamed_prompts_ms

_NEAR_MS = 5_000
"""Most milliseconds between a prompt's entry in the history and its record in a transcript."""


class UnnamedPrompts:
    """Recognises duplicates among the sessions that are made of unnamed prompts, after it was
    given all transcripts on disk (`see`)."""

    def __init__(self, components: Components, ledger: Iterable[SourceRow]) -> None:
        self._components = components
        self._rows: dict[tuple[str, str], list[SourceRow]] = {}
        self._known: set[str] = set()
        for row in ledger:
            self._known.add(row.path)
            if not row.agent_id and row.file_name != HISTORY_FILE:
                self._rows.setdefault((row.agent, row.project), []).append(row)
        self._unread: dict[tuple[str, str], set[str]] = {}

    def see(self, source: Source) -> None:
        """Add a transcript that is on disk."""
        if source.agent_id is None and str(source.path) not in self._known:
            self._unread.setdefault((source.agent, source.project), set()).add(source.session_id)

    def is_duplicate(self, source: Source) -> bool:
        """Whether transcripts have all prompts of an unnamed session, or may have them because
        some are not yet read."""
        if str(source.path) in self._known and self._taken_in(source):
            return False
        try:
            times = np.array(sorted(unnamed_prompts_ms(source)), dtype=np.int64)
        except (OSError, TranscriptError):
            return False
        if not len(times):
            return False
        where = (source.agent, source.project)
        held = {
            entry.session_id
            for entry in self._components.catalog.quarantine.entries(source.project)
        }
        if self._unread.get(where, set()) - held:
            return True
        near = np.zeros(len(times), dtype=bool)
        for row in self._rows.get(where, ()):
            near |= self._has(row, times)
        return bool(near.all())

    def _taken_in(self, source: Source) -> bool:
        key = (source.agent, source.project, source.session_id, "")
        return bool(self._components.catalog.sources.records(key))

    def _has(self, row: SourceRow, times: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return for each time whether a record of the file was written near it."""
        ids = self._components.catalog.sources.records(source_key(row))
        written = np.sort(np.frombuffer(ids, dtype=RECORD_DTYPE)["time_ms"].astype(np.int64))
        if not len(written):
            return np.zeros(len(times), dtype=bool)
        at = np.searchsorted(written, times)
        before = np.abs(times - written[np.maximum(at - 1, 0)])
        behind = np.abs(times - written[np.minimum(at, len(written) - 1)])
        near: npt.NDArray[np.bool_] = np.minimum(before, behind) <= _NEAR_MS
        return near
