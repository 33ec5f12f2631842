"""The words of a table that a blocking check stops are not indexed."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from memory_assets.pipeline.indexes.keywords import keywords_path
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import load_settings
from memory_assets.stores.lake.schemas import TURN_CHUNKS
from memory_assets_tests.command_line import run_here
from memory_assets_tests.own_files import own_file

PROJECT, SESSION = "-home-ada-tides", "11111111"
_TOKEN = "ghp_" + "wWPw5k4aXcaT4fNP" + "0UcnZwJUVFk6LO0pINUx"
"""In GitHub's form with a checksum-like tail; nobody's."""


def test_no_word_is_indexed_of_a_table_that_a_blocking_check_stops(tmp_path: Path) -> None:
    """Another program put a secret into a chunk, and the index is lost: it is not made again."""
    path = tmp_path / "projects" / PROJECT / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    said = {
        "type": "user",
        "uuid": "a",
        "sessionId": SESSION,
        "timestamp": "2026-05-04T09:00:00.000Z",
        "cwd": "/home/ada/tides",
        "message": {"role": "user", "content": "Which quay is dry?"},
    }
    path.write_text(f"{json.dumps(said)}\n")
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
    chunks = own_file(components.lake, TURN_CHUNKS, PROJECT, SESSION)
    pq.write_table(pa.Table.from_pylist([leak], schema=TURN_CHUNKS.schema), chunks)
    keywords_path(components).unlink()
    failed = json.loads(run_here(home, "ingest", "--json").stdout)["checks_failed"]
    assert f"{PROJECT}: turn_chunks.no_secrets_remain" in failed
    assert not keywords_path(components).exists()
