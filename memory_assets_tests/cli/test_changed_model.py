"""Another embedding model by the settings: whichever command comes first moves all that is its."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from memory_assets.paths import SAMPLE_DIR
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.command_line import run_here
from memory_assets_tests.embedding.model_endpoint import KEY, served

_FOUND = "Everything on record can be found."
_KINDS = ("sessions", "workspace", "memory")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a memory of sessions, a workspace and what an agent wrote."""
    home = tmp_path_factory.mktemp("home")
    project = "-Users-jonas-work-tidepool-web"
    shutil.copytree(SAMPLE_DIR / "claude" / "projects" / project, home / "projects" / project)
    (home / "harbor").mkdir()
    (home / "harbor" / "guide.md").write_text("# Guide\n\nThe flaky test waits for the tide.\n")
    environment = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "MEMORY_DATA_DIR": str(home / "data"),
        "MEMORY_PROJECTS_DIR": str(home / "projects"),
        "MEMORY_CHROMA_IDLE_SECONDS": "60",
        "MEMORY_EMBEDDER_KEY": KEY,
    }
    _run(environment, "remember", "The flaky test waits for the tide.")
    _run(environment, "index", str(home / "harbor"))
    _run(environment, "ingest")
    chroma_server.stop(home / "data")
    return environment


@pytest.fixture
def changed(filled: Mapping[str, str], tmp_path: Path) -> Iterator[dict[str, str]]:
    """That memory, under settings that name another model."""
    shutil.copytree(filled["MEMORY_DATA_DIR"], tmp_path / "data")
    with served() as endpoint:
        endpoint.alter = _reversed
        model = f"openai:reversed@{endpoint.url}"
        yield {**filled, "MEMORY_DATA_DIR": str(tmp_path / "data"), "MEMORY_EMBEDDER": model}
    chroma_server.stop(tmp_path / "data")


def _reversed(answer: dict[str, Any]) -> dict[str, Any]:
    for each in answer["data"]:
        each["embedding"].reverse()
    return answer


def _run(environment: Mapping[str, str], *arguments: str, code: int = 0) -> str:
    done = run_here(environment, *arguments)
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    return done.stdout


def _found_by_meaning(environment: Mapping[str, str], kind: str) -> bool:
    found = run_here(environment, "search", "flaky test", "--in", kind, "--json")
    return json.loads(found.stdout)["degraded"] is None


def test_one_ingest_moves_sessions_workspaces_and_agents_memory(changed: dict[str, str]) -> None:
    """Before it status and doctor do not say that everything can be found; after it they do, every
    check passes, and each kind is found by meaning."""
    assert _FOUND not in _run(changed, "status")
    assert "0 by their meaning" in _run(changed, "doctor", code=1)
    assert _FOUND in _run(changed, "ingest")
    assert _FOUND in _run(changed, "status")
    _run(changed, "verify")
    assert [kind for kind in _KINDS if not _found_by_meaning(changed, kind)] == []
    assert "Nothing to do" in _run(changed, "ingest")


def test_index_moves_the_workspaces_alone(changed: dict[str, str]) -> None:
    """What is left to an ingest is said by name."""
    _run(changed, "index")
    assert _found_by_meaning(changed, "workspace")
    said = _run(changed, "status")
    assert _FOUND not in said
    assert "sessions: " in said
    assert "workspace: " not in said
    assert _FOUND in _run(changed, "ingest")


@pytest.mark.long
def test_a_workspace_whose_directory_is_gone_is_moved_too(
    changed: dict[str, str], filled: dict[str, str]
) -> None:
    """What is on record of it is embedded again, from the lake."""
    root = Path(filled["HOME"]) / "harbor"
    aside = root.rename(root.with_name("aside"))
    try:
        assert _FOUND in _run(changed, "ingest")
        assert _found_by_meaning(changed, "workspace")
    finally:
        aside.rename(root)
