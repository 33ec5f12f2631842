"""The stages of the tables that are made of whole sessions: session_summaries, observations,
retrieved_documents (of other collections) and session_usage (tokens, price and time by turn)."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

from memory_assets.errors import NotFound
from memory_assets.http.endpoint_use import is_endpoint
from memory_assets.models import RetrievedDocument, SessionUsage, Summary
from memory_assets.observations import OBSERVER_ID, observe
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.redact_composed import redact_composed
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.tables.derive import DerivedRows, DerivedTable, derive_table
from memory_assets.session_analysis.retrievals import retrievals
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.usage import (
    PRICES_OF,
    ModelUsage,
    Price,
    price_of,
    usage,
    with_prices,
)
from memory_assets.stores.catalog.facts import RETAINED
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import (
    OBSERVATIONS,
    RETRIEVED_DOCUMENTS,
    SESSION_SUMMARIES,
    SESSION_USAGE,
)
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


def _summary(components: Components, source: Product) -> DerivedRows:
    if RETAINED in source.facts:
        return _stored_summary(components, source), {}
    session = components.sessions.session(source)
    if session is None:
        return [], {}
    summary = components.summarizer.summarize(session)
    redactor = components.redactor_of(source.session_id)
    return [redact_composed(redactor, summary)] if summary.text else [], {}


def _stored_summary(components: Components, source: Product) -> list[Summary]:
    """Return the stored summary of a retained session, redacted under the present rules and
    with all known secrets; an empty list if it has none."""
    key = (source.project, source.session_id)
    known = components.catalog.known_secrets.hashes()
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
    is_pure=lambda components: not is_endpoint(components.settings.summarizer),
)


def _observations(components: Components, source: Product) -> DerivedRows:
    """Return the observations of a session. An observation keeps its id and text when the session
    grows."""
    session = components.sessions.session(source)
    if session is None:
        return [], {}
    redactor = components.redactor_of(source.session_id)
    return [redact_composed(redactor, one) for one in observe(session)], {}


OBSERVED = DerivedTable(OBSERVATIONS, OBSERVER_ID, deferrable=True, make=_observations)


def _retrieved(components: Components, source: Product) -> DerivedRows:
    session = components.sessions.session(source)
    if session is None:
        return [], {}
    redactor = components.redactor_of(source.session_id)
    rows: list[RetrievedDocument] = []
    for retrieval in retrievals(session):
        texts = [
            redactor.redact(text, session_id=session.session_id).text
            for text in (retrieval.collection, *retrieval.documents)
        ]
        rows += [
            RetrievedDocument(
                id=f"retrieval::{session.session_id}::{len(rows) + rank}",
                turn_id=retrieval.turn.id,
                turn_index=retrieval.turn.turn_index,
                project=session.project,
                project_root=session.project_root,
                agent=session.agent,
                session_id=session.session_id,
                collection=texts[0],
                document=document,
                rank=rank,
                tool_name=retrieval.result.tool_name,
                timestamp=retrieval.result.timestamp,
            )
            for rank, document in enumerate(texts[1:])
        ]
    return [redact_composed(redactor, row) for row in rows], {}


RETRIEVED = DerivedTable(RETRIEVED_DOCUMENTS, "retrievals-1", deferrable=True, make=_retrieved)


_VERSION = f"usage-1+{PRICES_OF}"


def count_usage(components: Components, project: str) -> StageReport:
    """Make the rows of the sessions whose records, prices or version changed, and return the
    report, with the tokens of all sessions and what those with a price cost."""
    report = derive_table(components, project, COUNTED)
    facts = components.catalog.products.of_project(SESSION_USAGE.name, project).values()
    report.details["tokens"] = sum(product.facts.get("tokens", 0) for product in facts)
    dollars = sum(product.facts.get("dollars", 0.0) for product in facts)
    report.details["dollars"] = round(dollars, 2)
    return report


def _usage(components: Components, source: Product) -> DerivedRows:
    session = components.sessions.session(source)
    prices = with_prices(components.settings.model_prices)
    rows = [_usage_row(session, used, prices) for used in usage(session)] if session else []
    tokens = sum(
        row.input_tokens + row.output_tokens + row.cache_read_tokens + row.cache_write_tokens
        for row in rows
    )
    return rows, {"tokens": tokens, "dollars": sum(row.dollars or 0.0 for row in rows)}


def _usage_row(
    session: SessionTurns, used: ModelUsage, prices: Mapping[str, Price]
) -> SessionUsage:
    price, tokens = price_of(used.model, prices), used.tokens
    return SessionUsage(
        id=f"usage::{session.session_id}::{used.turn.turn_index}::{used.model}",
        turn_id=used.turn.id,
        turn_index=used.turn.turn_index,
        project=session.project,
        project_root=session.project_root,
        agent=session.agent,
        session_id=session.session_id,
        model=used.model,
        answers=used.answers,
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
        dollars=price.of(tokens) if price is not None else None,
        seconds=used.seconds,
        timestamp=used.began,
    )


def _version(components: Components) -> str:
    """Return the version of the code and of the list of prices."""
    prices = components.settings.model_prices
    if not prices:
        return _VERSION
    return f"{_VERSION}+{blake2b(','.join(prices).encode(), digest_size=4).hexdigest()}"


COUNTED = DerivedTable(SESSION_USAGE, _VERSION, chosen=_version, deferrable=True, make=_usage)
