"""Finding the partitions (projects, workspaces, agents' memory) with work to do, for the command
line, the sensor and the watcher.

The catalogue's state is compared with files and code versions, and there is no watermark: a
project has work until all its products are up to date, also after a failed run or with new
code. This costs a stat for each file, one of Chroma's directory and a few queries; no
transcript, model or Chroma is opened.

A project without work may have checks to run (`plan_unchecked`): after a check failed, or after
somebody changed or replaced a file of the lake, which the catalogue does not notice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from memory_assets.pipeline.agent_memory import tables as agents
from memory_assets.pipeline.checks.expectations import altered_on_disk
from memory_assets.pipeline.indexes.collections import forget_lost_store
from memory_assets.pipeline.indexes.indexed_tables import (
    INDEXES,
    expected_input_hash,
    indexed_sessions,
)
from memory_assets.pipeline.indexes.keywords import (
    STAGES_OF_KEYWORDS,
    discard_older_index,
    keywords_reason,
)
from memory_assets.pipeline.ownership.session_files import session_files
from memory_assets.pipeline.plan.adopt import adopt_archive
from memory_assets.pipeline.plan.lost_tables import forget_lost_rows
from memory_assets.pipeline.redact.redacted_records import DueSessions
from memory_assets.pipeline.scan import raw_sessions as scan
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.quarantine import held_sessions, release_mended
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.pipeline.stages import STAGES
from memory_assets.pipeline.tables.derive import DueProducts, expected_input
from memory_assets.pipeline.workspace.files import STAGE, DueDocuments, files_of, made_with
from memory_assets.status.health import failed_checks
from memory_assets.status.words import counted
from memory_assets.stores.agents.journal import FILE_NAME
from memory_assets.stores.agents.journal_file import recover_damaged
from memory_assets.stores.agents.partitions import is_agent_memory, partition_of, project_in
from memory_assets.stores.catalog.facts import RETAINED
from memory_assets.stores.catalog.products import HashesByStage
from memory_assets.stores.catalog.schema import Quarantined, SourceRow
from memory_assets.stores.lake.schemas import (
    AGENT_HISTORY,
    AGENT_MEMORY,
    REDACTED_RECORDS,
    REDACTION_AUDIT,
)
from memory_assets.stores.workspaces import Workspace, Workspaces, is_workspace
from memory_assets.transcripts import Source

_STAGES = STAGES_OF_KEYWORDS.union(
    *((stage.table.name, stage.derived.upstream.name) for stage in STAGES),
    (index.stage for index in INDEXES),
)
"""The stages whose hashes say whether tables and indexes are up to date."""


@dataclass(frozen=True)
class ProjectPlan:
    """A project with work to do. `reason` names the outdated stage. `fingerprint` identifies the
    work: it changes with files and code. `held_back`: the work includes quarantined sessions whose
    failure may pass."""

    project: str
    reason: str
    fingerprint: str
    held_back: bool = False


def plan(components: Components, sources: Mapping[str, list[Source]]) -> list[ProjectPlan]:
    """Return the projects whose products are out of date, sorted."""
    return [
        project_plan
        for _, project_plan in plan_each(components, sources)
        if project_plan is not None
    ]


def plan_each(
    components: Components, sources: Mapping[str, list[Source]], after: str = ""
) -> Iterator[tuple[str, ProjectPlan | None]]:
    """Yield each project with its work, or None. The order is by name, beginning with the one
    after `after`, so that a caller who stops early can continue from there."""
    adopt_archive(components)
    components.catalog.require_key(components.identity.recognised_by)
    forget_lost_store(components)
    discard_older_index(components)
    on_record = components.catalog.projects()
    forget_lost_rows(components, on_record)
    release_mended(components.catalog)
    held_back: dict[str, list[Quarantined]] = {}
    for entry in components.catalog.quarantine.entries():
        held_back.setdefault(entry.project, []).append(entry)
    known = on_record | sources.keys() | held_back.keys()
    names = sorted(name for name in known if not (is_workspace(name) or is_agent_memory(name)))
    start = bisect_right(names, after)
    for project in (*names[start:], *names[:start]):
        files = sources.get(project, [])
        held = held_back.get(project, [])
        reason = _work_reason(components, project, files, held)
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
        ProjectPlan(project, _affected_reason(count), project_fingerprint(components, project, []))
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
    used = [stage for stage in STAGES if components.embeds or not stage.embeds]
    return components.ruleset_version, *(stage.derived.version(components) for stage in used)


def _work_reason(
    components: Components, project: str, sources: list[Source], held: list[Quarantined]
) -> str:
    catalog = components.catalog
    ledger = catalog.sources.rows(project)
    unread = scan.unread_files(held)
    outdated = scan.out_of_date(ledger, sources)
    retried = {entry.session_id for entry in held if entry.stage == scan.STAGE and entry.passing}
    new = [
        file
        for file in outdated
        if scan.unread_key(file) not in unread and file.session_id not in retried
    ]
    if new:
        return counted(len(new), "new or changed file")
    if waiting := retried.intersection(file.session_id for file in outdated):
        return _retry_reason(len(waiting))
    if scan.vanished_paths(ledger, sources):
        return "files vanished"
    if scan.no_longer_outdated(held, outdated):
        return "sessions held back whose files are gone, or as they were"
    hashes = catalog.products.hashes_by_stage(project, (*_STAGES, REDACTION_AUDIT.name))
    return (
        _redaction_reason(components, project, ledger, hashes)
        or derived_reason(components, project, hashes)
        or _retry_reason(sum(entry.passing for entry in held))
    )


def _retry_reason(count: int) -> str:
    return f"{counted(count, 'session')} held back, to be tried again" if count else ""


def _redaction_reason(
    components: Components, project: str, ledger: list[SourceRow], hashes: HashesByStage
) -> str:
    state = DueSessions(components, project, hashes)
    due = [
        session.session_id
        for session in session_files(components, project, ledger=ledger)
        if state.status(session) == "due"
    ]
    affected_sessions = len(state.affected.intersection(due))
    others = len(due) - affected_sessions
    reasons = []
    if affected_sessions:
        reasons.append(_affected_reason(affected_sessions))
    if others:
        reasons.append(f"{counted(others, 'session')} to redact")
    return ", ".join(reasons)


def _affected_reason(count: int) -> str:
    return f"{count} session{'s hold' if count != 1 else ' holds'} a secret found since"


def derived_reason(
    components: Components, project: str, hashes: HashesByStage | None = None
) -> str:
    """Return the first table or index of a partition that is behind its upstream, in words, or "".
    `hashes`: those of the products of `_STAGES`, if they were read already."""
    if hashes is None:
        hashes = components.catalog.products.hashes_by_stage(project, _STAGES)
    records = {name: output for name, (_, output) in hashes[REDACTED_RECORDS.name].items()}
    held_back = held_sessions(components, project, records)
    for stage in STAGES:
        if stage.embeds and not components.embeds:
            continue
        table, upstream = stage.table, stage.derived.upstream
        if not (hashes[table.name] or hashes[upstream.name]):
            continue  # partitions of this kind do not have the table
        version = stage.derived.version(components)
        expected = {
            session_id: expected_input(output_hash, version)
            for session_id, (_, output_hash) in hashes[upstream.name].items()
            if session_id not in held_back
        }
        actual = {
            session_id: made_from for session_id, (made_from, _) in hashes[table.name].items()
        }
        if expected == actual:
            continue
        due = DueProducts(components, project, stage.derived)
        sources = components.catalog.products.of_project(upstream.name, project)
        # Another process may have forgotten a session since the hashes were read.
        if not actual.keys() <= expected.keys() or any(
            due.status(source) == "due"
            for session_id, source in sources.items()
            if session_id in expected
        ):
            return f"{table.name} behind {upstream.name}"
    for index in INDEXES if components.settings.keeps_collections else ():
        actual = {
            session_id: made_from for session_id, (made_from, _) in hashes[index.stage].items()
        }
        expected = {
            session.session_id: expected_input_hash(components, session)
            for session in indexed_sessions(components, project, index)
        }
        if expected != actual:
            return f"{index.stage} behind {index.table.name}"
    return keywords_reason(components, project, hashes)


def plan_unchecked(
    components: Components, sources: Mapping[str, list[Source]], projects: Iterable[str]
) -> list[ProjectPlan]:
    """Return the projects in which a check failed, a table was written after its checks, or `memory
    verify` did not finish."""
    projects = sorted(
        name for name in projects if not (is_workspace(name) or is_agent_memory(name))
    )
    failed = Counter(project for project, _ in failed_checks(components.data_dir, projects))
    altered = altered_on_disk(components, projects)
    unchecked: list[ProjectPlan] = []
    for project in projects:
        if project in altered or project in failed:
            count = counted(failed[project], "check")
            reason = "altered on disk" if project in altered else f"{count} failed"
            fingerprint = project_fingerprint(components, project, sources.get(project, []))
            unchecked.append(ProjectPlan(project, reason, fingerprint))
    return unchecked


def plan_workspace(components: Components, workspace: Workspace) -> ProjectPlan | None:
    """Return the work that a workspace has, or None.

    Raises:
        ConfigurationError: its directory is gone or cannot be read.
    """
    forget_lost_store(components)
    partition, version = workspace.partition, made_with(components)
    walk = files_of(components, workspace)
    changed, gone = changed_documents(components, workspace)
    if changed or gone:
        reason = counted(len(changed) + len(gone), "new, changed or deleted file")
    else:
        reason = derived_reason(components, partition)
    if not reason:
        return None
    states = (f"{path}:{walk.files[path].mtime_ns}" for path in sorted(changed))
    return ProjectPlan(partition, reason, input_hash(version, reason, *states, *sorted(gone)))


def changed_documents(
    components: Components, workspace: Workspace
) -> tuple[list[str], frozenset[str]]:
    """Return the documents of a workspace that are to be read, and those that are gone.

    Raises:
        ConfigurationError: its directory is gone or cannot be read.
    """
    walk = files_of(components, workspace)
    due = DueDocuments(components, workspace.partition, made_with(components))
    changed = [path for path, file in walk.files.items() if due.status(file) == "due"]
    return changed, frozenset(due.products.keys() - walk.files.keys())


def plan_outdated(components: Components) -> Iterator[ProjectPlan]:
    """Yield the workspaces with rows of other code, rules or models than the present ones. Their
    directories are not read: `memory index` does that."""
    for workspace in Workspaces(components.data_dir).all():
        partition, version = workspace.partition, made_with(components)
        products = components.catalog.products.of_project(STAGE, partition)
        if not products:
            continue
        forget_lost_store(components)
        held = components.catalog.quarantine.inputs(partition, STAGE)
        present = workspace.root.is_dir()  # no document can be read again without it
        count = sum(
            present
            and name not in held
            and product.input_hash != input_hash(product.facts.get("fingerprint", ""), version)
            for name, product in products.items()
        )
        reason = f"{counted(count, 'document')} made by other rules" if count else ""
        reason = reason or derived_reason(components, partition)
        if reason:
            yield ProjectPlan(partition, reason, input_hash(version, reason))


def plan_agent_memory(components: Components) -> Iterator[ProjectPlan]:
    """Yield the partitions of agents' memory that have work to do, sorted. Without a journal
    nothing is opened. A damaged journal is replaced by its copy; what a killed process left of
    replaced texts is erased."""
    if recover_damaged(components.data_dir / FILE_NAME):
        components.opened.pop("journal", None)
    if components.has_journal:
        components.journal.erase_replaced_texts()
    partitions = partitions_with_agent_memory(components)
    if partitions:
        forget_lost_store(components)
    for partition in partitions:
        count = agents.count_outdated(components, partition)
        reason = f"{counted(count, 'conversation')} or memories new or changed" if count else ""
        reason = reason or derived_reason(components, partition)
        if reason:
            state = str(components.journal.state_of(project_in(partition)))
            fingerprint = input_hash(agents.made_with(components), reason, state)
            yield ProjectPlan(partition, reason, fingerprint)


def partitions_with_agent_memory(components: Components) -> list[str]:
    """Return the partitions of agents' memory, sorted, without creating a journal."""
    lake = components.lake
    partitions = {*lake.projects(AGENT_HISTORY), *lake.projects(AGENT_MEMORY)}
    partitions |= {name for name in components.catalog.projects() if is_agent_memory(name)}
    if components.has_journal:
        partitions |= set(map(partition_of, components.journal.projects()))
    return sorted(partitions)
