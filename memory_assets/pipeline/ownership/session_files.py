"""The sessions of a project: their files, copied records and retention, and the counts of their
redaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from hashlib import blake2b
from itertools import groupby
from typing import cast

import numpy as np

from memory_assets.paths import project_slug
from memory_assets.pipeline.ownership.attribution import (
    SessionKey,
    SessionRecords,
    copied_records,
    owners,
)
from memory_assets.pipeline.ownership.removed_records import with_forgotten
from memory_assets.pipeline.ownership.repeated_prompts import orchestrated_sessions
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.project_names import stands_in
from memory_assets.stores.catalog.facts import RETAINED, ProductFacts, RecordFacts
from memory_assets.stores.catalog.records import RECORD_DTYPE, RecordIds
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.lake.schemas import REDACTED_RECORDS
from memory_assets.transcripts import ReadReport


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
    """Whether an orchestrator started it (`repeated_prompts.py`)."""

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
        times = [str(row.facts.get("last_timestamp") or "") for row in self.rows]
        if any(times):
            return max(datetime.fromisoformat(text).timestamp() for text in times if text)
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
            for count in fields(cls):
                setattr(whole, count.name, getattr(whole, count.name) + getattr(part, count.name))
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


_NOTHING_COPIED: RecordIds = np.empty(0, dtype=np.uint64)


def session_files(
    components: Components,
    project: str,
    retain: Container[str] = (),
    ledger: Sequence[SourceRow] | None = None,
) -> list[SessionFiles]:
    """Return the sessions of a project, sorted by id, from the catalogue's source files or, if
    given, from the rows in `ledger`.

    A session stays retained while it is older than the policy or its file is gone; `retain`
    adds more.
    """
    sharing = _sharing_sessions(components, project)
    copied = copied_records(sharing)
    owned_by = owners(sharing, copied)
    copied = with_forgotten(components, project, sharing, copied)
    rows = sorted(
        components.catalog.sources.rows(project) if ledger is None else ledger,
        key=lambda row: (row.session_id, row.agent_id),
    )
    repeating = orchestrated_sessions(rows)
    sessions = [
        SessionFiles(
            project,
            session_id,
            tuple(files),
            copied.get((project, session_id), _NOTHING_COPIED),
            tuple(owned_by.get((project, session_id), ())),
            repeats=session_id in repeating,
        )
        for session_id, files in groupby(rows, key=lambda row: row.session_id)
    ]
    return with_retained(components, project, sessions, retain)


def _sharing_sessions(components: Components, project: str) -> list[SessionRecords]:
    """Return the sessions of a project, and those elsewhere that may share its records."""
    catalog = components.catalog
    rows = _sharing_rows(components, project)
    stored = {
        (name, session_id): product
        for name in {row.project for row in rows}
        for session_id, product in catalog.products.of_project(REDACTED_RECORDS.name, name).items()
    }
    return [
        _session_records(row, stored.get((row.project, row.session_id)))
        for row in rows
        if row.gone_at is None or (row.project, row.session_id) in stored
    ]


def _session_records(row: SourceRow, product: Product | None) -> SessionRecords:
    """Return the records of a main file, whose session was redacted as `product`."""
    root = str(row.facts.get("project_root") or "").removeprefix("~")
    owned_by = product.facts.get("copied_from", []) if product is not None else []
    return SessionRecords(
        row.project,
        row.session_id,
        np.frombuffer(row.records, dtype=RECORD_DTYPE),
        family=row.family,
        named=row.facts.get("named_session"),
        parent=row.facts.get("parent_session"),
        at_home=bool(root) and project_slug(root) in row.project,
        on_record=product is not None,
        unreadable=row.gone_at is not None or (product is not None and RETAINED in product.facts),
        earlier_owners=frozenset((project, session_id) for project, session_id in owned_by),
    )


def _sharing_rows(components: Components, project: str) -> list[SourceRow]:
    """Return the main files, of the project and others, that share or may share records with
    another file, and the project's files that begin with the record of a forgotten session."""
    catalog = components.catalog
    rows = catalog.sources.families_of(project, sharing=True)
    tombstone_store = components.tombstones
    if families := tombstone_store.families():
        listed = {(row.project, row.session_id) for row in rows}
        rows += [
            catalog.sources.with_records(row)
            for row in catalog.sources.rows(project)
            if not row.agent_id
            and (row.project, row.session_id) not in listed
            and row.family is not None
            and tombstone_store.family_key(row.family) in families
        ]
    return rows


_DAY_SECONDS = 86_400.0


def with_retained(
    components: Components, project: str, sessions: list[SessionFiles], retain: Container[str]
) -> list[SessionFiles]:
    """Return the sessions, with retained ones marked: those of `retain`, and those retained before
    that are still older than the policy or have lost their main file."""
    retained = components.catalog.products.facts_with(REDACTED_RECORDS.name, RETAINED, project)
    if not (retained or retain):
        return sessions
    stored = (
        components.catalog.products.of_project(REDACTED_RECORDS.name, project) if retain else {}
    )
    result = []
    for session in sessions:
        facts: RecordFacts | None = retained.get((project, session.session_id))
        if session.session_id in retain:
            facts = stored[session.session_id].facts
        elif facts is not None and not (session.main_gone or is_over(components, session)):
            facts = None
        if facts is not None:
            session = replace(session, retained=Retained.of_facts(facts))
        result.append(session)
    return result


def is_over(components: Components, session: SessionFiles) -> bool:
    """Whether a session is older than the retention policy; False without a policy."""
    days = components.settings.retention
    return days is not None and session.ended_at < components.clock() - days * _DAY_SECONDS
