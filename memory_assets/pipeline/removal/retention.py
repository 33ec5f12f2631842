"""Retention: cutting old sessions, and conversations of agents, down to prompts and summaries.

The records of such a session are written again with its prompts only. Chunks, observations
and commits are removed with their vectors, collection rows and keywords, by the code that
forgets sessions, and the next run makes them from the prompts. The sessions are noted first,
so that the next call finishes an interrupted one.

Conversations are cut in the journal and the lake; what is made of their turns is removed in the
same way. A turn is cut where a summary names it, so that something of it remains. The last turn of
a conversation stays, and its end, which no summary covers. So do memories.

A retained session is treated as one whose source is deleted. When it grows, or the policy
keeps more, it becomes whole again if its files still exist.
"""

from __future__ import annotations

import json
import time
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory_assets.agent_memory_models import HistorySummary
from memory_assets.errors import DamagedFile, NotFound
from memory_assets.pipeline.agent_memory.history_summaries import SUMMARISED_HISTORY
from memory_assets.pipeline.agent_memory.tables import made_with, make_history
from memory_assets.pipeline.indexes.indexed_tables import INDEX_OF, INDEXES
from memory_assets.pipeline.indexes.keywords import forget_keywords
from memory_assets.pipeline.ownership.attribution import SessionKey
from memory_assets.pipeline.ownership.session_files import is_over, session_files
from memory_assets.pipeline.plan.adopt import adopt_archive
from memory_assets.pipeline.redact.redacted_records import DueSessions, redact_project
from memory_assets.pipeline.removal.forget import forget_vectors, lock_all_writers
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stages import STAGES
from memory_assets.pipeline.tables.derive import expected_input
from memory_assets.status.status import RETENTION_FILE
from memory_assets.stores.agents.partitions import (
    MESSAGE_HEAD,
    is_agent_memory,
    partition_of,
    project_in,
)
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.facts import RETAINED, ProductFacts
from memory_assets.stores.files.shared import replace_text
from memory_assets.stores.lake.schemas import (
    AGENT_HISTORY,
    HISTORY_SUMMARIES,
    REDACTED_RECORDS,
    SESSION_SUMMARIES,
)
from memory_assets.stores.runs.events import Metadata

_TABLES = tuple(stage.table for stage in STAGES if not stage.retained)
_INDEXES = (*(index for index in INDEXES if index.table in _TABLES), INDEX_OF["history"])
_KINDS = tuple(index.kind.name for index in _INDEXES)

RETAINED_SESSIONS = "retained_sessions"
"""The name of the asset."""


@dataclass
class RetentionReport:
    """The result of a retention run, in which a conversation of agents counts as a session, and a
    turn of it as a record: `due` sessions were old enough and up to date; `waiting`
    ones are old enough, but left to the next run because they or their summaries are out of
    date. `cut` sessions lost `blocks` records in this run; a conversation that an interrupted
    run had cut lost 0. `retained` counts all that are cut down."""

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
    """The sessions to be cut down now, and the number of those that must wait."""

    sessions: frozenset[SessionKey]
    waiting: int


def due(components: Components) -> Due:
    """Return the sessions that are old enough and not yet cut down."""
    adopt_archive(components)
    sessions: set[SessionKey] = set()
    waiting = 0
    projects = components.catalog.projects() if components.settings.retention is not None else ()
    for project in sorted(projects):
        state = DueSessions(components, project)
        summaries = components.catalog.products.of_project(SESSION_SUMMARIES.name, project)
        for session in session_files(components, project):
            name = session.session_id
            if name not in state.made or session.retained or not is_over(components, session):
                continue
            summary_input = expected_input(state.made[name][1], components.summarizer.summarizer_id)
            summary = summaries.get(name)
            if (
                state.status(session) == "current"
                and summary is not None
                and summary.input_hash == summary_input
            ):
                sessions.add((project, name))
            else:
                waiting += 1
    conversations, unfinished = due_conversations(components)
    return Due(frozenset(sessions | conversations), waiting + unfinished)


def retain(components: Components) -> RetentionReport:
    """Apply the retention policy of the settings, finish an interrupted call, and return the
    report. The next run of each project brings its tables up to date.

    Raises:
        StoreBusy: another process writes the memory; nothing was done.
        StoreError: a store cannot be used; the next call finishes the rest.
    """
    report = RetentionReport(components.settings.retention)
    started = time.perf_counter()
    begun = components.data_dir / RETENTION_FILE
    adopt_archive(components)
    if report.days is not None or begun.exists():
        with lock_all_writers(components, []):
            now = due(components)
            report.due, report.waiting = len(now.sessions), now.waiting
            selected = _begin(begun, now.sessions)
            if selected:
                _cut(components, selected, report)
                begun.unlink()
    report.retained = len(_retained(components.catalog))
    report.seconds = round(time.perf_counter() - started, 2)
    return report


def retention_metadata(report: RetentionReport) -> Metadata:
    """Return the metadata of the asset's materialization."""
    return {
        "work": "let go of" if report.cut else "nothing to do",
        "policy": f"{report.days} days" if report.days is not None else "all is kept",
        "sessions_retained": report.retained,
        "sessions_due": report.due,
        "sessions_waiting": report.waiting,
        "sessions_cut": report.cut,
        "records_removed": report.blocks,
        "collection_rows_removed": report.collection_rows,
        "keyword_rows_removed": report.keyword_rows,
        "projects": ", ".join(report.projects),
        "seconds": float(report.seconds),
    }


def _begin(begun: Path, sessions: frozenset[SessionKey]) -> frozenset[SessionKey]:
    """Add these sessions to those of an interrupted call, note them all, and return them."""
    if begun.exists():
        sessions |= {(project, name) for project, name in json.loads(begun.read_text())}
    if sessions:
        replace_text(begun, json.dumps(sorted(sessions)))
    return sessions


def _retained(catalog: Catalog) -> dict[SessionKey, ProductFacts]:
    """Return the facts of the sessions and conversations that are cut down, by key."""
    products = catalog.products
    return {
        key: facts
        for table in (REDACTED_RECORDS, AGENT_HISTORY)
        for key, facts in products.facts_with(table.name, RETAINED).items()
    }


def _cut(components: Components, selected: frozenset[SessionKey], report: RetentionReport) -> None:
    catalog, lake, lost = components.catalog, components.lake, dict[SessionKey, int]()
    for project in sorted({project for project, _ in selected}):
        names = {name for where, name in selected if where == project}
        if is_agent_memory(project):
            turns = cut_conversations(components, project, names)
            lost |= {(project, name): count for name, count in turns.items()}
            continue
        on_record = catalog.products.hashes(REDACTED_RECORDS.name, project).keys()
        if mine := names & on_record:
            redact_project(components, project, retain=mine)
    retained = _retained(components.catalog)
    cut = selected & retained.keys()
    stages = [table.name for table in _TABLES] + [index.stage for index in _INDEXES]
    report.collection_rows = forget_vectors(components, cut, _INDEXES)
    report.keyword_rows = forget_keywords(components, cut, _KINDS)
    for key in sorted(cut):
        for stage in stages:  # before the rows: no product may lack its rows
            catalog.products.drop(stage, *key)
    for project in sorted({project for project, _ in cut}):
        lake.remove_sessions(project, ())  # nor what killed writers left
        for table in _TABLES:
            lake.delete(table, project, *(name for where, name in cut if where == project))
    lost |= {key: int(retained[key][RETAINED]) for key in cut if not is_agent_memory(key[0])}
    report.cut = len(lost)
    report.blocks = sum(lost.values())
    report.projects = sorted({project for project, _ in cut})


_Cut = tuple[list[str], list[HistorySummary]]
"""The message ids of turns to cut, and the summaries of the conversation up to the last one that
names one of them."""


def due_conversations(components: Components) -> tuple[set[SessionKey], int]:
    """Return the conversations that are old enough and have turns to cut, and the number of those
    that are old enough and not summarized as they are now."""
    conversations: set[SessionKey] = set()
    waiting = 0
    if components.has_journal:
        for project in components.journal.projects():
            for name, cut in _to_cut(components, partition_of(project)).items():
                if cut is None:
                    waiting += 1
                elif cut[0]:
                    conversations.add((partition_of(project), name))
    return conversations, waiting


def cut_conversations(components: Components, partition: str, names: Set[str]) -> dict[str, int]:
    """Cut those of these conversations that are due now, in the journal, which leaves no byte of
    the turns, and export it; so is what an interrupted call had cut. Return the number of turns
    that were cut now by conversation; 0 of an old one that an interrupted call had cut."""
    if not components.has_journal:
        return {}
    journal = components.journal
    with components.project_lock(partition):
        with journal.transaction():  # no turn is appended between the look and the cut
            to_cut = _to_cut(components, partition, names)
            cut = {
                name: journal.cut_turns.cut(name, *parts)
                for name, parts in to_cut.items()
                if parts is not None and parts[0]
            }
        journal.compact()
        make_history(components, partition)
    return {name: cut.get(name, 0) for name in to_cut if journal.cut_turns.count(name)}


def _to_cut(
    components: Components, partition: str, names: Set[str] | None = None
) -> dict[str, _Cut | None]:
    """Return what retention cuts now, by conversation, of these or of all; None for an old
    conversation that is not summarized as it is."""
    days = components.settings.retention
    if days is None:
        return {}
    before = datetime.fromtimestamp(components.clock(), UTC) - timedelta(days=days)
    journal, products = components.journal, components.catalog.products
    project = project_in(partition)
    states = journal.conversation_states(project)
    turns = products.hashes(AGENT_HISTORY.name, partition)
    summaries = products.hashes(HISTORY_SUMMARIES.name, partition)
    version, of_summaries = made_with(components), SUMMARISED_HISTORY.version(components)
    cuts: dict[str, _Cut | None] = {}
    for name in journal.cut_turns.over_before(project, before):
        if names is not None and name not in names:
            continue
        made_of, output = turns.get(name, ("", ""))
        summarized = summaries.get(name, ("", ""))[0] == expected_input(output, of_summaries)
        if not summarized or made_of != expected_input(states[name], version):
            cuts[name] = None
        else:
            cuts[name] = _not_the_users(components, (partition, name))
    return cuts


def _not_the_users(components: Components, key: SessionKey) -> _Cut | None:
    """Return the turns of a conversation that a summary covers and that are not the user's, but
    for the last turn; None where the summaries cannot be read."""
    rows: list[HistorySummary] = []
    try:
        with suppress(NotFound):
            rows = components.lake.read_rows(HISTORY_SUMMARIES, *key)
    except DamagedFile:
        return None
    covered = {message_id for row in rows for message_id in row.message_ids}
    cut = [
        turn.message_id
        for turn in components.journal.turns(key[1])[:-1]
        if turn.role != "user" and f"{MESSAGE_HEAD}{turn.message_id}" in covered
    ]
    gone = {f"{MESSAGE_HEAD}{name}" for name in cut}
    naming = [at for at, row in enumerate(rows, 1) if not gone.isdisjoint(row.message_ids)]
    return cut, rows[: max(naming, default=0)]
