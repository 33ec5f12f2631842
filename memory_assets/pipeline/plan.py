"""Which projects have work to do: the one answer that the CLI and the sensor share.

It costs a stat a file (and one of Chroma's) and a read of the catalogue; no transcript,
model or Chroma is opened. What counts is the state of the products, not a watermark, so
that a run that failed half-way, or new code, shows up here until all stages have caught
up.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial

from memory_assets.chunking import CHUNKER_VERSION
from memory_assets.commits import ATTRIBUTION_VERSION
from memory_assets.observations import OBSERVER_ID
from memory_assets.pipeline import redact, scan
from memory_assets.pipeline.adopt import adopt_archive
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.derive import expected_input
from memory_assets.pipeline.index import (
    INDEXES,
    forget_lost_store,
    indexed_sessions,
    wanted_input,
)
from memory_assets.pipeline.keywords import keywords_behind
from memory_assets.pipeline.report import input_hash
from memory_assets.pipeline.resting import AMORTISED, Resting
from memory_assets.pipeline.session_files import RETAINED
from memory_assets.settings import NO_EMBEDDER
from memory_assets.stores.catalog import SourceRow
from memory_assets.stores.schemas import (
    OBSERVATION_EMBEDDINGS,
    OBSERVATIONS,
    PROMPT_EMBEDDINGS,
    REDACTED_RECORDS,
    SESSION_COMMITS,
    SESSION_SUMMARIES,
    SUMMARY_EMBEDDINGS,
    TURN_CHUNKS,
    TURN_EMBEDDINGS,
    USER_PROMPTS,
    Table,
)
from memory_assets.transcripts import Source


@dataclass(frozen=True)
class ProjectPlan:
    """A project with work to do. `reason` says which stage is behind, and by how much;
    `fingerprint` changes with the files and the code, so it names the work."""

    project: str
    reason: str
    fingerprint: str


def plan(components: Components, sources: Mapping[str, list[Source]]) -> list[ProjectPlan]:
    """Return the projects whose products are behind their files or the code, sorted."""
    return [work for _, work in plan_each(components, sources) if work is not None]


def plan_each(
    components: Components, sources: Mapping[str, list[Source]], after: str = ""
) -> Iterator[tuple[str, ProjectPlan | None]]:
    """Yield each project with its work, or None; sorted, beginning behind `after` and ending
    with it, so that a caller who stops early can go on there."""
    adopt_archive(components)
    forget_lost_store(components)
    names = sorted(components.catalog.projects() | sources.keys())
    start = bisect_right(names, after)
    for project in (*names[start:], *names[:start]):
        files = sources.get(project, [])
        reason = _behind(components, project, files)
        if reason:
            fingerprint = project_fingerprint(components, project, files)
            yield project, ProjectPlan(project, reason, fingerprint)
        else:
            yield project, None


def plan_holders(components: Components) -> list[ProjectPlan]:
    """Return the projects with sessions that hold a secret found since they were redacted,
    whatever else is to do there; sorted."""
    counts = Counter(project for project, _ in components.catalog.holders())
    return [
        ProjectPlan(project, _holding(count), project_fingerprint(components, project, []))
        for project, count in sorted(counts.items())
    ]


def project_fingerprint(components: Components, project: str, sources: list[Source]) -> str:
    """Return a hash of a project's files (path, size, mtime), of the code's versions, of its
    sessions that hold a secret found since, and of those that keep their prompts only."""
    files = sorted(f"{source.path}:{source.size}:{source.mtime_ns}" for source in sources)
    holders = components.catalog.holders(project).items()
    holding = sorted(f"{session_id}:{through}" for (_, session_id), through in holders)
    cut = components.catalog.facts_with(REDACTED_RECORDS.name, RETAINED, project)
    retained = sorted(session_id for _, session_id in cut)
    return input_hash(*_versions(components), *files, *holding, *retained)


def _versions(components: Components) -> tuple[str, ...]:
    return (
        components.ruleset_version,
        CHUNKER_VERSION,
        components.embedder.embedder_id if components.embeds else NO_EMBEDDER,
        components.summarizer.summarizer_id,
    )


def _behind(components: Components, project: str, sources: list[Source]) -> str:
    catalog = components.catalog
    ledger = catalog.sources(project)
    unread = scan.unread_files(components, project)
    changed = [
        file
        for file in scan.out_of_date(ledger, sources)
        if (file.session_id, str(file.mtime_ns)) not in unread
    ]
    if changed:
        return f"{len(changed)} new or changed file{'s' * (len(changed) != 1)}"
    if scan.vanished(ledger, sources):
        return "files vanished"
    return _redaction_behind(components, project, ledger) or _derived_behind(components, project)


def _redaction_behind(components: Components, project: str, ledger: list[SourceRow]) -> str:
    version = components.ruleset_version
    state = redact.RedactionState.of(components, project, facts=False)
    due = [
        session.session_id
        for session in redact.session_files(components, project, ledger=ledger)
        if state.is_due(session, session.input_hash(version))
    ]
    holders = len(state.holders.intersection(due))
    others = len(due) - holders
    reasons = []
    if holders:
        reasons.append(_holding(holders))
    if others:
        reasons.append(f"{others} session{'s' * (others != 1)} to redact")
    return ", ".join(reasons)


def _holding(count: int) -> str:
    return f"{count} session{'s hold' if count != 1 else ' holds'} a secret found since"


def _left_for_now(
    components: Components, project: str, table: Table, version: str, wanted: Mapping[str, str]
) -> dict[str, str]:
    """Return the input of the sessions whose product is behind and stays so: it is held back,
    or waits for the session to rest."""
    catalog, resting = components.catalog, Resting(components, project)
    left = {
        entry.session_id: entry.input_hash
        for entry in catalog.quarantined(project)
        if entry.stage == table.name and wanted.get(entry.session_id) == entry.input_hash
    }
    if table in AMORTISED:
        sources = catalog.products(REDACTED_RECORDS.name, project)
        left |= {
            key[1]: wanted[key[1]]
            for key, made in catalog.products(table.name, project).items()
            if key[1] in wanted
            and made.input_hash != wanted[key[1]]
            and resting.waits(sources[key], made, version)
        }
    return left


def _derived_behind(components: Components, project: str) -> str:
    hashes = cache(partial(components.catalog.hashes, project=project))
    stages = [
        (TURN_CHUNKS, REDACTED_RECORDS, CHUNKER_VERSION),
        (USER_PROMPTS, REDACTED_RECORDS, CHUNKER_VERSION),
        (SESSION_SUMMARIES, REDACTED_RECORDS, components.summarizer.summarizer_id),
        (OBSERVATIONS, REDACTED_RECORDS, OBSERVER_ID),
        (SESSION_COMMITS, REDACTED_RECORDS, ATTRIBUTION_VERSION),
    ]
    if components.embeds:
        embedder_id = components.embedder.embedder_id
        stages += [
            (TURN_EMBEDDINGS, TURN_CHUNKS, embedder_id),
            (PROMPT_EMBEDDINGS, USER_PROMPTS, embedder_id),
            (SUMMARY_EMBEDDINGS, SESSION_SUMMARIES, embedder_id),
            (OBSERVATION_EMBEDDINGS, OBSERVATIONS, embedder_id),
        ]
    for table, upstream, version in stages:
        wanted = {
            session_id: expected_input(made, version)
            for session_id, (_, made) in hashes(upstream.name).items()
        }
        made_from = {session_id: made for session_id, (made, _) in hashes(table.name).items()}
        if wanted != made_from:
            made_from |= _left_for_now(components, project, table, version, wanted)
        if wanted != made_from:
            return f"{table.name} behind {upstream.name}"
    for index in INDEXES if components.embeds else ():
        made_from = {session_id: made for session_id, (made, _) in hashes(index.stage).items()}
        wanted_from = {
            session.session_id: wanted_input(components, session)
            for session in indexed_sessions(components, project, index)
        }
        if wanted_from != made_from:
            return f"{index.stage} behind {index.table.name}"
    return keywords_behind(components, project)
