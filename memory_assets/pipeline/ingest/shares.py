"""One partition made by several processes, each of which makes a share of its sessions.

The assets are made in rounds. In a round each process makes some assets of its share, and checks
the sessions in it. Then this process makes the same assets of the whole partition, for which
little is left to do, with all their checks and totals. Assets that failed, or need one that did,
are left out of the next round: as without shares, nothing is made of what failed a check.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from memory_assets.errors import safe_reason
from memory_assets.pipeline.checks.checks import checks_of
from memory_assets.pipeline.ingest.passes import (
    Outcome,
    Task,
    failed_asset,
    rare_collections,
    run_task,
)
from memory_assets.pipeline.ingest.steps import STEPS, Made, is_blocked
from memory_assets.pipeline.ingest.work import Seconds, seconds_of
from memory_assets.pipeline.plan.workspaces import changed_documents
from memory_assets.pipeline.scan.raw_sessions import STAGE as RAW_SESSIONS
from memory_assets.pipeline.scan.raw_sessions import scan_project
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.share import (
    Share,
    begin_shares,
    divided,
    end_shares,
    taken_away,
)
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, WORKSPACE_DOCUMENTS
from memory_assets.stores.workspaces import Workspaces

_MANY_DOCUMENTS = 64
"""Documents to be read from which on a workspace is shared: to start processes for one that was
saved takes two CPU seconds."""
_WORTH_IT_SECONDS = 6.0
"""Work below which a further process costs more than it saves."""


def with_shares(
    components: Components, tasks: Sequence[Task], sizes: Mapping[str, int], count: int
) -> list[Task]:
    """Return the tasks, with those marked that `count` processes should share. These are of
    partitions in which much is to be done, and which have so much of all transcripts that the
    others would be done before them. A workspace is marked if many of its documents are to be read:
    what they cost is not known before. `sizes`: the bytes of the transcripts of each project."""
    fair = sum(sizes.values()) / (2 * count)

    def is_shared(task: Task) -> bool:
        if task.limit is not None or count == 1 or sizes.get(task.project, fair) < fair:
            return False
        try:
            if WORKSPACE_DOCUMENTS.name in task.assets:
                return _documents_to_read(components, task.project) >= _MANY_DOCUMENTS
            seconds = seconds_of(components, task.project, task.assets, task.walked)
        except Exception:  # noqa: BLE001 - the task has the same error, and reports it
            return False
        return _is_worth_it(seconds)

    return [replace(task, shared=is_shared(task)) for task in tasks]


def _documents_to_read(components: Components, partition: str) -> int:
    workspace = Workspaces(components.data_dir).of_partition(partition)
    return len(changed_documents(components, workspace)[0])


def _is_worth_it(seconds: Seconds) -> bool:
    return len(seconds) > 1 and sum(seconds.values()) >= _WORTH_IT_SECONDS


@dataclass(frozen=True)
class Progress:
    """How far a share is: a table, the number of a session, and how many there are."""

    table: str
    number: int
    sessions: int


class SharedTask:
    """A task under way, of which several processes make shares. `working`: the shares of the
    present round that are not made yet."""

    def __init__(self, components: Components, task: Task, count: int) -> None:
        self.working = 0
        self.is_done = False
        self._components, self._task, self._made = components, task, list[Made]()
        self._progress: dict[str, dict[int, Progress]] = {}
        self._steps = _in_rounds(components, task, count, self._made)
        self._is_given_up = False

    def advance(self) -> Iterator[list[Task] | Outcome]:
        """Go on, when no share is at work, to the next round that has shares, or to the end; yield
        its shares, and what came of each step and check of the whole until then."""
        while not (self.working or self.is_done):
            try:
                each = None if self._is_given_up else next(self._steps, None)
            except Exception as error:  # noqa: BLE001 - one project does not stop the others
                yield from self._task.all_failed(safe_reason(error))
                each = None
            if each is None:
                self.end()
            else:
                self.working = len(each) if isinstance(each, list) else 0
                yield each

    def note(self, share: Share, told: Made | Progress) -> None:
        """Note what a share made, or tell how far all of them are with a table."""
        if isinstance(told, Made):
            self._made.append(told)
            return
        at_it = self._progress.setdefault(told.table, {})
        at_it[share.number] = told
        numbers = sum(each.number for each in at_it.values())
        self._components.progress(
            told.table, numbers, sum(each.sessions for each in at_it.values())
        )

    def give_up(self, working: int) -> None:
        """Make nothing more, once the shares that are still at work are made."""
        self._is_given_up, self.working = True, working

    def end(self) -> None:
        """Release the partition, wherever the task is."""
        self._steps.close()
        self.is_done = True


def _in_rounds(
    components: Components, task: Task, count: int, made: list[Made]
) -> Generator[list[Task] | Outcome]:
    """Make a task, whose partition is locked in each round: yield the shares of a round, and go on
    when they are made. `made`: what they made; emptied as the round is closed."""
    project, failed = task.project, set(task.failed)
    lock, seconds = components.lake.lock_path(project), components.settings.lock_timeout_seconds
    given: list[Share] = []
    for assets in _rounds(task.assets):
        allowed = [each for each in assets if not (each in failed or is_blocked(each, failed))]
        with components.project_lock(project):
            weights = seconds_of(components, project, allowed, task.walked)
            if _is_worth_it(weights):
                if not weights.keys() <= {name for share in given for name in share.sessions}:
                    given = divided(project, weights, count)
                token = begin_shares(lock)
                try:
                    yield [_of_share(task, allowed, replace(each, token=token)) for each in given]
                finally:
                    end_shares(lock, seconds)
            yield from _closed(components, replace(task, assets=assets), failed, made)


def _closed(
    components: Components, task: Task, failed: set[str], made: list[Made]
) -> Iterator[Outcome]:
    """Make the assets of a round in the whole partition, and yield what came of each step and
    check, with what the shares `made`; add the assets that fail to `failed`."""
    for outcome in run_task(components, replace(task, failed=frozenset(failed))):
        failed.add(failed_asset(outcome))
        if isinstance(outcome, Made):
            for part in [each for each in made if each.asset == outcome.asset]:
                outcome.report.include(part.report)
                made.remove(part)
        yield outcome
    made.clear()


def _of_share(task: Task, assets: Sequence[str], share: Share) -> Task:
    walked = None
    if RAW_SESSIONS in assets and task.walked is not None:
        walked = [source for source in task.walked if source.session_id in share.sessions]
    return replace(task, assets=tuple(assets), walked=walked, share=share)


def _rounds(assets: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the assets in rounds: none is shared in the round of the one without which it must
    not be made."""
    rounds: list[tuple[str, ...]] = [()]
    for asset in assets:
        step = STEPS[asset]
        if step.shared and not set(step.blocked_by).isdisjoint(rounds[-1]):
            rounds.append(())
        rounds[-1] += (asset,)
    return rounds


def run_share(
    components: Components, task: Task, tell: Callable[[Progress], None]
) -> Iterator[Made]:
    """Make the assets of a share in this process, and note which sessions pass their checks; yield
    what was made, and `tell` how far that is. An error ends it without a word: the process that
    then makes the whole partition has the same error, and reports it."""
    share = task.share
    assert share is not None
    mine, lock = components.for_share(share), components.lake.lock_path(task.project)

    def go_on(table: str, number: int, sessions: int) -> None:
        if not share.is_given(lock):
            raise taken_away(task.project)
        tell(Progress(table, number, sessions))

    mine.progress = go_on
    with rare_collections(), suppress(Exception), mine.share_lock() as may_write:
        for asset in task.assets if may_write else ():
            step = STEPS[asset]
            if asset == RAW_SESSIONS:
                step = replace(step, run=partial(scan_project, walked=task.walked))
            if step.shared:
                yield Made(task.project, asset, step.report(mine, task.project))
            if not _passes(mine, task.project, asset):
                break
    if REDACTED_RECORDS.name in task.assets:
        mine.read_records.forget()


def _passes(components: Components, project: str, asset: str) -> bool:
    """Whether no blocking check of an asset finds anything in the share."""
    try:
        return all(
            check.enforced(components, project).passed or not check.blocking
            for check in checks_of(asset)
            if check.by_session
        )
    finally:
        components.rows_to_check.forget()
