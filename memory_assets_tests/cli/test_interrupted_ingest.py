"""`memory ingest` that Ctrl-C ends: one line, no traceback, and a status that adds up."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from memory_assets.settings import load_settings
from memory_assets.status import status
from memory_assets.stores.chroma import server as chroma_server
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
    last = {**common, "MEMORY_DATA_DIR": str(data_dir)}
    assert run_here(last, "ingest").returncode == 0
    assert "Everything on record can be found" in run_here(last, "status").stdout
    chroma_server.stop(data_dir)
