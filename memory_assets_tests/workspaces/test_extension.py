"""The extension for VS Code, in a host of its own tests under Node."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from memory_assets.cli.installing.other_programs import memory_program
from memory_assets_tests.command_line import run_program

_EXTENSION = Path(__file__).resolve().parents[2] / "extension"
_NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(_NODE is None, reason="node is not installed")


def _run(name: str, **variables: str) -> None:
    program = [str(_NODE), "--test", f"--test-name-pattern={name}", "test/extension.test.js"]
    ran = run_program(program, cwd=_EXTENSION, env={**os.environ, **variables})
    assert "# pass 0" not in ran.stdout


def test_the_extension_calls_the_program_and_shows_its_answers() -> None:
    """Watching, saving, searching, and failing; with a program that notes how it is called."""
    _run("^(?!with the real)")
    assert len((_EXTENSION / "extension.js").read_text().splitlines()) <= 230


@pytest.mark.long
def test_a_save_in_the_editor_is_found(tmp_path: Path) -> None:
    """Through the real program: watched from the start, saved, searched."""
    directories = ("HOME", "MEMORY_DATA_DIR", "MEMORY_PROJECTS_DIR")
    places = {name: str(tmp_path / name.lower()) for name in directories}
    program = memory_program()
    _run("^with the real", **places, MEMORY_PROGRAM=program, MEMORY_EMBEDDER="none")
