"""session_summaries: one summary a session."""

from __future__ import annotations

from memory_assets.errors import NotFound
from memory_assets.models import Summary
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.redact_composed import redact_composed
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.tables.derive import DerivedTable, Made, derive_table
from memory_assets.stores.catalog.facts import RETAINED
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import SESSION_SUMMARIES
from memory_assets.summaries import load_summarizer

SUMMARISED = DerivedTable(
    SESSION_SUMMARIES,
    load_summarizer().summarizer_id,
    chosen=lambda components: components.summarizer.summarizer_id,
    waits=True,
)


def summarise_project(components: Components, project: str) -> StageReport:
    """Summarise again the sessions whose records or summarizer changed; long ones that go
    on growing when they rest.

    One that was cut down to its prompts keeps the summary it has. A session that says
    nothing (only titles, or tool calls without a word) gives none.
    """

    def make(source: Product) -> Made:
        if RETAINED in source.facts:
            return _kept(components, source), {}
        session = components.sessions.session(source)
        if session is None:
            return [], {}
        summary = components.summarizer.summarize(session)
        return [redact_composed(components.redactor, summary)] if summary.text else [], {}

    return derive_table(
        components,
        project,
        SUMMARISED,
        make=make,
    )


def _kept(components: Components, source: Product) -> list[Summary]:
    """Return the summary of a session of which nothing else but its prompts is kept, under
    the rules of today and without what is known by now."""
    key = (source.project, source.session_id)
    known = frozenset(components.catalog.known_secrets.rules())
    redactor = components.redactor.session(source.session_id, known)
    try:
        kept: list[Summary] = components.lake.read_rows(SESSION_SUMMARIES, *key)
    except NotFound:
        return []
    return [redact_composed(redactor, summary) for summary in kept]
