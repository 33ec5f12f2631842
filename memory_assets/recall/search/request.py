"""What can be asked: a typed, validated search request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memory_assets.errors import ConfigurationError

KINDS = ("sessions", "prompts", "summaries", "observations")
MODES = ("hybrid", "semantic", "keyword")
MAX_HITS = 200
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(r"(\d{1,5})([hdw])")


@dataclass(frozen=True)
class SearchRequest:
    """One search. `since` and `until` bound the time of the turn (UTC, since inclusive);
    `tool` is a tool's name, `file` a path or the end of one. With `recent_days`, what is
    older is left out of the hits, but counted."""

    query: str
    kinds: tuple[str, ...] = ("sessions",)
    mode: str = "hybrid"
    project: str | None = None
    agent: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    tool: str | None = None
    file: str | None = None
    n: int = 10
    session: str | None = None
    recent_days: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be answered.

        Raises:
            ConfigurationError: a value is wrong; the message says what is right.
        """
        if not self.query.strip():
            raise ConfigurationError("the query is empty; say what you are looking for")
        unknown = sorted(set(self.kinds) - set(KINDS))
        if unknown or not self.kinds:
            raise ConfigurationError(
                f"cannot search in {', '.join(unknown) or 'nothing'}; "
                f"choose from {', '.join(KINDS)}"
            )
        if self.mode not in MODES:
            raise ConfigurationError(f"unknown mode {self.mode}; choose from {', '.join(MODES)}")
        if not 1 <= self.n <= MAX_HITS:
            raise ConfigurationError(f"ask for 1 to {MAX_HITS} hits, not {self.n}")
        if self.recent_days is not None and self.recent_days < 1:
            raise ConfigurationError(f"a window of {self.recent_days} days is none; give 1 or more")
        if self.tool and self.kinds != ("sessions",):
            raise ConfigurationError("--tool filters sessions only")
        if self.file and self.kinds not in (("sessions",), ("observations",)):
            raise ConfigurationError("--file filters sessions only, or observations only")


def parse_kinds(name: str) -> tuple[str, ...]:
    """Return the kinds that `--in NAME` stands for."""
    return KINDS if name == "all" else (name,)


def parse_time(text: str, now: datetime | None = None) -> datetime:
    """Return the moment that `7d`, `12h`, `2w` (ago), or an ISO date or time, means, in UTC.

    Raises:
        ConfigurationError: it is none of these.
    """
    ago = _AGO.fullmatch(text.strip())
    if ago:
        span = timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        return (now or datetime.now(UTC)) - span
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ConfigurationError(
            f"{text!r} is not a time; write 7d, 12h, 2w, 2026-11-01 or 2026-11-01T09:30"
        ) from None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def all_of(conditions: Sequence[dict[str, object]]) -> dict[str, object] | None:
    """Return the Chroma filter that holds when all conditions do; None for none."""
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else {"$and": list(conditions)}
