"""A data directory that came back from a backup: it follows its transcripts, and what was forgotten
since stays forgotten."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memory_assets_tests.command_line import run_here
from memory_assets_tests.transcript_files import write_claude

KEPT, FORGOTTEN, LATER = (f"77777777-aaaa-4aaa-8aaa-00000000000{n}" for n in range(3))


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """A memory of two sessions, without vectors, of which there is a backup; one is forgotten."""
    claude, data = tmp_path / "claude" / "projects", tmp_path / "memory"
    write_claude(claude, KEPT, "/home/mira/boat", "varnish the oars")
    write_claude(claude, FORGOTTEN, "/home/mira/boat", "caulk the garboard")
    environment = {
        **os.environ,
        "HOME": str(tmp_path / "home"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "MEMORY_DATA_DIR": str(data),
        "MEMORY_EMBEDDER": "none",
        "MEMORY_PROJECTS_DIR": str(claude),
    }
    assert run_here(environment, "ingest").returncode == 0
    shutil.copytree(data, tmp_path / "backup")
    assert run_here(environment, "forget", FORGOTTEN, "--yes").returncode == 0
    return environment


def test_what_was_forgotten_since_a_backup_stays_forgotten(
    machine: dict[str, str], tmp_path: Path
) -> None:
    """Whether the directory came back from the backup, lost its tombstones, or is begun anew;
    though the transcript is still there. Everything else is as the transcripts are."""
    data = Path(machine["MEMORY_DATA_DIR"])
    claude = Path(machine["MEMORY_PROJECTS_DIR"])
    write_claude(claude, LATER, "/home/mira/boat", "mend the rowlock")
    for lost in ("all since the backup", "tombstones", "everything"):
        if lost == "tombstones":
            for path in data.glob("forgotten.db*"):
                path.unlink()
        else:
            shutil.rmtree(data)
        if lost == "all since the backup":
            shutil.copytree(tmp_path / "backup", data)
        assert run_here(machine, "ingest").returncode == 0
        for query, sought in (("garboard", 3), ("oars", 0), ("rowlock", 0)):
            said = run_here(machine, "search", "--exact", query)
            assert said.returncode == sought, (lost, query, said.stdout)
        verified = run_here(machine, "verify")
        assert verified.returncode == 0, verified.stdout


def test_a_damaged_copy_of_the_tombstones_stops_nothing(machine: dict[str, str]) -> None:
    """Nothing is known of what was forgotten, if the data directory has lost its own, too."""
    data = Path(machine["MEMORY_DATA_DIR"])
    (copy,) = Path(machine["XDG_CONFIG_HOME"]).glob("memory_assets/forgotten/*.db")
    for path in data.glob("forgotten.db*"):
        path.unlink()
    copy.write_bytes(b"SQLite no more")
    assert run_here(machine, "ingest").returncode == 0
    assert run_here(machine, "search", "--exact", "garboard").returncode == 0


def test_an_older_table_brings_back_nothing_that_was_forgotten(
    machine: dict[str, str], tmp_path: Path
) -> None:
    """`memory verify` says that it does not fit, and what it advises makes it right."""
    data, table = Path(machine["MEMORY_DATA_DIR"]), "lake/session_summaries"
    shutil.rmtree(data / table)
    shutil.copytree(tmp_path / "backup" / table, data / table)
    verified = run_here(machine, "verify")
    assert verified.returncode == 4 and "memory ingest --full" in verified.stdout
    assert run_here(machine, "ingest", "--full").returncode == 0
    assert run_here(machine, "verify").returncode == 0
    assert run_here(machine, "search", "garboard", "--in", "summaries").returncode == 3


@pytest.mark.long
def test_files_of_another_memory_in_the_lake_are_named_and_can_be_adopted(
    machine: dict[str, str], tmp_path: Path
) -> None:
    """`memory verify` says what can be done with a project that nothing is on record of: what it
    advises makes it searchable, without the transcripts."""
    theirs = tmp_path / "theirs"
    write_claude(theirs / "projects", LATER, "/home/noor/loft", "sand the spruce")
    other = {
        **machine,
        "XDG_CONFIG_HOME": str(theirs / "config"),
        "MEMORY_DATA_DIR": str(theirs / "memory"),
        "MEMORY_PROJECTS_DIR": str(theirs / "projects"),
    }
    assert run_here(other, "ingest").returncode == 0
    data = Path(machine["MEMORY_DATA_DIR"])
    shutil.copytree(theirs / "memory" / "lake", data / "lake", dirs_exist_ok=True)
    verified = run_here(machine, "verify")
    assert verified.returncode == 4 and "Nothing is on record of this project" in verified.stdout
    for path in data.glob("catalog.db*"):
        path.rename(tmp_path / path.name)
    program = Path(sys.executable).with_name("memory")  # another process: this one has it open
    subprocess.run([program, "ingest"], env=machine, check=True, timeout=100)
    verified = run_here(machine, "verify")
    assert verified.returncode == 0, verified.stdout
    for query, code in (("spruce", 0), ("oars", 0), ("garboard", 3)):
        assert run_here(machine, "search", "--exact", query).returncode == code
