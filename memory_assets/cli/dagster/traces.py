"""Remove the names of forgotten sessions and projects from Dagster's instance.

Names occur in partition keys, run tags, events (why a session was held back), check results,
the sensor's cursor and ticks. Runs that name one and partitions are deleted through Dagster; a
run that is for other projects, too, stays without what names it. Rows of the SQLite files that
still do (events, ticks, backfills) are deleted there, and the files rewritten; any other file
that names one is removed. Where the instance keeps its
storage on a server, that server's own files are out of reach.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dagster as dg

from memory_assets.cli.dagster.home import DATABASES, fail_dead_runs, open_instance
from memory_assets.dagster.partitions import projects as project_partitions
from memory_assets.dagster.partitions import workspaces as workspace_partitions
from memory_assets.errors import StoreBusy
from memory_assets.pipeline.ingest.run_ends import note_run_ends
from memory_assets.pipeline.removal.forget import Names
from memory_assets.pipeline.stage.components import components_of
from memory_assets.settings import Settings
from memory_assets.stores.files.sqlite import compact, opened, tables, transaction
from memory_assets.stores.run_history.names import FORGOTTEN, is_of_range, projects_of
from memory_assets.stores.run_history.superseded import ENDED

_NOT_ENDED = [status for status in dg.DagsterRunStatus if status.value not in ENDED]
_CONFIGURATION = "dagster.yaml"
_REPEATED = ("last_materialization", "cached_status_data", "asset_details", "tags")
"""Columns of `asset_keys` that repeat an event; the asset itself stays."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


def require_idle(settings: Settings, projects: Iterable[str]) -> None:
    """Raise `StoreBusy` if a run of one of these projects is waiting or under way."""
    wanted = set(projects)
    with open_instance(settings) as instance:
        fail_dead_runs(settings)
        for run in instance.get_runs(dg.RunsFilter(statuses=_NOT_ENDED)):
            projects = projects_of(run)
            if not projects or wanted.intersection(projects):
                _refuse(run)


def erase_traces(settings: Settings, names: Names) -> int:
    """Remove all that the instance holds of these names; return how many runs
    named one.

    Raises:
        StoreBusy: one of the runs is under way, or a file is in use.
    """
    home = settings.dagster_dir
    history = home / "history" / "runs"
    mentions = Mentions(names)
    with open_instance(settings) as instance:
        note_run_ends(components_of(settings))
        runs = [
            run
            for run in instance.get_runs()
            if names.projects.intersection(projects_of(run))
            or any(map(mentions.are_in_file, history.glob(f"{run.run_id}.db*")))
        ]
        for run in runs:
            if run.status in _NOT_ENDED:
                _refuse(run)
        shared = [run for run in runs if is_of_range(run) or set(projects_of(run)) - names.projects]
        for run in runs:
            if run not in shared:
                instance.delete_run(run.run_id)
        for project in names.projects:
            for definition in (project_partitions, workspace_partitions):
                if instance.has_dynamic_partition(str(definition.name), project):
                    instance.delete_dynamic_partition(str(definition.name), project)
        _forget_in_cursors(instance, mentions)
    databases = [*DATABASES, *(f"history/runs/{run.run_id}.db" for run in shared)]
    _forget_in_batches(home / DATABASES[0], names.projects)
    for name in databases:
        if (home / name).exists():
            _delete_rows(home / name, mentions)
            compact(home / name)
    kept = {home / f"{name}{suffix}" for name in databases for suffix in ("", "-wal", "-shm")}
    for path in set(home.rglob("*")) - kept - {home / _CONFIGURATION}:
        if path.is_file() and mentions.are_in_file(path):
            path.unlink(missing_ok=True)
    return len(runs)


class Mentions:
    """Recognises the names in a value or a file.

    Session ids match anywhere (by their UUID, if they contain one); projects, which may be short
    and have equal beginnings, only as whole words.
    """

    def __init__(self, names: Names) -> None:
        # Thousands of ids would make one slow expression: UUIDs are looked up in a set.
        found = {name: _UUID.search(name) for name in names.session_ids}
        self._uuids = {uuid.group().lower() for uuid in found.values() if uuid}
        plain = [name for name, uuid in found.items() if not uuid]
        forms = [re.escape(form) for name in sorted(plain) for form in _spellings(name)]
        forms += [
            rf"(?<![\w-]){re.escape(form)}(?![\w-])"
            for name in sorted(names.projects)
            for form in _spellings(name)
        ]
        self._pattern = re.compile("|".join(forms) or r"(?!)", re.ASCII)

    def are_in(self, value: object) -> bool:
        """Return True if a string or bytes contain one of the names."""
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        return isinstance(text, str) and (
            self._pattern.search(text) is not None
            or any(uuid.lower() in self._uuids for uuid in _UUID.findall(text))
        )

    def are_in_file(self, path: Path) -> bool:
        """Return True if a file contains one of the names; False if it does not exist."""
        try:
            return self.are_in(path.read_bytes())
        except FileNotFoundError:
            return False


def _spellings(name: str) -> set[str]:
    """Return a name as it is, in JSON, in JSON within JSON, and percent-encoded."""
    once = json.dumps(name)[1:-1]
    return {name, once, json.dumps(once)[1:-1], quote(name, safe="")}


def _delete_rows(path: Path, mentions: Mentions) -> None:
    """Delete from every table the rows that mention a name in any column."""
    with opened(path) as connection, transaction(connection):
        connection.create_function("is_named", 1, mentions.are_in)
        for table, columns in tables(connection).items():
            for column in columns:
                change = f'DELETE FROM "{table}"'
                if table == "asset_keys" and column in _REPEATED:
                    change = f'UPDATE "{table}" SET "{column}" = NULL'
                connection.execute(f'{change} WHERE is_named("{column}")')


def _forget_in_batches(path: Path, projects: Iterable[str]) -> None:
    """Replace the names of projects in the configuration of runs that are for others, too."""
    if path.exists():
        with opened(path) as connection, transaction(connection):
            for project in projects:
                for name in _spellings(project):
                    connection.execute(
                        "UPDATE runs SET run_body = replace(run_body, ?, ?)",
                        (f'"{name}"', f'"{FORGOTTEN}"'),
                    )


def _refuse(run: dg.DagsterRun) -> None:
    project = " and ".join(projects_of(run)) or "all projects"
    raise StoreBusy(
        f"run {run.run_id[:8]} of {project} is {run.status.value.lower()}. Wait until it has "
        "ended, or cancel it in `memory dev`; then try again."
    )


def _forget_in_cursors(instance: dg.DagsterInstance, mentions: Mentions) -> None:
    """Remove the projects from the sensors' cursors: JSON objects whose values may be objects by
    project."""
    for state in instance.all_instigator_state():
        data = state.sensor_instigator_data
        if data is not None and mentions.are_in(f"{data.cursor} {data.last_run_key}"):
            cursor: dict[str, Any] = json.loads(data.cursor or "{}")
            for name, value in cursor.items():
                if isinstance(value, dict):
                    kept = {key: each for key, each in value.items() if not mentions.are_in(key)}
                    cursor[name] = kept
                elif mentions.are_in(value):
                    cursor[name] = ""
            changed = data._replace(cursor=json.dumps(cursor), last_run_key=None)
            instance.update_instigator_state(state.with_data(changed))
