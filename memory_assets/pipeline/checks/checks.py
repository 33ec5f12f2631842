"""The list of all checks. `memory verify` runs them without Dagster; the asset checks run them
in the step of their asset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from memory_assets import __version__
from memory_assets.errors import MemoryAssetsError, safe_reason
from memory_assets.pipeline.checks import verify
from memory_assets.pipeline.checks.expectations import matches_schema
from memory_assets.pipeline.checks.independent_scan import independent_scanner_finds_nothing
from memory_assets.pipeline.checks.pending import Verdict
from memory_assets.pipeline.checks.verify import lines_conserved, text_is_explained
from memory_assets.pipeline.indexes.indexed_tables import INDEXES, SESSION_INDEXES, SESSIONS_INDEX
from memory_assets.pipeline.indexes.keywords import AGENT_KEYWORDS, WORKSPACE_KEYWORDS
from memory_assets.pipeline.indexes.keywords import STAGE as KEYWORD_INDEX
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.quarantine import hold_sessions
from memory_assets.pipeline.stages import EXPECTATIONS
from memory_assets.pipeline.workspace.files import STAGE as _DOCUMENTS
from memory_assets.pipeline.workspace.files import hold_back_documents, made_with
from memory_assets.stores.agents.partitions import is_agent_memory
from memory_assets.stores.lake.lake import redacted_columns
from memory_assets.stores.lake.schemas import TABLES
from memory_assets.stores.workspaces import is_workspace

_SECOND_SCANNER = "independent_scanner_finds_nothing"


@dataclass(frozen=True)
class Check:
    """A check of an asset, for one project at a time.

    `blocking`: if it fails, nothing downstream is made. `warning`: a failure is reported, and
    stops nothing.
    """

    asset: str
    name: str
    verify: Callable[[Components, str], Verdict]
    description: str
    blocking: bool = False
    warning: bool = False

    def verdict(self, components: Components, project: str) -> Verdict:
        """Return the verdict on a project, whose lock the caller holds."""
        verdict = self.verify(components, project)
        return replace(verdict, warning=True) if self.warning else verdict

    def enforced(self, components: Components, project: str) -> Verdict:
        """Return the verdict in a run. Documents of a workspace in which a blocking check finds
        something are held back, and the others go on. So are sessions in which the independent
        scanner finds only guessable values: no hash of these is kept, so the next redaction could
        not remove them."""
        holds_documents = self.blocking and is_workspace(project)
        version = made_with(components) if holds_documents else ""
        verdict = self.verdict(components, project)
        reasons = _reasons(self, verdict) if self.blocking else {}
        if holds_documents and reasons:
            hold_back_documents(components, project, reasons, version)
            # The quarantine names the documents, but for those whose paths hold what was learned.
            counts = {name: value for name, value in verdict.counts.items() if name != "places"}
            return Verdict(True, {**counts, "documents_held_back": len(reasons)})
        if not reasons or self.name != _SECOND_SCANNER or verdict.counts["unguessable"]:
            return verdict
        if is_agent_memory(project):
            return verdict
        hold_sessions(components, project, TABLES[self.asset], reasons)
        return Verdict(True, {**verdict.counts, "sessions_held_back": len(reasons)})


def _reasons(check: Check, verdict: Verdict) -> dict[str, str]:
    """Return why each session or document must be held back for a check to pass; empty if it
    passed."""
    reasons: dict[str, str] = {}
    for report in verdict.reports:
        where = f" (line {report.line})" if report.line and check.asset == _DOCUMENTS else ""
        reasons.setdefault(report.session_id, f"{check.name}: {report.rule}{where}")
    return reasons


def note_run(
    components: Components,
    project: str,
    asset: str,
    code_version: str,
    verdicts: Mapping[str, Verdict],
) -> None:
    """Note in the ledger the code version of an asset that the present run made, and the outcomes
    of its checks; nothing outside of runs."""
    if run_id := components.run_id:
        versions = {"memory_assets": __version__, "code": code_version}
        checks = {name: verdict.outcome for name, verdict in verdicts.items()}
        components.runs.note_made(run_id, project, asset, versions, checks)


@dataclass(frozen=True)
class Verified:
    """The result of one check of one project."""

    project: str
    subject: str
    name: str
    verdict: Verdict

    @property
    def failed(self) -> bool:
        """Whether the check failed and is not a warning."""
        return not self.verdict.passed and not self.verdict.warning


def _of_tables() -> Iterator[Check]:
    for table in TABLES.values():
        if redacted_columns(table.model):
            yield Check(
                table.name,
                "no_secrets_remain",
                partial(verify.no_secrets_remain, table=table),
                "The redactor finds nothing in any free text of the table as it lies on disk. "
                "Blocking: nothing is made, embedded or indexed from a table that fails.",
                blocking=True,
            )
        yield Check(
            table.name,
            _SECOND_SCANNER,
            partial(independent_scanner_finds_nothing, table=table),
            "A scanner that shares nothing with the redactor (Kingfisher) finds nothing in any "
            f"string of {table.name}, ids and lists included. Blocking; a warning on platforms "
            "that have no such scanner.",
            blocking=True,
        )
        expected = EXPECTATIONS[table.name]
        yield Check(
            table.name,
            "matches_schema",
            partial(matches_schema, table=table, expected=expected),
            "Columns, keys, ranges, closed sets and order, over the lengths of texts and never "
            "the texts. The check great_expectations_agree of memory_status has Great "
            "Expectations evaluate them too.",
        )


CHECKS: Sequence[Check] = (
    *_of_tables(),
    Check(
        "raw_sessions",
        "text_is_explained",
        text_is_explained,
        "At most 0.1 % of a session's text is in places that no reader knows. A warning: the agent "
        "writes something new.",
        warning=True,
    ),
    Check(
        "redacted_records",
        "rows_conserved",
        verify.rows_conserved,
        "Every record read is kept, dropped for a stated reason, or a bad line; every block "
        "kept is a row, or a copy of one that an older session has.",
    ),
    Check(
        "redacted_records",
        "no_sessions_quarantined",
        verify.nothing_quarantined,
        "No session is held back. A warning: the other sessions go on.",
        warning=True,
    ),
    Check(
        "redaction_audit",
        "audit_matches_records",
        verify.audit_matches_records,
        "There is an entry for each redaction that redacted_records counts, record by record.",
    ),
    Check(
        "turn_chunks",
        "prompts_in_one_chunk",
        verify.prompts_in_one_chunk,
        "Each human prompt begins in exactly one chunk.",
    ),
    Check(
        "turn_embeddings",
        "vectors_complete",
        verify.vectors_complete,
        "There is exactly one vector for each chunk.",
    ),
    *(
        Check(
            index.stage,
            "ids_match_table",
            partial(verify.collection_matches, index=index),
            f"The ids in Chroma are exactly those of {index.table.name}.",
        )
        for index in INDEXES
    ),
    *(
        Check(
            asset,
            "ids_match_tables",
            verify.keywords_match,
            "The ids in the keyword index are exactly those of the lake's tables.",
        )
        for asset in (KEYWORD_INDEX, WORKSPACE_KEYWORDS, AGENT_KEYWORDS)
    ),
    Check(
        "workspace_documents",
        "no_documents_quarantined",
        verify.nothing_quarantined,
        "No document is held back. A warning: the other documents go on.",
        warning=True,
    ),
    Check(
        "agent_history",
        "nothing_quarantined",
        verify.nothing_quarantined,
        "No conversation or memory is held back. A warning: the others go on.",
        warning=True,
    ),
    Check(
        "workspace_chunks",
        "lines_conserved",
        lines_conserved,
        "Every line of a document with text is in one of its chunks.",
    ),
    *(
        Check(
            index.stage,
            "embedder_consistent",
            partial(verify.embedder_consistent, index=index),
            "All vectors, in the lake and in Chroma, were made by the embedder of the settings.",
        )
        for index in INDEXES
        if index is SESSIONS_INDEX or index not in SESSION_INDEXES
    ),
)


def checks_of(asset: str) -> list[Check]:
    """Return the checks of an asset, blocking ones first."""
    return sorted(
        (check for check in CHECKS if check.asset == asset), key=lambda check: not check.blocking
    )


def verify_project(components: Components, project: str) -> Iterator[Verified]:
    """Yield the result of each check of a project, which is locked meanwhile. A check that
    raises an error has failed. Every row is read, also if it passed before: a changed file may
    have its former size and time."""
    with components.project_lock(project):
        components.catalog.products.drop_notes(project)
        for check in CHECKS:
            try:
                verdict = check.verdict(components, project)
            except MemoryAssetsError as error:
                reason = safe_reason(error)
                verdict = Verdict(False, {"error": reason}, reason, warning=check.warning)
            yield Verified(project, check.asset, check.name, verdict)


def projects_on_record(components: Components) -> list[str]:
    """Return every project in the catalogue or in a table of the lake."""
    lake = components.lake
    stored = {name for table in TABLES.values() for name in lake.projects(table)}
    return sorted(stored | components.catalog.projects())
