"""What agents wrote themselves, as a watcher follows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memory_assets.pipeline.plan.agent_memory import plan_agent_memory, written
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.agents.journal import FILE_NAME
from memory_assets.stores.agents.partitions import is_agent_memory
from memory_assets.watching.directories import Directories
from memory_assets.watching.pending import Changes


class Written:
    """Follows the journal of what agents wrote: its files are looked at whenever the watcher takes
    care of its directories. The data directory itself is not watched, as a run writes there."""

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
        for partition in written(self._components):
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
        """The plan of a partition says what has been taken in."""
