"""The source files of one session, and the counts of its redaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from memory_assets.paths import split_locator
from memory_assets.pipeline.ownership.attribution import SessionKey
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.project_names import stands_in
from memory_assets.stores.catalog.facts import ProductFacts, RecordFacts
from memory_assets.stores.catalog.records import RecordIds
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets.transcripts import ReadReport, Source


@dataclass(frozen=True)
class Retained:
    """Marks a session of which only the prompts are kept. `copied_blocks` and
    `copied_prompts` count the copies that it had before it was cut down."""

    copied_blocks: int
    copied_prompts: int

    @classmethod
    def of_facts(cls, facts: RecordFacts) -> Retained:
        """Return the counts from the facts of a redacted_records product."""
        return cls(facts["copied_blocks"], facts.get("copied_prompts", 0))


@dataclass(frozen=True)
class SessionFiles:
    """The files of one session, main file first, the ids of the records that it only copied,
    and the sessions that own those. A `retained` session is made from the lake, not from
    its files."""

    project: str
    session_id: str
    rows: tuple[SourceRow, ...]
    copied: RecordIds
    copied_from: tuple[SessionKey, ...] = ()
    retained: Retained | None = None
    repeats: bool = False
    """Whether an orchestrator began it with the prompt of many (`repeated_prompts.py`)."""

    @property
    def key(self) -> SessionKey:
        """Project and session id."""
        return (self.project, self.session_id)

    @property
    def gone(self) -> bool:
        """Whether all files are deleted."""
        return all(row.gone_at is not None for row in self.rows)

    @property
    def main_gone(self) -> bool:
        """Whether the session's main file is deleted (files of subagents may be left); for a
        session without one, whether all files are."""
        main = [row for row in self.rows if not row.agent_id]
        return all(row.gone_at is not None for row in main or self.rows)

    @property
    def to_read(self) -> tuple[SourceRow, ...]:
        """The files from which the session's records are read."""
        return tuple(r for r in self.rows if r.gone_at is None and self.retained is None)

    @property
    def ended_at(self) -> float:
        """Time of the last record in seconds since 1970; if no record has a time, that of the
        last modification of a file."""
        said = [str(row.facts.get("last_timestamp") or "") for row in self.rows]
        if any(said):
            return max(datetime.fromisoformat(text).timestamp() for text in said if text)
        return max(row.mtime_ns for row in self.rows) / 1e9

    @property
    def project_root(self) -> str:
        """The project's root, redacted, from the first file that has one; "" if none has."""
        roots = (str(row.facts.get("project_root") or "") for row in self.rows)
        return next((root for root in roots if root), "")

    @property
    def copied_hash(self) -> str:
        """A hash of the ids of the records that the session only copied."""
        return blake2b(self.copied.tobytes(), digest_size=16).hexdigest()

    def input_hash(self, ruleset_version: str) -> str:
        """Return the input hash of the session's redacted records."""
        parts = [f"{row.agent_id}:{row.fingerprint}:{row.reader_version}" for row in self.rows]
        if self.retained is not None:
            parts.append("retained")
        if stands_in(self.project):
            parts += [row.directory for row in self.rows if row.directory]
        if self.repeats:
            parts.append("repeats")
        return input_hash(ruleset_version, self.copied_hash, *parts)


@dataclass
class Counts:
    """The counts of a session or of a part of it, in which records = kept + dropped + bad
    lines."""

    records: int = 0
    kept: int = 0
    bad_lines: int = 0
    blocks: int = 0
    copied_blocks: int = 0
    copied_prompts: int = 0
    prompts: int = 0
    redactions: int = 0
    personal: int = 0
    withheld: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    @classmethod
    def total(cls, parts: Iterable[Counts]) -> Counts:
        """Return the sum of the counts of several parts."""
        whole = cls()
        for part in parts:
            for each in fields(cls):
                setattr(whole, each.name, getattr(whole, each.name) + getattr(part, each.name))
        return whole

    @classmethod
    def of_report(cls, report: ReadReport) -> Counts:
        """Return the counts of a file that was read."""
        return cls(
            records=report.records,
            kept=report.kept,
            bad_lines=report.bad_line_count,
            blocks=report.blocks,
            dropped=Counter(report.dropped),
        )

    @classmethod
    def of_ledger(cls, row: SourceRow, kept: int, prompts: int, *, copies: bool) -> Counts:
        """Return the counts of a deleted file from the ledger. `kept` rows of it, with
        `prompts` prompts, are in the lake; `copies`: whether the session copied records."""
        dropped = Counter[str](row.facts["dropped"])
        return cls(
            records=row.facts["records"],
            kept=row.facts["records"] - dropped.total(),
            bad_lines=row.facts["bad_lines"],
            blocks=row.facts["blocks"],
            copied_blocks=row.facts["blocks"] - kept,
            copied_prompts=row.facts["prompts"] - prompts if copies else 0,
            dropped=dropped,
        )

    def facts(self) -> ProductFacts:
        """Return the counts as facts of a redacted_records product."""
        return cast(ProductFacts, dict(vars(self)))

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Counts:
        """Return the counts from the JSON object that has them as fields."""
        return cls(**{**values, "dropped": Counter(values["dropped"])})


def source_of(row: SourceRow) -> Source:
    """Return the source file that a row of the ledger describes."""
    path, member = split_locator(row.path)
    return Source(
        row.agent,
        row.project,
        row.session_id,
        row.agent_id or None,
        Path(path),
        row.size,
        row.mtime_ns,
        tuple(map(Path, row.facts.get("parts", ()))),
        directory=row.directory or "",
        member=member,
    )
