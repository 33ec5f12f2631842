"""A data directory that came back from a backup: it follows its transcripts, and what was forgotten
since stays forgotten."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memory_assets_tests.command_line import run_here
from memory_assets_tests.transcript_files import write_claude

KEPT, FORGOTTEN, LATER, OTHER = (f"77777777-aaaa-4aaa-8aaa-00000000000{n}" for n in range(4))
PROGRAM = Path(sys.executable).with_name("memory")


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


def test_everything_forgotten_since_a_backup_stays_forgotten(
    machine: dict[str, str], tmp_path: Path
) -> None:
    """A memory, a conversation, a text that was cut (of a session, of what an agent wrote), a
    workspace, and what is never read again: each is forgotten once more by the next command."""
    data, claude = Path(machine["MEMORY_DATA_DIR"]), Path(machine["MEMORY_PROJECTS_DIR"])
    workspace = tmp_path / "loft"
    workspace.mkdir()
    (workspace / "notes.md").write_text("# Notes\n\nThe gunwale is of larch.\n")
    write_claude(claude, LATER, "/home/mira/loft", "the tiller code is heron-42-quay")
    write_claude(claude, OTHER, "/home/mira/attic", "sort the halyards")
    said = [
        run_here(machine, "remember", text, "--json").stdout
        for text in ("The anchor is of iron.", "The berth code is heron-42-quay, too.")
    ]
    assert run_here(machine, "index", str(workspace)).returncode == 0
    assert run_here(machine, "ingest").returncode == 0
    shutil.rmtree(tmp_path / "backup")
    shutil.copytree(data, tmp_path / "backup")
    for command in (
        ("forget", json.loads(said[0])["memory_id"]),
        ("forget", "--project", "/home/mira/attic", "--exclude"),
        ("forget", "--workspace", "loft"),
    ):
        done = run_here(machine, *command, "--yes")
        assert done.returncode == 0, done.stderr
    subprocess.run(
        [PROGRAM, "forget", "--containing", "--cut", "--yes"],
        env=machine,
        input="heron-42-quay",
        text=True,
        check=True,
    )
    shutil.rmtree(data)
    shutil.copytree(tmp_path / "backup", data)
    # In another process, as this one has files of the directory open that was there.
    subprocess.run([PROGRAM, "status"], env=machine, check=True, stdout=subprocess.DEVNULL)
    sought = (
        *(("anchor", "memory", 3), ("heron-42-quay", "memory", 3), ("berth", "memory", 0)),
        *(("gunwale", "workspace", 3), ("halyards", "sessions", 3)),
        *(("heron-42-quay", "sessions", 3), ("tiller", "sessions", 0)),
    )
    for commands in ((), ("ingest",)):
        assert not commands or run_here(machine, *commands).returncode == 0
        for query, kind, code in sought:
            found = run_here(machine, "search", "--exact", query, "--in", kind)
            assert found.returncode == code, (commands, query, kind, found)
    assert "attic" in (data / "excluded.txt").read_text()
    deep = run_here(machine, "verify", "--deep")
    assert deep.returncode == 0, deep.stdout


def test_what_was_said_again_after_a_forgetting_stays(machine: dict[str, str]) -> None:
    """Though the tombstones are lost: of their copy is known when it was forgotten."""
    for _ in range(2):
        said = run_here(machine, "remember", "The anchor is of iron.", "--json")
        memory_id = json.loads(said.stdout)["memory_id"]
        assert run_here(machine, "ingest").returncode == 0
        assert run_here(machine, "forget", memory_id, "--yes").returncode == 0
    run_here(machine, "remember", "The anchor is of iron.")
    for path in Path(machine["MEMORY_DATA_DIR"]).glob("forgotten.db*"):
        path.unlink()
    assert run_here(machine, "ingest").returncode == 0
    assert run_here(machine, "search", "anchor", "--in", "memory").returncode == 0


def test_a_copy_of_another_install_key_is_used_as_far_as_it_goes(
    machine: dict[str, str], tmp_path: Path
) -> None:
    """Sessions are known by their own ids; `memory doctor` names it, and it is kept when something
    else is forgotten."""
    config, data = Path(machine["XDG_CONFIG_HOME"]) / "memory_assets", tmp_path / "memory"
    shutil.rmtree(data)
    for path in config.iterdir():
        if path.is_file():
            path.unlink()
    assert run_here(machine, "ingest").returncode == 0
    assert run_here(machine, "search", "--exact", "garboard").returncode == 3
    assert run_here(machine, "forget", KEPT, "--yes").returncode == 0
    copies = list((config / "forgotten").glob("*.db"))
    assert len(copies) == 2
    assert "under another install key" in run_here(machine, "doctor").stdout
    shutil.rmtree(data)
    assert run_here(machine, "ingest").returncode == 0
    for query in ("garboard", "oars"):
        assert run_here(machine, "search", "--exact", query).returncode == 3


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
    """`memory verify` says that it does not fit, and the next ingest makes it right."""
    data, backup = Path(machine["MEMORY_DATA_DIR"]), tmp_path / "backup"
    shutil.rmtree(data / "lake/session_summaries")
    shutil.copytree(backup / "lake/session_summaries", data / "lake/session_summaries")
    for path in data.glob("keywords.db*"):
        path.unlink()
    shutil.copy(backup / "keywords.db", data)
    verified = run_here(machine, "verify")
    assert verified.returncode == 4 and "memory ingest --full" in verified.stdout
    assert run_here(machine, "ingest").returncode == 0
    assert run_here(machine, "verify").returncode == 0
    for query, code in (("garboard", 3), ("oars", 0)):
        assert run_here(machine, "search", query, "--in", "summaries").returncode == code


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
    # in another process, as this one has it open
    subprocess.run([PROGRAM, "ingest"], env=machine, check=True, timeout=100)
    verified = run_here(machine, "verify")
    assert verified.returncode == 0, verified.stdout
    for query, code in (("spruce", 0), ("oars", 0), ("garboard", 3)):
        assert run_here(machine, "search", "--exact", query).returncode == code
