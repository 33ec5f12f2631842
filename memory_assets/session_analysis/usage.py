"""The tokens of a session's answers by turn and model, and their price.

The prices are those that Anthropic, OpenAI and Google list for their APIs, in dollars for a million
tokens, as of June 2026 (`PRICES_OF`). They leave out surcharges for long contexts and fast answers,
and what a subscription makes of them. A setting adds models, or replaces prices.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memory_assets.models import Tokens, Turn
from memory_assets.session_analysis.session import SessionTurns

PRICES_OF = "2026-06"
_HOUR = 2.0
"""A cache that is kept for an hour costs twice the input."""
_MILLION = 1_000_000
_VERSION = re.compile(r"(?<=\d)\.(?=\d)")
_DATED = re.compile(r"[-@]?20\d{6}.*$|-thinking.*$|:.*$|-latest$|-preview.*$|-v\d+$")


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens; `cache_write` None: 1.25 times the price of input."""

    input: float
    output: float
    cache_read: float
    cache_write: float | None = None

    def of(self, tokens: Tokens) -> float:
        """Return the price of an answer, in dollars."""
        write = self.input * 1.25 if self.cache_write is None else self.cache_write
        for_minutes = tokens.cache_write - tokens.cache_write_hour
        dollars = (
            tokens.input * self.input
            + tokens.output * self.output
            + tokens.cache_read * self.cache_read
            + for_minutes * write
            + tokens.cache_write_hour * self.input * _HOUR
        )
        return dollars / _MILLION


_OPUS = Price(5, 25, 0.5)
_OPUS_4 = Price(15, 75, 1.5)
_SONNET = Price(3, 15, 0.3)
_HAIKU = Price(1, 5, 0.1)
PRICES: Mapping[str, Price] = {
    **dict.fromkeys(("claude-opus-4-5", "claude-opus-4-6", "claude-opus-4-7"), _OPUS),
    "claude-opus-4-8": _OPUS,
    "claude-fable-5": Price(10, 50, 1),
    **dict.fromkeys(("claude-opus-4", "claude-opus-4-0", "claude-opus-4-1"), _OPUS_4),
    **dict.fromkeys(("claude-sonnet-4", "claude-sonnet-4-0", "claude-sonnet-4-5"), _SONNET),
    **dict.fromkeys(("claude-sonnet-4-6", "claude-3-7-sonnet", "claude-3-5-sonnet"), _SONNET),
    "claude-haiku-4-5": _HAIKU,
    "claude-3-5-haiku": Price(0.8, 4, 0.08),
    "claude-3-opus": _OPUS_4,
    "claude-3-haiku": Price(0.25, 1.25, 0.03),
    **dict.fromkeys(("gpt-5", "gpt-5-codex", "gpt-5-1", "gpt-5-1-codex"), Price(1.25, 10, 0.125)),
    **dict.fromkeys(("gpt-5-2", "gpt-5-2-codex", "gpt-5-3-codex"), Price(1.75, 14, 0.175)),
    "gpt-5-mini": Price(0.25, 2, 0.025),
    "gpt-5-4": Price(2.5, 15, 0.25),
    "gpt-5-4-mini": Price(0.75, 4.5, 0.075),
    "gpt-5-4-nano": Price(0.2, 1.25, 0.02),
    "gpt-5-5": Price(5, 30, 0.5),
    "gemini-2-5-pro": Price(1.25, 10, 0.125),
    "gemini-2-5-flash": Price(0.3, 2.5, 0.03),
}


def with_prices(pairs: tuple[str, ...]) -> Mapping[str, Price]:
    """Return the list of prices with those of the setting: `model=input/output/cache read`,
    optionally with `/cache write`.

    Raises:
        ValueError: a pair has another form.
    """
    prices = dict(PRICES)
    for pair in pairs:
        model, _, numbers = pair.partition("=")
        values = [float(number) for number in numbers.split("/")]
        if not model or len(values) not in (3, 4) or min(values) < 0:
            raise ValueError(pair)
        prices[_known_name(model)] = Price(*values)
    return prices


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of a model's tokens, or None. Dates and providers in names are ignored, and
    spellings of versions are unified."""
    return prices.get(_known_name(model))


def dollars_of(prices: Mapping[str, Price]) -> Callable[[str, int, int], float | None]:
    """Return a function that returns the price of tokens that a model read and wrote, or None."""

    def dollars(model: str, read: int, written: int) -> float | None:
        price = price_of(model, prices)
        return None if price is None else price.of(Tokens(read, written))

    return dollars


def _known_name(model: str) -> str:
    name = _VERSION.sub("-", model.strip().lower().rpartition("/")[2])
    name = name.removeprefix("anthropic.").removeprefix("us.anthropic.")
    return _DATED.sub("", name)


@dataclass(slots=True)
class ModelUsage:
    """The usage of one model in one turn. `seconds`, from the turn's first record to its last, are
    counted for the turn's first model only, so that sums are right."""

    turn: Turn
    model: str
    answers: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    seconds: float = 0.0
    began: datetime | None = None


def usage(session: SessionTurns) -> Iterator[ModelUsage]:
    """Yield the usage of each turn, in order; none for turns whose transcript has no token
    counts."""
    for turn in session.turns:
        by_model: dict[str, ModelUsage] = {}
        last_model = ""
        for record in turn.records:
            last_model = record.model or last_model
            if not any(record.tokens):
                continue
            model = record.model or last_model
            model_usage = by_model.setdefault(model, ModelUsage(turn, model))
            tokens = (*record.tokens, 0, 0, 0, 0, 0)
            model_usage.tokens = Tokens(*map(sum, zip(model_usage.tokens, tokens, strict=False)))
            model_usage.answers += 1
        times = [record.timestamp for record in turn.records if record.timestamp is not None]
        for model_usage in by_model.values():
            model_usage.began = min(times, default=None)
        if times and by_model:
            first = next(iter(by_model.values()))
            first.seconds = (max(times) - min(times)).total_seconds()
        yield from by_model.values()
