"""A data directory that cannot be written, as agents in a sandbox have it: it is read as it is."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.cli.test_cli import MEMORY, Cli
from memory_assets_tests.unprivileged import WITHOUT_PRIVILEGES, without_privileges

_DATABASES = ("catalog.db", "keywords.db", "agent_memory.db", "lineage.db")
_QUERY = "deploys fail since the renovate merge"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """The sample, and something that an agent remembered."""
    cli = Cli(tmp_path_factory.mktemp("made"))
    for command in (["remember", "Deploys fail without a lock file."], ["ingest"]):
        done = cli.run(*command)
        assert done.returncode == 0, done.stdout + done.stderr
    chroma_server.stop(cli.data_dir)
    return cli


@pytest.fixture(params=["closed", "with logs"])
def read_only(made: Cli, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cli]:
    """A copy that nobody may write: with the write-ahead logs of processes that have the databases
    open, or without."""
    directory = tmp_path / "data"
    with ExitStack() as opened:
        for name in _DATABASES:
            with closing(sqlite3.connect(made.data_dir / name)) as database:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            if request.param == "with logs":
                database = opened.enter_context(closing(sqlite3.connect(made.data_dir / name)))
                database.execute("CREATE TABLE IF NOT EXISTS written_last (n)")
        shutil.copytree(made.data_dir, directory)
    assert (directory / "keywords.db-wal").exists() == (request.param == "with logs")
    cli = Cli(tmp_path / "cli")
    cli.own = {**made.own, "MEMORY_DATA_DIR": str(directory)}
    paths = (directory, *directory.rglob("*"))
    for path in paths:
        path.chmod(0o500 if path.is_dir() else 0o400)
    yield cli
    for path in filter(Path.exists, paths):
        path.chmod(0o700 if path.is_dir() else 0o600)


def _run(cli: Cli, *arguments: str) -> subprocess.CompletedProcess[str]:
    with without_privileges():
        return cli.run(*arguments)


def test_questions_are_answered_and_nothing_is_written(read_only: Cli) -> None:
    """By words and by vectors, sessions and agents' memory, the state and a conversation; the
    files are as they were. What has to write is refused, and no advice deletes anything."""
    directory = Path(read_only.own["MEMORY_DATA_DIR"])
    before = {path: path.stat().st_mtime_ns for path in directory.rglob("*") if path.is_file()}
    for mode in ("keyword", "semantic", "hybrid"):
        done = _run(read_only, "search", _QUERY, "--mode", mode, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        answer = json.loads(done.stdout)
        assert answer["hits"] and answer["degraded"] is None
    turn = next(hit["id"] for hit in answer["hits"])
    for command in (
        ("search", "lock file", "--in", "memory"),
        ("search", "--exact", "lock"),
        ("show", turn),
        ("timeline", turn),
        ("status",),
        ("context",),
        ("memories",),
        ("audit", turn),
        ("forget", turn, "--dry-run"),
    ):
        done = _run(read_only, *command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    for command in (("ingest", "--full"), ("verify",), ("chroma",), ("forget", turn, "--yes")):
        refused = _run(read_only, *command)
        assert refused.returncode == 1
        printed = (refused.stdout + refused.stderr).lower()
        assert f"cannot write in {directory}".lower() in printed, command
        assert not [word for word in ("delete ", "traceback", ".py", ".lock") if word in printed]
    after = {path: path.stat().st_mtime_ns for path in directory.rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize("read_only", ["closed"], indirect=True)
def test_what_cannot_be_asked_is_said(read_only: Cli) -> None:
    """Collections of others are in a Chroma that needs to write; a turn is forgotten with its
    session; what agents wrote is read from its copy, where the journal is gone, or is nothing."""
    done = _run(read_only, "cross-query", _QUERY)
    assert done.returncode == 2 and "no workspace is on record" in done.stderr, done.stderr
    turn = json.loads(_run(read_only, "search", _QUERY, "--json").stdout)["hits"][0]["id"]
    listed = _run(read_only, "forget", turn, "--dry-run")
    assert "only whole sessions are forgotten" in listed.stdout
    directory = Path(read_only.own["MEMORY_DATA_DIR"])
    journal = ["agent_memory.db", "agent_memory.db-wal", "agent_memory.db-shm"]
    for gone, remembered in ((journal, 0), (["agent_memory.db.copy"], 3)):
        directory.chmod(0o700)
        for name in gone:
            (directory / name).unlink(missing_ok=True)
        directory.chmod(0o500)
        assert _run(read_only, "memories").returncode == remembered
        waits = _run(read_only, "remember", "Use it.", "--confidence", "1").stdout
        assert waits.startswith("waits: cannot") and "read-only" in waits


@pytest.mark.parametrize("read_only", ["closed"], indirect=True)
def test_agents_are_answered_over_stdio(read_only: Cli) -> None:
    """The tool that recalls, of a server that an agent starts in its sandbox."""
    command = [*WITHOUT_PRIVILEGES, str(MEMORY), "mcp"]
    target = stdio_client(
        StdioServerParameters(command=command[0], args=command[1:], env=read_only.environment)
    )

    async def asked() -> Any:
        async with Client(target) as client:
            return await client.call_tool("recall", {"query": _QUERY})

    answer = asyncio.run(asked())
    assert not answer.is_error
    assert answer.structured_content["hits"]
    assert answer.structured_content["degraded"] is None
