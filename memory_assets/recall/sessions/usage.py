"""What sessions used: tokens, their price, and time, of one session or by model, project or day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from memory_assets.recall.names import listed_projects, short_id
from memory_assets.recall.rows import rows_of
from memory_assets.requests.questions import UsageGroup, UsageRequest
from memory_assets.requests.times import is_within
from memory_assets.session_analysis.usage import PRICES_OF
from memory_assets.stores.catalog.session_counts import counted_sessions
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import SESSION_USAGE

if TYPE_CHECKING:
    from memory_assets.recall.searchable import Searchable

_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_SUMMED_COLUMNS = (*_TOKENS, "answers", "seconds")
_COLUMNS = [
    *("session_id", "project", "project_root", "agent", "model", "dollars", "timestamp"),
    *_SUMMED_COLUMNS,
]


def session_usage(lake: Lake, project: str, session_id: str) -> dict[str, Any]:
    """Return what a session took, as in an entry of `usage`; zeros where its transcript does not
    say."""
    return _sum(rows_of(lake, SESSION_USAGE, project, session_id))


def usage_by_turn(lake: Lake, project: str, session_id: str) -> dict[int, dict[str, Any]]:
    """Return what each turn of a session took, as in an entry of `usage`."""
    turns: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows_of(lake, SESSION_USAGE, project, session_id):
        turns.setdefault(row["turn_index"], []).append(row)
    return {index: _sum(rows) for index, rows in turns.items()}


def usage(memory: Searchable, request: UsageRequest) -> dict[str, Any]:
    """Return what the turns that pass the filters took, `by` what is asked for; see `usages`."""
    return usages(memory, request, [request.by])[0]


def usages(
    memory: Searchable,
    request: UsageRequest,
    groupings: Sequence[UsageGroup],
    titled: int | None = None,
) -> list[dict[str, Any]]:
    """Return what the turns that pass the filters took, from one reading of the table, for each
    grouping as the JSON of `memory usage`: the whole, and `by` model, project, agent, session or
    local day, the most expensive first, days in order. Of sessions the first `titled`, or all, have
    their titles. `without_usage` has the number of sessions that do not say it; 0 if an agent or
    time is asked for.

    Raises:
        ConfigurationError, UnknownName: the project is not known, or not unique.
    """
    projects = memory.projects_with_worktrees(request.project)
    rows = [row for row in _rows(memory, projects) if _matches(row, request)]
    total = _sum(rows)
    session_count = total["sessions"]
    if not (request.agent or request.since or request.until):
        session_count = len(counted_sessions(memory.catalog, projects))
    return [
        {
            "project": listed_projects(projects),
            "by": by,
            "prices_of": PRICES_OF,
            **total,
            "without_usage": session_count - total["sessions"],
            "groups": groups
            if by != "session"
            else [*_with_titles(memory, groups[:titled]), *groups[len(groups[:titled]) :]],
        }
        for by in groupings
        for groups in [_sum_groups(rows, by)]
    ]


def _with_titles(memory: Searchable, groups: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    titles = memory.titles([(group["project"], group["name"]) for group in groups])
    return [
        {**group, "short_id": short_id(memory, name), "title": titles.get(name, "")}
        for group in groups
        for name in [group["name"]]
    ]


def usage_over_time(memory: Searchable, request: UsageRequest) -> dict[str, Any]:
    """Return what the sessions of all projects took in the time that is asked for, from one reading
    of the table: the entries of `usage` by model and by project (`models`, `projects`), and by
    local Monday the tokens of each model and the dollars of each project, the one with most first
    (`tokens_by_week`, `dollars_by_week`)."""
    rows = [row for row in _rows(memory, None) if _matches(row, request)]
    tokens: dict[str, Counter[date]] = {}
    dollars: dict[str, Counter[date]] = {}
    for row in rows:
        time: datetime | None = row["timestamp"]
        if time is None:
            continue
        day = time.astimezone().date()
        week = day - timedelta(days=day.weekday())
        tokens.setdefault(row["model"], Counter())[week] += sum(row[name] for name in _TOKENS)
        dollars.setdefault(row["project"], Counter())[week] += row["dollars"] or 0
    return {
        "models": _sum_groups(rows, "model"),
        "projects": _sum_groups(rows, "project"),
        "tokens_by_week": _largest_first(tokens),
        "dollars_by_week": _largest_first(dollars),
    }


def _largest_first(counts: Mapping[str, Counter[date]]) -> dict[str, Counter[date]]:
    return dict(sorted(counts.items(), key=lambda pair: -pair[1].total()))


def _sum_groups(rows: Iterable[Mapping[str, Any]], by: str) -> list[dict[str, Any]]:
    """Return the sums of each group, the most expensive first, days in order."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(_group_name(row, by), []).append(row)
    entries = [{"name": name, **_sum(of), **_project_of(of[0], by)} for name, of in groups.items()]
    if by == "day":
        entries.sort(key=lambda entry: str(entry["name"]))
    else:
        entries.sort(key=lambda entry: (-entry["dollars"], -entry["tokens"], entry["name"]))
    return entries


def _rows(memory: Searchable, projects: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    for name in projects or memory.lake.projects(SESSION_USAGE):
        yield from memory.lake.unordered(SESSION_USAGE, name, _COLUMNS)


def _matches(row: Mapping[str, Any], request: UsageRequest) -> bool:
    is_agents = request.agent in (None, row["agent"])
    return is_agents and is_within(row["timestamp"], request.since, request.until)


def _group_name(row: Mapping[str, Any], by: str) -> str:
    if by == "day":
        time: datetime | None = row["timestamp"]
        return time.astimezone().date().isoformat() if time is not None else ""
    return str(row["session_id" if by == "session" else by])


def _project_of(row: Mapping[str, Any], by: str) -> dict[str, Any]:
    """Return the columns that name the project of a group; none for groups by other columns."""
    if by not in ("project", "session"):
        return {}
    return {"project": row["project"], "project_root": row["project_root"]}


def _sum(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sums of rows; `unpriced` has the tokens of models without a price by model."""
    rows = list(rows)
    sums = {name: sum(row[name] for row in rows) for name in _SUMMED_COLUMNS}
    dollars = sum(row["dollars"] or 0.0 for row in rows)
    unpriced: Counter[str] = Counter()
    for row in rows:
        if row["dollars"] is None:
            unpriced[row["model"]] += sum(row[name] for name in _TOKENS)
    return {
        "sessions": len({(row["project"], row["session_id"]) for row in rows}),
        "tokens": sum(sums[name] for name in _TOKENS),
        **{name: sums[name] for name in _SUMMED_COLUMNS},
        "seconds": round(sums["seconds"], 1),
        "dollars": round(dollars, 4),
        "unpriced": dict(unpriced.most_common()),
    }
