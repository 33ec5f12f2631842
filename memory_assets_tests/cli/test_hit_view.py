"""The hits of a search as a terminal shows them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from memory_assets.cli.printing.hit_view import terminal_lines, what_to_type
from memory_assets.serving.layout import Layout, cells
from memory_assets.stores.lake.schemas import Table
from memory_assets_tests.cli.terminal import STYLE, on_terminal
from memory_assets_tests.cli.test_cli import Cli

LIGHTHOUSE = "aaaaaaaa-0000-4000-8000-000000000001"
FLAKY = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"


class _Memory:
    """Titles and short ids of two sessions; what was done in turns, and asked, by their ids."""

    def __init__(self, done: Mapping[str, str], asked: Mapping[str, str]) -> None:
        made = [{"turn_id": at, "type": "change", "title": title} for at, title in done.items()]
        typed = [{"turn_id": at, "text": text} for at, text in asked.items()]
        self._tables = {"observations": made, "user_prompts": typed}
        self.lake = self

    def read(self, table: Table, project: str, session: str, columns: Any) -> pa.Table:
        return pa.Table.from_pylist(self._tables[table.name], table.schema).select(columns)

    def titles(self, sessions: Any) -> dict[str, str]:
        return {each: "How to keep a lighthouse" for _, each in sessions if each == LIGHTHOUSE}

    def short_ids(self, sessions: Any) -> dict[str, str]:
        return {each: each[:8] for each in sessions}


def _hit(
    text: str, session: str = LIGHTHOUSE, *, weak: bool = False, **metadata: Any
) -> dict[str, Any]:
    when = datetime.now(UTC) - timedelta(days=3, hours=1)
    about = {"session_id": session, "project": "-work-tower", "timestamp": when.isoformat()}
    turn = f"session::{session}::turn::4"
    return {
        **{"id": f"{turn}::part::2", "turn_id": turn, "score": 0.5, "text": text, "weak": weak},
        "prompt_length": 0,
        "beside": "",
        "metadata": {**about, **metadata},
    }


def _lines(
    *hits: dict[str, Any],
    query: str = "lamp",
    mode: str = "hybrid",
    missing: Sequence[str] = (),
    done: Mapping[str, str] | None = None,
    asked: Mapping[str, str] | None = None,
    width: int = 80,
    colours: bool = False,
    full: bool = False,
    **given: Any,
) -> list[str]:
    weak = bool(hits) and all(hit["weak"] for hit in hits)
    answer = {"query": query, "mode": mode, "weak": weak, "missing": missing, "hits": list(hits)}
    layout = Layout(width, colours, full)
    memory = _Memory(done or {}, asked or {})
    return list(terminal_lines(memory, answer, layout, **given))  # type: ignore[arg-type]


def test_title_age_and_a_short_id_come_first() -> None:
    """Then the text; a session without a title is called by its text, which is not repeated."""
    assert _lines(_hit("The lamp is lit."), _hit("Out at dawn.", FLAKY)) == [
        "1. How to keep a lighthouse  3 days ago  aaaaaaaa:4",
        "   The lamp is lit.",
        "2. Out at dawn.  3 days ago  3d0f6a52:4",
    ]


def test_hits_of_one_session_stand_together_below_the_best_of_them() -> None:
    """Numbered as they are printed; in the order of time, only where they are next to each
    other."""
    out = _hit("It goes out.", FLAKY, title="Out")
    hits = [_hit("Lit."), out, _hit("Lit again."), _hit("Lamp", title="Oil")]
    lines = _lines(*hits)
    assert [line.split(".")[0] for line in lines[::2]] == ["1", "   2", "   3", "4"]
    assert lines[2] == "   2. same session  3 days ago  aaaaaaaa:4"
    assert lines[3] == "      Lit again." and lines[4].startswith("   3. Oil  3 days")
    newest = _lines(*hits, by_time=True)
    assert [line.split(".")[0] for line in newest[::2]] == ["1", "2", "3", "   4"]


def test_a_turn_is_called_by_what_it_did_before_its_session() -> None:
    """Below another hit of the session by that alone, or else by what was asked in it, if that
    tells one turn from others."""
    hits = [_hit("Lit."), {**_hit("Lit again."), "turn_id": f"session::{LIGHTHOUSE}::turn::5"}]
    first, second = (hit["turn_id"] for hit in hits)
    lines = _lines(*hits, done={first: "Light the lamp"}, asked={second: "and again at dawn"})
    assert lines[0] == "1. Light the lamp · How to keep a lighthouse  3 days ago  aaaaaaaa:4"
    assert lines[2] == "   2. and again at dawn  3 days ago  aaaaaaaa:5"
    lines = _lines(*hits, done={second: "Lit"}, asked={second: "and again at dawn"})
    assert lines[0].startswith("1. How to keep a") and lines[2].startswith("   2. Lit  3 days")
    for short in ("go ahead", "进行吧", "進めてください", "계속 진행해 주세요", "ทำต่อเลย"):
        assert _lines(*hits, asked={second: short})[2].startswith("   2. same session  "), short
    for telling in ("请在黎明时再次点亮灯塔", "夜明けに灯台をもう一度点けてください"):
        assert _lines(*hits, asked={second: telling})[2].startswith(f"   2. {telling}  ")


def test_an_observation_is_called_by_its_own_title_and_id() -> None:
    """Its project is said where the hits are of several."""
    hit = {**_hit("Lit at dusk.", title="The lamp"), "id": f"observation::{LIGHTHOUSE}::7"}
    other = _hit("Lit.", FLAKY, project="-work-quay", project_root="~/work/quay.d")
    assert _lines(hit, other)[::2] == [
        "1. The lamp  3 days ago  observation::aaaaaaaa::7  tower",
        "2. Lit.  3 days ago  3d0f6a52:4  quay.d",
    ]


@pytest.mark.parametrize(
    ("any_id", "session", "about"),
    [
        ("memory::4d999cdc739bd41ce46d8648c02c76bc", "4d999cdc739bd41ce46d8648c02c76bc", {}),
        ("message::c1-of-spring::0", "c1-of-spring", {}),
        (
            "harbor::docs/architecture.md::3",
            "docs/architecture.md",
            {"file_path": "docs/architecture.md", "line_start": 1, "section_heading": ""},
        ),
    ],
)
def test_ids_of_no_session_are_whole(any_id: str, session: str, about: dict[str, Any]) -> None:
    """Nothing takes a part of them; where one leaves the title no room, it stands below."""
    hit = {**_hit("The lamp is lit.", session, **about), "id": any_id, "turn_id": any_id}
    assert any_id in _lines(hit, width=110)[0].split()
    head, *below = _lines(hit, width=41)
    assert head.endswith("  3 days ago") == (below[0].strip() == any_id)


def test_copies_of_a_document_stand_below_its_hit() -> None:
    """They are no hits of their own."""
    about: dict[str, Any] = {
        "file_path": "a.md",
        "line_start": 1,
        "section_heading": "Lamps",
        "copies": ["harbor::b.md::0"],
    }
    assert "   (also harbor::b.md::0)" in _lines(_hit("The lamp is lit.", **about))


def test_the_text_of_an_observation_does_not_say_its_title_again() -> None:
    """Nor the text of a hit that is nothing else."""
    told = _hit(
        "The lamp is lit at dusk.\nIt burns oil, the keeper said.", title="The lamp is lit at dusk."
    )
    assert _lines(told)[1] == "   …It burns oil, the keeper said."
    assert len(_lines(_hit("The lamp", title="The lamp"))) == 1


@pytest.mark.parametrize(
    ("root", "name"),
    [
        ("/home/ada/cli/.worktrees/2", "cli/2"),
        ("/home/ada/cli/.claude/worktrees/oil-lamp", "cli/oil-lamp"),
        ("/home/ada/cli/.worktrees/a-branch-of-many-words", "cli/a-branch-of-many-wo…"),
    ],
)
def test_a_work_tree_is_named_with_its_repository(root: str, name: str) -> None:
    """Its own name says little; a long one leaves room for the title."""
    hits = _hit("Lit.", project_root=root), _hit("Out.", FLAKY, project="-quay")
    head = _lines(*hits, width=110)[0]
    assert head.endswith(f":4  {name}")


def test_ten_hits_fit_two_screens_and_no_line_is_too_wide() -> None:
    """However long their texts are; the words of the question are in what is shown."""
    text = "Steps of the tower. " * 60 + "The lamp burns oil. " + "Doors of the tower. " * 60
    for width in (40, 80, 132):
        lines = _lines(*[_hit(text)] * 10, width=width)
        assert len(lines) <= 40
        assert all(cells(line) < width for line in lines)
        assert sum("lamp" in line for line in lines) >= 10


@pytest.mark.parametrize(
    ("text", "width"),
    [("灯台の灯りは毎晩ともる" * 30, 22), ("é" * 5, 5), ("e\u0301" * 5, 5), ("👩 x", 4), ("", 0)],
)
def test_wide_characters_take_two_cells(text: str, width: int) -> None:
    """Marks none; lines are cut by cells, also where a script has no blanks."""
    assert cells(text[:11] if len(text) > 20 else text) == width
    assert all(cells(line) < 60 for line in _lines(_hit(text, FLAKY), width=60, query="灯"))


def test_full_shows_the_whole_text() -> None:
    """Line by line, wrapped."""
    text = "\n".join(f"Line {number} of the log." for number in range(30))
    lines = _lines(_hit(text), full=True)
    assert [line.strip() for line in lines[1:-1]] == text.splitlines()


def test_found_words_are_marked_and_recalled_escapes_are_gone() -> None:
    """In whatever form a word occurs; without colours the lines are the same text."""
    hit = _hit("The \x1b[31mlamps burn\x07 in a lamp, is it")
    coloured = _lines(hit, query="is the lamp lit", colours=True)
    assert "\x1b[1;33mlamps\x1b[0m" in coloured[1]  # without the escape that was glued to it
    assert "\x1b[1;33mlamp\x1b[0m," in coloured[1] and "\x1b[1;33mis" not in coloured[1]
    assert [STYLE.sub("", line) for line in coloured] == _lines(hit, query="is the lamp lit")
    assert "\x1b[31m" not in "".join(coloured) and "\x07" not in "".join(coloured)


def test_an_exact_hit_says_where_its_line_stands_and_what_prints_the_rest() -> None:
    """Above the line, in which what was searched for is marked, in whatever case and spacing."""
    where: dict[str, Any] = {"record": "tool_result", "tool": "Bash", "line": 12}
    hit = _hit("error:  Lamp   (oil) is out, says the keeper", **where)
    _, place, text = _lines(hit, mode="exact", query="lamp (OIL)", colours=True)
    assert place == "   output of Bash, line 12:"
    assert text == "   error: \x1b[1;33mLamp (oil)\x1b[0m is out, says the keeper"
    (then,) = what_to_type(_Memory({}, {}), {"hits": [hit]})  # type: ignore[arg-type]
    assert then == "memory show aaaaaaaa:4 --records: all of the first one"
    (then,) = what_to_type(_Memory({}, {}), {"hits": [_hit("Lit.")]})  # type: ignore[arg-type]
    assert then == "memory show aaaaaaaa:4: all of the first one"


def test_a_document_is_named_by_its_place() -> None:
    """Each of several sections of it; its text may be code."""
    place: dict[str, Any] = {"file_path": "docs/lamp.md", "section_heading": "Oil"}
    lines = _lines(_hit("{", line_start=3, **place), _hit("}", line_start=9, **place), width=100)
    assert lines[0].startswith("1. lamp.md:3  Oil") and lines[2].startswith("   2. lamp.md:9  Oil")


def test_a_hit_of_another_memory_names_it() -> None:
    """That a hit is in this one goes without saying."""
    here = _hit("Lit.", memory="this memory")
    there = _hit("Out.", FLAKY, memory="team/a", project="-work-quay")
    lines = _lines(here, there)
    assert lines[0].endswith("aaaaaaaa:4  tower") and lines[2].endswith("  quay in team/a")


def test_weak_hits_are_marked_or_announced() -> None:
    """As in a pipe: each by the same word where others are sure, once where none is."""
    weak = _hit("It is y.", FLAKY, weak=True, title="y")
    assert _lines(weak, weak)[0] == "Not sure; nearest:"
    nowhere = _lines(weak, weak, missing=["whatsapp"])
    assert nowhere[0] == "Not sure: 'whatsapp' is nowhere in memory. Nearest:"
    heads = [line for line in _lines(_hit("x"), weak, _hit("z", "quay"), weak) if "." in line[:6]]
    marks = ["1. How to ", "2. not sure: y", "   3. not sure:", "4. z  3 da"]
    assert [line[: len(mark)] for line, mark in zip(heads, marks, strict=True)] == marks
    assert _lines() == ["Nothing found."]


def test_a_terminal_gets_titles_in_colour_and_its_own_width(by_words: Cli) -> None:
    """The id that is printed shows the hit."""
    asked = ("search", "lock_timeout", "migration", "-n", "3")
    lines = on_terminal(by_words, *asked, columns=70)
    plain = [STYLE.sub("", line) for line in lines]
    assert lines != plain and all(len(line) < 70 for line in plain)
    assert on_terminal(by_words, *asked, columns=70, NO_COLOR="1") == plain
    assert len(on_terminal(by_words, *asked, columns=110)) <= len(plain)
    found = re.match(r"1\. .*  \d+ \w+ ago  ([0-9a-f]{8}:\d+)", plain[0])
    assert found is not None
    assert by_words.run("show", found[1]).returncode == 0


def test_a_pipe_gets_whole_ids_and_no_colour(by_words: Cli) -> None:
    """For programs, and for `grep`; with --full the whole text."""
    out = by_words.run("search", "lock_timeout", "migration", "-n", "1").stdout
    mark, first = out.splitlines()[:2]
    assert re.match(r"<recalled-memory v1 [0-9a-f]{16}> ", mark) and "\x1b" not in out
    assert re.match(r"1\. session::[0-9a-f-]{36}::turn::", first)
    full = by_words.run("search", "lock_timeout", "migration", "-n", "1", "--full").stdout
    assert len(full) >= len(out)
