"""Remove the names of forgotten sessions and projects from Dagster's instance, by its API.

Names occur in partition keys, in the tags and the configuration of runs, and in their events (why a
session was held back). A run that names one is deleted. What it has of others waits in the ledger
again, from which the sensor `ingests_sensor` has it recorded. docs/forgetting.md says what stays.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg

from memory_assets.cli.dagster.home import open_instance
from memory_assets.dagster.instance_runs import UNDER_WAY, delete_run, runs_by_id
from memory_assets.dagster.op_events import MADE_AT, RUN_TAG
from memory_assets.dagster.partitions import DEFINITIONS
from memory_assets.errors import StoreBusy
from memory_assets.pipeline.ingest.noted_run import note_run_ends
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.pipeline.removal.forget import Names
from memory_assets.pipeline.stage.components import Components, components_of
from memory_assets.settings import Settings
from memory_assets.stores.runs.events import AssetEvent, Evaluation, Materialization, Metadata
from memory_assets.stores.runs.ledger import Unreported
from memory_assets.stores.runs.names import projects_of

_NOT_ENDED = dg.RunsFilter(statuses=[dg.DagsterRunStatus(status) for status in UNDER_WAY])
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


def require_idle(settings: Settings, projects: Iterable[str]) -> None:
    """Raise `StoreBusy` if a run of one of these projects is waiting or under way."""
    wanted_projects = set(projects)
    for instance in _instances(settings):
        for run in instance.get_runs(_NOT_ENDED):
            names = projects_of(run)
            if not names or wanted_projects.intersection(names):
                _refuse(run)


def erase_traces(settings: Settings, names: Names) -> int:
    """Delete the runs and partitions that have these names; return how many runs.

    Raises:
        StoreBusy: one of the runs is under way.
    """
    components = components_of(settings)
    return sum(_erase_in(instance, components, names) for instance in _instances(settings))


def _instances(settings: Settings) -> Iterator[dg.DagsterInstance]:
    """Yield the instance of the data directory, if Dagster ever ran here, and that of DAGSTER_HOME,
    if it is another; each is open until the next one is asked for."""
    own = os.environ.get("DAGSTER_HOME", "")
    if settings.dagster_dir.is_dir():
        with open_instance(settings) as instance:  # sets the variable
            yield instance
    if own and Path(own).is_dir() and Path(own).resolve() != settings.dagster_dir.resolve():
        os.environ["DAGSTER_HOME"] = own
        with dg.DagsterInstance.from_config(own) as instance:
            yield instance


def _erase_in(instance: dg.DagsterInstance, components: Components, names: Names) -> int:
    are_in = mentions_of(names)
    note_run_ends(components, partial(runs_by_id, instance))
    named = {
        run.run_id: entries
        for run in instance.get_runs()
        if any(map(are_in, (entries := instance.all_logs(run.run_id))))
        or are_in(f"{run.tags} {run.run_config}")
    }
    for run in instance.get_runs(_NOT_ENDED):
        if run.run_id in named:
            _refuse(run)
    for run_id, entries in named.items():
        left = (entry for entry in entries if not are_in(entry))
        events = _events(run_id, left)
        # Dagster stores some results of checks without the partition that they are of.
        components.runs.note_unreported(
            trace for trace in events if trace.event.project or trace.event.asset not in STEPS
        )
        delete_run(instance, components.runs, run_id)
    for project in names.projects:
        for definition in DEFINITIONS:
            if instance.has_dynamic_partition(definition, project):
                instance.delete_dynamic_partition(definition, project)
    return len(named)


def mentions_of(names: Names) -> Callable[[object], bool]:
    """Return whether what a run or an event says has one of the names, as a function.

    Session ids match anywhere (by their UUID, if they contain one); projects, which may be short
    and have equal beginnings, only as whole words.
    """
    # Thousands of ids would make one slow expression: UUIDs are looked up in a set.
    matches = {name: _UUID.search(name) for name in names.session_ids}
    uuids = {uuid.group().lower() for uuid in matches.values() if uuid}
    forms = [re.escape(name) for name, uuid in sorted(matches.items()) if not uuid]
    forms += [rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in sorted(names.projects)]
    pattern = re.compile("|".join(forms) or r"(?!)")

    def are_in(value: object) -> bool:
        text = str(value)
        return pattern.search(text) is not None or any(
            uuid.lower() in uuids for uuid in _UUID.findall(text)
        )

    return are_in


def _events(run_id: str, entries: Iterable[dg.EventLogEntry]) -> Iterator[Unreported]:
    """Yield the materializations and the results of checks among the entries of a run."""
    for entry in entries:
        event: AssetEvent
        if output := entry.asset_materialization:
            tags = output.tags or {}
            versions = tags.get("dagster/code_version"), tags.get("dagster/data_version", "")
            asset = output.asset_key.to_user_string()
            event = Materialization(output.partition, asset, _metadata(output.metadata), *versions)
            run = tags.get(RUN_TAG, run_id)
            metadata = output.metadata
        elif check := entry.asset_check_evaluation:
            event = Evaluation(
                check.partition or "",
                check.asset_key.to_user_string(),
                check.check_name,
                check.passed,
                check.severity is dg.AssetCheckSeverity.WARN,
                _metadata(check.metadata),
                check.description,
            )
            run = run_id
            metadata = check.metadata
        else:
            continue
        made_at = metadata.get(MADE_AT)
        yield Unreported(
            run,
            made_at.value if isinstance(made_at, dg.TimestampMetadataValue) else entry.timestamp,
            event,
        )


def _metadata(metadata: Mapping[str, dg.MetadataValue[Any]]) -> Metadata:
    """Return what of metadata is a path, a text or a number."""
    return {
        name: Path(entry.value) if isinstance(entry, dg.PathMetadataValue) else entry.value
        for name, entry in metadata.items()
        if isinstance(entry.value, str | int | float) and name != MADE_AT
    }


def _refuse(run: dg.DagsterRun) -> None:
    project = " and ".join(projects_of(run)) or "all projects"
    raise StoreBusy(
        f"run {run.run_id[:8]} of {project} is {run.status.value.lower()}. Wait until it has "
        "ended, or cancel it in `memory dev`; then try again."
    )
