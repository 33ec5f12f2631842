"""Runs of the command line whose process is gone do not stay "started" in Dagster."""

from __future__ import annotations

import os
import subprocess

import dagster as dg

from memory_assets.cli.dagster.home import fail_dead_runs, open_instance
from memory_assets.settings import Settings
from memory_assets.stores.run_history.processes import PROCESS_TAG, this_process


def _still_started(instance: dg.DagsterInstance) -> set[str]:
    runs = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
    return {run.tags.get(PROCESS_TAG, "") for run in runs}


def test_a_process_id_that_is_used_again_keeps_no_run_alive(sample_settings: Settings) -> None:
    """What is gone is told by id and start: the runs of this process, of another host, and of
    nobody we know are left alone, those of an ended one, or of an earlier one with our id, are
    marked as failed."""
    host, pid, started = this_process().split(":")
    ended = subprocess.Popen(["true"])
    ended.wait()
    alive = {this_process(), f"elsewhere:{pid}:{started}", f"{host}:{pid}", ""}
    dead = {f"{host}:{ended.pid}:{started}", f"{host}:{os.getpid()}:1"}
    with open_instance(sample_settings) as instance:
        for tag in alive | dead:
            tags = {PROCESS_TAG: tag} if tag else {}
            status = dg.DagsterRunStatus.STARTED
            instance.add_run(dg.DagsterRun("ingest_project", status=status, tags=tags))
        assert fail_dead_runs(sample_settings) == len(dead)
        assert _still_started(instance) == alive
        failed = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE]))
        assert {run.tags[PROCESS_TAG] for run in failed} == dead
        last = instance.all_logs(failed[0].run_id)[-1]
        assert "the process of this run is gone" in last.message
