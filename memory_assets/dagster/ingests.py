"""Runs of the command line in Dagster's history: the
[job](https://docs.dagster.io/guides/build/jobs) that records them, and the
[sensor](https://docs.dagster.io/guides/automate/sensors) that requests it.

`memory ingest` and its like do not import Dagster; they note each materialization and each check's
result in the ledger (`stores/runs/ledger.py`). A job logs these, not the `asset_events` of the
sensor's result, because an event without a run could not be deleted once it is superseded, and
because a tick has a minute.
"""

# No `from __future__ import annotations`: Dagster reads the annotation of an op's `context` at
# run time (dagster#26837).

from functools import partial
from typing import Any

import dagster as dg

from memory_assets.dagster.instance_runs import runs_by_id, runs_under_way
from memory_assets.dagster.op_events import OpEvents
from memory_assets.dagster.partitions import requests_to_add
from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.ingest.noted_run import note_run_ends
from memory_assets.stores.runs.names import PART_TAG, RECORD_JOB, batch_config, batch_tags

_PARTITIONS_AT_ONCE = 20
"""Partitions whose events are read and logged together."""


class RecordConfig(dg.Config):
    """[Run configuration](https://docs.dagster.io/guides/operate/configuration/run-configuration)
    of record_ingests."""

    projects: list[str]
    """The partitions to record, of projects, workspaces and agents' memory; "": the assets that
    have none."""


@dg.op
@no_text_in_errors()
def record_outcomes(
    context: dg.OpExecutionContext, config: RecordConfig, memory: MemoryParam
) -> None:
    """Log the unreported events of these partitions, and note in the ledger that they were logged.
    A run that is repeated after its process was killed logs nothing twice."""
    ledger, log = memory.components().runs, OpEvents(context)
    for start in range(0, len(config.projects), _PARTITIONS_AT_ONCE):
        events = {
            name: ledger.unreported(name) for name in config.projects[start:][:_PARTITIONS_AT_ONCE]
        }
        log.report([event for of_partition in events.values() for event in of_partition])
        for name, of_partition in events.items():
            ledger.note_reported(name, of_partition)


@dg.job(
    name=RECORD_JOB,
    executor_def=dg.in_process_executor,
    tags={"dagster/max_runtime": "3600"},
    description="Records what `memory ingest` and its like made: their materializations and check "
    "results, with the time of each in its metadata.",
)
def record_ingests() -> None:
    """Log the unreported events of the ledger."""
    record_outcomes()


@dg.sensor(
    job=record_ingests,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Has Dagster record what `memory ingest` and its like made.",
)
@no_text_in_errors()
def ingests_sensor(
    context: dg.SensorEvaluationContext, memory: MemoryParam
) -> dg.SensorResult | dg.SkipReason:
    """Request a run that records the unreported events of a bounded number of partitions, those
    that wait longest first; note in the ledger how Dagster's runs ended."""
    components, instance = memory.components(), context.instance
    ledger = components.runs
    note_run_ends(components, partial(runs_by_id, instance))
    if runs_under_way(instance, RECORD_JOB):
        return dg.SkipReason("the last time is still under way")
    busy = ledger.busy_partitions()
    unreported = ledger.unreported_partitions()
    waiting = {name: whole for name, whole in unreported.items() if name not in busy}
    names = [name for name in waiting if name][: memory.settings.sensor_projects_per_tick]
    requests = []
    # A run that made all of its partitions supersedes older ones; what failed does not.
    for is_part in (False, True):
        if group := [name for name in names if waiting[name] is not is_part]:
            tags = batch_tags(group) | ({PART_TAG: "true"} if is_part else {})
            requests.append(dg.RunRequest(run_config=_run_config(group), tags=tags))
    if "" in waiting:
        requests.append(dg.RunRequest(run_config=_run_config([""])))
    if not requests:
        return dg.SkipReason("Dagster has all that the command line made")
    added = requests_to_add(instance, names)
    return dg.SensorResult(run_requests=requests, dynamic_partitions_requests=added)


def _run_config(names: list[str]) -> dict[str, Any]:
    return batch_config(names, of=str(record_outcomes.name))
