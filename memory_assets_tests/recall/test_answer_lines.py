"""Answers in lines: they name what their JSON names."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime

import pytest

from memory_assets.cli.printing.rendering import print_lines
from memory_assets.requests.times import spoken_time
from memory_assets.serving.answer_lines import (
    LISTED,
    first_lines,
    hit_lines,
    search_lines,
    search_notes,
)
from memory_assets.serving.views import AgentText, blame_view
from memory_assets.status.words import duration_text
from memory_assets_tests.recall.conftest import Asked
from memory_assets_tests.sweep import sweep

TURN = "session::3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741::turn::1"


def test_a_search_says_that_nothing_was_found(asked: Asked) -> None:
    """Instead of no line at all."""
    answer = asked.memory.search("database", until="2001-01-01").to_dict()
    assert list(search_lines(answer)) == ["Nothing found."]


def test_a_brief_answer_names_weak_hits_after_the_third_alone() -> None:
    """Not those that probably answer, and not in a longer answer."""
    hits = [
        {
            "id": f"a:{turn}",
            "score": 0.5,
            "weak": turn not in (0, 4),
            "time": None,
            "text": "It opens.",
        }
        for turn in range(6)
    ]
    *told, last = hit_lines(hits, brief=True)
    assert [line[:6] for line in told[::2]] == ["1. a:0", "2. a:1", "3. a:2", "5. a:4"]
    assert last == "Also not sure: a:3, a:5"
    assert len(list(hit_lines(hits))) == 12


def test_weak_hits_on_a_later_page_are_no_answer_that_is_unsure() -> None:
    """The answer says whether it is, not the hits of one page."""
    hits = [{"id": "a:0", "score": 0.5, "weak": True, "time": None, "text": "It opens."}]
    assert next(hit_lines(hits, 11)).startswith("11. a:0  0.50  not sure  ")
    assert next(hit_lines(hits, 11, weak=True)) == "Not sure; nearest:"


def test_a_search_says_what_its_answer_lacks_and_how_it_was_filtered(asked: Asked) -> None:
    """Times with their zone."""
    answer = asked.memory.search("lamp", agent="Pi", since="2026-01-01T00:00Z").to_dict()
    answer["older"] = 1
    answer["coverage"] |= {"complete": False, "rows": 9, "indexed": 7, "quarantined": 4}
    answer["coverage"]["held_back"] = ["one: why", "two: why", "three: why", "four: why"]
    first, *notes = search_notes(answer)
    assert first == f"Filters: agent pi, since {spoken_time(datetime(2026, 1, 1, tzinfo=UTC))}."
    assert notes == [
        "1 older hit; omit --recent to see more.",
        "Only 7 of 9 rows can be found yet; run `memory ingest`.",
        "held back, so not searched: one: why",
        "held back, so not searched: two: why",
        "held back, so not searched: three: why",
        "1 more held back; `memory status` lists them.",
    ]


def test_blame_names_the_project_of_a_file_that_is_not_here(asked: Asked) -> None:
    """Of one in this repository the path says enough."""
    turn = {"turn_id": TURN, "timestamp": None, "path": "a.py", "project": "p", "title": "t"}
    answer = {"commits": [], "turns": [{**turn, "here": here} for here in (True, False)]}
    lines = list(blame_view(AgentText(asked.memory), {**answer, "notes": []}))
    assert lines[::2] == ["t", "t"]
    assert [line[line.index(" changed") :] for line in lines[1::2]] == [
        " changed a.py",
        " changed a.py, in p",
    ]


@sweep(
    "seconds, said",
    [
        (-5, "0 seconds"),
        (1.9, "1 second"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (73_156, "20 hours"),
        (49 * 3_600, "2 days"),
        (300 * 86_400, "9 months"),
        (800 * 86_400, "2 years"),
    ],
)
def test_a_length_of_time_is_said_in_its_largest_unit(seconds: float, said: str) -> None:
    """One that it holds twice."""
    assert duration_text(seconds) == said


def test_long_lists_are_cut_and_say_how_much_is_left() -> None:
    """A list that is as long as allowed is whole."""
    lines = [str(number) for number in range(LISTED + 3)]
    assert list(first_lines(lines)) == [*lines[:LISTED], "... and 3 more (--json lists all)"]
    assert list(first_lines(lines[:LISTED])) == lines[:LISTED]


@pytest.mark.parametrize("terminal", [True, False])
def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    """Ids and warnings; what a text holds of escapes is gone in either case."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    monkeypatch.setattr(out, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_lines([f"warning {TURN} \x1b[31mred"])
    printed = out.buffer.getvalue().decode()
    plain = f"warning {TURN} red\n"
    coloured = f"\x1b[33mwarning\x1b[0m \x1b[36m{TURN}\x1b[0m red\n"
    assert printed == (coloured if terminal else plain)
