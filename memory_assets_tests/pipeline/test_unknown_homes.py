"""Directories that a transcript names and that this machine does not have, or may not look at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_assets.paths import on_this_machine
from memory_assets_tests.pipeline.conftest import BEFORE_CHROMA, NEW_TURN, SampleMemory
from memory_assets_tests.unprivileged import WITHOUT_PRIVILEGES


@pytest.mark.parametrize("cwd", ["~\\project", "~nosuchuser/x", "~nosuchuser\\x.py"])
def test_a_working_directory_below_no_known_home_is_an_unknown_path(
    memory: SampleMemory, cwd: str
) -> None:
    """The session is taken in at every stage, as with any path that is not on this machine."""
    path = memory.path(memory.flaky)
    memory.append(memory.flaky, *NEW_TURN)
    path.write_text(
        path.read_text().replace("/home/mara/code/harbor-api", cwd.replace("\\", "\\\\"))
    )
    memory.run(BEFORE_CHROMA, [memory.harbor])
    assert memory.components.catalog.quarantine.entries() == []
    assert "zanzibar clock" in repr(memory.rows("user_prompts", memory.harbor))
    commits = memory.components.catalog.products.of_project("session_commits", memory.harbor)
    assert memory.flaky in commits


def test_a_home_that_is_known_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """`~` stands for this user's home; what no home fits is returned as it is."""
    monkeypatch.setenv("HOME", "/home/ada")
    assert on_this_machine("~/engine") == Path("/home/ada/engine")
    assert on_this_machine("~nosuchuser/x") == Path("~nosuchuser/x")


def test_a_working_directory_that_may_not_be_looked_at_is_an_unknown_path(tmp_path: Path) -> None:
    """Whoever reads another user's transcripts may not enter that user's home: the path is taken
    as it is, and the session is not held back for it."""
    closed = tmp_path / "closed"
    inside = closed / "project"
    inside.mkdir(parents=True)
    closed.chmod(0)
    code = (
        "import sys; from pathlib import Path;"
        "from memory_assets.commits import Repository;"
        "from memory_assets.pipeline.scan.raw_sessions import project_root;"
        "print(project_root(sys.argv[1]), Repository.at(Path(sys.argv[1])))"
    )
    done = subprocess.run(
        [*WITHOUT_PRIVILEGES, sys.executable, "-c", code, str(inside)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    closed.chmod(0o700)
    assert done.stdout.strip() == f"{inside} None", done.stderr
