"""Killed again and again, a memory ends as if nothing had happened. The full form, with 50
kills of the whole command, is `benchmarks/crash_safety.py`."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import load_settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.schemas import TABLES

REPOSITORY = Path(__file__).resolve().parents[2]
_RUNS = """
import json, os, signal, sys
from benchmarks import crash_child
crash_child.use_hash_embedder()
crash_child.save_often(10)
from memory_assets.pipeline.indexes import collections as index
from memory_assets.pipeline.indexes import indexed_tables
from memory_assets.pipeline.redact import redacted_records as redact
from memory_assets.pipeline.scan import on_disk, raw_sessions as scan
from memory_assets.pipeline.tables import embeddings as embed
from memory_assets.pipeline.tables import whole_sessions as summarise
from memory_assets.pipeline.tables import turn_chunks as chunk
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import load_settings
from memory_assets.stores.chroma import server as chroma_server

engines = ("install_key", "redactor", "embedder", "summarizer")
loaded = Components(load_settings())
loaded = {name: getattr(loaded, name) for name in engines}


def ingest(data_dir):
    components = Components(load_settings(data_dir=data_dir))
    components.opened.update(loaded)
    vars(components).update(loaded)
    for project in on_disk.find_sources(components):
        scan.scan_project(components, project)
        redact.redact_project(components, project)
        chunk.chunk_project(components, project)
        chunk.extract_prompts(components, project)
        summarise.summarise_project(components, project)
        for name in ("sessions", "prompts", "summaries"):
            of = indexed_tables.INDEX_OF[name]
            embed.embed_project(components, project, source_table=of.table, table=of.embeddings)
            index.index_project(components, project, of)


for order in sys.stdin:
    data_dir, kill_at, and_server = json.loads(order)
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.close(reading)
        crash_child.tell_stages(writing)
        ingest(data_dir)
        os._exit(0)
    os.close(writing)
    told, killed = 0, False
    while not killed and (data := os.read(reading, 4096)):
        told += data.count(b"\\n")
        if kill_at is not None and told >= kill_at:
            os.kill(process, signal.SIGKILL)
            killed = True
            endpoint = chroma_server.running(load_settings(data_dir=data_dir).data_dir)
            if and_server and endpoint is not None:
                os.kill(endpoint.pid, signal.SIGKILL)
    os.close(reading)
    _, status = os.waitpid(process, 0)
    print(json.dumps([told, os.waitstatus_to_exitcode(status)]), flush=True)
"""
"""Runs the stages over and over, each time in a process of its own, as it is told: where,
and after how many begun or ended stages it is to be killed, with Chroma's server or without.
The processes are forks of one, so that the redactor is loaded once."""


class Runs:
    """The process that runs and kills them."""

    def __init__(self, transcripts: Path) -> None:
        environment = {
            **os.environ,
            "MEMORY_PROJECTS_DIR": str(transcripts / "claude" / "projects"),
            "MEMORY_CODEX_DIR": str(transcripts / "codex"),
            "MEMORY_PI_DIR": str(transcripts / "pi"),
            "PYTHONPATH": str(REPOSITORY),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", _RUNS],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def to_the_end(self, data_dir: Path) -> int:
        """Let a run end by itself, and return how many stages began or ended in it."""
        told, code = self._run(data_dir, None, False)
        assert code == 0
        return told

    def killed(self, data_dir: Path, at: int, and_server: bool) -> None:
        """Let a run be killed when so many stages have begun or ended."""
        told, code = self._run(data_dir, at, and_server)
        assert told >= at
        assert code == -signal.SIGKILL

    def _run(self, data_dir: Path, kill_at: int | None, and_server: bool) -> tuple[int, int]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(data_dir), kill_at, and_server]) + "\n")
        self.process.stdin.flush()
        told, code = json.loads(self.process.stdout.readline())
        return told, code


@pytest.fixture
def runs(tmp_path: Path, sample_roots: Any) -> Iterator[Runs]:
    """Runs over the sample."""
    made = Runs(tmp_path / "transcripts")
    yield made
    assert made.process.stdin is not None
    made.process.stdin.close()
    made.process.wait()
    for name in ("calm", "killed"):
        chroma_server.stop(tmp_path / name)


def _state(data_dir: Path) -> dict[str, Any]:
    components = Components(load_settings(data_dir=data_dir, chroma_idle_seconds=60.0))
    state: dict[str, Any] = {}
    for table in TABLES.values():
        names = [name for name in table.schema.names if name not in table.written_columns]
        for project in components.lake.projects(table):
            rows = components.lake.read_partition(table, project, names).to_pylist()
            state[f"{table.name}/{project}"] = sorted(map(repr, rows))
    store = components.vectors
    for name in store.names():
        collection: Any = store.get(name)
        page = collection.ask("get", include=["embeddings", "documents", "metadatas"])
        for row_id, vector, text, metadata in zip(
            page["ids"], page["embeddings"], page["documents"], page["metadatas"], strict=True
        ):
            kept = {k: v for k, v in metadata.items() if k not in ("ingested_at", "row_hash")}
            state[f"{name}/{row_id}"] = (tuple(vector), text, kept)
    chroma_server.stop(data_dir)
    return state


def test_three_kills_in_a_row_leave_no_trace(tmp_path: Path, runs: Runs) -> None:
    """At seeded moments, once together with Chroma's server; then a run to the end. Every
    row of every table and collection is what an uninterrupted run makes."""
    steps = runs.to_the_end(tmp_path / "calm")
    draw = random.Random(11)
    for and_server in (False, True, False):
        runs.killed(tmp_path / "killed", draw.randint(2, steps // 4), and_server)
    runs.to_the_end(tmp_path / "killed")
    calm, killed = _state(tmp_path / "calm"), _state(tmp_path / "killed")
    assert killed.keys() == calm.keys()
    assert [key for key in calm if calm[key] != killed[key]] == []
