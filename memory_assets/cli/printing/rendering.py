"""Printing. Recalled text is data: it is shown, never interpreted as markup or escapes.

Answers are printed without rich, whose import takes as long as a search by words; it draws
progress bars, and what `memory ingest` and the watcher say.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from shutil import get_terminal_size
from threading import Timer
from typing import TYPE_CHECKING, Any, TextIO

import click
import orjson

from memory_assets.serving.layout import ANSI, ENDLESS, Layout
from memory_assets.serving.visible_text import Frame, printable, visible_payload

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

WORTH_SAYING_SECONDS = 5.0
"""Seconds from which on the console says that search by words works, while vectors are still
made."""
_PIPED_WIDTH = 240
_LEAST_WIDTH = 40
_COLOURED = re.compile(
    r"^(?P<red>error|failed|fails|wrong|cannot be read)\b"
    r"|^(?P<yellow>warning|warns|held back|note|There is|Only|keyword-only)\b"
    r"|(?P<cyan>\b(?:session|prompt|summary|observation|commit|link)::\S*\w)"
)


def open_console(*, stderr: bool = False) -> Console:
    """Return a console that wraps lines on a terminal, but not in a pipe."""
    from rich.console import Console

    # without emoji, because `agent-memory:x:` is a name, and colours for parts of dates
    terminal = Console(stderr=stderr, emoji=False, highlight=False)
    if not terminal.is_terminal:
        terminal.width = _PIPED_WIDTH
        terminal.soft_wrap = True
    return terminal


def progress_bar(console: Console) -> Progress:
    """Return a progress bar with the time that is left, which goes when it ends, and prints nothing
    unless the console is a terminal."""
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        *(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()),
        *(TimeRemainingColumn(), TimeElapsedColumn()),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def print_json(value: object) -> None:
    """Print a value as one JSON document on standard output, without invisible characters,
    because a terminal or an agent may read it."""
    write_json(visible_payload(value))


def write_json(value: object) -> None:
    """Print a value that is fit to be shown as it is as one JSON document."""
    sys.stdout.buffer.write(
        orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    )


def print_lines(lines: Iterable[str], *, stderr: bool = False) -> None:
    """Print lines without invisible characters; a terminal shows them wrapped at words, with ids
    and warnings in colour."""
    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        lines = _wrapped(lines)
    write_lines(displayed_lines(lines, stream), stream)


def print_unwrapped(lines: Iterable[str]) -> None:
    """Print lines that are copied, or are the text of a file, as `print_lines` does, unwrapped."""
    write_lines(displayed_lines(lines, sys.stdout), sys.stdout)


def _wrapped(lines: Iterable[str]) -> Iterator[str]:
    from textwrap import TextWrapper

    width = max(get_terminal_size().columns, _LEAST_WIDTH) - 1
    wrapper = TextWrapper(width, replace_whitespace=False)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    for line in chain.from_iterable(printable(text).split("\n") for text in lines):
        wrapper.subsequent_indent = " " * (len(line) - len(line.lstrip()) + 2)
        yield from wrapper.wrap(line) or [""]


def displayed_lines(lines: Iterable[str], stream: TextIO) -> Iterator[str]:
    """Return lines as a stream shows them: without invisible characters, in colour if it has."""
    shown = map(printable, lines)
    if not has_colours(stream):
        return shown
    return (_COLOURED.sub(_in_colour, line) for line in shown)


def has_colours(stream: TextIO) -> bool:
    """Return True for a terminal that shows colours, unless the user wants none (NO_COLOR)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def layout_of_output(*, colours: bool = False, full: bool = False) -> Layout:
    """Return how the standard output is laid out: as wide as its terminal, or for a pipe."""
    if not sys.stdout.isatty():
        return Layout(ENDLESS, full=True)
    return Layout(get_terminal_size().columns, colours and has_colours(sys.stdout), full)


def write_lines(lines: Iterable[str], stream: TextIO, *, paged: bool = False) -> None:
    """Write lines that are fit to be shown as they are, through the pager if they are `paged` and
    there is one."""
    if paged:
        lines = list(lines)
        if page(lines):
            return
    stream.flush()
    for line in lines:
        stream.buffer.write(f"{line}\n".encode())
    stream.buffer.flush()


def print_answer(
    answer: object, as_json: bool, lines: Iterable[str], notes: Iterable[str] = ()
) -> None:
    """Print an answer as JSON, or as lines with notes on standard error."""
    if as_json:
        print_json(answer)
    else:
        print_lines(lines)
        print_lines(notes, stderr=True)


@contextmanager
def notice_if_slow(seconds: float = 2.0) -> Iterator[None]:
    """Say on a terminal that memory is read, if a block takes longer than some seconds."""
    line = "Looking through what is kept ..."
    timer = Timer(seconds, print_lines, ([line],), {"stderr": True})
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def print_recalled(
    answer: Mapping[str, Any], as_json: bool, lines: Iterable[str], notes: Iterable[str] = ()
) -> None:
    """Print an answer from memory as `print_answer` does, within a frame unless a terminal shows
    it: in an agent's transcript it is recognised by that and not indexed again."""
    if as_json:
        write_json(Frame().payload(answer))
        return
    if not sys.stdout.isatty():
        frame = Frame()
        shown = map(printable, lines)
        write_lines((frame.notice, *shown, frame.closing), sys.stdout)
    else:
        print_unwrapped(lines)
    print_lines(notes, stderr=True)


def _in_colour(match: re.Match[str]) -> str:
    return f"\x1b[{ANSI[match.lastgroup or '']}m{match[0]}\x1b[0m"


def escaped(text: str) -> str:
    """Return text for a console: printable, with rich's markup escaped."""
    from rich.markup import escape

    return escape(printable(text))


def print_totals(
    current: dict[str, Any], spoken: Mapping[str, str], console: Console, *, is_complete: bool
) -> None:
    """Print counts and coverage, then a line for each session, file or directory that is held
    back, with the `spoken` names of projects. Where the ingest is not `is_complete`, nothing says
    that everything can be found."""
    from memory_assets.status.words import held_back, in_words, totals

    console.print(totals(current))
    for well, line in in_words(current["coverage"]):
        if is_complete or not well:
            console.print(line if well else f"[yellow]{line}[/yellow]")
    for line in held_back(current, spoken):
        console.print(f"[yellow]held back[/yellow] {escaped(line)}")


def show_notices() -> None:
    """Print notices of slow one-time work (compiling patterns) on a terminal's stderr."""
    if not sys.stderr.isatty():
        return
    notices = logging.getLogger("memory_assets")
    notices.setLevel(logging.INFO)
    notices.addHandler(_Notices())


class _Notices(logging.Handler):
    """Writes to standard error as it is at that time: while a line of progress is shown, rich has
    replaced it, so that a notice stands above that line and not behind it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(f"{self.format(record)}\n")
        except (OSError, ValueError):  # the terminal went away
            self.handleError(record)


_QUIET_LESS = "FRX"
"""Options of less, unless the user has others: no pager for what fits the screen, colours as they
are, and the text stays on the screen."""


def page(shown: Iterable[str]) -> bool:
    """Show lines on standard output through the pager: `$PAGER`, or less if that is installed.
    Return False, and show nothing, if standard output is no terminal or there is no pager; an empty
    `$PAGER` means none."""
    if os.name == "nt":  # there click gives the pager a temporary file, a copy of what is recalled
        return False
    command = shlex.split(os.environ.setdefault("PAGER", "less"))
    if not sys.stdout.isatty() or not command or shutil.which(command[0]) is None:
        return False
    os.environ.setdefault("LESS", _QUIET_LESS)
    with suppress(KeyboardInterrupt):  # of what is on the screen
        click.echo_via_pager("\n".join(shown), color=True)
    return True
