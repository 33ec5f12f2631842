"""The stage of session_summaries: one summary for each session."""

from __future__ import annotations

from memory_assets.errors import NotFound
from memory_assets.http.endpoint_use import is_endpoint
from memory_assets.models import Summary
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.redact_composed import redact_composed
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.tables.derive import DerivedTable, Made, derive_table
from memory_assets.stores.catalog.facts import RETAINED
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import SESSION_SUMMARIES
from memory_assets.summaries import load_summarizer


def summarise_project(components: Components, project: str) -> StageReport:
    """Summarise the sessions whose records or summarizer changed, and return the report.

    A long session is deferred while it grows (`derive.py`), and a retained one keeps its
    summary. A session without text (only titles, or tool calls without a word) has none.
    """
    report = derive_table(components, project, SUMMARISED)
    if report.changed and components.summarizer.reason:
        report.details["summaries_extractive"] = components.summarizer.reason
    return report


def _summary(components: Components, source: Product) -> Made:
    if RETAINED in source.facts:
        return _stored_summary(components, source), {}
    session = components.sessions.session(source)
    if session is None:
        return [], {}
    summary = components.summarizer.summarize(session)
    return [redact_composed(components.redactor, summary)] if summary.text else [], {}


def _stored_summary(components: Components, source: Product) -> list[Summary]:
    """Return the stored summary of a retained session, redacted under the present rules and
    with all known secrets; an empty list if it has none."""
    key = (source.project, source.session_id)
    known = frozenset(components.catalog.known_secrets.rules())
    redactor = components.redactor.session(source.session_id, known)
    try:
        summaries: list[Summary] = components.lake.read_rows(SESSION_SUMMARIES, *key)
    except NotFound:
        return []
    return [redact_composed(redactor, summary) for summary in summaries]


SUMMARISED = DerivedTable(
    SESSION_SUMMARIES,
    load_summarizer().summarizer_id,
    chosen=lambda components: components.summarizer.summarizer_id,
    deferrable=True,
    make=_summary,
    is_local=lambda components: not is_endpoint(components.settings.summarizer),
)
