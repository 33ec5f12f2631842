"""A memory that an earlier version made moves over: `memories/` has one of each, as that version's
own code left it after `ingest`, (0.3.0) `index` and `remember`, `forget` and another `ingest`, with
its install key, without Dagster's runs, locks and logs."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from benchmarks.crash_world import differences, rows_of
from memory_assets.errors import StoreBusy
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import load_settings
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.parquet_files import write_file
from memory_assets.stores.lake.schemas import TURN_CHUNKS
from memory_assets_tests.command_line import run_here
from memory_assets_tests.kills import Killed, killed_after
from memory_assets_tests.transcript_files import write_claude

MEMORIES = Path(__file__).parent / "memories"
VERSIONS = ("0.2.0", "0.3.0")
_KILLS_AFTER = 2
"""Renames, removals and marks after which a first ingest is killed, the second after twice as many,
and so on; less than what is left to do."""
FORGOTTEN = "77777777-aaaa-4aaa-8aaa-000000000001"
"""A session that was forgotten in each; its transcript stayed."""


def _write_transcripts(home: Path, *, forgotten: bool) -> None:
    projects = home / "projects"
    first, third = (f"77777777-aaaa-4aaa-8aaa-00000000000{n}" for n in (0, 2))
    write_claude(projects, first, "/home/mira/boat", "varnish the oars", "and the rudder?")
    write_claude(projects, third, "/home/mira/kiln", "fire the glaze")
    if forgotten:
        write_claude(projects, FORGOTTEN, "/home/mira/boat", "caulk the garboard")


def _environment(home: Path, cache: Path) -> dict[str, str]:
    return {
        **os.environ,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CACHE_HOME": str(cache),
        "MEMORY_DATA_DIR": str(home / "memory"),
        "MEMORY_EMBEDDER": "none",
        "MEMORY_PROJECTS_DIR": str(home / "projects"),
    }


def _rows(home: Path) -> dict[str, Any]:
    """Return the rows that are made of sessions; vectors are not, here."""
    components = Components(load_settings(data_dir=home / "memory", embedder="none"))
    rows = rows_of(components)
    components.catalog.close()
    return {key: row for key, row in rows.items() if "/-home-" in key and "embeddings/" not in key}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_memory_of_an_earlier_version_moves_over(
    tmp_path: Path, version: str, compiled_rules: Path
) -> None:
    """`memory ingest` does it, though it is killed ten times meanwhile: every row is that of a
    memory that this version makes of the same transcripts, what was forgotten stays forgotten,
    what was remembered or indexed is found, and checks pass."""
    old, fresh = tmp_path / "old", tmp_path / "fresh"
    with tarfile.open(MEMORIES / f"{version}.tar.xz") as archive:
        archive.extractall(old, filter="data")
    environment = _environment(old, compiled_rules)
    _write_transcripts(old, forgotten=True)
    for kill in range(10):
        with pytest.raises(Killed), killed_after(_KILLS_AFTER * kill):
            run_here(environment, "ingest")
    for command in ("ingest", "verify"):
        done = run_here(environment, command)
        assert done.returncode == 0, done.stdout
    _write_transcripts(fresh, forgotten=False)
    assert run_here(_environment(fresh, compiled_rules), "ingest").returncode == 0
    against = differences(_rows(fresh), _rows(old))
    assert not any(against.values()), against
    sought: dict[tuple[str, ...], int] = {("garboard",): 3, ("oars",): 0, ("glaze",): 0}
    if version != "0.2.0":  # which had no documents and no agents' memory
        sought |= {("ebb", "--in", "workspace"): 0, ("pnpm", "--in", "memory"): 0}
    for asked, code in sought.items():
        assert run_here(environment, "search", "--exact", *asked).returncode == code, asked


def test_long_sessions_of_an_earlier_version_are_found_before_the_next_ingest(
    tmp_path: Path, compiled_rules: Path
) -> None:
    """They had a file without a directory each: whatever command comes first moves them. One that
    is put back later is moved by the next ingest; one that is damaged is named first."""
    own = _with_a_long_session(tmp_path)
    rows = own.read_bytes()
    environment = _environment(tmp_path, compiled_rules)
    own.write_bytes(rows[: len(rows) // 2])
    assert f"{own.name} is damaged" in run_here(environment, "search", "oars").stderr
    own.write_bytes(rows)
    found = run_here(environment, "search", "--exact", "oars")
    assert found.returncode == 0, found.stdout
    assert not own.exists()
    own.write_bytes(rows)
    _write_transcripts(tmp_path, forgotten=False)
    assert run_here(environment, "ingest").returncode == 0
    assert not own.exists()


def test_nothing_is_moved_while_a_process_of_an_earlier_version_writes_it(tmp_path: Path) -> None:
    """Whoever opens the memory then says so, and leaves the catalogue as it is, too; later it is
    moved."""
    own = _with_a_long_session(tmp_path)
    lock = Lake(tmp_path / "memory" / "lake").lock_path("-home-mira-boat")
    for _ in range(2):
        with FileLock(lock), pytest.raises(StoreBusy, match=r"-home-mira-boat.*missing or of"):
            Catalog(tmp_path / "memory" / "catalog.db", busy_seconds=0.1)
        assert own.exists()
    Catalog(tmp_path / "memory" / "catalog.db").close()
    assert not own.exists()


def test_who_opens_a_memory_to_write_a_project_waits_for_no_lock_of_its_own(tmp_path: Path) -> None:
    """Also where the catalogue is gone, and made anew of files of an earlier version."""
    own = _with_a_long_session(tmp_path)
    for path in (tmp_path / "memory").glob("catalog.db*"):
        path.unlink()
    components = Components(load_settings(data_dir=tmp_path / "memory", embedder="none"))
    with components.project_lock("-home-mira-boat"):
        assert components.catalog.projects() is not None
    components.catalog.close()
    assert not own.exists()


def _with_a_long_session(home: Path) -> Path:
    """Unpack a memory of version 0.3.0, and return the file that a session has to itself."""
    with tarfile.open(MEMORIES / "0.3.0.tar.xz") as archive:
        archive.extractall(home, filter="data")
    table, project = TURN_CHUNKS, "-home-mira-boat"
    lake = Lake(home / "memory" / "lake")
    (session,) = lake.sessions(table, project)
    rows = lake.read(table, project, session)
    _, footer = lake.read_footer(table, project, session)
    lake.delete(table, project, session)
    own = lake.partition_dir(table, project) / f"{session}.parquet"
    write_file(own, rows.schema, [rows], {**footer, "generation": "1"})
    return own
