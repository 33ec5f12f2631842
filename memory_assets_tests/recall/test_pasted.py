"""An error line or a name of code that is pasted finds the turn where it was printed or written."""

from __future__ import annotations

import pytest

from memory_assets_tests.recall.conftest import Asked

PRINTED = (
    "psycopg.errors.DeadlockDetected: deadlock detected",
    "fatal: The current branch fix/report-day-bounds has no upstream branch.",
    "harbor/reports/days.py:6: NameError",
    "npm error Missing: next@16.1.1 from lock file",
)


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
@pytest.mark.parametrize("line", PRINTED)
def test_a_printed_line_finds_its_turn(asked: Asked, line: str, mode: str) -> None:
    """At the first place, whatever else speaks of such things, and it is not weak."""
    first = asked.memory.search(line, mode=mode).hits[0]
    turns = {row["turn_id"]: row["error_lines"] for row in asked.rows("turn_chunks")[::-1]}
    assert any(line[:40] in printed for printed in turns[first.turn_id])
    assert float(first.why["pasted"]) > 0.5 and not first.weak


def test_other_numbers_and_paths_find_the_same_line(asked: Asked) -> None:
    """Of the terms nearly all are needed, not all."""
    line = "fatal: The current branch feature/other has no upstream branch."
    hits = asked.memory.search(line).hits
    assert hits[0].turn_id == asked.memory.search(PRINTED[1]).hits[0].turn_id
    assert 0.5 <= float(hits[0].why["pasted"]) < 1


def test_a_name_of_code_is_found_in_any_case(asked: Asked) -> None:
    """Though nobody speaks of it."""
    assert "pasted" in asked.memory.search("DEADLOCKDETECTED").hits[0].why


def test_a_line_among_others_is_found(asked: Asked) -> None:
    """A stack trace is pasted with what stands above it."""
    pasted = f"$ python backfill.py\nzorgle frabjous quux bandersnatch\n{PRINTED[0]}\n"
    assert float(asked.memory.search(pasted).hits[0].why["pasted"]) == 1


def test_prose_is_ranked_as_if_there_were_no_output(asked: Asked) -> None:
    """Sharing words with an error line is not enough."""
    for question in ("what was the deadlock in the backfill", "why has the branch no upstream?"):
        assert not any("pasted" in hit.why for hit in asked.memory.search(question).hits)


def test_words_of_a_pasted_line_are_no_typing_errors(asked: Asked) -> None:
    """They occur, if not in what is said."""
    assert asked.memory.search(f"zz {PRINTED[1]}").corrected == {}


def test_search_by_meaning_alone_knows_no_lines(asked: Asked) -> None:
    """Its scores are cosines."""
    hits = asked.memory.search(PRINTED[1], mode="semantic").hits
    assert not any("pasted" in hit.why for hit in hits)


SAID = (
    "is red on CI since this morning but green on my laptop",
    "no wait, not from your side. I'll do it. only change the migration",
    "Migrations now set lock_timeout = '3s', so a blocked ALTER fails after three seconds",
)


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
@pytest.mark.parametrize("line", SAID)
def test_a_line_that_was_said_finds_its_turn(asked: Asked, line: str, mode: str) -> None:
    """A sentence of a prompt or a reply that is pasted is found like a line of output."""
    first = asked.memory.search(line, mode=mode).hits[0]
    assert float(first.why["pasted"]) > 0.9 and not first.weak


def test_a_line_that_was_said_is_found_with_other_words_around_it(asked: Asked) -> None:
    """Nearly all of its pairs of words are needed, not all."""
    first = asked.memory.search(f"so why {SAID[0]}?").hits[0]
    assert 0.65 <= float(first.why["pasted"]) < 1
    assert first.turn_id == asked.memory.search(SAID[0]).hits[0].turn_id


def test_the_words_of_a_line_in_another_order_are_no_pasted_line(asked: Asked) -> None:
    """They are ranked by words and meaning."""
    words = " ".join(reversed(SAID[0].split()))
    assert not any("pasted" in hit.why for hit in asked.memory.search(words).hits)
