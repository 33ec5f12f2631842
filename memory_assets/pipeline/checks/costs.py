"""What models at endpoints were asked lately, and what it cost: the metadata of gateway_costs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.gateway_usage import FILE_NAME, Spent, spent_since

_COLUMNS = "| asked by | route | model | at | requests | failed | tokens in | out | ms each | USD |"


def cost_figures(components: Components, days: int) -> tuple[dict[str, str | int | float], str]:
    """Return sums over the last days, and a table in Markdown by route and model."""
    since = components.clock() - days * 86_400
    spent = spent_since(components.data_dir / FILE_NAME, since)
    figures: dict[str, str | int | float] = {
        "since": datetime.fromtimestamp(since, UTC).isoformat(timespec="seconds"),
        "requests": sum(each.requests for each in spent),
        "failed": sum(each.failed for each in spent),
        "tokens": sum(each.input_tokens + each.output_tokens for each in spent),
        "cost_usd": float(sum(each.cost_usd for each in spent if each.cost_usd is not None)),
        "cost_unknown_of": ", ".join(each.model for each in spent if each.cost_usd is None),
    }
    return figures, _as_markdown(spent)


def _as_markdown(spent: Sequence[Spent]) -> str:
    """Return a table of what was asked; "unknown" where no endpoint said what it cost."""
    if not spent:
        return "Nothing was asked of an endpoint."
    rows = [
        (
            each.consumer,
            each.route,
            each.model.replace("|", "\\|"),
            each.provider,
            f"{each.requests:,}",
            f"{each.failed:,}",
            f"{each.input_tokens:,}",
            f"{each.output_tokens:,}",
            f"{each.mean_latency_ms:,}",
            "unknown" if each.cost_usd is None else f"{each.cost_usd:.4f}",
        )
        for each in spent
    ]
    ruler = "|" + " --- |" * 4 + " ---: |" * 6
    return "\n".join([_COLUMNS, ruler, *(f"| {' | '.join(row)} |" for row in rows)])
