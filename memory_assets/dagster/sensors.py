"""The [sensors](https://docs.dagster.io/guides/automate/sensors) of the agents' directories, of
workspaces, and of agents' memory: each adds partitions for new projects, removes those of projects
that are gone, and requests runs for those with work."""

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
    LastRequest,
    PartitionsRequest,
    agent_memory,
    projects,
    requests_to_add,
    requests_to_remove,
    workspaces,
)
from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import ConfigurationError, no_text_in_errors
from memory_assets.pipeline.plan.plan import (
    ProjectPlan,
    partitions_with_agent_memory,
    plan_agent_memory,
    plan_each,
    plan_workspace,
)
from memory_assets.pipeline.redact import known_secrets as recheck
from memory_assets.pipeline.scan.on_disk import (
    TranscriptsOnDisk,
    look_for_sources,
    missing_directories,
)
from memory_assets.pipeline.scan.raw_sessions import out_of_date
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.status.disk import roots_to_read
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
"""Longest wait between runs that retry quarantined sessions, whose failure may pass. Such runs
succeed, so later ones supersede them and the history does not grow."""
_MOST_SECONDS = 86_400.0
"""Longest wait for other work, whose runs fail: each keeps 0.9 MB for 30 days."""
_RETRY_SECONDS = 3_600.0
"""Wait before a run for the same work of a workspace or agents' memory is requested again."""
_MOST_FILES_ALONE = 10
"""The most new or changed files for which `ingest_project` is requested. For more, `ingest_batch`
indexes words before vectors, and uses several processes (docs/runs.md)."""


@dg.sensor(
    jobs=[ingest_project, ingest_batch, recheck_known_secrets],
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Requests runs of the projects whose transcripts changed.",
)
@no_text_in_errors()
def projects_directory_sensor(
    context: dg.SensorEvaluationContext, memory: MemoryParam
) -> dg.SensorResult:
    """Watch the agents' directories, and request a run of the projects that have work to do: of the
    assets of a partition if it is a few files of one project, else of a batch.

    An agent's directory that is missing is said, and stops no other's. A tick costs a stat for
    each file. It takes a bounded number of projects, least recently
    requested ones first, and the next tick continues. When no project has work or a run
    in progress, it requests the search for secrets that were found since.
    """
    settings = memory.settings
    components = memory.components()
    state = _State.from_cursor(context.cursor)
    deadline = time.monotonic() + settings.sensor_seconds_per_tick
    plans: dict[str, ProjectPlan] = {}
    examined: set[str] = set()
    missing = list(missing_directories(roots_to_read(settings, components.catalog)))
    for sentence in missing:
        context.log.warning(sentence)
    transcripts = look_for_sources(components)
    for project, plan in plan_each(components, transcripts.sources, after=state.after):
        examined.add(project)
        if plan is not None and is_valid_key(project):
            plans[project] = plan
        state.after = project
        if time.monotonic() > deadline:
            break
    else:
        state.after = ""
    on_record = components.catalog.projects()
    present = transcripts.sources.keys() | on_record
    state.forget((examined - plans.keys()) | (state.requested.keys() - present))
    removals = (
        [] if transcripts.unlisted else requests_to_remove(context.instance, projects, present)
    )
    now = time.time()
    busy = busy_partitions(context.instance) | components.runs.busy_partitions()
    due = [
        plan for project, plan in plans.items() if project not in busy and state.is_due(plan, now)
    ]
    due.sort(key=lambda plan: (state.last(plan.project).at, plan.project))
    due = due[: settings.sensor_projects_per_tick]
    alone = len(due) == 1 and _is_small(components, due[0], transcripts)
    runs = [state.request(due, now, alone=alone)] if due else []
    search_request = None if runs or busy else _search_for_secrets(components, context.instance)
    if search_request is not None:
        runs = [search_request]
    skipped = None if runs else _skip_reason(len(plans), len(transcripts.unlisted), missing)
    # A new instance knows none of what is up to date, which could not be made there by hand.
    added = requests_to_add(context.instance, on_record.union(plan.project for plan in due))
    return dg.SensorResult(
        run_requests=runs,
        skip_reason=skipped,
        dynamic_partitions_requests=[*added, *removals],
        cursor=state.to_cursor(),
    )


def _is_small(components: Components, plan: ProjectPlan, transcripts: TranscriptsOnDisk) -> bool:
    """Whether the work on a project on record is a few new or changed files."""
    ledger = components.catalog.sources.rows(plan.project)
    changed = out_of_date(ledger, transcripts.sources.get(plan.project, []))
    return bool(ledger) and 0 < len(changed) <= _MOST_FILES_ALONE


def _skip_reason(behind: int, unlisted: int, missing: Sequence[str]) -> str:
    reason = "every project is up to date"
    if behind:
        reason = f"{behind} projects have work that is under way or was tried"
    if unlisted:
        reason += f"; {unlisted} files or directories cannot be taken in: see `memory status`"
    return "; ".join([reason, *missing])


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

    requested: dict[str, LastRequest]
    after: str = ""

    @classmethod
    def from_cursor(cls, cursor: str | None) -> "_State":
        values = json.loads(cursor or "{}")
        requested = {name: LastRequest(**row) for name, row in values.get("requested", {}).items()}
        return cls(requested, values.get("after", ""))

    def to_cursor(self) -> str:
        requested = {name: last._asdict() for name, last in sorted(self.requested.items())}
        return json.dumps({"requested": requested, "after": self.after})

    def forget(self, projects_up_to_date: set[str]) -> None:
        for project in projects_up_to_date:
            self.requested.pop(project, None)

    def last(self, project: str) -> LastRequest:
        return self.requested.get(project, LastRequest())

    def is_due(self, plan: ProjectPlan, now: float) -> bool:
        most = _MOST_SECONDS_HELD_BACK if plan.held_back else _MOST_SECONDS
        return not self.last(plan.project).still_covers(plan.fingerprint, now, most)

    def request(self, plans: list[ProjectPlan], now: float, *, alone: bool) -> dg.RunRequest:
        """Return the request for a run of these projects, and note it in the state; `alone`: of
        `ingest_project` for the only one, else of `ingest_batch`."""
        names = [plan.project for plan in plans]
        keys = []
        for plan in plans:
            last_request = self.last(plan.project).again(plan.fingerprint, now)
            self.requested[plan.project] = last_request
            keys.append(f"{plan.project}:{plan.fingerprint}:{last_request.attempt}")
        run_key = keys[0] if len(keys) == 1 else f"{len(keys)} projects:{input_hash(*keys)}"
        reasons = {plan.reason for plan in plans}
        if alone:
            return dg.RunRequest(
                run_key=run_key,
                job_name=INGEST_JOB,
                partition_key=names[0],
                tags={"memory/reason": plans[0].reason},
            )
        return dg.RunRequest(
            run_key=run_key,
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
    description="Requests runs of the workspaces whose documents or code changed.",
)
@no_text_in_errors()
def workspaces_sensor(context: dg.SensorEvaluationContext, memory: MemoryParam) -> dg.SensorResult:
    """Request a run for each workspace with changed files. A tick costs a stat for each file."""
    components = memory.components()
    registered = Workspaces(memory.settings.data_dir)
    missing = []
    for root in memory.settings.workspaces:
        try:
            registered.add(Path(root))
        except ConfigurationError as error:
            missing.append(str(error))
    present = {
        workspace.partition for workspace in registered.all()
    } | components.catalog.projects()
    gone = requests_to_remove(context.instance, workspaces, present)
    busy = busy_partitions(context.instance, WORKSPACE_JOB) | components.runs.busy_partitions()
    plans = []
    for workspace in registered.all():
        if workspace.partition in busy:
            continue
        try:
            plan = plan_workspace(components, workspace)
        except ConfigurationError as error:
            missing.append(str(error))
            continue
        if plan is not None:
            plans.append(plan)
    reason = "; ".join(missing) or "every workspace is up to date"
    return _sensor_result(context.instance, plans, gone, reason)


@dg.sensor(
    job=index_agent_memory,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Requests runs of the projects about which agents wrote something.",
)
@no_text_in_errors()
def agent_memory_sensor(
    context: dg.SensorEvaluationContext, memory: MemoryParam
) -> dg.SensorResult:
    """Request a run for each partition with something new. A tick costs a few queries."""
    components = memory.components()
    gone = requests_to_remove(
        context.instance, agent_memory, partitions_with_agent_memory(components)
    )
    busy = busy_partitions(context.instance, AGENT_MEMORY_JOB) | components.runs.busy_partitions()
    plans = [plan for plan in plan_agent_memory(components) if plan.project not in busy]
    return _sensor_result(context.instance, plans, gone, "what agents wrote is up to date")


def _sensor_result(
    instance: dg.DagsterInstance,
    plans: Sequence[ProjectPlan],
    gone: Sequence[PartitionsRequest],
    reason: str,
) -> dg.SensorResult:
    """Return a sensor's result: a run for each plan, new partitions to add, `gone` ones to remove,
    and without plans the `reason` to skip."""
    attempt = int(time.time() / _RETRY_SECONDS)
    added = requests_to_add(instance, [plan.project for plan in plans])
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(
                run_key=f"{plan.project}:{plan.fingerprint}:{attempt}",
                partition_key=plan.project,
                tags={"memory/reason": plan.reason},
            )
            for plan in plans
        ],
        skip_reason=None if plans else reason,
        dynamic_partitions_requests=[*added, *gone],
    )
