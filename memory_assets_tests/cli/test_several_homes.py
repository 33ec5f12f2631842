"""One memory over several homes of an agent, and the sample, which stands in for transcripts only
where there never were any, and never silently."""

from __future__ import annotations

import json
import os
import shutil
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import ConfigurationError
from memory_assets.paths import project_slug
from memory_assets.pipeline.scan.on_disk import find_sources, require_directories
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import load_settings
from memory_assets.status.status import status
from memory_assets.watching.directories import Directories
from memory_assets.watching.followed import Transcripts
from memory_assets.watching.pending import Changes
from memory_assets_tests.cli.findings import finding_of
from memory_assets_tests.command_line import run_here
from memory_assets_tests.transcript_files import claude_line, write_codex, write_lines

WORK, PRIVATE = "aaaaaaaa-0000-4000-8000-00000000000", "bbbbbbbb-0000-4000-8000-00000000000"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A memory without vectors."""
    return {"MEMORY_DATA_DIR": str(tmp_path / "memory"), "MEMORY_EMBEDDER": "none"}


def _claude(home: Path, session: str, said: str) -> Path:
    cwd = f"/home/mira/{home.name.strip('.')}"
    path = home / "projects" / project_slug(cwd) / f"{session}.jsonl"
    write_lines(path, [claude_line(session, 0, said, cwd)])
    return home


def _codex(home: Path, number: int, said: str) -> Path:
    write_codex(home, number, "/home/mira/kiln", said)
    return home


def _found(environment: dict[str, str], words: str) -> list[str]:
    done = run_here(environment, "search", words, "--json")
    assert done.returncode in (0, 1), done.stderr
    hits: list[dict[str, Any]] = json.loads(done.stdout)["hits"]
    return [hit["id"].split("::")[1] for hit in hits]


def _counted(environment: dict[str, str]) -> dict[str, Any]:
    return status(load_settings(data_dir=environment["MEMORY_DATA_DIR"], embedder="none"))


@pytest.mark.parametrize("variable", ["CLAUDE_CONFIG_DIR", "MEMORY_PROJECTS_DIR"])
def test_one_ingest_reads_every_home_that_is_named(
    variable: str, environment: dict[str, str], tmp_path: Path
) -> None:
    """Whichever variable lists them; nothing is pending or gone afterwards, and verify and doctor
    know all."""
    homes = [
        _claude(tmp_path / "work", f"{WORK}1", "when does the payroll run?"),
        _claude(tmp_path / "private", f"{PRIVATE}1", "which sourdough recipe was it?"),
    ]
    inner = "projects" if variable == "MEMORY_PROJECTS_DIR" else ""
    environment[variable] = os.pathsep.join(str(home / inner) for home in homes)
    done = run_here(environment, "ingest")
    assert done.returncode == 0, done.stderr
    assert all(str(home / "projects") in "".join(done.stdout.split()) for home in homes)
    assert _found(environment, "payroll run") == [f"{WORK}1"]
    assert _found(environment, "sourdough recipe") == [f"{PRIVATE}1"]
    for command in ("status", "doctor"):
        assert run_here(environment, command).returncode == 0
    assert run_here(environment, "verify").returncode == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(variable, environment[variable])
        found = _counted(environment)
    assert found["freshness"]["pending_files"] == 0 == found["archive"]["sessions_source_gone"]
    assert found["freshness"]["files"] == 2


def test_a_home_that_is_no_longer_listed_loses_nothing(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """Its sessions are found as those whose transcripts are gone."""
    homes = [
        _codex(tmp_path / "one", 0, "how hot is the kiln?"),
        _codex(tmp_path / "two", 1, "where is the thermocouple?"),
    ]
    environment["CODEX_HOME"] = os.pathsep.join(map(str, homes))
    assert run_here(environment, "ingest").returncode == 0
    environment["CODEX_HOME"] = str(homes[0])
    assert run_here(environment, "ingest").returncode == 0
    assert len(_found(environment, "thermocouple")) == 1


def test_a_home_inside_another_is_counted_once(environment: dict[str, str], tmp_path: Path) -> None:
    """A directory and its own part, a link to it, and a profile within it."""
    outer = _codex(tmp_path / "codex", 0, "how hot is the kiln?")
    inner = _codex(outer / "profiles" / "work", 1, "where is the thermocouple?")
    (tmp_path / "link").symlink_to(outer)
    listed = (outer, outer / "sessions", tmp_path / "link", inner)
    environment["CODEX_HOME"] = os.pathsep.join(map(str, listed))
    assert run_here(environment, "ingest").returncode == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEX_HOME", environment["CODEX_HOME"])
        found = _counted(environment)
    assert found["freshness"]["files"] == 2 and found["freshness"]["pending_files"] == 0
    assert found["agents"]["codex"]["sessions"] == 2 == found["agents"]["codex"]["prompts"]


def test_the_history_of_one_home_knows_the_transcripts_of_another(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """A prompt is on record once, though the home that lists it comes first."""
    work = _claude(tmp_path / "work", f"{WORK}1", "when does the payroll run?")
    private = _claude(tmp_path / "private", f"{PRIVATE}1", "which sourdough recipe was it?")
    entry = {
        "display": "which sourdough recipe was it?",
        "timestamp": 1_772_352_000_000,
        "project": "/home/mira/private",
        "sessionId": f"{PRIVATE}1",
    }
    (work / "history.jsonl").write_text(json.dumps(entry) + "\n")
    environment["CLAUDE_CONFIG_DIR"] = f"{work},{private}"
    assert run_here(environment, "ingest").returncode == 0
    assert _counted(environment)["agents"]["claude-code"]["prompts"] == 2


def test_a_watcher_follows_every_home(tmp_path: Path) -> None:
    """A change below any of them is a change of its project."""
    homes = [
        _claude(tmp_path / "work", f"{WORK}1", "when does the payroll run?"),
        _claude(tmp_path / "private", f"{PRIVATE}1", "which sourdough recipe was it?"),
    ]
    settings = load_settings(
        data_dir=tmp_path / "memory", projects_dir=[home / "projects" for home in homes]
    )
    roots = chain(*settings.transcript_roots().values())
    transcripts = Transcripts(Components(settings), Directories(roots, Changes()))
    assert transcripts.refresh()
    try:
        paths = [str(path) for home in homes for path in home.rglob("*.jsonl")]
        assert sorted(transcripts.projects_of(paths)) == ["-home-mira-private", "-home-mira-work"]
    finally:
        transcripts.directories.stop()


OWN = "-home-mara-own"


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
    found = finding_of("transcripts", settings)
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
    """Also beside an agent's home that is there, or another one of it, and for the
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
    assert "lantern" in said and "-code-lantern" not in said
    assert gone not in said and OWN not in said
