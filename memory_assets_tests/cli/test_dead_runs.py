"""Runs of the command line whose process is gone do not count as under way."""

from __future__ import annotations

import os
import subprocess

from memory_assets.pipeline.ingest.noted_run import noted_run
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings
from memory_assets.stores.runs.ledger import FAILURE, KEPT, SUCCESS, this_process


def test_a_process_id_that_is_used_again_keeps_no_run_alive(sample_settings: Settings) -> None:
    """What is gone is told by id and start: the runs of this process and of another host stay under
    way, those of an ended one, or of an earlier one with our id, have failed. How a run of Dagster
    ended is for Dagster to say."""
    host, pid, started = this_process().split(":")
    ended = subprocess.Popen(["true"])
    ended.wait()
    alive = {this_process(), f"elsewhere:{pid}:{started}", f"{host}:{pid}"}
    dead = {f"{host}:{ended.pid}:{started}", f"{host}:{os.getpid()}:1"}
    ledger = Components(sample_settings).runs
    for process in alive | dead:
        ledger.note_begun(process, "ingest_batch", [process])
        ledger.write("UPDATE begun SET process = ? WHERE run_id = ?", process, process)
    ledger.note_begun("dagster's", "ingest_batch", ["dagster's"], history=KEPT)
    ledger.note_left("dagster's")
    assert ledger.busy_partitions() == alive
    ledger.fail_dead_runs()
    assert {run.run_id for run in ledger.begun()} == alive | {"dagster's"}
    ends = [ledger.ended(process) for process in dead]
    assert [end.status for end in ends if end] == [FAILURE, FAILURE]
    assert ledger.not_ended([]) == {"dagster's"}


def test_a_run_is_noted_while_it_works_and_after_it_ended(sample_settings: Settings) -> None:
    """Its partitions are busy meanwhile; a run after it fails the dead ones first."""
    components = Components(sample_settings)
    with noted_run(components, "ingest_batch", ["-home-ada"]) as run:
        assert components.runs.busy_partitions() == {"-home-ada"}
    assert components.runs.busy_partitions() == set()
    end = components.runs.ended(run.run_id)
    assert end is not None and (end.status, end.partition) == (SUCCESS, "-home-ada")
    components.runs.note_begun("killed", "ingest_batch", ["-home-ada"])
    components.runs.write("UPDATE begun SET process = ?", this_process()[:-1] + "x")
    with noted_run(components, "ingest_batch", []):
        assert components.runs.busy_partitions() == set()
    assert components.runs.last_runs()["failed_in_7_days"] == 1
