"""Ask the memory and print its answer, for the commands that ask; and their exit code if nothing is
found."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memory_assets.cli import exit_codes
from memory_assets.cli.printing import rendering
from memory_assets.requests.arguments import Arguments
from memory_assets.serving.answer_lines import with_spoken_names
from memory_assets.serving.views import Terminal, View

if TYPE_CHECKING:
    from memory_assets.recall import Memory

Lines = Callable[[dict[str, Any]], Iterable[str]]


def ask_and_print(
    request: Arguments, as_json: bool, view: View, notes: Lines = lambda answer: ()
) -> dict[str, Any]:
    """Ask the memory, print the answer, and return it.

    It is printed by its view, on a terminal through the pager unless the request turns that off;
    `notes` follow on standard error.
    """
    from memory_assets.recall import open_memory

    gc.disable()  # records by the ten thousand have no cycles; looking for some takes a tenth
    try:
        memory = open_memory()
        with rendering.notice_if_slow():
            answer = memory.ask(request)
    finally:
        gc.freeze()  # nothing of them needs to be collected before the process ends
        gc.enable()
    if as_json:
        rendering.print_recalled(answer, as_json, ())
        return answer
    full = getattr(request, "full", False)
    print_view(view, memory, answer, full=full, paged=getattr(request, "pager", True))
    spoken = with_spoken_names(answer, memory.catalog.spoken_projects)
    rendering.print_lines(notes(spoken), stderr=True)
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
    """Exit with the code for "nothing found" if all sections are empty."""
    if not any(sections):
        sys.exit(exit_codes.NOTHING_FOUND)
