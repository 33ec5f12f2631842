"""The sample stands in for transcripts only where there never were any, and never silently."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from memory_assets.cli.doctor_command import diagnose
from memory_assets.errors import ConfigurationError
from memory_assets.pipeline.scan.on_disk import find_sources, require_directories
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import load_settings
from memory_assets.status import status
from memory_assets_tests.command_line import run_here
from memory_assets_tests.transcript_files import claude_line, write_lines

OWN = "-home-mara-own"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A memory without vectors, in the home of a user without agents."""
    return {"MEMORY_DATA_DIR": str(tmp_path / "memory"), "MEMORY_EMBEDDER": "none"}


def _work(home: Path) -> Path:
    """A session of the user's own, where Claude Code keeps it; return Claude Code's home."""
    session = "dddddddd-0000-4000-8000-000000000001"
    said = claude_line(session, 0, "what turns the mill?", "/home/mara/own")
    write_lines(home / ".claude" / "projects" / OWN / f"{session}.jsonl", [said])
    return home / ".claude"


def _projects(environment: dict[str, str]) -> set[str]:
    return set(status(load_settings(data_dir=environment["MEMORY_DATA_DIR"]))["projects"])


def test_a_home_that_is_absent_for_one_run_brings_no_sample(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """Ingest, doctor, status and the sensor's walk: nothing is read, what is on record stays, and
    it is said."""
    claude = _work(tmp_path / "home")
    assert run_here(environment, "ingest").returncode == 0
    claude.rename(tmp_path / "unmounted")
    done = run_here(environment, "ingest")
    assert done.returncode == 0, done.stderr
    assert "No agent's directory is there" in done.stdout
    assert "sample" not in done.stdout
    assert _projects(environment) == {OWN}
    settings = load_settings(data_dir=environment["MEMORY_DATA_DIR"], embedder="none")
    assert find_sources(Components(settings)) == {}
    assert status(settings)["freshness"]["files"] == 0
    (found,) = [each for each in diagnose(settings) if each.name == "transcripts"]
    assert not found.ok and "MEMORY_PROJECTS_DIR" in found.remedy
    (tmp_path / "unmounted").rename(claude)
    assert run_here(environment, "ingest").returncode == 0
    assert status(settings)["archive"]["sessions_source_gone"] == 0


def test_a_lost_catalogue_is_not_taken_for_an_empty_memory(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """Whose sessions the lake has is not known, so the sample is not put beside them."""
    claude = _work(tmp_path / "home")
    assert run_here(environment, "ingest").returncode == 0
    shutil.rmtree(claude)
    for file in Path(environment["MEMORY_DATA_DIR"]).glob("catalog.db*"):
        file.unlink()
    done = run_here(environment, "ingest")
    assert "No agent's directory is there" in done.stdout
    assert _projects(environment) <= {OWN}


@pytest.mark.parametrize("variable", ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "MEMORY_PROJECTS_DIR"])
@pytest.mark.parametrize("arguments", [(), ("--watch",)])
def test_a_root_that_is_named_and_missing_is_an_error(
    variable: str, arguments: tuple[str, ...], environment: dict[str, str], tmp_path: Path
) -> None:
    """Also beside an agent's home that is there, or another one of it, and for the sensor and the
    doctor."""
    (tmp_path / "home" / ".pi").mkdir()
    there = [str(tmp_path / "home")] if variable == "CODEX_HOME" else []
    environment[variable] = os.pathsep.join([*there, str(tmp_path / "unmounted")])
    done = run_here(environment, "ingest", *arguments)
    assert done.returncode == 2
    assert str(tmp_path / "unmounted") in done.stderr and variable in done.stderr
    if arguments:
        return
    doctor = json.loads(run_here(environment, "doctor", "--json").stdout)
    (found,) = [each for each in doctor["findings"] if each["name"] == "transcripts"]
    assert not found["ok"] and variable in found["remedy"]


def test_a_home_without_sessions_yet_brings_no_sample_if_it_is_named(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLAUDE_CONFIG_DIR with nothing in it: an error alone, no matter beside another agent."""
    (tmp_path / "config").mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    settings = load_settings(data_dir=environment["MEMORY_DATA_DIR"])
    with pytest.raises(ConfigurationError, match="CLAUDE_CONFIG_DIR"):
        require_directories(Components(settings))
    (tmp_path / "home" / ".codex").mkdir()
    assert require_directories(Components(settings)).keys() == {"codex"}


def test_own_sessions_beside_the_sample_are_said(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """By ingest, status and doctor, with the command that removes the sample."""
    assert "sample sessions instead" in run_here(environment, "ingest").stdout
    assert "beside your own" not in run_here(environment, "status").stdout
    _work(tmp_path / "home")
    for command in ("ingest", "status", "doctor"):
        said = " ".join(run_here(environment, command).stdout.split())
        assert "beside your own" in said and "memory forget --project" in said, command
    gone, *_ = sorted(_projects(environment) - {OWN})
    assert run_here(environment, "forget", "--project", gone, "--yes").returncode == 0
    (said,) = [
        line
        for line in run_here(environment, "status").stdout.splitlines()
        if "beside your own" in line
    ]
    assert gone not in said and OWN not in said
