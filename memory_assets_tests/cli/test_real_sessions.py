"""`memory ingest` of real sessions of three agents from three platforms, end to end."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_assets.cli import exit_codes
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.command_line import run_here

_CLAUDE, _CODEX, _PI = "claude/projects", "codex/sessions", "pi/agent/sessions"
_MANY, _ALL = 30_000, 200_000
CHOSEN = {
    f"M-Thisness+M-Claude/{_CLAUDE}/C--Users-Mischa": _MANY,
    f"entireio+git-sync/{_CLAUDE}/-Users-nodo-work-entire-git-sync": _ALL,
    f"entireio+git-sync/{_CLAUDE}/-home-coder-git-entireio-git-sync": _ALL,
    f"chikachow+cyspbot/{_CODEX}/2026/07/06": _ALL,
    f"EntityProcess+agentv/{_CODEX}/2026/06/18": _ALL,
    f"raquezha+pi.dev/{_PI}": _ALL,
}
"""Directories of the evaluation data, and the largest file that is taken of each: six projects
of Windows, macOS and Linux, so that it takes seconds."""
PLATFORMS = {"Windows": r'"cwd":"C:\\', "macOS": '"cwd":"/Users/', "Linux": '"cwd":"/home/'}


@pytest.fixture
def chosen(dev_transcripts: Path, tmp_path: Path) -> dict[str, Path]:
    """Copies of the chosen sessions, a directory an agent."""
    roots = {"PROJECTS": tmp_path / _CLAUDE, "CODEX": tmp_path / "codex", "PI": tmp_path / "pi"}
    for place, largest in CHOSEN.items():
        for path in sorted((dev_transcripts / place).rglob("*.jsonl")):
            if path.stat().st_size <= largest:
                copied = tmp_path / path.relative_to(dev_transcripts / Path(place).parts[0])
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copied)
    return roots


@pytest.fixture
def environment(chosen: dict[str, Path], tmp_path: Path) -> Iterator[dict[str, str]]:
    """Settings of an empty memory over them."""
    data_dir = tmp_path / "memory"
    yield {
        "MEMORY_DATA_DIR": str(data_dir),
        **{f"MEMORY_{name}_DIR": str(root) for name, root in chosen.items()},
    }
    chroma_server.stop(data_dir)


def test_nothing_of_real_sessions_is_held_back(
    chosen: dict[str, Path], environment: dict[str, str]
) -> None:
    """Twenty sessions and more: every project is done, every check passes, all is found, and a
    second ingest has nothing to do."""
    said = [path.read_text() for root in chosen.values() for path in root.rglob("*.jsonl")]
    assert {name for name, cwd in PLATFORMS.items() if any(cwd in text for text in said)} == {
        *PLATFORMS
    }
    done = run_here(environment, "ingest", "--json")
    report = json.loads(done.stdout)
    assert (report["failed"], report["checks_failed"], report["warnings"]) == ({}, [], [])
    assert done.returncode == exit_codes.FINE
    current = report["status"]
    assert current["quarantined"] == [] and current["unlisted"] == []
    sessions = {agent: counts["sessions"] for agent, counts in current["agents"].items()}
    assert sum(sessions.values()) >= 20 and sessions.keys() == {"claude-code", "codex", "pi"}
    for kind in ("workspace", "memory", "history", "history_summaries"):
        assert current["coverage"].pop(kind)["rows"] == 0
    for kind, covered in current["coverage"].items():
        assert covered["complete"] and covered["indexed"] == covered["rows"] > 0, kind
    again = json.loads(run_here(environment, "ingest", "--json").stdout)
    assert (again["work"], again["failed"]) == ([], {})
