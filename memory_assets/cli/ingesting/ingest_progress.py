"""How far an ingest is, in one line of words: what is read, summarized or embedded, and how long
that still takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console

from memory_assets.pipeline.ingest.batch_run import Listener, ignore
from memory_assets.pipeline.ingest.passes import PASSES, SUMMARIES, VECTORS, WORDS, Outcome, Pass
from memory_assets.pipeline.ingest.steps import Materialized
from memory_assets.pipeline.scan.raw_sessions import STAGE as RAW_SESSIONS
from memory_assets.pipeline.stage.components import Components, Progress
from memory_assets.pipeline.stages import STAGES
from memory_assets.pipeline.tables.derive import expected_input
from memory_assets.stores.lake.schemas import REDACTED_RECORDS
from memory_assets.transcripts import Source

_LEAST_SECONDS = 3.0
_LEAST_SHARE = 0.03
"""From so long after the first session of a pass, and from such a share of it on, it is said how
long it still takes: what comes before that session, as compiling rules, is done once."""
_MINUTE = 60
_STEP_SECONDS = 5


class IngestProgress:
    """Hears of the sessions (`advance`) and steps (`note`) of an ingest of some projects; as a
    string, it says how far it is. `sources` are their transcripts, `clock` returns seconds."""

    _part: Pass
    _since: float
    """When the first session of the pass had been done, 0 before."""
    _shares: dict[tuple[str, str], float]
    _weights: dict[tuple[str, str], int]
    """By project and table: what there is to do, and how much of it is done."""

    def __init__(
        self,
        components: Components,
        sources: Mapping[str, Sequence[Source]],
        projects: Sequence[str],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._components, self._projects, self._clock = components, projects, clock
        self._read = {
            name: sum(row.size for row in components.catalog.sources.rows(name))
            for name in projects
        }
        self._new = sum(
            max(sum(file.size for file in sources.get(name, ())) - self._read[name], 0)
            for name in projects
        )
        self._taken_in = dict.fromkeys(projects, 0)
        self._begin(WORDS)

    def advance(self, project: str, table: str, number: int, count: int) -> None:
        """Note that a session of a table is begun, the one after `number` of `count`."""
        if (project, table) in self._weights:
            self._shares[project, table] = number / count
            self._since = self._since or (self._clock() if number else 0.0)

    def note(self, event: Outcome | Pass) -> None:
        """Note what came of a step, or that a pass has ended."""
        if event in PASSES[:-1]:
            self._begin(PASSES[PASSES.index(event) + 1])
        if not isinstance(event, Materialized):
            return
        place = event.project, event.asset
        if event.asset == RAW_SESSIONS and self._new:  # once for each part of a large project
            records = event.project, REDACTED_RECORDS.name
            self._taken_in[event.project] += round(self._done(records))
            new = event.report.bytes - self._read[event.project]
            self._weights[records] = max(new - self._taken_in[event.project], 0)
            self._shares[records] = 0.0
        elif place in self._weights:
            self._shares[place] = 1.0

    def __str__(self) -> str:
        """Say how far it is, in words."""
        done = sum(map(self._done, self._weights))
        if self._part is WORDS:
            done += sum(self._taken_in.values())
            share = min(done / self._total, 1.0) if self._total else 0.0
            template = f"Reading {_size(self._new)}" if self._new else "Reading again"
            remaining = self._left(share)
            return f"{template}: {share:.0%}" + (
                f", searchable by words in {remaining}" if remaining else ""
            )
        if not self._total:
            return "Finishing; searches work"
        template = "Summaries: {:,} of {:,} sessions"
        tables = len({table for _, table in self._weights}) or 1
        if self._part is VECTORS:
            template, tables = "Meaning: {:,} of {:,} passages", 1
        remaining = self._left(done / self._total)
        line = template.format(round(done / tables), round(self._total / tables))
        return f"{line}{f', {remaining} left' if remaining else ''}; searches work"

    def _begin(self, part: Pass) -> None:
        self._part, self._since = part, 0.0
        self._shares = {}
        of_pass = {SUMMARIES: self._sessions, VECTORS: self._passages, WORDS: self._bytes}[part]
        self._weights = {
            (project, table): weight
            for project in self._projects
            for table, weight in of_pass(project).items()
        }
        self._total = self._new if part is WORDS and self._new else sum(self._weights.values())

    def _bytes(self, project: str) -> dict[str, int]:
        return {REDACTED_RECORDS.name: 0 if self._new else self._read[project]}

    def _sessions(self, project: str) -> dict[str, int]:
        products = self._components.catalog.products
        count = len(products.hashes(REDACTED_RECORDS.name, project))
        tables = (stage.table.name for stage in STAGES if stage.table.name in SUMMARIES.assets)
        return dict.fromkeys(tables, count)

    def _passages(self, project: str) -> dict[str, int]:
        """Return how many rows have no vector yet, by the table of the vectors."""
        products, due = self._components.catalog.products, dict[str, int]()
        for stage in STAGES:
            name, derived = stage.table.name, stage.derived
            if stage.embeds and name in VECTORS.assets and self._components.embeds:
                stored, version = products.hashes(name, project), derived.version(self._components)
                due[name] = sum(
                    source.rows
                    for source in products.of_project(derived.upstream.name, project).values()
                    if stored.get(source.session_id, ("",))[0]
                    != expected_input(source.output_hash, version)
                )
        return due

    def _done(self, place: tuple[str, str]) -> float:
        return self._weights[place] * self._shares.get(place, 0.0)

    def _left(self, share: float) -> str:
        """Return how long a pass still takes, "" as long as nobody can say."""
        seconds = self._clock() - self._since
        if not self._since or share < _LEAST_SHARE or seconds < _LEAST_SECONDS:
            return ""
        left = seconds / share - seconds
        if left > _MINUTE:
            return f"about {left / _MINUTE:.0f} min"
        return f"about {max(round(left / _STEP_SECONDS), 1) * _STEP_SECONDS} s"


def _size(size: int) -> str:
    return f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{max(size / 1e3, 1):.0f} kB"


@contextmanager
def progress_line(
    components: Components,
    sources: Mapping[str, Sequence[Source]],
    projects: Sequence[str],
    console: Console,
) -> Iterator[tuple[Listener, Progress | None]]:
    """Yield what hears of the steps and of the sessions of an ingest while a block lasts; a
    terminal shows in its last line how far it is."""
    if not console.is_terminal:
        yield ignore, None
        return
    from rich.live import Live
    from rich.text import Text

    progress = IngestProgress(components, sources, projects)

    def line() -> Text:
        return Text(str(progress), no_wrap=True, overflow="ellipsis")

    with Live(get_renderable=line, console=console, transient=True, refresh_per_second=4):
        yield progress.note, progress.advance
