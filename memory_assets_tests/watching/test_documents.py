"""The watcher over a workspace: real events, real runs without vectors; searched by words."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_assets.cli.ingesting import ingest
from memory_assets.cli.ingesting.watch_command import WatchRuns
from memory_assets.documents.ignore_rules import rules_of_state
from memory_assets.documents.walk import FoundFile, Walk, found_at, walk
from memory_assets.errors import NotFound
from memory_assets.paths import NO_EMBEDDER
from memory_assets.pipeline.workspace.files import STAGE
from memory_assets.recall.memory import Memory
from memory_assets.settings import load_settings
from memory_assets.stores.under_way import WORKSPACES, present_watcher
from memory_assets.stores.workspaces import Workspaces
from memory_assets.watching.followed import Documents
from memory_assets.watching.pending import Changes
from memory_assets.watching.watcher import Watcher
from memory_assets_tests.command_line import run_here
from memory_assets_tests.workspaces.conftest import write

PATIENCE = 60.0


class Followed:
    """A watcher in a thread that follows the workspaces of a memory."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "harbor"
        self.data_dir = directory / "data"
        write(self.root, {"README.md": "# Harbor\n\nLamps are lit at dusk.\n"})
        self.settings = load_settings(data_dir=self.data_dir, embedder=NO_EMBEDDER)
        Workspaces(self.data_dir).add(self.root)
        runs, changes = WatchRuns(self.settings), Changes()
        self.documents = Documents(runs.components, changes)
        self.watcher = Watcher(
            runs.components,
            [self.documents],
            changes,
            run=runs.run,
            search=None,
            state=self.documents.become_watcher(),
            look_everywhere_seconds=3_600.0,
        )
        runs.seconds_of_calm = self.watcher.seconds_of_calm
        self.runs, self.changes = runs, changes
        self.thread = threading.Thread(target=self.watcher.watch, daemon=True)

    def found(self, query: str) -> set[str]:
        """The files in which words are found."""
        try:
            hits = Memory(self.settings).search(query, kinds=("workspace",)).hits
        except NotFound:  # nothing is indexed yet
            return set()
        return {str(hit.metadata["file_path"]) for hit in hits}

    def wait_for(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < until and self.thread.is_alive()
            time.sleep(0.1)


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Followed]:
    """A workspace of one document, followed; full looks are left to events."""
    made = Followed(tmp_path_factory.mktemp("watched"))
    made.thread.start()
    try:
        made.wait_for(lambda: made.found("lamps dusk") == {"README.md"})
        yield made
    finally:
        made.watcher.stop()
        made.thread.join()
        made.documents.stop()


def test_what_is_saved_renamed_and_deleted_is_followed(followed: Followed) -> None:
    """A new file, a change in place, an atomic save, a rename, a file and a directory that go."""
    root = followed.root
    write(root, {"docs/tides.md": "# Tides\n\nThe gate closes at springtide.\n"})
    followed.wait_for(lambda: followed.found("springtide gate") == {"docs/tides.md"})
    write(root, {"docs/tides.md": "# Tides\n\nThe gate closes at neaptide.\n"})
    followed.wait_for(lambda: followed.found("neaptide") == {"docs/tides.md"})
    assert followed.found("springtide") == set()
    write(root, {"docs/.tides.md.swp": "# Tides\n\nThe gate closes at slackwater.\n"})
    (root / "docs/.tides.md.swp").replace(root / "docs/tides.md")
    followed.wait_for(lambda: followed.found("slackwater") == {"docs/tides.md"})
    (root / "docs/tides.md").rename(root / "docs/water.md")
    followed.wait_for(lambda: followed.found("slackwater") == {"docs/water.md"})
    (root / "docs").rename(root / "guides")
    followed.wait_for(lambda: followed.found("slackwater") == {"guides/water.md"})
    write(root, {"extra.md": "# Extra\n\nA buoy.\n"})
    followed.wait_for(lambda: followed.found("buoy") == {"extra.md"})
    shutil.rmtree(root / "guides")
    (root / "extra.md").unlink()
    followed.wait_for(lambda: not followed.found("slackwater") | followed.found("buoy"))


def test_a_save_looks_at_one_file(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workspace is not walked again, except when what is ignored changes."""
    walked: list[Path] = []

    def noted(root: Path, *arguments: Any) -> Walk:
        walked.append(root)
        return walk(root, *arguments)

    monkeypatch.setattr("memory_assets.pipeline.workspace.files.walk", noted)
    write(followed.root, {"pilots.md": "# Pilots\n\nA pilot boards at the fairway.\n"})
    followed.wait_for(lambda: followed.found("pilot fairway") == {"pilots.md"})
    assert walked == []
    write(followed.root, {".memoryignore": "pilots.md\n"})
    followed.wait_for(lambda: "pilots.md" not in followed.found("pilot fairway"))
    assert set(walked) == {followed.root}
    (followed.root / ".memoryignore").unlink()
    followed.wait_for(lambda: followed.found("pilot fairway") == {"pilots.md"})


def test_a_switch_of_branch_is_few_walks(
    followed: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules are not read again for each of its files, and not each is looked at alone."""
    files = {f"tides/t{number:04}.txt": f"Tide {number}.\n" for number in range(300)}
    write(followed.root, {".gitignore": "*.log\n", "tides/.gitignore": "*.tmp\n"})
    followed.wait_for(lambda: ".gitignore" in followed.found("log"))
    looked: list[str] = []
    walks: list[Path] = []

    def noted_look(root: Path, path: str, *arguments: Any) -> FoundFile | None:
        looked.append(path)
        return found_at(root, path, *arguments)

    def noted_walk(root: Path, *arguments: Any) -> Walk:
        walks.append(root)
        return walk(root, *arguments)

    monkeypatch.setattr("memory_assets.pipeline.workspace.files.found_at", noted_look)
    monkeypatch.setattr("memory_assets.pipeline.workspace.files.walk", noted_walk)
    before = rules_of_state.cache_info().misses
    write(followed.root, files)
    write(followed.root, {"beacon.md": "# Beacon\n\nA lighthouse.\n"})
    followed.wait_for(lambda: followed.found("lighthouse") == {"beacon.md"})
    assert len(walks) <= 20 and len(looked) < 150 and rules_of_state.cache_info().misses == before


def test_a_save_is_taken_in_before_the_rest_of_many(
    followed: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run of many files makes way for it between two parts, and then goes on."""
    monkeypatch.setattr(ingest, "_FIRST_DOCUMENTS", 1)
    monkeypatch.setattr(ingest, "_DOCUMENTS_A_PASS", 1)
    calm = followed.runs.seconds_of_calm
    saved = followed.root / "saved.md"

    def calm_until_a_save() -> float:
        if not saved.exists():
            write(followed.root, {"saved.md": "# Saved\n\nA ropewalk.\n"})
            followed.changes.wait(PATIENCE)
        return calm()

    monkeypatch.setattr(followed.runs, "seconds_of_calm", calm_until_a_save)
    many = {f"many/{number}.md": f"# Knot {number}\n\nA bowline.\n" for number in range(5)}
    write(followed.root, many)
    followed.wait_for(lambda: len(followed.found("bowline")) == len(many))
    partition = Workspaces(followed.data_dir).of_root(followed.root).partition
    products = followed.runs.components.catalog.products.of_project(STAGE, partition)
    runs = Counter(products[path].run_id for path in many)
    assert 0 < runs[products["saved.md"].run_id] < len(many)


def test_a_second_window_says_who_runs_and_its_workspace_is_followed(
    followed: Followed, tmp_path: Path
) -> None:
    """Exit code 0, so that an editor's task shows no error."""
    write(tmp_path / "quay", {"cranes.md": "# Cranes\n\nA crane lifts a container.\n"})
    environment = {"MEMORY_DATA_DIR": str(followed.data_dir), "MEMORY_EMBEDDER": NO_EMBEDDER}
    done = run_here(environment, "index", str(tmp_path / "quay"), "--watch")
    assert done.returncode == 0, done.stderr
    assert f"process {os.getpid()}" in done.stdout + done.stderr
    followed.wait_for(lambda: followed.found("crane container") == {"cranes.md"})
    write(tmp_path / "quay", {"cranes.md": "# Cranes\n\nA straddle carrier.\n"})
    followed.wait_for(lambda: followed.found("straddle carrier") == {"cranes.md"})
    state = present_watcher(followed.data_dir, WORKSPACES)
    assert state is not None and state.pid == os.getpid()
