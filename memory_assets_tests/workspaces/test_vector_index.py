"""Indexing by make, and by a workflow of GitHub for the server of a team."""

from __future__ import annotations

import os
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema

from memory_assets_tests.command_line import run_program
from memory_assets_tests.workspaces.conftest import write

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = ROOT / "memory_assets/cli/installing/repository/vector-index.yml"
"""What `memory init-workspace` writes into other repositories."""


@pytest.mark.parametrize(
    "target, given, expected",
    [
        ("vector-index", {}, ["index", "."]),
        ("vector-index", {"ROOT": "a b"}, ["index", "a b"]),
        ("vector-watch", {}, ["index", ".", "--watch"]),
        ("vector-stats", {}, ["workspaces"]),
        ("vector-search", {"Q": "a \"b\" 'c' $HOME"}, ["search", "--in", "workspace"]),
    ],
)
def test_make_starts_the_command_line(
    tmp_path: Path, target: str, given: dict[str, str], expected: list[str]
) -> None:
    """With its arguments as they are written."""
    write(tmp_path, {"memory": '#!/bin/sh\nprintf "%s\\n" "$@"\n'})
    (tmp_path / "memory").chmod(0o755)
    variables = {**given, "BIN": str(tmp_path)}
    command = [
        "make",
        target,
        "--old-file=.venv/.ready",
        *(f"{name}={value}" for name, value in variables.items()),
    ]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = run_program(command, cwd=ROOT, env=clean)
    assert done.stdout.splitlines() == [*expected, *(given[name] for name in given if name == "Q")]


@pytest.fixture(scope="module")
def workflow() -> dict[Any, Any]:
    """The workflow; YAML reads its key `on` as true."""
    loaded = yaml.safe_load((ROOT / ".github/workflows/vector-index.yml").read_text())
    assert isinstance(loaded, dict)
    return loaded


def test_it_is_a_workflow_of_github(workflow: dict[Any, Any]) -> None:
    """By the schema of workflows, and so is that of other repositories, with the same job."""
    written = yaml.safe_load(WRITTEN.read_text())
    for each in (workflow, written):
        named = {"on" if key is True else key: value for key, value in each.items()}
        jsonschema.validate(named, get_builtin_schema("vendor.github-workflows"))
    assert written["jobs"]["index"]["env"] == workflow["jobs"]["index"]["env"]


@pytest.mark.parametrize(
    "path", ["README.md", "docs/adr/0001.md", "services/svc-a/Main.java", "api/openapi.yaml"]
)
def test_the_workflow_runs_for_documents_and_services(workflow: dict[Any, Any], path: str) -> None:
    """When they are pushed to main."""
    push = workflow[True]["push"]
    assert push["branches"] == ["main"]
    assert any(fnmatchcase(path, each.replace("**/", "*")) for each in push["paths"])


def test_the_workflow_fails_when_no_server_is_named(workflow: dict[Any, Any]) -> None:
    """Chroma's or qdrant's: its address is a variable, its key a secret; the message says what to
    set."""
    job = workflow["jobs"]["index"]
    for url, key in (
        ("MEMORY_CHROMA_URL", "MEMORY_CHROMA_TOKEN"),
        ("QDRANT_URL", "QDRANT_API_KEY"),
    ):
        assert job["env"][url] == f"${{{{ vars.{url} }}}}"
        assert job["env"][key] == f"${{{{ secrets.{key} }}}}"
    assert job["env"]["VECTOR_BACKEND"] == "${{ vars.QDRANT_URL && 'qdrant' || 'chromadb' }}"
    first, *_, index, _ = job["steps"]
    assert index["run"] == "make vector-index"
    for named, code in ({}, 1), ({"MEMORY_CHROMA_URL": "x"}, 0), ({"QDRANT_URL": "x"}, 0):
        command = ["bash", "-e", "-c", first["run"]]
        done = subprocess.run(command, env=named, capture_output=True, text=True)
        assert done.returncode == code and ("MEMORY_CHROMA_URL" in done.stdout) == (code == 1)
