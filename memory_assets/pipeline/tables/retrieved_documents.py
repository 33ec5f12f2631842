"""The stage of retrieved_documents: which documents of other collections each session used."""

from __future__ import annotations

from memory_assets.models import RetrievedDocument
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.redact_composed import redact_composed
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.tables.derive import DerivedTable, Made, derive_table
from memory_assets.session_analysis.retrievals import retrievals
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import RETRIEVED_DOCUMENTS


def find_retrieved(components: Components, project: str) -> StageReport:
    """Make the rows of the sessions whose records or version changed, and return the report."""
    return derive_table(components, project, RETRIEVED)


def _retrieved(components: Components, source: Product) -> Made:
    session = components.sessions.session(source)
    if session is None:
        return [], {}
    redact = components.redactor.redact
    rows: list[RetrievedDocument] = []
    for found in retrievals(session):
        texts = [
            redact(text, session_id=session.session_id).text
            for text in (found.collection, *found.documents)
        ]
        rows += [
            RetrievedDocument(
                id=f"retrieval::{session.session_id}::{len(rows) + rank}",
                turn_id=found.turn.id,
                turn_index=found.turn.turn_index,
                project=session.project,
                project_root=session.project_root,
                agent=session.agent,
                session_id=session.session_id,
                collection=texts[0],
                document=document,
                rank=rank,
                tool_name=found.result.tool_name,
                timestamp=found.result.timestamp,
            )
            for rank, document in enumerate(texts[1:])
        ]
    return [redact_composed(components.redactor, row) for row in rows], {}


RETRIEVED = DerivedTable(RETRIEVED_DOCUMENTS, "retrievals-1", deferrable=True, make=_retrieved)
