"""What models at endpoints cost as an asset: every week, the figures of `memory costs`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import dagster as dg

from memory_assets.dagster.assets.maintenance import gateway_costs
from memory_assets.dagster.jobs import costs_schedule
from memory_assets.dagster.resources import MemoryResource
from memory_assets.http.endpoint_use import EndpointUse
from memory_assets.settings import load_settings
from memory_assets.stores.gateway_usage import FILE_NAME, GatewayUsage


def test_the_report_has_the_week_by_route_and_model(tmp_path: Path) -> None:
    """Sums, and a table in which a cost that nobody said is unknown. The schedule skips until a
    model was asked."""
    settings = load_settings(data_dir=tmp_path)

    def tick() -> object:
        return costs_schedule(dg.build_schedule_context(), memory=MemoryResource(settings))

    assert isinstance(tick(), dg.SkipReason)
    usage, now = GatewayUsage(tmp_path / FILE_NAME), time.time()

    def note(days_ago: float, route: str, model: str, cost: float | None, status: int) -> None:
        use = EndpointUse(
            route, now - days_ago * 86_400, "host", model, 1_000, 50, 20, cost, status
        )
        usage.note(use, consumer="ingest")

    note(8, "embeddings", "small", 9.0, 200)
    note(6, "embeddings", "small", 0.25, 200)
    note(1, "embeddings", "small", None, 429)
    note(1, "chat/completions", "a|b", None, 200)
    usage.close()
    assert isinstance(tick(), dg.RunRequest)
    made = gateway_costs(MemoryResource(settings))
    assert isinstance(made, dg.MaterializeResult)
    figures: dict[str, Any] = dict(made.metadata or {})
    assert (figures["requests"], figures["failed"], figures["tokens"]) == (3, 1, 3_150)
    assert (figures["cost_usd"], figures["cost_unknown_of"]) == (0.25, "a|b")
    assert figures["by_route_and_model"].value.splitlines()[2:] == [
        "| ingest | embeddings | small | host | 2 | 1 | 2,000 | 100 | 20 | 0.2500 |",
        "| ingest | chat/completions | a\\|b | host | 1 | 0 | 1,000 | 50 | 20 | unknown |",
    ]
