"""projects_directory_sensor: new projects become partitions, changed ones get a run."""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import dagster as dg

from memory_assets.jobs import ingest_project
from memory_assets.partitions import is_valid_key, new_keys, projects
from memory_assets.pipeline.plan import ProjectPlan, plan
from memory_assets.pipeline.scan import find_sources
from memory_assets.resources import MemoryResource

_MAX_ATTEMPTS = 5
_RETRY_SECONDS = 120.0
"""Wait before work that was requested and is still undone is requested again; doubled
each time. A run key counts for ever, even after a failure (dagster#15982)."""


@dataclass
class _Requested:
    """What was last requested for a project: the work, how often, and when."""

    fingerprint: str
    attempt: int
    at: float

    def is_due(self, work: ProjectPlan, now: float) -> bool:
        if self.fingerprint != work.fingerprint:
            return True
        wait = _RETRY_SECONDS * 2 ** (self.attempt - 1)
        return self.attempt < _MAX_ATTEMPTS and now - self.at >= wait


@dg.sensor(
    job=ingest_project,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
def projects_directory_sensor(
    context: dg.SensorEvaluationContext, memory: MemoryResource
) -> dg.SensorResult | dg.SkipReason:
    """Watch the agents' directories; ask for a run of each project that has work to do.

    A tick costs a stat a file. It asks for a bounded number of runs, least recently
    requested first, and the next tick goes on. A vanished file only gets noted.
    """
    settings = memory.settings()
    components = memory.components()
    deadline = time.monotonic() + settings.sensor_seconds_per_tick
    requested = _from_cursor(context.cursor)
    works = plan(components, find_sources(components), until=deadline)
    skipped = [work.project for work in works if not is_valid_key(work.project)]
    if skipped:
        context.log.warning("%d projects have names that cannot be partitions", len(skipped))
    now = time.time()
    due = [
        work
        for work in works
        if is_valid_key(work.project)
        and (work.project not in requested or requested[work.project].is_due(work, now))
    ]
    due.sort(key=lambda work: requested[work.project].at if work.project in requested else 0.0)
    due = due[: settings.sensor_runs_per_tick]
    behind = {work.project for work in works}
    requested = {project: last for project, last in requested.items() if project in behind}
    if not due:
        context.update_cursor(_to_cursor(requested))
        return dg.SkipReason(
            f"{len(works)} projects have work that was requested already"
            if works
            else "every project is up to date"
        )
    runs = list(_run_requests(due, requested, now))
    return dg.SensorResult(
        run_requests=runs,
        dynamic_partitions_requests=[
            projects.build_add_request(new_keys(context.instance, [work.project for work in due]))
        ],
        cursor=_to_cursor(requested),
    )


def _run_requests(
    due: list[ProjectPlan], requested: dict[str, _Requested], now: float
) -> Iterator[dg.RunRequest]:
    for work in due:
        before = requested.get(work.project)
        repeated = before is not None and before.fingerprint == work.fingerprint
        attempt = before.attempt + 1 if before is not None and repeated else 1
        requested[work.project] = _Requested(work.fingerprint, attempt, now)
        yield dg.RunRequest(
            run_key=f"{work.project}:{work.fingerprint}:{attempt}",
            partition_key=work.project,
            tags={"memory/reason": work.reason},
        )


def _from_cursor(cursor: str | None) -> dict[str, _Requested]:
    return {project: _Requested(**last) for project, last in json.loads(cursor or "{}").items()}


def _to_cursor(requested: dict[str, _Requested]) -> str:
    return json.dumps({project: asdict(last) for project, last in sorted(requested.items())})
