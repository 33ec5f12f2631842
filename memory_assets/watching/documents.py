"""The documents of the workspaces on record, as a watcher follows them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from memory_assets.documents.walk import is_passed_over
from memory_assets.errors import ConfigurationError, StoreBusy, StoreError
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.pipeline.plan.workspaces import plan_workspace
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.workspace.files import look_at, walk_again
from memory_assets.stores.under_way.watcher import WORKSPACES, WatcherState, watching
from memory_assets.stores.workspaces import Workspace, Workspaces
from memory_assets.watching.directories import Directories
from memory_assets.watching.followed import Report
from memory_assets.watching.pending import Changes


class Documents:
    """Follows every workspace on record, also those that are added while it runs, unless another
    process does; when that one ends, this one takes over.

    The files of a workspace are walked by each full look; in between the walk is corrected by
    what events say, so that a save costs a look at one file.
    """

    def __init__(
        self, components: Components, changes: Changes, report: Report = lambda line: None
    ) -> None:
        self.directories = Directories((), changes, wanted=self._is_wanted, entered=self._enters)
        self._components = components
        self._report = report
        self._workspaces: dict[str, Workspace] = {}
        self._presence = ExitStack()
        self._state: WatcherState | None = None
        self._told: dict[str, str] = {}

    def be_watcher(self) -> WatcherState:
        """Become the one process that follows the workspaces of this data directory, and return
        its state.

        Raises:
            StoreBusy: another process is; the message names it.
        """
        if self._state is None:
            one = watching(self._components.data_dir, WORKSPACES, patience=0.0)
            self._state = self._presence.enter_context(one)
        return self._state

    def stop(self) -> None:
        """Stop watching."""
        self.directories.stop()
        self._components.walks.clear()
        self._presence.close()
        self._state = None

    def refresh(self) -> bool:
        """Watch workspaces that are new; return whether all files must be compared."""
        try:
            known = Workspaces(self._components.data_dir).all()
            if known:
                self.be_watcher()
        except StoreBusy as error:
            self._tell("watcher", str(error))
            return False
        except StoreError as error:
            self._tell("workspaces", str(error))
            return False
        self._workspaces = {each.partition: each for each in known}
        self.directories.roots = tuple(each.root for each in known)
        return self.directories.refresh()

    def plans(self) -> Iterator[tuple[str, ProjectPlan | None]]:
        """Walk every workspace; yield its partition and the work that it has."""
        for workspace in list(self._workspaces.values()):
            try:
                walk_again(self._components, workspace)
                work = plan_workspace(self._components, workspace)
            except ConfigurationError as error:  # its directory is gone
                self._tell(workspace.name, str(error))
                continue
            self._told.pop(workspace.name, None)
            yield workspace.partition, work

    def projects_of(self, paths: Iterable[str]) -> list[str]:
        """Return the workspaces of those paths that differ from the last look."""
        places: dict[Workspace, list[str]] = {}
        for path in paths:
            if place := self._place(path):
                workspace, inner = place
                places.setdefault(workspace, []).append(inner)
        changed = []
        for workspace, inner_paths in places.items():
            try:
                if look_at(self._components, workspace, *inner_paths):
                    changed.append(workspace.partition)
            except ConfigurationError as error:
                self._tell(workspace.name, str(error))
        return changed

    def still_differ(self, project: str) -> bool:
        """Return True if a workspace has work to do."""
        workspace = self._workspaces.get(project)
        try:
            return workspace is not None and bool(plan_workspace(self._components, workspace))
        except ConfigurationError:  # its directory is gone: the run says so
            return True

    def taken_in(self, project: str) -> None:
        """The plan of a workspace says what has been taken in."""

    def _place(self, path: str) -> tuple[Workspace, str] | None:
        """Return the innermost workspace that a path is in, and the path in it, with slashes."""
        places = [
            (workspace, Path(path).relative_to(workspace.root).as_posix())
            for workspace in list(self._workspaces.values())
            if path.startswith(f"{workspace.root}{os.sep}")
        ]
        return min(places, key=lambda place: len(place[1]), default=None)

    def _is_wanted(self, path: str, is_directory: bool) -> bool:
        place = self._place(path)
        return place is not None and not is_passed_over(place[1])

    def _enters(self, directory: str) -> bool:
        return self._is_wanted(directory, True) or Path(directory) in self.directories.roots

    def _tell(self, subject: str, line: str) -> None:
        """Report a line once."""
        if self._told.get(subject) != line:
            self._told[subject] = line
            self._report(line)
