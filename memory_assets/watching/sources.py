"""Find the projects of changed paths, in the catalogue or, for new files, by a walk."""

from __future__ import annotations

import os
from collections.abc import Iterable

from memory_assets.pipeline.scan.on_disk import TranscriptsOnDisk, look_for_sources
from memory_assets.pipeline.stage.components import Components

_MOST_IGNORED = 10_000


class ChangedSources:
    """Maps changed paths to projects, and checks whether a project still has to be run."""

    def __init__(self, components: Components) -> None:
        self._components = components
        self._known = components.catalog.sources
        self._ignored: set[str] = set()
        self._changed: dict[str, set[str]] = {}

    def find(self) -> TranscriptsOnDisk:
        """Return all transcripts on disk by project, and the paths that could not be read."""
        return look_for_sources(self._components)

    def forget_ignored(self) -> None:
        """Forget which paths were no transcripts, so that they are examined again."""
        self._ignored.clear()

    def projects_of(self, paths: Iterable[str]) -> list[str]:
        """Return the projects of the paths that differ from the catalogue."""
        unknown: list[str] = []
        projects: dict[str, None] = {}
        for path in paths:
            if path in self._ignored:
                continue
            project = self._known.project_of(path)
            if project is None:
                unknown.append(path)
            elif self._differs(path):
                self._note(project, path, projects)
        if unknown:
            new = {
                str(source.path): project
                for project, sources in self.find().sources.items()
                for source in sources
            }
            for path in unknown:
                if path in new:
                    self._note(new[path], path, projects)
                elif len(self._ignored) < _MOST_IGNORED:
                    self._ignored.add(path)
        return list(projects)

    def still_differ(self, project: str) -> bool:
        """Return True if a changed path of a project differs from the catalogue."""
        return any(self._differs(path) for path in self._changed.get(project, ()))

    def forget_changes(self, project: str) -> None:
        """Forget the changed paths of a project after its run."""
        self._changed.pop(project, None)

    def _note(self, project: str, path: str, projects: dict[str, None]) -> None:
        projects[project] = None
        self._changed.setdefault(project, set()).add(path)

    def _differs(self, path: str) -> bool:
        try:
            status = os.stat(path)  # noqa: PTH116 - a string from the event, on the hot path
        except OSError:
            return self._known.is_present(path)
        return not self._known.is_present(path, (status.st_size, status.st_mtime_ns))
