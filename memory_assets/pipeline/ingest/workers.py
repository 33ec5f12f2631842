"""The tasks of an ingest, which this process runs, and the processes that work on sessions before
it comes to them (`stage/pool.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial

from memory_assets.pipeline.ingest.jobs import jobs_for, run_job
from memory_assets.pipeline.ingest.passes import Outcome, Task, run_task
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.pool import Pool, Processes


class Workers:
    """Runs the tasks of one ingest; the processes stay for its next pass. `executor` makes what
    runs the jobs, for a number of workers."""

    def __init__(
        self, components: Components, executor: Callable[[int], Executor] = Processes
    ) -> None:
        made = self._components = components.for_run(components.run_id)
        run = partial(run_job, made.settings, made.run_id)
        self._pool = made.pool = Pool(made.settings, run, self._note, executor)

    def close(self) -> None:
        """End the processes; those that are at work are interrupted."""
        self._pool.close()

    def _note(self, clean: bytes) -> None:
        if clean:
            self._components.redactor.at_rest.include(clean)

    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Run tasks in this order; yield what comes of them as it comes. Those for a first answer
        are run by this process, which is ready; the others start after its first step, because
        before it a new machine compiles the scanners' patterns on two cores."""
        left = list(tasks)
        jobs = jobs_for(self._components, [task for task in tasks if not task.is_first])
        if left and not left[0].is_first:
            self._pool.start(jobs)
        while left:
            task = left.pop(0)
            for outcome in run_task(self._components, task):
                if task.is_first and not self._pool.is_running:
                    self._pool.start(jobs)
                yield outcome
            if all(task.project != each.project for each in left):
                self._pool.forget(task.project)
        self._pool.end_pass()
