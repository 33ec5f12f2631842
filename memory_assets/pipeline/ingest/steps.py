"""The list of the steps, one for each partitioned asset, by which Dagster's assets and the passes
of an ingest (`passes.py`) are made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator
from dataclasses import dataclass
from functools import partial

from memory_assets.embedding import DEFAULT_EMBEDDER
from memory_assets.keywords import TERMS_VERSION
from memory_assets.pipeline.agent_memory.tables import (
    TABLES_VERSION,
    make_history,
    make_memories,
    make_trail,
)
from memory_assets.pipeline.checks.checks import Verified, checks_of, note_run
from memory_assets.pipeline.checks.pending import Verdict
from memory_assets.pipeline.indexes.collections import index_project
from memory_assets.pipeline.indexes.indexed_tables import INDEXES
from memory_assets.pipeline.indexes.keywords import (
    AGENT_KEYWORDS,
    WORKSPACE_KEYWORDS,
    index_keywords,
)
from memory_assets.pipeline.indexes.keywords import STAGE as KEYWORD_INDEX
from memory_assets.pipeline.redact.redacted_records import audit_project, redact_project
from memory_assets.pipeline.scan.raw_sessions import STAGE as RAW_SESSIONS
from memory_assets.pipeline.scan.raw_sessions import scan_project
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.stages import STAGES
from memory_assets.pipeline.workspace.documents import read_documents
from memory_assets.pipeline.workspace.files import DOCUMENTS_VERSION
from memory_assets.redaction import ENGINE_VERSION
from memory_assets.stores.lake.schemas import (
    AGENT_HISTORY,
    AGENT_MEMORY,
    MEMORY_TRAIL,
    REDACTED_RECORDS,
    REDACTION_AUDIT,
    WORKSPACE_DOCUMENTS,
)
from memory_assets.stores.runs.names import (
    AGENT_MEMORY_PARTITIONS,
    PARTITIONS,
    WORKSPACE_PARTITIONS,
)
from memory_assets.transcripts import READER_VERSIONS

_EMBEDDINGS = {index.embeddings.name for index in INDEXES}
Run = Callable[[Components, str], StageReport]


@dataclass(frozen=True)
class Step:
    """How one asset of a project is made: by `run`, from the assets `deps`, unless one of the
    assets `blocked_by` failed. `code_version` None: the version of the redaction rules, which
    depends on the settings. `partitions`: the name of its partitions definition."""

    asset: str
    run: Run
    code_version: str | None
    partitions: str
    deps: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Materialized:
    """An asset of a project was brought up to date."""

    project: str
    asset: str
    report: StageReport


@dataclass(frozen=True)
class StepFailed:
    """A step of a project failed; `reason` has no text of transcripts."""

    project: str
    asset: str
    reason: str


def run_step(
    components: Components,
    project: str,
    step: Step,
    checks: Container[str] | None = None,
    *,
    makes: bool = True,
) -> Iterator[Materialized | Verified]:
    """Make the step's asset, unless `makes` is false, then run its `checks` (None: all) on new
    rows, up to the first blocking one that fails; yield each outcome."""
    with components.project_lock(project):
        verdicts: dict[str, Verdict] = {}
        succeeded = not makes
        try:
            if makes:
                report = step.run(components, project)
                succeeded = True
                yield Materialized(project, step.asset, report)
            for check in checks_of(step.asset):
                if checks is not None and check.name not in checks:
                    continue
                verdict = verdicts[check.name] = check.enforced(components, project)
                verified = Verified(project, step.asset, check.name, verdict)
                yield verified
                if verified.failed and check.blocking:
                    return
        finally:
            if succeeded:
                version = step.code_version or components.ruleset_version
                note_run(components, project, step.asset, version, verdicts)


def is_blocked(asset: str, failed: Collection[str]) -> bool:
    """Whether an asset may not be made because one that it needs is among the `failed`."""
    return any(needed in failed or is_blocked(needed, failed) for needed in STEPS[asset].blocked_by)


def _unless_disabled(name: str, run: Run) -> Run:
    """Return the run of a stage of vectors or of a collection, which does nothing while
    `MEMORY_EMBEDDER` or, for a collection, `VECTOR_BACKEND` is none."""

    def run_or_nothing(components: Components, project: str) -> StageReport:
        embeds = components.embeds
        if components.settings.keeps_collections or (embeds and name in _EMBEDDINGS):
            return run(components, project)
        unset = "vector_backend" if embeds else "embedder"
        report = StageReport(name, project, details={unset: "none"})
        for entry in components.catalog.quarantine.entries(project):
            if entry.stage in _EMBEDDINGS and not embeds:  # vectors are no longer wanted
                components.catalog.quarantine.release(project, entry.session_id, entry.stage)
        report.add_products(list(components.catalog.products.of_project(name, project).values()))
        return report

    return run_or_nothing


def _steps() -> dict[str, Step]:
    records, audit = REDACTED_RECORDS.name, REDACTION_AUDIT.name
    documents, memories = WORKSPACE_DOCUMENTS.name, AGENT_MEMORY.name
    readers = "+".join(f"{agent}:{READER_VERSIONS[agent]}" for agent in sorted(READER_VERSIONS))
    steps: dict[str, Step] = {}

    def source(partitions: str, name: str, run: Run, version: str) -> None:
        steps[name] = Step(name, run, version, partitions)

    def made(
        name: str, run: Run, version: str | None, of: tuple[str, ...], *blocked_by: str
    ) -> None:
        """Add an asset that is made of others, and has their partitions."""
        steps[name] = Step(name, run, version, steps[of[0]].partitions, of, blocked_by or of)

    source(PARTITIONS, RAW_SESSIONS, scan_project, readers)
    made(records, redact_project, None, (RAW_SESSIONS,))
    made(audit, audit_project, ENGINE_VERSION, (records,))
    source(WORKSPACE_PARTITIONS, documents, read_documents, DOCUMENTS_VERSION)
    source(AGENT_MEMORY_PARTITIONS, AGENT_HISTORY.name, make_history, TABLES_VERSION)
    source(AGENT_MEMORY_PARTITIONS, memories, make_memories, TABLES_VERSION)
    made(MEMORY_TRAIL.name, make_trail, TABLES_VERSION, (memories,))
    for stage in STAGES:
        name, upstream = stage.table.name, stage.derived.upstream.name
        run = _unless_disabled(name, stage.run) if stage.embeds else stage.run
        needed = audit if upstream == records else upstream
        made(name, run, stage.derived.code_version, (upstream,), needed)
    for index in INDEXES:
        run = _unless_disabled(index.stage, partial(index_project, index=index))
        made(index.stage, run, DEFAULT_EMBEDDER, (index.embeddings.name,))
    for asset, needed in (
        (KEYWORD_INDEX, audit),
        (WORKSPACE_KEYWORDS, documents),
        (AGENT_KEYWORDS, memories),
    ):
        partitions = steps[needed].partitions
        indexed = [of for of in INDEXES if steps[of.stage].partitions == partitions]
        made_of = tuple(of.embeddings.name for of in indexed)
        run = partial(index_keywords, stage=asset)
        made(asset, run, TERMS_VERSION, made_of, needed, *(of.table.name for of in indexed))
    return steps


STEPS = _steps()
"""The step of each partitioned asset, in an order in which they can be run."""
