"""The [sensors](https://docs.dagster.io/guides/automate/sensors) of the agents' directories, of
workspaces, and of what agents write themselves: each adds partitions for what is new, removes those
of what is gone, and requests runs of what has work."""

import json
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from memory_assets.dagster.batch import ingest_batch
from memory_assets.dagster.instance_runs import busy_partitions, runs_under_way
from memory_assets.dagster.jobs import (
    index_agent_memory,
    index_workspace,
    ingest_project,
    recheck_known_secrets,
)
from memory_assets.dagster.partitions import (
    PartitionsRequest,
    agent_memory,
    projects,
    requests_to_add,
    requests_to_remove,
    workspaces,
)
from memory_assets.dagster.requested import Requested
from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import ConfigurationError, no_text_in_errors
from memory_assets.pipeline.plan.plan import (
    ProjectPlan,
    plan_agent_memory,
    plan_each,
    plan_workspace,
    written,
)
from memory_assets.pipeline.redact import known_secrets as recheck
from memory_assets.pipeline.scan.on_disk import (
    TranscriptsOnDisk,
    look_for_sources,
    require_directories,
)
from memory_assets.pipeline.scan.raw_sessions import out_of_date
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.stores.runs.names import (
    AGENT_MEMORY_JOB,
    INGEST_BATCH,
    INGEST_JOB,
    RECHECK_JOB,
    WORKSPACE_JOB,
    batch_config,
    batch_tags,
    is_valid_key,
)
from memory_assets.stores.workspaces import Workspaces

# Dagster itself passes this argument, which is in beta, for every sensor.
warnings.filterwarnings("ignore", message="Parameter `owners`", category=dg.BetaWarning)
_MOST_SECONDS_HELD_BACK = 3_600.0
"""Longest wait if sessions are held back for a failure that may pass. These runs succeed, so
that they are superseded and the history does not grow."""
_MOST_SECONDS = 86_400.0
"""Longest wait for other work, whose runs fail: each keeps 0.9 MB for 30 days."""
_TRIED_AGAIN_SECONDS = 3_600.0
"""Work of workspaces and agents' memory that a run left undone is asked for again after so long."""
_MOST_FILES = 10
"""New or changed files that a run of the assets of one partition takes in. With more a batch has
words before vectors, and several processes; and runs of two partitions cost twice what their batch
costs (docs/runs.md)."""


@dg.sensor(
    jobs=[ingest_project, ingest_batch, recheck_known_secrets],
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
@no_text_in_errors()
def projects_directory_sensor(
    context: dg.SensorEvaluationContext, memory: MemoryParam
) -> dg.SensorResult:
    """Watch the agents' directories, and request a run of the projects that have work to do: of the
    assets of a partition if it is a few files of one project, else of a batch.

    A tick costs a stat for each file. It takes a bounded number of projects, least recently
    requested ones first, and the next tick continues. When no project has work or a run
    in progress, it requests the search for secrets that were found since.
    """
    settings = memory.settings
    components = memory.components()
    state = _State.from_cursor(context.cursor)
    deadline = time.monotonic() + settings.sensor_seconds_per_tick
    works: dict[str, ProjectPlan] = {}
    examined: set[str] = set()
    require_directories(components)
    transcripts = look_for_sources(components)
    for project, work in plan_each(components, transcripts.sources, after=state.after):
        examined.add(project)
        if work is not None and is_valid_key(project):
            works[project] = work
        state.after = project
        if time.monotonic() > deadline:
            break
    else:
        state.after = ""
    known = transcripts.sources.keys() | components.catalog.projects()
    state.forget((examined - works.keys()) | (state.requested.keys() - known))
    gone = [] if transcripts.unlisted else requests_to_remove(context.instance, projects, known)
    now = time.time()
    busy = busy_partitions(context.instance) | components.runs.busy_partitions()
    due = [
        work for project, work in works.items() if project not in busy and state.is_due(work, now)
    ]
    due.sort(key=lambda work: (state.last(work.project).at, work.project))
    due = due[: settings.sensor_projects_per_tick]
    alone = len(due) == 1 and _is_small(components, due[0], transcripts)
    runs = [state.request(due, now, alone=alone)] if due else []
    search = None if runs or busy else _search_for_secrets(components, context.instance)
    if search is not None:
        runs = [search]
    skipped = None if runs else _nothing_to_ask_for(len(works), len(transcripts.unlisted))
    added = requests_to_add(context.instance, [work.project for work in due])
    return dg.SensorResult(
        run_requests=runs,
        skip_reason=skipped,
        dynamic_partitions_requests=[*added, *gone],
        cursor=state.to_cursor(),
    )


def _is_small(components: Components, work: ProjectPlan, transcripts: TranscriptsOnDisk) -> bool:
    """Whether the work on a project on record is a few new or changed files."""
    ledger = components.catalog.sources.rows(work.project)
    changed = out_of_date(ledger, transcripts.sources.get(work.project, []))
    return bool(ledger) and 0 < len(changed) <= _MOST_FILES


def _nothing_to_ask_for(behind: int, unlisted: int) -> str:
    reason = "every project is up to date"
    if behind:
        reason = f"{behind} projects have work that is under way or was tried"
    if unlisted:
        reason += f"; {unlisted} files or directories cannot be taken in: see `memory status`"
    return reason


def _search_for_secrets(
    components: Components, instance: dg.DagsterInstance
) -> dg.RunRequest | None:
    """Return the request for a search of sessions for secrets found since, or None if none is
    due. Its run key identifies sessions and secrets, so that no search is repeated."""
    fingerprint = recheck.due_fingerprint(components)
    if fingerprint is None or runs_under_way(instance, RECHECK_JOB):
        return None
    return dg.RunRequest(run_key=f"{RECHECK_JOB}:{fingerprint}", job_name=RECHECK_JOB)


@dataclass
class _State:
    """The sensor's cursor: the last request for each project with work, and the project after
    which the next tick continues if this one ran out of time."""

    requested: dict[str, Requested]
    after: str = ""

    @classmethod
    def from_cursor(cls, cursor: str | None) -> "_State":
        values = json.loads(cursor or "{}")
        requested = {name: Requested(**last) for name, last in values.get("requested", {}).items()}
        return cls(requested, values.get("after", ""))

    def to_cursor(self) -> str:
        requested = {name: last._asdict() for name, last in sorted(self.requested.items())}
        return json.dumps({"requested": requested, "after": self.after})

    def forget(self, projects_up_to_date: set[str]) -> None:
        for project in projects_up_to_date:
            self.requested.pop(project, None)

    def last(self, project: str) -> Requested:
        return self.requested.get(project, Requested())

    def is_due(self, work: ProjectPlan, now: float) -> bool:
        most = _MOST_SECONDS_HELD_BACK if work.held_back else _MOST_SECONDS
        return not self.last(work.project).is_enough(work.fingerprint, now, most)

    def request(self, works: list[ProjectPlan], now: float, *, alone: bool) -> dg.RunRequest:
        """Note the request of projects in the state, and return it with a new run key; `alone`: as
        the assets of the one."""
        names = [work.project for work in works]
        key = []
        for work in works:
            asked = self.last(work.project).again(work.fingerprint, now)
            self.requested[work.project] = asked
            key.append(f"{work.project}:{work.fingerprint}:{asked.attempt}")
        one = key[0] if len(key) == 1 else f"{len(key)} projects:{input_hash(*key)}"
        reasons = {work.reason for work in works}
        if alone:
            return dg.RunRequest(
                run_key=one,
                job_name=INGEST_JOB,
                partition_key=names[0],
                tags={"memory/reason": works[0].reason},
            )
        return dg.RunRequest(
            run_key=one,
            job_name=INGEST_BATCH,
            run_config=batch_config(names),
            tags={
                "memory/reason": reasons.pop() if len(reasons) == 1 else f"{len(names)} projects",
                **batch_tags(names),
            },
        )


@dg.sensor(
    job=index_workspace,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
@no_text_in_errors()
def workspaces_sensor(context: dg.SensorEvaluationContext, memory: MemoryParam) -> dg.SensorResult:
    """Request a run for each workspace with changed files. A tick costs a stat for each file."""
    components = memory.components()
    known = Workspaces(memory.settings.data_dir)
    missing = []
    for root in memory.settings.workspaces:
        try:
            known.add(Path(root))
        except ConfigurationError as error:
            missing.append(str(error))
    there = {workspace.partition for workspace in known.all()} | components.catalog.projects()
    gone = requests_to_remove(context.instance, workspaces, there)
    busy = busy_partitions(context.instance, WORKSPACE_JOB) | components.runs.busy_partitions()
    plans = []
    for workspace in known.all():
        if workspace.partition in busy:
            continue
        try:
            work = plan_workspace(components, workspace)
        except ConfigurationError as error:
            missing.append(str(error))
            continue
        if work is not None:
            plans.append(work)
    reason = "; ".join(missing) or "every workspace is up to date"
    return _requested(context.instance, plans, gone, reason)


@dg.sensor(
    job=index_agent_memory,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
@no_text_in_errors()
def agent_memory_sensor(
    context: dg.SensorEvaluationContext, memory: MemoryParam
) -> dg.SensorResult:
    """Request a run for each partition with something new. A tick costs a few queries."""
    components = memory.components()
    gone = requests_to_remove(context.instance, agent_memory, written(components))
    busy = busy_partitions(context.instance, AGENT_MEMORY_JOB) | components.runs.busy_partitions()
    plans = [work for work in plan_agent_memory(components) if work.project not in busy]
    return _requested(context.instance, plans, gone, "what agents wrote is up to date")


def _requested(
    instance: dg.DagsterInstance,
    plans: Sequence[ProjectPlan],
    gone: Sequence[PartitionsRequest],
    reason: str,
) -> dg.SensorResult:
    """Return the request of a run for each plan, and of the partitions that are new or `gone`;
    where there is no plan, the reason."""
    attempt = int(time.time() / _TRIED_AGAIN_SECONDS)
    added = requests_to_add(instance, [work.project for work in plans])
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(
                run_key=f"{work.project}:{work.fingerprint}:{attempt}",
                partition_key=work.project,
                tags={"memory/reason": work.reason},
            )
            for work in plans
        ],
        skip_reason=None if plans else reason,
        dynamic_partitions_requests=[*added, *gone],
    )
