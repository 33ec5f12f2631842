"""Arguments of a search, with their limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from memory_assets.errors import BadArgument, ConfigurationError
from memory_assets.paths import KNOWN_AGENTS
from memory_assets.requests.arguments import Arguments, argument, one_of
from memory_assets.requests.times import AGO, parse_time
from memory_assets.search_kinds import SEARCH_KINDS

Mode = Literal["hybrid", "semantic", "keyword"]
ObservationType = Literal["bugfix", "feature", "refactor", "change", "decision", "discovery"]
KINDS = tuple(SEARCH_KINDS)
MODES: tuple[str, ...] = get_args(Mode)
MAX_HITS = 200
_KIND_NAMES = (*KINDS, "all")


def parse_kinds(name: str | Sequence[str]) -> tuple[str, ...]:
    """Return the kinds for one or several names; `all` means every kind.

    Raises:
        ConfigurationError: there is none, or one is not known.
    """
    names = tuple([name] if isinstance(name, str) else name)
    unknown = [each for each in names if each not in _KIND_NAMES]
    if unknown or not names:
        raise BadArgument(
            f"cannot search in {', '.join(map(str, unknown)) or 'nothing'}; "
            f"choose from {', '.join(_KIND_NAMES)}"
        )
    return KINDS if "all" in names else names


@dataclass(frozen=True)
class SearchRequest(Arguments):
    """One search. `since` and `until` bound the time of the turn (UTC, since inclusive). `concept`
    and `type` are filters for observations. With `recent`, hits older than the setting RECENT_DAYS
    are counted, not listed."""

    query: str = argument(
        "",
        "A question or keywords.",
        names={"http": "q", "cli": "query"},
        max_length=2_000,
    )
    kinds: tuple[str, ...] = argument(
        ("sessions",),
        "What to search.",
        wire=one_of(_KIND_NAMES),
        reads=parse_kinds,
        names={"http": "in", "mcp": "kind", "cli": "--in"},
    )
    mode: Mode = argument("hybrid", "What to match: words and meaning, meaning, or words.")
    project: str | None = argument(None, "Only this project.", max_length=1_000)
    agent: str | None = argument(None, "Only this agent.", wire=one_of(KNOWN_AGENTS) | None)
    session: str | None = argument(
        None, "Only this session: its id, or the beginning of it.", max_length=500
    )
    since: datetime | None = argument(
        None,
        "Not older than this: 7d, 12h, 2w or a date.",
        hint="7d, 12h, 2w ago or ISO date",
        wire=str,
        reads=parse_time,
        max_length=40,
        pattern=AGO,
    )
    until: datetime | None = argument(
        None,
        "Older than this: 7d, 12h, 2w or a date.",
        wire=str,
        reads=parse_time,
        max_length=40,
        pattern=AGO,
    )
    tool: str | None = argument(
        None, "Only turns that called this tool.", hint="tool called", max_length=1_000
    )
    file: str | None = argument(
        None,
        "Only turns and observations that touched this path.",
        hint="path touched, or its end",
        max_length=1_000,
    )
    concept: str | None = argument(None, "Only observations with this concept.", max_length=500)
    type: ObservationType | None = argument(None, "Only observations of this type.")
    n: int = argument(10, "Number of hits.", names={"cli": "-n"}, ge=1, le=MAX_HITS)
    recent: bool = argument(False, "Only recent hits (MEMORY_RECENT_DAYS); older ones are counted.")
    fallback: bool = argument(
        True, "Whether keywords alone may answer if Chroma cannot be reached.", names={"mcp": None}
    )

    @property
    def selects_observations(self) -> bool:
        """True if observations are only filtered, which reads the lake; ranking them by a query
        uses the indexes."""
        if self.type or self.concept:
            return True
        return self.kinds == ("observations",) and bool(self.file or not self.query.strip())

    @property
    def words(self) -> str:
        """The query, or what it is about where there are filters alone."""
        return self.query if self.query.strip() else self.file or self.tool or ""

    def check_together(self) -> None:
        """Raise for filters that the kind does not have, and for a search without query and
        filters.

        Raises:
            ConfigurationError: says what would make sense.
        """
        if self.selects_observations:
            if self.tool:
                raise ConfigurationError("observations cannot be filtered by tool")
            if self.mode == "keyword":
                raise ConfigurationError(
                    "observations are found by filters and by meaning, not by keywords"
                )
        elif self.tool and self.kinds != ("sessions",):
            raise ConfigurationError("--tool filters sessions only")
        elif self.file and self.kinds != ("sessions",):
            raise ConfigurationError("--file filters sessions only, or observations only")
        elif not self.words.strip():
            raise ConfigurationError("the query is empty; say what you are looking for")
