"""Retention: sessions that ended long ago keep their prompts and their summary, no more.

The records of such a session are made again of its prompts alone; chunks, observations and
commits are removed with their vectors, collection rows and keywords, through the code by
which a session is forgotten, and the next run makes them of what is left. Killed at any
moment, it is completed by the next time: sessions are noted before they are touched.

A retained session counts as one whose source is gone, until it has grown or the policy has
been widened: then it comes back whole, if its files are still there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from memory_assets.pipeline.indexes.indexed_tables import INDEXES
from memory_assets.pipeline.indexes.keywords import forget_keywords, stage_of
from memory_assets.pipeline.ownership.attribution import SessionKey
from memory_assets.pipeline.ownership.project_sessions import is_over, session_files
from memory_assets.pipeline.plan.adopt import adopt_archive
from memory_assets.pipeline.redact.redacted_records import (
    RedactionState,
    redact_project,
)
from memory_assets.pipeline.removal.forget import all_writers_out
from memory_assets.pipeline.removal.vectors import forget_vectors
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stages import STAGES
from memory_assets.pipeline.tables.derive import expected_input
from memory_assets.status.status import RETENTION_FILE
from memory_assets.stores.catalog.facts import RETAINED
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, SESSION_SUMMARIES

_TABLES = tuple(stage.table for stage in STAGES if not stage.retained)
_INDEXES = tuple(index for index in INDEXES if index.table in _TABLES)
_KINDS = tuple(index.kind.name for index in _INDEXES)

Progress = Callable[[str], None]


@dataclass
class RetentionReport:
    """What was let go of. `due` sessions were old enough; `waiting` ones, too, but are not
    up to date (a summary is made of the whole session), and are left to the next time."""

    days: int | None = None
    due: int = 0
    waiting: int = 0
    cut: int = 0
    retained: int = 0
    blocks: int = 0
    collection_rows: int = 0
    keyword_rows: int = 0
    seconds: float = 0.0
    projects: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Due:
    """Sessions to be cut down now, and how many must wait."""

    sessions: frozenset[SessionKey]
    waiting: int


def due(components: Components) -> Due:
    """Return the sessions that ended long enough ago and are whole; nothing is changed."""
    adopt_archive(components)
    found: set[SessionKey] = set()
    waiting = 0
    days = components.settings.retention
    for project in sorted(components.catalog.projects()) if days is not None else ():
        state = RedactionState.of(components, project)
        summaries = components.catalog.products.of_project(SESSION_SUMMARIES.name, project)
        for session in session_files(components, project):
            key = (project, session.session_id)
            records = state.records.get(session.session_id)
            if records is None or session.retained is not None or not is_over(session, days):
                continue
            wanted = session.input_hash(components.ruleset_version)
            summarised = expected_input(records.output_hash, components.summarizer.summarizer_id)
            summary = summaries.get(session.session_id)
            if (
                state.is_done(session.session_id, wanted)
                and summary is not None
                and summary.input_hash == summarised
            ):
                found.add(key)
            else:
                waiting += 1
    return Due(frozenset(found), waiting)


def retain(components: Components, progress: Progress = lambda step: None) -> RetentionReport:
    """Apply the policy of the settings, complete what was interrupted, and say what was let
    go of. The next run of each project brings the rest of it up to date.

    Raises:
        StoreBusy: another process writes the memory; nothing was done.
        StoreError: a store cannot be used; what was begun is completed by the next time.
    """
    report = RetentionReport(components.settings.retention)
    started = time.perf_counter()
    begun = components.data_dir / RETENTION_FILE
    adopt_archive(components)
    if report.days is not None or begun.exists():
        with all_writers_out(components, []):
            wanted = due(components)
            report.due, report.waiting = len(wanted.sessions), wanted.waiting
            selected = _begin(begun, wanted.sessions)
            if selected:
                _cut(components, selected, report, progress)
                begun.unlink()
    report.retained = len(components.catalog.products.facts_with(REDACTED_RECORDS.name, RETAINED))
    report.seconds = round(time.perf_counter() - started, 2)
    return report


def _begin(begun: Path, sessions: frozenset[SessionKey]) -> frozenset[SessionKey]:
    """Note the sessions, with those of a time that was interrupted; return all."""
    if begun.exists():
        sessions |= {(project, name) for project, name in json.loads(begun.read_text())}
    if sessions:
        staging = begun.with_name(f"{begun.name}.staging")
        staging.write_text(json.dumps(sorted(sessions)))
        staging.replace(begun)
    return sessions


def _cut(
    components: Components,
    selected: frozenset[SessionKey],
    report: RetentionReport,
    progress: Progress,
) -> None:
    catalog, lake = components.catalog, components.lake
    for project in sorted({project for project, _ in selected}):
        progress(f"letting go of old sessions of {project}")
        on_record = catalog.products.hashes(REDACTED_RECORDS.name, project).keys()
        mine = {name for where, name in selected if where == project} & on_record
        if mine:
            redact_project(components, project, retain=mine)
    retained = catalog.products.facts_with(REDACTED_RECORDS.name, RETAINED)
    cut = selected & retained.keys()
    stages = [table.name for table in _TABLES]
    stages += [*(index.stage for index in _INDEXES), *map(stage_of, _KINDS)]
    report.collection_rows = forget_vectors(components, cut, _INDEXES, progress=progress)
    report.keyword_rows = forget_keywords(components, cut, _KINDS)
    for key in sorted(cut):
        lake.remove_leftovers(*key)
        for stage in stages:  # first: a product without its file would be believed
            catalog.products.drop(stage, *key)
        for table in _TABLES:
            lake.delete(table, *key)
    report.cut = len(cut)
    report.blocks = sum(int(retained[key][RETAINED]) for key in cut)
    report.projects = sorted({project for project, _ in cut})
