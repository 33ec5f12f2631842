"""A table that another program altered on disk: a plain `memory ingest`, which has nothing else to
do, checks it, and nothing says that everything can be found before it is whole again."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memory_assets.cli import exit_codes
from memory_assets.pipeline.indexes.keywords import keywords_path
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import load_settings
from memory_assets.stores.lake.schemas import TURN_CHUNKS
from memory_assets_tests.command_line import run_here
from memory_assets_tests.own_files import altered
from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcript_files import claude_line, write_lines

_PROMPT = "Why does the tide table of the harbour begin at noon and not at midnight?"
_SECRET = "export GITHUB_TOKEN=ghp_" + "7Xq2mR9vT4wK1zB8nC5yL3pD6sF0hJ2aGeUi"
_EVERYTHING = "Everything on record can be found"


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a memory of one session of Claude Code."""
    lines = [
        claude_line("s1", number, f"{_PROMPT} ({number})", "/w/harbour", role="user")
        for number in range(3)
    ]
    write_lines(tmp_path / "projects" / "-w-harbour" / "s1.jsonl", lines)
    environment = {
        "HOME": str(tmp_path / "home"),
        "MEMORY_DATA_DIR": str(tmp_path / "memory"),
        "MEMORY_PROJECTS_DIR": str(tmp_path / "projects"),
        "MEMORY_EMBEDDER": "none",
    }
    done = run_here(environment, "ingest")
    assert done.returncode == exit_codes.FINE and _EVERYTHING in done.stdout, done.stdout
    return environment


def _replaced(rows: pa.Table, name: str, value: object) -> pa.Table:
    at = rows.schema.get_field_index(name)
    values = [value, *rows[name].to_pylist()[1:]]
    return rows.set_column(at, rows.schema.field(at), pa.array(values, rows.schema.field(at).type))


def _with_a_secret(rows: pa.Table) -> pa.Table:
    return _replaced(rows, "text", _SECRET)


def _with_an_id_twice(rows: pa.Table) -> pa.Table:
    return _replaced(rows, "id", rows["id"][1].as_py())


def _with_another_prompt(rows: pa.Table) -> pa.Table:
    return _replaced(rows, "prompt_uuid", rows["prompt_uuid"][1].as_py())


@sweep(
    "table, alter",
    [
        ("redacted_records", _with_a_secret),
        ("turn_chunks", _with_another_prompt),
        ("user_prompts", _with_an_id_twice),
    ],
)
def test_an_ingest_with_nothing_to_do_checks_what_was_altered(
    home: dict[str, str], tmp_path: Path, table: str, alter: Callable[[pa.Table], pa.Table]
) -> None:
    """It ends with the code of a failed check each time, and the status says which; with the file
    put back as it was, the next ingest checks it again, and says that everything can be found."""
    done = run_here(home, "ingest")
    assert "Nothing to do" in done.stdout and _EVERYTHING in done.stdout
    (path,) = (tmp_path / "memory" / "lake" / table).rglob("*.parquet")
    kept = shutil.copy2(path, tmp_path / "kept")
    rows = pq.ParquetFile(path).read()
    pq.write_table(alter(rows).replace_schema_metadata(rows.schema.metadata), path)
    later = time.time() + 5
    os.utime(path, (later, later))
    for _ in range(2):
        done = run_here(home, "ingest")
        assert done.returncode == exit_codes.CHECK_FAILED, done.stdout + done.stderr
        assert "check failed" in done.stdout and _EVERYTHING not in done.stdout
    told = run_here(home, "status").stdout
    assert "A check failed: " in told and _EVERYTHING not in told
    assert "A check failed: " in run_here(home, "doctor").stdout
    shutil.copy2(kept, path)
    done = run_here(home, "ingest")
    assert done.returncode == exit_codes.FINE, done.stdout
    assert _EVERYTHING in done.stdout and "A check failed" not in run_here(home, "status").stdout


def _no_footer(content: bytes) -> bytes:
    return content[:-400] + b"x" * 392 + content[-8:]


def _cut_in_half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _empty(content: bytes) -> bytes:
    return b""


@pytest.mark.parametrize(
    "damage",
    [
        _cut_in_half,
        pytest.param(_no_footer, marks=pytest.mark.long),
        pytest.param(_empty, marks=pytest.mark.long),
    ],
)
def test_a_damaged_file_is_told_until_it_is_whole_and_stops_no_other_project(
    home: dict[str, str], tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    """By every ingest, also after `memory verify` has begun all checks again."""
    (path,) = (tmp_path / "memory" / "lake" / "redacted_records").rglob("*.parquet")
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    later = time.time() + 5
    os.utime(path, (later, later))
    other = tmp_path / "projects" / "-w-pier"
    other.mkdir()
    for number, command in enumerate(("ingest", "verify", "ingest", "ingest")):
        lines = (tmp_path / "projects" / "-w-harbour" / "s1.jsonl").read_text()
        text = lines.replace("/w/harbour", "/w/pier").replace('"s1', f'"p{number}')
        (other / f"p{number}.jsonl").write_text(text)
        done = run_here(home, command)
        assert done.returncode not in (exit_codes.FINE, None), (command, done.stdout)
        told = done.stdout + done.stderr
        assert f"{path.name} is damaged" in told and _EVERYTHING not in told, (command, told)
        if command == "ingest":
            told = run_here(home, "status").stdout
            assert "The last ingest failed" in told and "can be found" not in told, told
    assert (
        json.loads(run_here(home, "sessions", "--project", "pier", "--json").stdout)["total"] == 4
    )
    path.write_bytes(whole)
    assert run_here(home, "ingest").returncode == exit_codes.FINE
    assert _EVERYTHING in run_here(home, "status").stdout


PROJECT, SESSION = "-home-ada-tides", "11111111"
_TOKEN = "ghp_" + "wWPw5k4aXcaT4fNP" + "0UcnZwJUVFk6LO0pINUx"
"""In GitHub's form with a checksum-like tail; nobody's."""


def test_no_word_is_indexed_of_a_table_that_a_blocking_check_stops(tmp_path: Path) -> None:
    """Another program put a secret into a chunk, and the index is lost: it is not made again."""
    said = claude_line(SESSION, 0, "Which quay is dry?", "/home/ada/tides")
    write_lines(tmp_path / "projects" / PROJECT / f"{SESSION}.jsonl", [said])
    home = {
        "MEMORY_DATA_DIR": str(tmp_path / "data"),
        "MEMORY_PROJECTS_DIR": str(tmp_path / "projects"),
        "MEMORY_AGENTS": "claude-code",
        "MEMORY_EMBEDDER": "none",
    }
    assert run_here(home, "ingest").returncode == 0
    components = Components(load_settings(data_dir=tmp_path / "data"))
    (row,) = components.lake.read(TURN_CHUNKS, PROJECT, SESSION).to_pylist()
    leak = {**row, "text": f"export GITHUB_TOKEN={_TOKEN}"}
    leaked = pa.Table.from_pylist([leak], schema=TURN_CHUNKS.schema)
    altered(components.lake, TURN_CHUNKS, PROJECT, SESSION, leaked)
    keywords_path(components).unlink()
    failed = json.loads(run_here(home, "ingest", "--json").stdout)["checks_failed"]
    assert f"{PROJECT}: turn_chunks.no_secrets_remain" in failed
    assert not keywords_path(components).exists()
