"""Printing. Recalled text is data: it is shown, never interpreted as markup or escapes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from memory_assets import status as overview
from memory_assets.serving.visible_text import joined, visible, visible_payload

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


_SHOWN_CHARACTERS = 600
_PIPED_WIDTH = 240


def open_console(*, stderr: bool = False) -> Console:
    """Return a console that wraps lines on a terminal, but not in a pipe."""
    from rich.console import Console

    made = Console(stderr=stderr, soft_wrap=True)
    return made if made.is_terminal else Console(stderr=stderr, soft_wrap=True, width=_PIPED_WIDTH)


def progress_bar(console: Console, *, transient: bool = False) -> Progress:
    """Return a progress bar, which prints nothing unless the console is a terminal."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=transient,
        disable=not console.is_terminal,
    )


def print_json(value: object) -> None:
    """Print a value as one JSON document on standard output, without invisible characters,
    because a terminal or an agent may read it."""
    sys.stdout.buffer.write(
        orjson.dumps(visible_payload(value), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    )


def escaped(text: str) -> str:
    """Return text without invisible characters (terminal escapes, direction marks), with bytes
    that are not UTF-8 as backslash escapes and with rich's markup escaped."""
    from rich.markup import escape

    return escape(visible(text.encode("utf-8", "backslashreplace").decode()))


def print_answer(answer: Mapping[str, Any]) -> None:
    """Print the hits of a search, best first, each with the id that `memory show` takes."""
    from rich.text import Text

    console = open_console()
    for rank, hit in enumerate(answer["hits"], start=1):
        about = hit["metadata"]
        when = str(about.get("timestamp", ""))[:16].replace("T", " ")
        console.print(
            f"[bold]{rank}.[/bold] [cyan]{escaped(hit['id'])}[/cyan]  {hit['score']:.2f}  {when}  "
            f"{escaped(str(about.get('agent', '')))}  {escaped(str(about.get('project', '')))}"
        )
        console.print(Text(_shortened(hit["text"])), style="dim" if rank > 3 else "")
        console.print()
    if not answer["hits"]:
        console.print("Nothing found.")
    notes = open_console(stderr=True)
    for line in _limits(answer):
        notes.print(f"[yellow]{escaped(line)}[/yellow]")


def _limits(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each thing that an answer may lack."""
    if answer["degraded"]:
        yield f"{answer['degraded']}: {answer['reason'] or ''}"
    if answer["older"]:
        yield f"{answer['older']} older hits; omit --recent to see them."
    coverage = answer["coverage"]
    if coverage["ingest"]:
        yield f"{coverage['ingest']}."
    elif not coverage["complete"]:
        yield (
            f"Only {coverage['indexed']} of {coverage['rows']} rows can be found yet; run "
            "`memory ingest`."
        )
    if coverage["quarantined"]:
        yield f"{coverage['quarantined']} sessions are held back; see `memory status`."


def print_rows(rows: Sequence[dict[str, Any]], wanted: str) -> None:
    """Print turns with their passages, or a summary field by field."""
    from rich.text import Text

    console = open_console()
    for row in rows:
        mark = "[bold]>[/bold] " if row["id"] == wanted and len(rows) > 1 else ""
        console.print(f"{mark}[cyan]{escaped(row['id'])}[/cyan]  {escaped(row['project'])}")
        for name, value in row.items():
            if name in ("id", "project", "passages", "text", "content_hash") or not value:
                continue
            console.print(f"[bold]{name}[/bold] {escaped(joined(value))}")
        for passage in row.get("passages", ()):
            console.print(Text(f"\n{visible(passage)}"))
        console.print()


def print_totals(current: dict[str, Any], console: Console) -> None:
    """Print counts and coverage, then a line for each session, file or directory that is held
    back."""
    console.print(overview.totals(current))
    for well, line in overview.in_words(current["coverage"]):
        console.print(line if well else f"[yellow]{line}[/yellow]")
    for line in overview.held_back(current):
        console.print(f"[yellow]held back[/yellow] {escaped(line)}")


def _shortened(text: str) -> str:
    text = visible(text)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS].rstrip()} ..."


def show_notices() -> None:
    """Print notices of slow one-time work (compiling patterns) on a terminal's stderr."""
    if not sys.stderr.isatty():
        return
    notices = logging.getLogger("memory_assets")
    notices.setLevel(logging.INFO)
    notices.addHandler(logging.StreamHandler())
