"""What a watcher follows: transcripts of all agents, documents of the workspaces on record, and the
journal of what agents write."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from memory_assets.agents import AGENTS
from memory_assets.documents.walk import is_passed_over
from memory_assets.errors import ConfigurationError, StoreBusy, StoreError, TranscriptError
from memory_assets.pipeline.plan import plan
from memory_assets.pipeline.plan.plan import (
    ProjectPlan,
    partitions_with_agent_memory,
    plan_agent_memory,
    plan_workspace,
)
from memory_assets.pipeline.scan.on_disk import look_for_sources
from memory_assets.pipeline.scan.raw_sessions import out_of_date
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.workspace.files import look_at, walk_again
from memory_assets.status.disk import stored_roots
from memory_assets.stores.agents.journal import FILE_NAME
from memory_assets.stores.agents.partitions import is_agent_memory
from memory_assets.stores.under_way import WORKSPACES, WatcherState, watching
from memory_assets.stores.workspaces import Workspace, Workspaces
from memory_assets.transcripts import Source, Unlisted, reader_of, readers_by_agent
from memory_assets.watching.directories import STORES, Directories, is_transcript
from memory_assets.watching.pending import Changes

Report = Callable[[str], None]
"""Prints a line."""


class Followed(Protocol):
    """Partitions whose files are watched. All methods are called by the watcher's thread."""

    directories: Directories

    def refresh(self) -> bool:
        """Watch directories that are new; return whether all files must be compared."""

    def plans(self) -> Iterator[tuple[str, ProjectPlan | None]]:
        """Compare every partition with its files; yield its name and the work that it has."""

    def projects_of(self, paths: Iterable[str]) -> list[str]:
        """Return the partitions of those paths that differ from what is on record."""

    def still_differ(self, project: str) -> bool:
        """Return True if a changed path of a partition differs from what is on record."""

    def taken_in(self, project: str) -> None:
        """Note that a run has taken in what had changed of a partition."""


_MOST_IGNORED = 10_000
_PLACES_SECONDS = 10.0
"""Seconds between looks for stores that are new, which cost a few dozen `stat`s."""


class Transcripts:
    """Maps changed paths to projects, and checks whether a project still has to be run."""

    def __init__(
        self,
        components: Components,
        directories: Directories,
        report: Report = lambda line: None,
    ) -> None:
        self.directories = directories
        roots = components.settings.transcript_roots()
        passed_over = {
            root for agent in roots if AGENTS[agent].in_projects for root in roots[agent]
        }
        self._roots = tuple(root for root in directories.roots if root not in passed_over)
        self._of_stores: list[tuple[str, str]] = []
        self._next_places = 0.0
        self._components = components
        self._report = report
        self._known = components.catalog.sources
        self._ignored: set[str] = set()
        self._changed: dict[str, set[str]] = {}
        self._stored: dict[str, Source] = {}
        """The sessions of stores among them."""
        self._unlisted: set[Unlisted] = set()

    def refresh(self) -> bool:
        """Watch directories that are new, those included that agents' own lists name; return
        whether all files must be compared."""
        if time.monotonic() >= self._next_places:
            self._find_places()
            self._next_places = time.monotonic() + _PLACES_SECONDS
        return self.directories.refresh()

    def _find_places(self) -> None:
        places = [
            (agent, path)
            for agent, root in stored_roots(self._components.settings.transcript_roots())
            if not AGENTS[agent].in_projects
            for reader in readers_by_agent(agent)
            for path in (root, *reader.elsewhere(root))
        ]
        self._of_stores = [(agent, f"{path}{os.sep}") for agent, path in places]
        listed = (path for _, path in places)
        self.directories.roots = tuple(dict.fromkeys((*self._roots, *listed)))

    def plans(self) -> Iterator[tuple[str, plan.ProjectPlan | None]]:
        """Compare every project with its files; yield its name and the work that it has."""
        self._ignored.clear()
        transcripts = look_for_sources(self._components)
        self._report_unlisted(transcripts.unlisted)
        yield from plan.plan_each(self._components, transcripts.sources)

    def projects_of(self, paths: Iterable[str]) -> list[str]:
        """Return the projects of the paths that differ from the catalogue."""
        unknown: list[str] = []
        projects: dict[str, None] = {}
        agents: set[str] = set()
        roots = tuple(f"{root}{os.sep}" for root in self.directories.roots)
        for path in paths:
            if path in self._ignored or not (is_transcript(path, False) and path.startswith(roots)):
                continue
            of_store = {
                agent
                for agent, root in self._of_stores
                if path.startswith(root) and _may_be_of(agent, path)
            }
            if of_store or path.endswith(STORES):
                agents |= of_store
                continue
            project = self._known.project_of(path)
            if project is None:
                unknown.append(path)
            elif self._differs(path):
                self._note(project, path, projects)
        if unknown:
            new = {
                str(path): project
                for project, sources in look_for_sources(self._components).sources.items()
                for source in sources
                for path in source.files
            }
            for path in unknown:
                if path in new:
                    self._note(new[path], path, projects)
                elif len(self._ignored) < _MOST_IGNORED:
                    self._ignored.add(path)
        if agents:
            self._note_stored(agents, projects)
        return list(projects)

    def _note_stored(self, agents: set[str], projects: dict[str, None]) -> None:
        """Note the sessions in these agents' stores that differ from the catalogue."""
        by_project = look_for_sources(self._components, agents).sources
        for project, sources in by_project.items():
            for source in out_of_date(self._known.rows(project), sources):
                self._note(project, source.locator, projects)
                self._stored[source.locator] = source

    def still_differ(self, project: str) -> bool:
        """Return True if a changed path of a project differs from the catalogue."""
        return any(self._differs(path) for path in self._changed.get(project, ()))

    def taken_in(self, project: str) -> None:
        """Note that a run has taken in what had changed of a project."""
        for path in self._changed.pop(project, ()):
            self._stored.pop(path, None)

    def _note(self, project: str, path: str, projects: dict[str, None]) -> None:
        projects[project] = None
        self._changed.setdefault(project, set()).add(path)

    def _differs(self, path: str) -> bool:
        if source := self._stored.get(path):
            try:
                return not self._known.is_present(path, reader_of(source).state(source))
            except TranscriptError:
                return False
        paths = self._known.files_of(path)
        try:
            states = [os.stat(path) for path in paths]  # noqa: PTH116 - of events, on the hot path
        except OSError:
            return self._known.is_present(paths[0])
        state = sum(state.st_size for state in states), max(state.st_mtime_ns for state in states)
        return not self._known.is_present(paths[0], state)

    def _report_unlisted(self, unlisted: Sequence[Unlisted]) -> None:
        """Report each file and directory that cannot be taken in, once."""
        for failure in set(unlisted) - self._unlisted:
            self._report(f"{failure.path}: {failure.reason}; to do: {failure.remedy}")
        self._unlisted = set(unlisted)


def _may_be_of(agent: str, path: str) -> bool:
    """Whether a file can have sessions of an agent below whose places it is."""
    watched = AGENTS[agent].watched
    return not watched or os.path.basename(os.path.dirname(path)) in watched  # noqa: PTH119, PTH120


class Documents:
    """Follows every workspace on record, those added while it runs included. One process does so at
    a time; when it ends, another one takes over.

    Each full look walks the files of a workspace. In between, events correct that walk, so that a
    saved file costs a look at that file only.
    """

    def __init__(
        self, components: Components, changes: Changes, report: Report = lambda line: None
    ) -> None:
        self.directories = Directories(
            (), changes, is_relevant=self._is_wanted, may_enter=self._enters
        )
        self._components = components
        self._report = report
        self._workspaces: dict[str, Workspace] = {}
        self._presence = ExitStack()
        self._state: WatcherState | None = None
        self._reported: dict[str, str] = {}

    def become_watcher(self) -> WatcherState:
        """Become the one process that follows the workspaces of this data directory, and return
        its state.

        Raises:
            StoreBusy: another process is; the message names it.
        """
        if self._state is None:
            presence = watching(self._components.data_dir, WORKSPACES, patience=0.0)
            self._state = self._presence.enter_context(presence)
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
            workspaces = Workspaces(self._components.data_dir).all()
            if workspaces:
                self.become_watcher()
        except StoreBusy as error:
            self._report_once("watcher", str(error))
            return False
        except StoreError as error:
            self._report_once("workspaces", str(error))
            return False
        self._workspaces = {workspace.partition: workspace for workspace in workspaces}
        self.directories.roots = tuple(workspace.root for workspace in workspaces)
        return self.directories.refresh()

    def plans(self) -> Iterator[tuple[str, ProjectPlan | None]]:
        """Walk every workspace; yield its partition and the work that it has."""
        for workspace in list(self._workspaces.values()):
            try:
                walk_again(self._components, workspace)
                work = plan_workspace(self._components, workspace)
            except ConfigurationError as error:  # its directory is gone
                self._report_once(workspace.name, str(error))
                continue
            self._reported.pop(workspace.name, None)
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
                self._report_once(workspace.name, str(error))
        return changed

    def still_differ(self, project: str) -> bool:
        """Return True if a workspace has work to do."""
        workspace = self._workspaces.get(project)
        try:
            return workspace is not None and bool(plan_workspace(self._components, workspace))
        except ConfigurationError:  # its directory is gone: the run says so
            return True

    def taken_in(self, project: str) -> None:
        """Do nothing: the plan of a workspace shows what has been taken in."""

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

    def _report_once(self, subject: str, line: str) -> None:
        """Report a line once."""
        if self._reported.get(subject) != line:
            self._reported[subject] = line
            self._report(line)


class Journal:
    """Follows the journal of what agents write. `refresh` looks at its files each time; the data
    directory is not watched, because runs write there."""

    def __init__(self, components: Components, changes: Changes) -> None:
        self.directories = Directories((), changes)
        self._components = components
        self._changes = changes
        self._path = components.data_dir / FILE_NAME
        self._seen: list[tuple[int, int]] = []

    def refresh(self) -> bool:
        """Note whether the journal's files changed; nothing else has to be compared for that."""
        seen = []
        for path in (self._path, self._path.with_name(f"{FILE_NAME}-wal")):
            if path.exists():
                state = path.stat()
                seen.append((state.st_mtime_ns, state.st_size))
        if seen != self._seen:
            self._seen = seen
            self._changes.add(str(self._path))
        return False

    def plans(self) -> Iterator[tuple[str, ProjectPlan | None]]:
        """Compare every partition with the journal; yield its name and the work that it has."""
        works = {work.project: work for work in plan_agent_memory(self._components)}
        for partition in partitions_with_agent_memory(self._components):
            yield partition, works.get(partition)

    def projects_of(self, paths: Iterable[str]) -> list[str]:
        """Return the partitions that have work, if the journal is among the paths."""
        if str(self._path) not in paths:
            return []
        return [work.project for work in plan_agent_memory(self._components)]

    def still_differ(self, project: str) -> bool:
        """Return True if a partition has work to do."""
        if not is_agent_memory(project):
            return False
        return any(work.project == project for work in plan_agent_memory(self._components))

    def taken_in(self, project: str) -> None:
        """Do nothing: the plan of a partition shows what has been taken in."""
