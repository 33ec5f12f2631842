"""The commands that must be there at once: what they leave unloaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memory_assets_tests.command_line import run_here

_SLOW = ("rich", "pydantic", "pyarrow", "dagster", "chromadb")
_START = "from memory_assets.cli.start import main; main()"


@pytest.fixture(autouse=True)
def _own_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMORY_DATA_DIR", str(tmp_path / "data"))


def _started(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _START, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_error_is_one_line_and_an_exit_code(tmp_path: Path) -> None:
    """Nothing in memory, and a wrong value."""
    empty = _started("search", "words")
    assert (empty.returncode, empty.stdout) == (3, "")
    assert "run `memory ingest` first" in " ".join(empty.stderr.split())
    (tmp_path / "data").mkdir()
    wrong = _started("search", "words", MEMORY_RECENT_DAYS="soon")
    assert wrong.returncode == 2 and "MEMORY_RECENT_DAYS" in wrong.stderr


@pytest.mark.parametrize(
    ("command", "code", "out", "err"),
    [
        ("memory >&-", 0, "", ""),
        ("memory 2>&-", 0, "Nothing is in memory yet", ""),
        ("memory <&- >&- 2>&-", 0, "", ""),
        ("memory search words 2>&-", 3, "", ""),
        ("memory forget --containing <&-", 2, "", "error no text was given"),
    ],
)
def test_a_closed_standard_stream_is_an_empty_one(
    command: str, code: int, out: str, err: str, tmp_path: Path
) -> None:
    """What would be written there is lost, what would be read is nothing, and no file that the
    command opens gets its place."""
    start = f"memory() {{ '{sys.executable}' -c '{_START}' \"$@\"; }}; {command}"
    done = subprocess.run(["sh", "-c", start], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout == "", done.stderr == "") == (code, not out, not err)
    assert out in done.stdout and done.stderr.startswith(err)


def test_a_search_loads_nothing_that_is_slow_to_load() -> None:
    """Neither pydantic, pyarrow nor any store's client."""
    script = (
        "import sys; from memory_assets.cli import start\n"
        "sys.argv = ['memory', 'search', 'words', '--json']\n"
        "try:\n    start.main()\nexcept SystemExit:\n    pass\n"
        "import memory_assets.recall.search.hybrid, memory_assets.embedding, json\n"
        f"print(json.dumps([name for name in {_SLOW} if name in sys.modules]))"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    loaded: list[Any] = json.loads(done.stdout.splitlines()[-1])
    assert loaded == []


def test_a_first_ingest_compiles_the_scanner_before_it_imports_the_rest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where there are transcripts and no memory yet: no other waits for it at its end."""
    began: list[bool] = []
    monkeypatch.setattr(
        "memory_assets.pipeline.checks.kingfisher.compile_kingfisher", lambda: began.append(True)
    )
    monkeypatch.setattr(
        "memory_assets.cli.ingesting.ingest_command.ingest_once", lambda *_, **__: len(began)
    )
    transcripts = tmp_path / "transcripts"
    (transcripts / "project").mkdir(parents=True)
    data = tmp_path / "data"
    environment = {
        "MEMORY_DATA_DIR": str(data),
        "MEMORY_PROJECTS_DIR": str(transcripts),
        "MEMORY_AGENTS": "claude-code",
    }
    assert run_here(environment, "ingest").returncode == 0
    (transcripts / "project" / "session.jsonl").touch()
    assert run_here(environment, "ingest").returncode == 1
    data.mkdir(parents=True, exist_ok=True)
    (data / "catalog.db").touch()
    assert run_here(environment, "ingest").returncode == 1
