"""The source files of one session, and what its redaction counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from memory_assets.pipeline.attribution import RecordIds, SessionKey
from memory_assets.pipeline.report import input_hash
from memory_assets.stores.catalog import SourceRow
from memory_assets.transcripts import ReadReport, Source


@dataclass(frozen=True)
class SessionFiles:
    """The files of one session, main file first, and the records that it only copied, with
    the sessions that own them."""

    session_id: str
    rows: tuple[SourceRow, ...]
    copied: RecordIds
    copied_from: tuple[SessionKey, ...] = ()

    @property
    def gone(self) -> bool:
        """Whether none of the files is on disk any more."""
        return all(row.gone_at is not None for row in self.rows)

    @property
    def bytes_on_disk(self) -> int:
        """Size of the files that are still there."""
        return sum(row.size for row in self.rows if row.gone_at is None)

    @property
    def project_root(self) -> str:
        """The project's root as the first file that has one says; redacted."""
        roots = (str(row.facts.get("project_root") or "") for row in self.rows)
        return next((root for root in roots if root), "")

    def input_hash(self, ruleset_version: str) -> str:
        """Return a hash of all that the redacted records depend on."""
        copied = blake2b(self.copied.tobytes(), digest_size=16).hexdigest()
        parts = [f"{row.agent_id}:{row.fingerprint}:{row.reader_version}" for row in self.rows]
        return input_hash(ruleset_version, copied, *parts)


@dataclass
class Counts:
    """Row conservation of one session: records = kept + dropped + bad lines."""

    records: int = 0
    kept: int = 0
    bad_lines: int = 0
    blocks: int = 0
    copied_blocks: int = 0
    copied_prompts: int = 0
    prompts: int = 0
    redactions: int = 0
    personal: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, report: ReadReport) -> None:
        """Add what was counted while a file was read."""
        self.records += report.records
        self.kept += report.kept
        self.bad_lines += report.bad_line_count
        self.blocks += report.blocks
        self.dropped.update(report.dropped)

    def add_from_ledger(self, row: SourceRow, kept: int, prompts: int, *, copies: bool) -> None:
        """Add what the ledger counted in a file that is gone, of which `kept` rows with
        `prompts` prompts are on record; `copies`: whether the session copied records."""
        dropped = Counter[str](row.facts["dropped"])
        self.dropped.update(dropped)
        self.records += row.facts["records"]
        self.kept += row.facts["records"] - dropped.total()
        self.bad_lines += row.facts["bad_lines"]
        self.blocks += row.facts["blocks"]
        self.copied_blocks += row.facts["blocks"] - kept
        self.copied_prompts += row.facts["prompts"] - prompts if copies else 0


def source_of(row: SourceRow) -> Source:
    """Return the file that a row of the ledger speaks of."""
    return Source(
        row.agent,
        row.project,
        row.session_id,
        row.agent_id or None,
        Path(row.path),
        row.size,
        row.mtime_ns,
    )
