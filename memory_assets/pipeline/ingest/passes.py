"""The passes of an ingest over many projects: words first, then tables made of whole sessions, then
vectors.

A search needs words only, so every project is read, redacted and indexed by words before
anything is summarized or embedded, the newest sessions first. A step that fails ends its
project's pass; other projects go on, and the next plan finds the unfinished work.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby

from memory_assets.errors import safe_reason
from memory_assets.pipeline.checks.checks import Verified, checks_of
from memory_assets.pipeline.indexes.indexed_tables import INDEX_OF, SESSION_INDEXES
from memory_assets.pipeline.indexes.keywords import AGENT_KEYWORDS, WORKSPACE_KEYWORDS
from memory_assets.pipeline.indexes.keywords import STAGE as KEYWORD_INDEX
from memory_assets.pipeline.ingest.steps import (
    STEPS,
    Materialized,
    StepFailed,
    is_blocked,
    run_step,
)
from memory_assets.pipeline.scan.raw_sessions import STAGE as RAW_SESSIONS
from memory_assets.pipeline.scan.raw_sessions import newest_first, out_of_date, scan_project
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stages import SESSIONS, STAGES, TURNS, WORKSPACES
from memory_assets.stores.lake.schemas import (
    MEMORY_TRAIL,
    REDACTED_RECORDS,
    REDACTION_AUDIT,
    WORKSPACE_DOCUMENTS,
)
from memory_assets.transcripts import Source

_FIRST_BYTES = 1_000_000
"""Size of the newest transcripts, of any project, that are ingested first for a first answer."""
_PART_BYTES = 16_000_000
"""Size of a project's transcripts that are indexed by words before its next ones are read."""

Outcome = Materialized | Verified | StepFailed


@dataclass(frozen=True)
class Pass:
    """The assets that are made for all projects before those of the next pass."""

    name: str
    assets: tuple[str, ...]


def _tables(group: str) -> tuple[str, ...]:
    """Return the tables of a group without those of vectors."""
    return tuple(stage.table.name for stage in STAGES if stage.group == group and not stage.embeds)


WORDS = Pass(
    "words",
    (
        RAW_SESSIONS,
        REDACTED_RECORDS.name,
        REDACTION_AUDIT.name,
        *_tables(TURNS),
        KEYWORD_INDEX,
    ),
)
SUMMARIES = Pass("summaries", (*_tables(SESSIONS), KEYWORD_INDEX))
VECTORS = Pass(
    "vectors",
    (
        *(index.embeddings.name for index in SESSION_INDEXES),
        KEYWORD_INDEX,
        *(index.stage for index in SESSION_INDEXES),
    ),
)
PASSES = (WORDS, SUMMARIES, VECTORS)
"""The passes of projects."""
DOCUMENTS = Pass(
    "documents",
    (WORKSPACE_DOCUMENTS.name, *_tables(WORKSPACES), WORKSPACE_KEYWORDS),
)
DOCUMENT_VECTORS = Pass(
    "document vectors",
    (
        INDEX_OF["workspace"].embeddings.name,
        WORKSPACE_KEYWORDS,
        INDEX_OF["workspace"].stage,
    ),
)
"""The passes of workspaces: words first, too."""
_AGENT_INDEXES = tuple(INDEX_OF[kind] for kind in ("history", "memory", "history_summaries"))
WRITTEN = Pass(
    "agent memory",
    (
        *(index.table.name for index in _AGENT_INDEXES),
        MEMORY_TRAIL.name,
        AGENT_KEYWORDS,
        *(index.embeddings.name for index in _AGENT_INDEXES),
        AGENT_KEYWORDS,
        *(index.stage for index in _AGENT_INDEXES),
    ),
)
"""The pass of what agents wrote themselves."""


@dataclass(frozen=True)
class Task:
    """One pass of one project. `limit`: the most new or changed files to read, newest first;
    `failed`: its assets that failed in earlier passes; `walked`: its transcripts, if they have just
    been listed; `is_first`: it is for a first answer."""

    project: str
    assets: tuple[str, ...]
    limit: int | None = None
    failed: frozenset[str] = frozenset()
    walked: Sequence[Source] | None = None
    is_first: bool = False


@dataclass
class IngestBatch:
    """The projects of an ingest, in their order, the tasks of their first pass, and the assets that
    failed so far, by project."""

    projects: Sequence[str]
    words: Sequence[Task] = ()
    failed: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        components: Components,
        projects: Sequence[str],
        sources: Mapping[str, Sequence[Source]],
        limit: int | None = None,
    ) -> IngestBatch:
        """Return the batch of these projects, those with the newest transcripts first. Their first
        megabyte comes before all else, and large projects are ingested in parts. With a `limit` it
        has so many files of all projects; with 0, none."""
        changed: list[Source] = []
        for project in projects:
            rows = components.catalog.sources.rows(project)
            changed += out_of_date(rows, sources.get(project, ()))
        changed = newest_first(changed)
        newest = {source.project: source.mtime_ns for source in reversed(changed)}
        ordered = sorted(projects, key=lambda name: (-newest.get(name, 0), name))

        def task(project: str, most: int | None, *, is_first: bool = False) -> Task:
            walked = sources.get(project, ())
            return Task(project, WORDS.assets, most, walked=walked, is_first=is_first)

        if limit == 0:
            return cls(ordered, [task(name, 0) for name in ordered])
        first_files, *rest = _split_by_size(changed, _FIRST_BYTES) or [[]]
        if limit:
            first_files = changed[:limit]
        elif not rest:
            first_files = []  # all is small enough for one pass
        first = Counter(source.project for source in first_files)
        tasks = [task(name, most, is_first=True) for name, most in first.items()]
        if limit:
            return cls([name for name in ordered if name in first], tasks)
        remaining: defaultdict[str, list[Source]] = defaultdict(list)
        for source in changed[first.total() :]:
            remaining[source.project].append(source)
        for name in ordered:
            parts = _split_by_size(remaining[name], _PART_BYTES)[:-1]
            tasks += [task(name, most) for most in (*map(len, parts), None)]
        return cls(ordered, tasks)

    def note(self, outcome: Outcome) -> None:
        """Note a failure, so that nothing downstream of it is made."""
        if asset := failed_asset(outcome):
            self.failed.setdefault(outcome.project, set()).add(asset)

    def tasks(self, part: Pass) -> Sequence[Task]:
        """Return the tasks of a pass."""
        if part is WORDS:
            return self.words
        failed = {name: frozenset(assets) for name, assets in self.failed.items()}
        return [
            Task(project, part.assets, failed=failed.get(project, frozenset()))
            for project in self.projects
        ]


def _split_by_size(files: Sequence[Source], size: int) -> list[list[Source]]:
    """Split files, at ends of sessions, into parts of at least `size` bytes."""
    parts: list[list[Source]] = []
    left = 0
    for _, group in groupby(files, key=lambda file: (file.project, file.session_id)):
        session = list(group)
        if left <= 0:
            parts.append([])
            left = size
        parts[-1] += session
        left -= sum(file.size for file in session)
    return parts


def failed_asset(outcome: Outcome) -> str:
    """Return the asset that failed or has a failed blocking check, or ""."""
    if isinstance(outcome, StepFailed):
        return outcome.asset
    if isinstance(outcome, Verified) and outcome.failed:
        blocking = {check.name for check in checks_of(outcome.subject) if check.blocking}
        return outcome.subject if outcome.name in blocking else ""
    return ""


def run_task(components: Components, task: Task) -> Iterator[Outcome]:
    """Run a task in this process; yield the outcome of each step and check."""
    failed = set(task.failed)
    for asset in task.assets:
        if asset in failed or is_blocked(asset, failed):
            continue
        step = STEPS[asset]
        if asset == RAW_SESSIONS:
            step = replace(step, run=partial(scan_project, limit=task.limit, walked=task.walked))
        try:
            for outcome in run_step(components, task.project, step):
                failed.add(failed_asset(outcome))
                yield outcome
        except Exception as error:  # noqa: BLE001 - one project does not stop the others
            failed.add(asset)
            yield StepFailed(task.project, asset, safe_reason(error))
    components.sessions.forget()
    components.read_records.forget()
