"""A forgetting that ends at any step, by a crash or a kill, is completed by what comes next."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from memory_assets.pipeline.removal import forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.pipeline.forgetting import files_naming, no_dagster


class Crash(BaseException):
    """What ends a process; no handler of ours catches it."""


def _steps(memory: Any, session_id: str) -> Iterable[int]:
    """Forget a session with a crash at each step in turn, as long as there is a next one."""
    for step in range(1, 40):
        seen: list[str] = []

        def crash(message: str, seen: list[str] = seen, step: int = step, *_: object) -> None:
            seen.append(message)
            if len(seen) == step:
                raise Crash

        try:
            if step <= 2:
                found = select(memory.components, Selection(session=session_id))
                forget.forget(memory.components, found, erase_traces=no_dagster, progress=crash)
            else:
                forget.complete(memory.components, erase_traces=no_dagster, progress=crash)
        except Crash:
            memory.reopen()
            yield step
        else:
            return


def test_a_forgetting_that_ends_at_any_step_is_completed(memory: Any) -> None:
    """Interrupted again and again, a step further each time: from the second step on the
    session is out of every later run, and at last no byte of it is left."""
    steps = 0
    for step in _steps(memory, memory.flaky):
        steps = step
        if step > 1:
            assert memory.flaky not in {
                source.session_id
                for sources in find_sources(memory.components).values()
                for source in sources
            }
    assert steps >= 6
    assert files_naming(memory, memory.flaky) == []
    assert memory.behind() == []
    memory.assert_collections_equal_the_lake()


_KILLED = """
import os, signal, sys
from memory_assets.pipeline.removal import forget
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.settings import Settings
from memory_assets.stores.chroma import files
components = Components(Settings.model_validate_json(sys.argv[1]))
kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[3] == "between the files":
    files.Path.rename = lambda path, to, rename=files.Path.rename: (
        kill() if path.parent.name == "chroma.anew" else rename(path, to)
    )
if sys.argv[3] == "beside the old files":
    files.finish_swap = lambda directory, real=files.finish_swap: (
        kill() if files._replaced(directory).exists() else real(directory)
    )
def progress(step):
    if step.startswith(sys.argv[3]):
        kill()
found = select(components, Selection(session=sys.argv[2]))
forget.forget(components, found, erase_traces=lambda names: 0, progress=progress)
"""


@pytest.mark.parametrize(
    "moment", ["copying session-summaries", "between the files", "beside the old files"]
)
def test_a_killed_forgetting_is_completed_by_the_next_command(memory: Any, moment: str) -> None:
    """`kill -9` while collections are copied, with the old files moved away and the new ones
    not yet in their place, or with both there; whatever command comes next completes it."""
    key = Path.home() / ".config" / "memory_assets" / "install.key"
    key.parent.mkdir(parents=True, exist_ok=True)
    key.write_bytes(memory.components.install_key)
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, memory.settings.model_dump_json(), memory.flaky, moment],
        capture_output=True,
        text=True,
    )
    assert killed.returncode == -9, killed.stderr
    assert files_naming(memory, memory.flaky) != []
    environment = {"MEMORY_DATA_DIR": str(memory.data_dir)}
    for name, root in memory.settings.transcript_roots().items():
        environment[
            {"claude-code": "MEMORY_PROJECTS_DIR"}.get(name, f"MEMORY_{name.upper()}_DIR")
        ] = str(root)
    code = "from memory_assets.cli.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "status"],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    assert "Completing a forgetting" in done.stderr
    assert files_naming(memory, memory.flaky) == []
    memory.reopen()
    assert memory.behind() == []
    memory.assert_collections_equal_the_lake()
    assert chroma_server.running(memory.data_dir) is not None
