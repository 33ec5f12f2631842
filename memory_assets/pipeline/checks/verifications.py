"""All that must hold of a project, in one list, for whoever asks without Dagster.

The asset checks say the same (`test_verify.py` holds them to it), except that
Great Expectations looks at each row where `matches_schema` looks at the file's columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from memory_assets.errors import MemoryAssetsError, safe_reason
from memory_assets.pipeline.checks import verify
from memory_assets.pipeline.checks.independent_scan import independent_scanner_finds_nothing
from memory_assets.pipeline.checks.keywords_match import keywords_match
from memory_assets.pipeline.checks.verify import Verdict
from memory_assets.pipeline.indexes.collections import INDEXES, SESSIONS_INDEX
from memory_assets.pipeline.indexes.keywords import STAGE as KEYWORD_INDEX
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.pending_checks import COMPARISONS, NOTED_CHECKS, note_stage
from memory_assets.stores.lake import schemas
from memory_assets.stores.lake.lake import redacted_columns
from memory_assets.stores.lake.schemas import TABLES, Table

_LISTED = 10


@dataclass(frozen=True)
class Verification:
    """One thing that must hold of a table or collection of each project."""

    subject: str
    name: str
    verify: Callable[[Components, str], Verdict]
    warning: bool = False


@dataclass(frozen=True)
class Verified:
    """What one verification of one project came to."""

    project: str
    subject: str
    name: str
    verdict: Verdict

    @property
    def failed(self) -> bool:
        """Whether it does not hold, and that is more than a warning."""
        return not self.verdict.passed and not self.verdict.warning


def schema_matches(components: Components, project: str, table: Table) -> Verdict:
    """Whether every file of a table can be read and has exactly the table's columns, and
    no id stands in two of them."""
    differing: list[str] = []
    ids: set[str] = set()
    rows = repeated = 0
    sessions = components.lake.sessions(table, project)
    for session_id in sessions:
        read = components.lake.read(table, project, session_id)
        rows += len(read)
        if not read.schema.equals(table.schema):
            differing.append(session_id)
        elif table.key == "id":
            own = {str(name) for name in read["id"].to_pylist()}
            repeated += len(own & ids)
            ids |= own
    return Verdict(
        not differing and not repeated,
        {
            "files": len(sessions),
            "rows": rows,
            "files_that_differ": len(differing),
            "ids_in_two_files": repeated,
            "sessions": ", ".join(differing[:_LISTED]),
        },
        f"Run `memory ingest --full --project={project}`.",
    )


def _of_tables() -> Iterator[Verification]:
    for table in TABLES.values():
        yield Verification(table.name, "matches_schema", partial(schema_matches, table=table))
        if redacted_columns(table.model):
            of_table = partial(verify.no_secrets_remain, table=table)
            yield Verification(table.name, "no_secrets_remain", of_table)
        scan = partial(independent_scanner_finds_nothing, table=table)
        yield Verification(table.name, "independent_scanner_finds_nothing", scan)


VERIFICATIONS: Sequence[Verification] = (
    *_of_tables(),
    Verification(schemas.REDACTED_RECORDS.name, "rows_conserved", verify.rows_conserved),
    Verification(
        schemas.REDACTED_RECORDS.name,
        "no_sessions_quarantined",
        verify.nothing_quarantined,
        warning=True,
    ),
    Verification(
        schemas.REDACTION_AUDIT.name, "audit_matches_records", verify.audit_matches_records
    ),
    Verification(schemas.TURN_CHUNKS.name, "prompts_in_one_chunk", verify.prompts_in_one_chunk),
    Verification(schemas.TURN_EMBEDDINGS.name, "vectors_complete", verify.vectors_complete),
    *(
        Verification(
            index.stage, "ids_match_table", partial(verify.collection_matches, index=index)
        )
        for index in INDEXES
    ),
    Verification(KEYWORD_INDEX, "ids_match_tables", keywords_match),
    Verification(
        SESSIONS_INDEX.stage,
        "embedder_consistent",
        partial(verify.embedder_consistent, index=SESSIONS_INDEX),
    ),
)


def verify_project(components: Components, project: str) -> Iterator[Verified]:
    """Yield what each verification of a project comes to, taken while nobody writes it. One
    that cannot be made has failed. Tables are compared row by row, whatever passed before;
    files that both scanners found clean are scanned again after `forget_notes` only."""
    with components.project_lock(project):
        forget_notes(components, project, COMPARISONS)
        for wanted in VERIFICATIONS:
            try:
                verdict = wanted.verify(components, project)
            except MemoryAssetsError as error:
                verdict = Verdict(False, {"error": safe_reason(error)}, safe_reason(error))
            if wanted.warning:
                verdict = Verdict(verdict.passed, verdict.counts, verdict.remedy, warning=True)
            yield Verified(project, wanted.subject, wanted.name, verdict)


def forget_notes(
    components: Components, project: str, checks: Sequence[str] = NOTED_CHECKS
) -> None:
    """Make checks of a project start over: what was noted as passed does not count."""
    for table in TABLES.values():
        for stage in (note_stage(check, table) for check in checks):
            for session_id in components.catalog.products.of_project(stage, project):
                components.catalog.products.drop(stage, project, session_id)


def projects_on_record(components: Components) -> list[str]:
    """Return every project that the catalogue or any table of the lake has."""
    lake = components.lake
    stored = {name for table in TABLES.values() for name in lake.projects(table)}
    return sorted(stored | components.catalog.projects())
