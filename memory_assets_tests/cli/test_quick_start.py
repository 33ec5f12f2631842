"""The commands that must be there at once: what they leave unloaded, and that they answer
as the full command line does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memory_assets.cli.cli import app
from memory_assets.cli.plain_commands import ingest_plainly, plain_arguments
from memory_assets.requests.arguments import Arguments
from memory_assets.requests.questions import FrictionRequest, HowRequest, ShowRequest
from memory_assets.requests.search import SearchRequest
from memory_assets.settings import load_settings

_SLOW = ("typer", "click", "rich", "pydantic", "pyarrow", "dagster", "chromadb")
_START = "from memory_assets.cli.start import main; main()"


@pytest.fixture(autouse=True)
def _own_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMORY_DATA_DIR", str(tmp_path / "data"))


@pytest.mark.parametrize(
    "given",
    [
        ["words"],
        ["words", "--json", "--in", "all", "--mode=keyword", "-n", "3"],
        [
            "--project",
            "-home-me",
            "words",
            "--recent",
            "--since",
            "2026-01-02",
            "--until=2026-03-04T05:06",
        ],
        ["--tool=Bash", "--file", "a=b.py", "--session", "x", "--agent", "codex", ""],
        ["why", "did", "-n", "3", "it fail"],
        ["--since", "yesterday", "--sort=date"],
        ["", "--type", "bugfix", "--concept=trade-off", "--no-fallback"],
    ],
)
def test_plain_arguments_mean_what_the_command_line_makes_of_them(
    given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The full parser calls the same search with the same arguments."""
    called: list[SearchRequest] = []

    def note(asked: SearchRequest, *, as_json: bool) -> int:
        called.append(asked)
        return 0

    monkeypatch.setattr("memory_assets.cli.ask_commands.run_search", note)
    result = CliRunner().invoke(app, ["search", *given])
    assert result.exit_code == 0, result.output
    plain = plain_arguments(given)
    assert plain is not None and plain.pop("--json", False) == ("--json" in given)
    assert called == [SearchRequest.given("cli", plain)]


@pytest.mark.parametrize(
    ("request_of", "given", "values"),
    [
        (HowRequest, ["git", "push", "-n=3"], None),
        (HowRequest, ["git", "push", "--project", "x"], {"tool": "git push", "--project": "x"}),
        (HowRequest, [], None),
        (ShowRequest, ["3d0f6a52:2", "--records"], {"id": "3d0f6a52:2", "--records": True}),
        (ShowRequest, ["3d0f6a52:2", "3d0f6a52:3"], None),
        (FrictionRequest, ["-n", "5"], {"-n": "5"}),
        (FrictionRequest, ["git"], None),
        (SearchRequest, ["x", "--agent", "pi", "--agent", "codex"], None),
    ],
)
def test_positional_arguments_are_those_of_the_request(
    request_of: type[Arguments], given: list[str], values: dict[str, str | bool] | None
) -> None:
    """Several words are one question or tool, or else a mistake, which the full parser tells."""
    assert plain_arguments(given, request_of) == values


@pytest.mark.parametrize(
    "given",
    [
        ["--help"],
        ["words", "-n"],
        ["words", "-n5"],
        ["words", "--unknown"],
        ["words", "--recent=true"],
        ["--", "words"],
    ],
)
def test_anything_else_is_left_to_the_full_command_line(given: list[str]) -> None:
    """Help, mistakes, and forms that are seldom used."""
    assert plain_arguments(given) is None


def _started(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _START, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_errors_are_told_the_same_way(tmp_path: Path) -> None:
    """Nothing in memory, and a wrong value: the same line and code as the full command line."""
    empty = _started("search", "words")
    assert (empty.returncode, empty.stdout) == (3, "")
    assert "run `memory ingest` first" in " ".join(empty.stderr.split())
    (tmp_path / "data").mkdir()
    wrong = _started("search", "words", MEMORY_RECENT_DAYS="soon")
    assert wrong.returncode == 2 and "MEMORY_RECENT_DAYS" in wrong.stderr


@pytest.mark.parametrize("given", [["-n", "many"], ["-n", "-1"], ["--in", "dreams"]])
def test_a_wrong_value_is_told_as_the_full_command_line_tells_it(given: list[str]) -> None:
    """The request checks it, whoever read it; `--` is left to the full command line."""
    plain, full = _started("search", "x", *given), _started("search", *given, "--", "x")
    assert plain.returncode == full.returncode == 2
    assert plain.stderr == full.stderr != ""


def test_a_search_loads_nothing_that_is_slow_to_load() -> None:
    """Neither the command line's parser nor pydantic, pyarrow or any store's client."""
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
    settings = load_settings(projects_dir=transcripts, agents=("claude-code",))
    assert ingest_plainly(settings, as_json=False) == 0
    (transcripts / "project" / "session.jsonl").touch()
    assert ingest_plainly(settings, as_json=False) == 1
    settings.data_dir.mkdir(parents=True)
    (settings.data_dir / "catalog.db").touch()
    assert ingest_plainly(settings, as_json=False) == 1
