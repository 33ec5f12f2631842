"""A forgetting that ends at any step, by a crash or a kill, is completed by what comes next."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from memory_assets.pipeline.removal import forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.stores.chroma import files as chroma_files
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.command_line import environment_of, run_here
from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.pipeline.forgetting import files_naming, no_dagster


class Crash(BaseException):
    """What ends a process; no handler of ours catches it."""


def _steps(memory: SampleMemory, session_id: str) -> Iterable[int]:
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


def test_a_forgetting_that_ends_at_any_step_is_completed(memory: SampleMemory) -> None:
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


def _killed(memory: SampleMemory, moment: str) -> int:
    """Let a process of its own forget a session and kill itself at a moment; return its exit
    code. It is a fork, so that it need not load the redactor."""
    memory.close()
    process = os.fork()
    if not process:
        try:
            _kill_at(moment)
            found = select(memory.reopen(), Selection(session=memory.flaky))

            def progress(step: str) -> None:
                if step.startswith(moment):
                    _kill()

            forget.forget(memory.components, found, erase_traces=no_dagster, progress=progress)
        finally:  # whatever happens, no test goes on in here
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_at(moment: str) -> None:
    rename, finish_swap = Path.rename, chroma_files.finish_swap

    def between(path: Path, to: Path) -> Path:
        if path.parent.name == "chroma.anew":
            _kill()
        return rename(path, to)

    def beside(directory: Path) -> None:
        if chroma_files._replaced(directory).exists():
            _kill()
        finish_swap(directory)

    if moment == "between the files":
        Path.rename = between  # type: ignore[method-assign, assignment]
    if moment == "beside the old files":
        chroma_files.finish_swap = beside


@pytest.mark.parametrize(
    "moment",
    [
        "between the files",
        pytest.param("copying session-summaries", marks=pytest.mark.long),
        pytest.param("beside the old files", marks=pytest.mark.long),
    ],
)
def test_a_killed_forgetting_is_completed_by_the_next_command(
    memory: SampleMemory, moment: str
) -> None:
    """`kill -9` while collections are copied, with the old files moved away and the new ones
    not yet in their place, or with both there; whatever command comes next completes it."""
    key = Path.home() / ".config" / "memory_assets" / "install.key"
    key.parent.mkdir(parents=True, exist_ok=True)
    key.write_bytes(memory.components.install_key)
    assert _killed(memory, moment) == -signal.SIGKILL
    assert files_naming(memory, memory.flaky) != []
    environment = environment_of(replace(memory.settings, data_dir=memory.data_dir))
    done = run_here(environment, "status")
    assert done.returncode == 0, done.stderr
    assert "Completing a forgetting" in done.stderr
    assert files_naming(memory, memory.flaky) == []
    memory.reopen()
    assert memory.behind() == []
    memory.assert_collections_equal_the_lake()
    assert chroma_server.running(memory.data_dir) is not None
