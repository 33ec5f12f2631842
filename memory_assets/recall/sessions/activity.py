"""The activity of each project: turns by day, sessions by week, agents, files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from memory_assets.recall.rows import goes_on_within
from memory_assets.recall.search.corpus import Corpus
from memory_assets.stores.lake.schemas import SESSION_SUMMARIES

if TYPE_CHECKING:
    from memory_assets.recall.searchable import Searchable


@dataclass
class ProjectActivity:
    """A project: its `root` directory ("" if unknown), sessions by agent, and by local day, and by
    weekday (0: Monday) and hour, the turns that were begun, by Monday the sessions. What has no
    time, or is hidden, is in no day."""

    project: str
    root: str = ""
    sessions: int = 0
    turns: int = 0
    agents: Counter[str] = field(default_factory=Counter)
    turns_by_day: Counter[date] = field(default_factory=Counter)
    turns_by_hour: Counter[tuple[int, int]] = field(default_factory=Counter)
    sessions_by_week: Counter[date] = field(default_factory=Counter)

    @property
    def last_day(self) -> date:
        """The last day of which something is known; the first of all days if there is none."""
        return max(self.turns_by_day, default=date.min)

    @property
    def first_day(self) -> date:
        """The first day of which something is known; the last of all days if there is none."""
        return min(self.turns_by_day, default=date.max)


def activity(
    memory: Searchable,
    project: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[ProjectActivity]:
    """Return the projects that have turns, or one of them, the one with the newest turn first;
    days, hours and weeks of what was begun from `since` on and before `until`.

    Raises:
        NotFound: there is no keyword index, from which times are read.
    """
    corpus = memory.searcher.corpus("sessions")
    roots, hidden = memory.catalog.sources.project_roots(), memory.hidden.all()
    first, end = since.timestamp() if since else 0, until.timestamp() if until else math.inf
    activities: dict[str, ProjectActivity] = {}
    for number, times in _times_of_sessions(corpus, corpus.scope(project)):
        key = corpus.sessions[number]
        root = roots.get(key.project, "")
        counts = activities.setdefault(key.project, ProjectActivity(key.project, root))
        counts.sessions += 1
        counts.turns += len(times)
        counts.agents[key.agent] += 1
        is_hidden = (key.project, key.session_id) in hidden
        timed = [
            datetime.fromtimestamp(seconds)  # local, as shown
            for seconds in times
            if seconds and first <= seconds < end and not is_hidden
        ]
        counts.turns_by_day.update(time.date() for time in timed)
        counts.turns_by_hour.update((time.weekday(), time.hour) for time in timed)
        if timed:
            day = min(timed).date()
            counts.sessions_by_week[day - timedelta(days=day.weekday())] += 1
    return sorted(
        activities.values(), key=lambda entry: (entry.last_day, entry.project), reverse=True
    )


def changed_files(
    memory: Searchable,
    project: str,
    most: int,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[tuple[str, int]]:
    """Return the files that most sessions of a project changed, with the number of sessions, of
    those that were going on between `since` and `until`."""
    columns = ["files_modified", "started_at", "ended_at"]
    rows = memory.lake.read_partition(SESSION_SUMMARIES, project, columns).to_pylist()
    going_on = (row for row in rows if goes_on_within(row, since, until))
    counts = Counter(path for row in going_on for path in set(row["files_modified"]))
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:most]


def most_changed_files(
    memory: Searchable, most: int, since: datetime | None = None, until: datetime | None = None
) -> list[tuple[str, str, int]]:
    """Return project, path and number of sessions of the files that most sessions changed, of those
    that were going on between `since` and `until`."""
    changes = [
        (project, path, count)
        for project in memory.lake.projects(SESSION_SUMMARIES)
        for path, count in changed_files(memory, project, most, since, until)
    ]
    return sorted(changes, key=lambda change: (-change[2], change[:2]))[:most]


def _times_of_sessions(corpus: Corpus, scope: slice) -> Iterator[tuple[int, list[float]]]:
    """Yield the number of each session that has turns in `scope`, with their times in seconds since
    1970, 0 for those without one."""
    times: dict[int, list[float]] = {}
    pairs = zip(corpus.session[scope].tolist(), corpus.ts_epoch[scope].tolist(), strict=True)
    for number, seconds in pairs:
        times.setdefault(number, []).append(seconds)
    yield from times.items()
