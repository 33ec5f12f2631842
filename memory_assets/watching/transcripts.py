"""The transcripts of all agents, as a watcher follows them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from memory_assets.errors import TranscriptError
from memory_assets.pipeline.plan import plan
from memory_assets.pipeline.scan.on_disk import look_for_sources
from memory_assets.pipeline.scan.raw_sessions import out_of_date
from memory_assets.pipeline.stage.components import Components
from memory_assets.status.disk import stored_roots
from memory_assets.transcripts import Source, Unlisted, state_of
from memory_assets.watching.directories import STORES, Directories, is_transcript
from memory_assets.watching.followed import Report

_MOST_IGNORED = 10_000


class Transcripts:
    """Maps changed paths to projects, and checks whether a project still has to be run."""

    def __init__(
        self,
        components: Components,
        directories: Directories,
        report: Report = lambda line: None,
    ) -> None:
        self.directories = directories
        self._components = components
        self._report = report
        self._known = components.catalog.sources
        self._ignored: set[str] = set()
        self._changed: dict[str, set[str]] = {}
        self._stored: dict[str, Source] = {}
        """The sessions of stores among them."""
        self._unlisted: set[Unlisted] = set()

    def refresh(self) -> bool:
        """Watch directories that are new; return whether all files must be compared."""
        return self.directories.refresh()

    def plans(self) -> Iterator[tuple[str, plan.ProjectPlan | None]]:
        """Compare every project with its files; yield its name and the work that it has."""
        self._ignored.clear()
        found = look_for_sources(self._components)
        self._tell_unlisted(found.unlisted)
        yield from plan.plan_each(self._components, found.sources)

    def projects_of(self, paths: Iterable[str]) -> list[str]:
        """Return the projects of the paths that differ from the catalogue."""
        unknown: list[str] = []
        projects: dict[str, None] = {}
        agents: set[str] = set()
        roots = tuple(f"{root}{os.sep}" for root in self.directories.roots)
        of_stores = stored_roots(self._components.settings.transcript_roots())
        for path in paths:
            if path in self._ignored or not (is_transcript(path, False) and path.startswith(roots)):
                continue
            of_store = {agent for agent, root in of_stores if path.startswith(f"{root}{os.sep}")}
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
        found = look_for_sources(self._components, agents).sources
        for project, sources in found.items():
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
                return not self._known.is_present(path, state_of(source))
            except TranscriptError:
                return False
        paths = self._known.files_of(path)
        try:
            states = [os.stat(each) for each in paths]  # noqa: PTH116 - of events, on the hot path
        except OSError:
            return self._known.is_present(paths[0])
        state = sum(each.st_size for each in states), max(each.st_mtime_ns for each in states)
        return not self._known.is_present(paths[0], state)

    def _tell_unlisted(self, unlisted: Sequence[Unlisted]) -> None:
        """Report each file and directory that cannot be taken in, once."""
        for each in set(unlisted) - self._unlisted:
            self._report(f"{each.path}: {each.reason}; to do: {each.remedy}")
        self._unlisted = set(unlisted)
