"""When a project is run: debounced, never starved, rested, backed off."""

from __future__ import annotations

import threading
import time

import pytest

from memory_assets.watching.pending import Changes, Pace, Pending

PACE = Pace(quiet=0.2, at_most=1.0, rest=0.5, first_retry=5.0, last_retry=60.0)


class Clock:
    """A clock that is put forward by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """At some time."""
    return Clock()


@pytest.fixture
def pending(clock: Clock) -> Pending:
    """Nothing waits."""
    return Pending(PACE, clock)


def test_a_project_runs_once_it_is_quiet(pending: Pending, clock: Clock) -> None:
    """Not at once, and once for all changes."""
    for _ in range(5):
        pending.note("a", "changed")
    assert pending.take() is None
    clock.now += 0.25
    assert pending.take() == ("a", "changed")
    assert pending.take() is None


def test_a_busy_project_does_not_starve(pending: Pending, clock: Clock) -> None:
    """A line every 50 ms for 10 s makes a run a second, not none and not 200."""
    runs = 0
    for _ in range(200):
        pending.note("a", "changed")
        clock.now += 0.05
        if pending.take():
            runs += 1
            pending.succeeded("a", 0.2)
    assert 8 <= runs <= 11


def test_the_longer_a_run_the_longer_its_project_rests(pending: Pending, clock: Clock) -> None:
    """So that others get their turn."""
    pending.succeeded("a", 4.0)
    pending.note("a", "changed")
    pending.note("b", "changed")
    clock.now += 1.0
    assert pending.take() == ("b", "changed")
    assert pending.take() is None
    clock.now += 1.1
    assert pending.take() == ("a", "changed")


def test_what_changes_now_goes_before_what_was_found_behind(pending: Pending, clock: Clock) -> None:
    """A backlog of 100 projects does not keep a live session waiting."""
    for number in range(100):
        pending.note(f"old{number:03d}", "behind", live=False)
    pending.note("live", "changed")
    clock.now += 0.3
    assert pending.take() == ("live", "changed")
    assert pending.take() == ("old000", "behind")


def test_a_failing_project_is_tried_later_and_later(pending: Pending, clock: Clock) -> None:
    """Changes do not make it run hot; a success ends it."""
    waits = [pending.failed("a") for _ in range(6)]
    assert waits == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]
    pending.note("a", "changed")
    clock.now += 59.0
    assert pending.take() is None
    clock.now += 1.5
    assert pending.take() == ("a", "changed")
    pending.succeeded("a", 0.1)
    assert pending.failed("a") == 5.0


def test_a_project_that_another_process_runs_is_looked_at_again(
    pending: Pending, clock: Clock
) -> None:
    """A second later."""
    pending.busy("a", "changed")
    clock.now += 0.9
    assert pending.take() is None
    clock.now += 0.2
    assert pending.take() == ("a", "changed")


def test_too_many_changes_become_a_full_look(clock: Clock) -> None:
    """The queue is bounded, and says that there were more."""
    changes = Changes(most_paths=3)
    for path in ("a", "b", "a", "c"):
        changes.add(path)
    assert changes.drain() == (["a", "b", "c"], False)
    for number in range(10):
        changes.add(str(number))
    assert changes.drain()[1]
    assert not changes.drain()[1]


def test_work_that_a_good_run_left_undone_waits_longer_each_time(
    pending: Pending, clock: Clock
) -> None:
    """Up to `last_retry`, and never for ever, though the runs themselves went well; what changes
    just now does not wait for it; and once nothing is undone the wait begins anew."""
    waited = []
    for _ in range(6):
        pending.undone("a")
        pending.note("a", "held back", live=False)
        waited.append(pending.seconds_to_next(1e6))
        assert pending.take() is None
        clock.now += waited[-1]
        assert pending.take() == ("a", "held back")
        pending.succeeded("a", 0.0)
    assert waited == pytest.approx([5.0, 10.0, 20.0, 40.0, 60.0, 60.0])
    pending.undone("a")
    pending.note("a", "held back", live=False)
    pending.note("a", "changed")
    clock.now += 0.25
    assert pending.take() == ("a", "changed")
    pending.done("a")
    pending.undone("a")
    pending.note("a", "held back", live=False)
    assert pending.seconds_to_next(1e6) == pytest.approx(5.0)


def test_the_wait_is_never_longer_than_was_said(pending: Pending, clock: Clock) -> None:
    """A project that is backed off for long keeps nobody from looking elsewhere meanwhile."""
    pending.failed("a")
    pending.failed("a")
    pending.note("a", "held back", live=False)
    assert pending.seconds_to_next(1.0) == 1.0


def test_a_project_that_is_backed_off_leaves_it_quiet(pending: Pending, clock: Clock) -> None:
    """What may be done when nothing is under way is done all the same."""
    assert pending.is_quiet()
    pending.failed("a")
    pending.note("a", "held back", live=False)
    assert len(pending) == 1 and pending.is_quiet()
    pending.note("b", "changed")
    assert not pending.is_quiet()


def test_who_waits_for_changes_can_be_woken() -> None:
    """At once, and also when it begins to wait a moment later: a watcher that is told to stop
    does not sleep on."""
    changes = Changes()
    woken = threading.Event()

    def wait() -> None:
        changes.wait(60.0)
        woken.set()

    threading.Thread(target=wait, daemon=True).start()
    changes.wake()
    assert woken.wait(10.0)


def test_paths_that_follow_each_other_closely_are_drained_together() -> None:
    """The files of one switch of branch are looked at by one walk."""
    changes = Changes()
    changes.add("t0")

    def write_others() -> None:
        for number in range(1, 20):
            time.sleep(0.005)
            changes.add(f"t{number}")

    writer = threading.Thread(target=write_others)
    writer.start()
    changes.gather(quiet=0.5, at_most=60)
    writer.join()
    assert len(changes.drain()[0]) == 20


def test_paths_that_never_cease_are_drained_at_last() -> None:
    """A program that writes all the time holds nothing up."""
    changes = Changes()
    ceased = threading.Event()

    def write_for_ever() -> None:
        number = 0
        while not ceased.wait(0.001):
            changes.add(f"t{number % 1000}")
            number += 1

    changes.add("t")
    writer = threading.Thread(target=write_for_ever)
    writer.start()
    changes.gather(quiet=30, at_most=0.1)
    ceased.set()
    writer.join()
    assert changes.drain()[0]
