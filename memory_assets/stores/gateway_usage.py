"""Requests to models at endpoints, one row each: tokens, time and cost; no text."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memory_assets.errors import StoreError
from memory_assets.stores.files.sqlite import SqliteStore, open_shared

if TYPE_CHECKING:
    from memory_assets.http.endpoint_use import EndpointUse

FILE_NAME = "gateway_usage.db"
"""Where in the data directory the table is."""
Consumer = Literal["ingest", "search", "doctor"]
Price = Callable[[str, int, int], float | None]
"""Returns the dollars for tokens that a model read and wrote, None where it has no price."""
_REMEDY = "Move it away: `memory costs` then begins anew."
_SCHEMA = """
CREATE TABLE IF NOT EXISTS gateway_usage (
    ts REAL NOT NULL, run_id TEXT NOT NULL, route TEXT NOT NULL, consumer TEXT NOT NULL,
    provider TEXT NOT NULL, model TEXT NOT NULL, input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, latency_ms INTEGER NOT NULL, cost_usd REAL,
    status INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS usage_by_time ON gateway_usage (ts);
"""


@dataclass(frozen=True)
class Spent:
    """The requests of one consumer to one model at one provider; `failed` counts those without a
    successful answer. `cost_usd` sums the costs that endpoints state and, for other requests, the
    price of their tokens; None if neither is known."""

    consumer: str
    route: str
    provider: str
    model: str
    requests: int
    failed: int
    input_tokens: int
    output_tokens: int
    mean_latency_ms: int
    cost_usd: float | None


class GatewayUsage(SqliteStore):
    """The requests to endpoints of one data directory. Processes may share it.

    Raises:
        StoreBusy, StoreError: the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        connection = open_shared(path, _SCHEMA, _REMEDY)
        super().__init__(path, connection, _REMEDY)

    def note(self, use: EndpointUse, *, consumer: Consumer, run_id: str = "") -> None:
        """Note a request."""
        self.put("gateway_usage", **asdict(use), run_id=run_id, consumer=consumer)

    def spent(self, since: float, price: Price = lambda *_: None) -> list[Spent]:
        """Return the requests since a moment (Unix seconds), grouped, the most requests first."""
        rows = self.rows(
            "SELECT consumer, route, provider, model, COUNT(*), SUM(status != 200),"
            " SUM(input_tokens), SUM(output_tokens), CAST(AVG(latency_ms) AS INTEGER),"
            " SUM(cost_usd), SUM(input_tokens * (cost_usd IS NULL)),"
            " SUM(output_tokens * (cost_usd IS NULL)) FROM gateway_usage WHERE ts >= ?"
            " GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 2, 3, 4",
            since,
        )
        spending: list[Spent] = []
        for *shown, cost, read, written in rows:
            priced = price(shown[3], read, written) if read or written else None
            values = (*shown, cost if priced is None else (cost or 0.0) + priced)
            spending.append(Spent(*values))
        return spending


def spent_since(path: Path, since: float, price: Price = lambda *_: None) -> list[Spent]:
    """Return the requests since a moment (Unix seconds), grouped, the most requests first; [] if
    there is no file. `price` applies where the endpoint states no cost."""
    if not path.exists():
        return []
    with closing(GatewayUsage(path)) as usage:
        return usage.spent(since, price)


def tokens_since(path: Path, since: float, route: str) -> int:
    """Return the tokens of the requests of a route since a moment (Unix seconds)."""
    return sum(
        usage.input_tokens + usage.output_tokens
        for usage in spent_since(path, since)
        if usage.route == route
    )


def request_noter(
    path: Path, consumer: Consumer, run_id: str = ""
) -> Callable[[EndpointUse], None]:
    """Return a function that notes a request in the file `path`, opened by the first call. Errors
    of the file are ignored, because the request itself succeeded."""
    opened: list[GatewayUsage] = []

    def note(use: EndpointUse) -> None:
        try:
            if not opened:
                opened.append(GatewayUsage(path))
            opened[0].note(use, consumer=consumer, run_id=run_id)
        except StoreError:
            return

    return note
