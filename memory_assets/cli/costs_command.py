"""`memory costs`: what was asked of endpoints of models, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

import click

from memory_assets.cli.commands import JSON, command
from memory_assets.cli.printing import rendering
from memory_assets.errors import BadTime
from memory_assets.requests.times import parse_time, spoken_time
from memory_assets.settings import load_settings
from memory_assets.status.words import counted

if TYPE_CHECKING:
    from memory_assets.stores.gateway_usage import Spent


@command()
@click.option(
    "--since",
    default="7d",
    show_default=True,
    help="From this on: 7d, 12h, 2w, yesterday or a date; local time.",
)
@JSON
def costs(since: str, json: bool) -> None:
    """Show what models at endpoints cost.

    One line for each model and for who asked it: requests, tokens, time, and the cost that the
    endpoint says, as LiteLLM does, else that of the tokens (MEMORY_MODEL_PRICES). Empty unless
    MEMORY_EMBEDDER or MEMORY_SUMMARIZER names an endpoint.
    """
    from memory_assets.session_analysis.usage import dollars_of, with_prices
    from memory_assets.stores.gateway_usage import FILE_NAME, spent_since

    try:
        moment = parse_time(since)
    except BadTime as error:
        raise error.named("--since") from None
    settings = load_settings()
    priced = dollars_of(with_prices(settings.model_prices))
    spent = spent_since(settings.data_dir / FILE_NAME, moment.timestamp(), priced)
    answer = {"since": moment.isoformat(), "usage": [asdict(usage) for usage in spent]}
    rendering.print_answer(answer, json, _lines(spent, moment))


def _lines(spent: Sequence[Spent], since: datetime) -> Iterator[str]:
    if not spent:
        yield f"Nothing was asked of an endpoint since {spoken_time(since)}."
    for usage in spent:
        failed = f" ({usage.failed} failed)" if usage.failed else ""
        cost = "cost unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
        yield (
            f"{usage.consumer}: {usage.model} at {usage.provider}: "
            f"{counted(usage.requests, 'request')}{failed}, "
            f"{counted(usage.input_tokens + usage.output_tokens, 'token')}, "
            f"{usage.mean_latency_ms} ms each, {cost}"
        )
