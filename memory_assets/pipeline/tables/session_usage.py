"""The stage of session_usage: the tokens, the price and the time of each turn of each session."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

from memory_assets.models import SessionUsage
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.tables.derive import DerivedTable, Made, derive_table
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.usage import (
    PRICES_OF,
    ModelUsage,
    Price,
    price_of,
    usage,
    with_prices,
)
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import SESSION_USAGE

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


def _usage(components: Components, source: Product) -> Made:
    session = components.sessions.session(source)
    prices = with_prices(components.settings.model_prices)
    rows = [_row(session, used, prices) for used in usage(session)] if session else []
    tokens = sum(
        row.input_tokens + row.output_tokens + row.cache_read_tokens + row.cache_write_tokens
        for row in rows
    )
    return rows, {"tokens": tokens, "dollars": sum(row.dollars or 0.0 for row in rows)}


def _row(session: SessionTurns, used: ModelUsage, prices: Mapping[str, Price]) -> SessionUsage:
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
    given = components.settings.model_prices
    if not given:
        return _VERSION
    return f"{_VERSION}+{blake2b(','.join(given).encode(), digest_size=4).hexdigest()}"


COUNTED = DerivedTable(SESSION_USAGE, _VERSION, chosen=_version, deferrable=True, make=_usage)
