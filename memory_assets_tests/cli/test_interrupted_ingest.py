"""`memory ingest` that Ctrl-C ends: one line, no traceback, and a status that adds up. Runs
whose process is gone do not count as under way."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest

from memory_assets.pipeline.ingest.noted_run import noted_run
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings, load_settings
from memory_assets.status import status
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.runs.ledger import FAILURE, KEPT, SUCCESS, this_process
from memory_assets_tests.command_line import run_here
from memory_assets_tests.conftest import copy_sample
from memory_assets_tests.dagster.live_dagster import BIN


def _ingest(environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start an ingest, with the processes that it starts, in a group of its own."""
    with log.open("wb") as output:
        return subprocess.Popen(
            [BIN / "memory", "ingest"],
            env={**os.environ, **environment},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def _stop_all(process: subprocess.Popen[bytes]) -> int:
    """Interrupt the whole group, as a terminal does, and return the exit code."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    return process.wait(60)


def _assert_adds_up(environment: dict[str, str], data_dir: Path) -> None:
    said = run_here(environment, "status").stdout
    assert "None" not in said and "indexed never" not in said
    current = status(load_settings(data_dir=data_dir))
    agents = sum(counts["sessions"] for counts in current["agents"].values())
    assert f"\n{agents} session" in said
    for covered in current["coverage"].values():
        assert covered["keywords"] <= covered["rows"]
    sessions = current["coverage"]["sessions"]
    unmade = agents - current["stages"].get("turn_chunks", {}).get("sessions", 0)
    assert sessions["waiting"] == unmade
    assert current["runs"].get("under_way", 0) == 0
    if unmade or current["freshness"]["pending_files"]:
        assert "Everything on record can be found" not in said


@pytest.mark.parametrize(
    ("embedder", "moments", "lasts"),
    [("none", 2, 3.0), pytest.param("all-MiniLM-L6-v2", 10, None, marks=pytest.mark.long)],
)
def test_an_interrupt_at_any_moment_is_one_line(
    embedder: str, moments: int, lasts: float | None, tmp_path: Path, compiled_rules: Path
) -> None:
    """To the whole group of processes, as a terminal sends it, from the first tenth of a second to
    the end (or what it lasts about, where that is given). The next ingest completes what was
    begun."""
    roots = copy_sample(tmp_path / "transcripts")
    common = {
        "MEMORY_PROJECTS_DIR": str(roots["claude"]),
        "MEMORY_CODEX_DIR": str(roots["codex"]),
        "MEMORY_EMBEDDER": embedder,
        "MEMORY_INGEST_WORKERS": "2",
    }
    if lasts is None:
        started = time.monotonic()
        whole = {**common, "MEMORY_DATA_DIR": str(tmp_path / "whole")}
        assert _ingest(whole, tmp_path / "whole.log").wait(120) == 0
        lasts = time.monotonic() - started
    stopped = 0
    for number in range(moments):
        data_dir = tmp_path / f"memory{number}"
        environment = {**common, "MEMORY_DATA_DIR": str(data_dir)}
        log = tmp_path / f"{number}.log"
        process = _ingest(environment, log)
        time.sleep(0.1 + (lasts - 0.1) * number / moments)
        code = _stop_all(process)
        said = log.read_text()
        assert "Traceback" not in said and "Error" not in said, said
        assert code == (130 if "Stopped" in said else 0), said
        assert len(re.findall(r"^Stopped", said, re.MULTILINE)) <= 1
        stopped += code == 130
        if (data_dir / "catalog.db").exists():
            _assert_adds_up(environment, data_dir)
        chroma_server.stop(data_dir)
    chroma_server.stop(tmp_path / "whole")
    assert stopped, "each had ended before it was to be stopped"
    last = {**common, "MEMORY_DATA_DIR": str(data_dir), "MEMORY_INGEST_WORKERS": "1"}
    assert run_here(last, "ingest").returncode == 0
    assert "Everything on record can be found" in run_here(last, "status").stdout
    chroma_server.stop(data_dir)


@pytest.mark.parametrize(
    "place",
    [
        *("plain_commands.create_private_files", "plain_commands.load_settings"),
        *("plain_commands.prepare", "plain_commands.plain_arguments"),
        *("cli.create_private_files", "cli.app", "cli.prepare", "exit_codes._fail"),
    ],
)
def test_an_interrupt_around_a_command_is_one_line(
    place: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Before one begins, whichever way it is parsed, and while an error of one is printed."""

    def interrupted(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    command = {"cli": ["costs"], "exit_codes": ["search"]}
    query = command.get(place.partition(".")[0], ["search", "harbor"])
    monkeypatch.setattr(f"memory_assets.cli.{place}", interrupted)
    run = run_here({"MEMORY_DATA_DIR": str(tmp_path)}, *query)
    assert (run.returncode, run.stderr + capfd.readouterr().err) == (130, "Stopped.\n")


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
