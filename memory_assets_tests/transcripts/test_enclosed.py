"""Tags that enclose text: what they hold, and thousands of them that nothing closes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from memory_assets.transcripts.authorship import without_reminders
from memory_assets.transcripts.claude import prompts
from memory_assets.transcripts.enclosed import enclosed, replaced
from memory_assets.transcripts.readers import cline, specstory
from memory_assets.transcripts.readers.pi import prompt_text

_OPENING = re.compile(r"<(a|b)(?: [^<>]*)?>")


def test_what_tags_enclose_is_replaced_and_the_rest_stays() -> None:
    """Each opening ends at its own closing tag; one without such a tag is text."""
    text = "<b>1 <a x>2<b>3</b></a>  4 <b>5</b> 6 <a>"
    held = [text[begin.end() : end] for begin, end, _ in enclosed(text, _OPENING)]
    assert held == ["1 <a x>2<b>3", "5"]
    assert replaced(text, _OPENING, lambda begin: begin[1].upper()) == "B</a>  4 B 6 <a>"


def _seconds(step: Callable[[str], object], text: str) -> float:
    begin = time.thread_time()
    step(text)
    return time.thread_time() - begin


def test_openings_that_nothing_closes_take_time_in_proportion() -> None:
    """A hundred kilobytes of openings alone are read in a moment: before, each read on to the end
    of the text, and they took seconds."""
    rows: tuple[tuple[Callable[[str], object], str], ...] = (
        (prompt_text, '<file name="a">'),
        (prompt_text, '<skill name="a">'),
        (prompt_text, '<skill name=""'),
        (lambda text: replaced(text, cline._INSERTED, lambda _: ""), "<file_content "),
        (without_reminders, "<system-reminder></a>"),
        (prompts._command_line, "<command-name>"),
        (lambda text: list(specstory._fences(text)), "```a\n"),
    )
    for step, opening in rows:
        assert _seconds(step, opening * (100_000 // len(opening))) < 1, opening
