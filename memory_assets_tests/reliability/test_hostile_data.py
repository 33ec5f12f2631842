"""A data directory with files of somebody else: nothing in them is executed, nothing outside is
deleted, and what cannot be used is named."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from memory_assets.errors import StoreError
from memory_assets.stores.agents.journal_file import open_journal
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.gateway_usage import GatewayUsage
from memory_assets.stores.keyword_index.files import open_for_writing
from memory_assets.stores.runs.ledger import RunLedger
from memory_assets.stores.tombstones import Tombstones
from memory_assets_tests.command_line import run_here
from memory_assets_tests.transcript_files import write_claude

SESSION = "77777777-aaaa-4aaa-8aaa-000000000001"


class _Touches:
    """Unpickled, it creates a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """A memory of one session, without vectors."""
    claude = tmp_path / "claude" / "projects"
    write_claude(claude, SESSION, "/home/mira/boat", "varnish the oars", "twice")
    environment = {
        **os.environ,
        "HOME": str(tmp_path / "home"),
        "MEMORY_DATA_DIR": str(tmp_path / "memory"),
        "MEMORY_EMBEDDER": "none",
        "MEMORY_PROJECTS_DIR": str(claude),
    }
    assert run_here(environment, "ingest").returncode == 0
    return environment


def _segment(machine: dict[str, str]) -> Path:
    (path,) = Path(machine["MEMORY_DATA_DIR"]).glob("lake/redacted_records/*/*.parquet")
    return path


def test_a_pickle_in_a_table_is_not_loaded(machine: dict[str, str], tmp_path: Path) -> None:
    """Arrow's extension types once held pickles that reading a file loaded; `verify` names the
    table as altered."""
    touched, path = tmp_path / "touched", _segment(machine)
    table = pq.read_table(path)
    planted: dict[bytes | str, bytes | str] = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(_Touches(touched)),
    }
    at = table.schema.get_field_index("text")
    field = table.schema.field(at).with_metadata(planted)
    pq.write_table(table.set_column(at, field, table.column(at)), path)
    for command in (["search", "oars"], ["show", f"{SESSION}:0"], ["ingest"]):
        run_here(machine, *command)
    verified = run_here(machine, "verify", "--deep")
    assert verified.returncode == 4 and not touched.exists()


def test_a_trigger_in_the_catalogue_loads_no_library(machine: dict[str, str]) -> None:
    """The file is refused before anything is written to it."""
    catalogue = Path(machine["MEMORY_DATA_DIR"]) / "catalog.db"
    with sqlite3.connect(catalogue) as connection:
        connection.execute(
            "CREATE TRIGGER planted AFTER INSERT ON products"
            " BEGIN SELECT load_extension('/tmp/planted.so'); END"
        )
    connection.close()
    root = Path(machine["MEMORY_PROJECTS_DIR"])
    write_claude(root, SESSION, "/home/mira/boat", "varnish the oars", "twice", "thrice")
    ingested = run_here(machine, "ingest")
    assert ingested.returncode == 1
    assert "catalog.db (DatabaseError: it has views or triggers" in ingested.stderr


def test_a_view_in_place_of_a_table_is_not_asked(machine: dict[str, str]) -> None:
    """It may have rows without end: the index of words is named, and made anew."""
    with closing(sqlite3.connect(Path(machine["MEMORY_DATA_DIR"]) / "keywords.db")) as index:
        index.executescript(
            "DROP TABLE about; CREATE VIEW about AS WITH RECURSIVE endless (name) AS"
            " (SELECT 1 UNION ALL SELECT name + 1 FROM endless) SELECT name, name AS value"
            " FROM endless"
        )
    refused = run_here(machine, "search", "oars")
    assert refused.returncode == 1 and "keywords.db" in refused.stderr
    assert run_here(machine, "ingest").returncode == 0
    assert run_here(machine, "search", "oars").returncode == 0


def test_modules_in_the_data_directory_are_not_imported(
    machine: dict[str, str], tmp_path: Path
) -> None:
    """Not by a command that is started there, either."""
    data = Path(machine["MEMORY_DATA_DIR"])
    for name in ("sitecustomize", "json", "sqlite3", "chromadb"):
        (data / f"{name}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')\n")
    program = Path(sys.executable).with_name("memory")
    subprocess.run([program, "search", "oars"], env=machine, cwd=data, check=True, timeout=60)
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("content", ["[" * 200_000, "[1, 2]", "null"])
def test_notes_of_another_shape_are_none(machine: dict[str, str], content: str) -> None:
    """However deep they are nested: each of these files is written again."""
    for name in ("versions.json", "ingest.json", "watcher.json", "chroma.endpoint.json"):
        (Path(machine["MEMORY_DATA_DIR"]) / name).write_text(content)
    for command in (["status"], ["sessions"]):
        done = run_here(machine, *command)
        assert done.returncode == 0, done.stderr


def test_what_is_beside_a_linked_partition_stays(machine: dict[str, str], tmp_path: Path) -> None:
    """Forgetting a project deletes its own files where a link leads, and the link, but nothing else
    there; a database that is a link to another file leaves that as it is."""
    outside, partition = tmp_path / "outside", _segment(machine).parent
    partition.rename(outside)
    partition.symlink_to(outside)
    (outside / "letter.txt").write_text("dear")
    keywords = Path(machine["MEMORY_DATA_DIR"]) / "keywords.db"
    keywords.unlink()
    keywords.symlink_to(outside / "letter.txt")
    assert run_here(machine, "search", "oars").returncode == 1
    assert run_here(machine, "forget", "--project", "boat", "--yes").returncode == 0
    assert [path.name for path in outside.iterdir()] == ["letter.txt"]
    assert (outside / "letter.txt").read_text() == "dear" and not partition.exists()


OPENERS: dict[str, Callable[[Path], object]] = {
    "catalog.db": Catalog,
    "lineage.db": RunLedger,
    "gateway_usage.db": GatewayUsage,
    "forgotten.db": lambda path: Tombstones(path, b"k" * 32).exclude(["x"]),
    "keywords.db": open_for_writing,
    "agent_memory.db": lambda path: open_journal(path, 1.0),
}


def test_nothing_is_written_through_a_link_in_place_of_a_staging_file(
    machine: dict[str, str], tmp_path: Path
) -> None:
    """Its name can be foreseen: `versions.json.staging`, and others of its kind."""
    data_dir = Path(machine["MEMORY_DATA_DIR"])
    names = ("versions.json", "ingest.json", "hidden.txt", "workspaces.json", "excluded.txt")
    own = {name: tmp_path / f"own {name}" for name in names}
    for name, path in own.items():
        path.write_text("own")
        for staging in (f"{name}.staging", f"{name}.new"):
            (data_dir / staging).symlink_to(path)
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "gate.md").write_text("# Gate\n")
    for command in (
        ["ingest", "--full"],
        ["index", str(notes)],
        ["hide", SESSION],
        ["forget", "--project", "boat", "--exclude", "--yes"],
    ):
        done = run_here(machine, *command)
        assert done.returncode == 0, done.stderr
    assert {path.read_text() for path in own.values()} == {"own"}


@pytest.mark.parametrize("name", OPENERS)
def test_no_table_is_added_to_a_database_of_another_program(tmp_path: Path, name: str) -> None:
    """A link in the data directory leads to it; it stays byte for byte, and the error names it."""
    other, link = tmp_path / "places.sqlite", tmp_path / "memory" / name
    with closing(sqlite3.connect(other)) as connection:
        connection.executescript("CREATE TABLE sessions (id); INSERT INTO sessions VALUES (1);")
    before = other.read_bytes()
    link.parent.mkdir()
    link.symlink_to(other)
    with pytest.raises(StoreError, match=rf"{name} is a database of another program"):
        OPENERS[name](link)
    assert other.read_bytes() == before and link.is_symlink()
