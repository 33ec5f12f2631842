"""What the commands that ask have in common: an answer that is printed, and an exit code if nothing
is found."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memory_assets.cli import exit_codes
from memory_assets.cli.printing import rendering
from memory_assets.requests.arguments import Arguments
from memory_assets.serving.answer_lines import as_spoken
from memory_assets.serving.views import Terminal, View

if TYPE_CHECKING:
    from memory_assets.recall import Memory

Lines = Callable[[dict[str, Any]], Iterable[str]]


def print_answer(
    asked: Arguments,
    as_json: bool,
    notes: Lines = lambda answer: (),
    *,
    view: View | None = None,
    lines: Lines = lambda answer: (),
) -> dict[str, Any]:
    """Ask the memory, print the answer, and return it: as its `view`, on a terminal by the pager if
    `asked` says so, or if it has none as its `lines`."""
    from memory_assets.recall import open_memory

    gc.disable()  # records by the ten thousand hold no cycles; looking for some takes a tenth
    try:
        memory = open_memory()
        with rendering.said_if_long():
            answer = memory.ask(asked)
    finally:
        gc.freeze()  # nor is any of it looked at again before the process ends
        gc.enable()
    told = notes(as_spoken(answer, memory.catalog.spoken_projects))
    if view is not None and not as_json:
        full, paged = getattr(asked, "full", False), getattr(asked, "pager", True)
        print_view(view, memory, answer, full=full, paged=paged)
        rendering.print_lines(told, stderr=True)
    else:
        rendering.print_recalled(answer, as_json, lines(answer), told)
    return answer


def print_view(
    view: View, memory: Memory, answer: Mapping[str, Any], *, full: bool, paged: bool = True
) -> None:
    """Print an answer for the person at this terminal, through the pager if it is `paged` and does
    not fit the screen; into a pipe in full, without wrapping, in the frame of recalled text."""
    lines = view(Terminal(memory, rendering.layout_of_output(colours=True, full=full)), answer)
    if sys.stdout.isatty():
        rendering.write_lines(lines, sys.stdout, paged=paged)
    else:
        rendering.print_recalled(answer, False, lines)


def exit_unless_found(*sections: object) -> None:
    """Exit with the code for "nothing found" unless there is something."""
    if not any(sections):
        sys.exit(exit_codes.NOTHING_FOUND)
