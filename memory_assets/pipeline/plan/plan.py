"""Finding the projects that have work to do, for the command line, the sensor and the watcher.

The catalogue's state is compared with files and code versions, and there is no watermark: a
project has work until all its products are up to date, also after a failed run or with new
code. This costs a stat for each file, one of Chroma's directory and a few queries; no
transcript, model or Chroma is opened.

A project without work may have checks to pass (`plan_unchecked`): somebody changed a file of the
lake, or put another one back, so that nothing differs that the catalogue knows of, or a check
failed when it last ran.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from memory_assets.errors import DamagedFile
from memory_assets.pipeline.checks.expectations import matching_version
from memory_assets.pipeline.indexes.collections import forget_lost_store
from memory_assets.pipeline.indexes.indexed_tables import (
    INDEXES,
    expected_input_hash,
    indexed_sessions,
)
from memory_assets.pipeline.indexes.keywords import STAGES_OF_KEYWORDS, keywords_reason
from memory_assets.pipeline.ownership.project_sessions import session_files
from memory_assets.pipeline.plan.adopt import adopt_archive
from memory_assets.pipeline.plan.lost_tables import forget_lost_tables
from memory_assets.pipeline.redact.due import DueSessions
from memory_assets.pipeline.scan import raw_sessions as scan
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.held_sessions import held_sessions
from memory_assets.pipeline.stage.pending_checks import MATCHED, note_stage
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.pipeline.stages import EXPECTATIONS, STAGES
from memory_assets.pipeline.tables.derive import Deferral, DerivedTable, expected_input
from memory_assets.status import counted, failed_checks
from memory_assets.stores.agents.partitions import is_agent_memory
from memory_assets.stores.catalog.facts import RETAINED
from memory_assets.stores.catalog.products import HashesByStage
from memory_assets.stores.catalog.schema import Quarantined, SourceRow
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT, TABLES, Table
from memory_assets.stores.workspaces import is_workspace
from memory_assets.transcripts import Source

_STAGES = STAGES_OF_KEYWORDS.union(
    *((stage.table.name, stage.derived.upstream.name) for stage in STAGES),
    (index.stage for index in INDEXES),
)
"""The stages whose hashes say whether tables and indexes are up to date."""


@dataclass(frozen=True)
class ProjectPlan:
    """A project with work to do. `reason` says which stage is out of date, and by how much.
    `fingerprint` identifies the work: it changes with files and code. `held_back`: the work
    includes sessions that were held back for a failure that may pass."""

    project: str
    reason: str
    fingerprint: str
    held_back: bool = False


def plan(components: Components, sources: Mapping[str, list[Source]]) -> list[ProjectPlan]:
    """Return the projects whose products are out of date, sorted."""
    return [work for _, work in plan_each(components, sources) if work is not None]


def plan_each(
    components: Components, sources: Mapping[str, list[Source]], after: str = ""
) -> Iterator[tuple[str, ProjectPlan | None]]:
    """Yield each project with its work, or None. The order is by name, beginning with the one
    after `after`, so that a caller who stops early can continue from there."""
    adopt_archive(components)
    components.catalog.require_key(components.identity.recognised_by)
    forget_lost_store(components)
    on_record = components.catalog.projects()
    forget_lost_tables(components, on_record)
    held_back: dict[str, list[Quarantined]] = {}
    for entry in components.catalog.quarantine.entries():
        held_back.setdefault(entry.project, []).append(entry)
    known = on_record | sources.keys() | held_back.keys()
    names = sorted(name for name in known if not (is_workspace(name) or is_agent_memory(name)))
    start = bisect_right(names, after)
    for project in (*names[start:], *names[:start]):
        files = sources.get(project, [])
        held = held_back.get(project, [])
        reason = _reason(components, project, files, held)
        if reason:
            fingerprint = project_fingerprint(components, project, files)
            passing = any(entry.passing for entry in held)
            yield project, ProjectPlan(project, reason, fingerprint, passing)
        else:
            yield project, None


def plan_affected(components: Components) -> list[ProjectPlan]:
    """Return the projects with affected sessions, whatever other work they have; sorted."""
    counts = Counter(project for project, _ in components.catalog.known_secrets.affected_sessions())
    return [
        ProjectPlan(project, _affected(count), project_fingerprint(components, project, []))
        for project, count in sorted(counts.items())
    ]


def project_fingerprint(components: Components, project: str, sources: list[Source]) -> str:
    """Return a hash of a project's files (path, size, mtime), the code's versions, and the
    project's affected and retained sessions."""
    files = sorted(f"{source.locator}:{source.size}:{source.mtime_ns}" for source in sources)
    affected_sessions = components.catalog.known_secrets.affected_sessions(project).items()
    affected = sorted(f"{session_id}:{through}" for (_, session_id), through in affected_sessions)
    cut = components.catalog.products.facts_with(REDACTED_RECORDS.name, RETAINED, project)
    retained = sorted(session_id for _, session_id in cut)
    return input_hash(*code_versions(components), *files, *affected, *retained)


def code_versions(components: Components) -> tuple[str, ...]:
    """Return the versions of the rules and of the code that make the tables of a project, under the
    present settings."""
    made = [stage for stage in STAGES if components.embeds or not stage.embeds]
    return components.ruleset_version, *(stage.derived.version(components) for stage in made)


def _reason(
    components: Components, project: str, sources: list[Source], held: list[Quarantined]
) -> str:
    catalog = components.catalog
    ledger = catalog.sources.rows(project)
    unread = scan.unread_files(held)
    outdated = scan.out_of_date(ledger, sources)
    again = {entry.session_id for entry in held if entry.stage == scan.STAGE and entry.passing}
    new = [
        file
        for file in outdated
        if scan.unread_key(file) not in unread and file.session_id not in again
    ]
    if new:
        return counted(len(new), "new or changed file")
    if waiting := again.intersection(file.session_id for file in outdated):
        return _tried_again(len(waiting))
    if scan.vanished(ledger, sources):
        return "files vanished"
    if scan.no_longer_outdated(held, outdated):
        return "sessions held back whose files are gone, or as they were"
    hashes = catalog.products.hashes_by_stage(project, (*_STAGES, REDACTION_AUDIT.name))
    return (
        _redaction_reason(components, project, ledger, hashes)
        or derived_reason(components, project, hashes)
        or _tried_again(sum(entry.passing for entry in held))
    )


def _tried_again(count: int) -> str:
    return f"{counted(count, 'session')} held back, to be tried again" if count else ""


def _redaction_reason(
    components: Components, project: str, ledger: list[SourceRow], hashes: HashesByStage
) -> str:
    version = components.ruleset_version
    made, audited = hashes[REDACTED_RECORDS.name], hashes[REDACTION_AUDIT.name]
    state = DueSessions.of_hashes(components, project, made, audited)
    due = [
        session.session_id
        for session in session_files(components, project, ledger=ledger)
        if state.is_due(session, session.input_hash(version))
    ]
    affected_sessions = len(state.affected.intersection(due))
    others = len(due) - affected_sessions
    reasons = []
    if affected_sessions:
        reasons.append(_affected(affected_sessions))
    if others:
        reasons.append(f"{counted(others, 'session')} to redact")
    return ", ".join(reasons)


def _affected(count: int) -> str:
    return f"{count} session{'s hold' if count != 1 else ' holds'} a secret found since"


def _not_to_be_made(
    components: Components, project: str, derived: DerivedTable, expected: Mapping[str, str]
) -> dict[str, str]:
    """Return the expected input hashes of the sessions whose product is out of date and not to
    be made now: held back, or deferred while the session grows."""
    catalog, deferral = components.catalog, Deferral(components, project)
    version = derived.version(components)
    left = {
        entry.session_id: entry.input_hash
        for entry in catalog.quarantine.entries(project)
        if entry.stage == derived.table.name and expected.get(entry.session_id) == entry.input_hash
    }
    if derived.deferrable:
        products = catalog.products
        sources = products.of_project(derived.upstream.name, project)
        left |= {
            session_id: expected[session_id]
            for session_id, product in products.of_project(derived.table.name, project).items()
            if session_id in expected
            and product.input_hash != expected[session_id]
            and deferral.is_deferred(sources[session_id], product, version)
        }
    return left


def derived_reason(
    components: Components, project: str, hashes: HashesByStage | None = None
) -> str:
    """Return which table or index of a partition is behind what it is made of, or "". `hashes` are
    those of its products of all stages, where they were read already."""
    if hashes is None:
        hashes = components.catalog.products.hashes_by_stage(project, _STAGES)
    records = {name: output for name, (_, output) in hashes[REDACTED_RECORDS.name].items()}
    apart = held_sessions(components, project, records)
    for stage in STAGES:
        if stage.embeds and not components.embeds:
            continue
        table, upstream = stage.table, stage.derived.upstream
        if not (hashes[table.name] or hashes[upstream.name]):
            continue  # what is never made in partitions of this kind
        version = stage.derived.version(components)
        expected = {
            session_id: expected_input(output_hash, version)
            for session_id, (_, output_hash) in hashes[upstream.name].items()
            if session_id not in apart
        }
        actual = {
            session_id: input_hash for session_id, (input_hash, _) in hashes[table.name].items()
        }
        if expected != actual:
            actual |= _not_to_be_made(components, project, stage.derived, expected)
        if expected != actual:
            return f"{table.name} behind {upstream.name}"
    for index in INDEXES if components.settings.keeps_collections else ():
        actual = {
            session_id: input_hash for session_id, (input_hash, _) in hashes[index.stage].items()
        }
        expected = {
            session.session_id: expected_input_hash(components, session)
            for session in indexed_sessions(components, project, index)
        }
        if expected != actual:
            return f"{index.stage} behind {index.table.name}"
    return keywords_reason(components, project, hashes)


_STEP_NS = 1_000_000_000
"""Notes have their time to the second."""


def plan_unchecked(
    components: Components, sources: Mapping[str, list[Source]], projects: Iterable[str]
) -> list[ProjectPlan]:
    """Return those of the projects in which a check failed, or a table has rows that were written
    after its checks, or whose checks `memory verify` began again and did not finish. Costs a stat
    for each file of the lake; files whose time was kept are not noticed, but by `memory verify`."""
    checked_at = {
        (row["stage"], row["project"]): datetime.fromisoformat(row["at"]).timestamp()
        for row in components.catalog.rows(
            "SELECT stage, project, MAX(made_at) AS at FROM products"
            " WHERE stage >= ? AND stage < ? GROUP BY stage, project",
            f"{MATCHED}/",
            f"{MATCHED}0",
        )
    }
    projects = sorted(projects)
    failed = Counter(project for project, _ in failed_checks(components.data_dir, projects))
    unchecked: list[ProjectPlan] = []
    for project in projects:
        if is_workspace(project) or is_agent_memory(project):
            continue
        tables = [
            table
            for table in TABLES.values()
            if _is_newer(
                components,
                table,
                project,
                int(checked_at.get((note_stage(MATCHED, table), project), 0.0) * 1e9) + _STEP_NS,
            )
        ]
        altered = any(_has_pending(components, table, project) for table in tables)
        if altered or project in failed:
            reason = "altered on disk" if altered else f"{counted(failed[project], 'check')} failed"
            fingerprint = project_fingerprint(components, project, sources.get(project, []))
            unchecked.append(ProjectPlan(project, reason, fingerprint))
    return unchecked


def _is_newer(components: Components, table: Table, project: str, than_ns: int) -> bool:
    try:
        with os.scandir(components.lake.partition_dir(table, project)) as entries:
            return any(entry.stat().st_mtime_ns > than_ns for entry in entries)
    except FileNotFoundError:
        return False


def _has_pending(components: Components, table: Table, project: str) -> bool:
    version = matching_version(table, EXPECTATIONS[table.name])
    try:
        return bool(components.pending_sessions(project, table, MATCHED, version))
    except DamagedFile:  # the checks say so, and other projects go on
        return True
