"""session_summaries: one summary a session."""

from __future__ import annotations

from memory_assets.pipeline.chunk import session_records, session_turns
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.derive import Made, derive_table
from memory_assets.pipeline.report import StageReport
from memory_assets.pipeline.settle import settled
from memory_assets.stores.catalog import Product
from memory_assets.stores.schemas import REDACTED_RECORDS, SESSION_SUMMARIES
from memory_assets.summaries import session_turns as to_summarise


def summarise_project(components: Components, project: str) -> StageReport:
    """Summarise again the sessions whose records or summarizer changed; long ones that go
    on growing when they rest.

    A session that says nothing (only titles, or tool calls without a word) gives none.
    """

    def make(source: Product) -> Made:
        records = session_records(components, source)
        turns = list(session_turns(components, source))
        if not turns:
            return [], {}
        summary = components.summarizer.summarize(to_summarise(records, turns))
        return [settled(components.redactor, summary)] if summary.text else [], {}

    return derive_table(
        components,
        project,
        table=SESSION_SUMMARIES,
        upstream=REDACTED_RECORDS.name,
        version=components.summarizer.summarizer_id,
        make=make,
        amortised=True,
    )
