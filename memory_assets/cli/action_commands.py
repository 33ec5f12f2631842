"""The commands that lead from what is on record to doing something."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from memory_assets.cli.asking import ask_and_print, exit_unless_found
from memory_assets.cli.commands import request_command
from memory_assets.cli.printing import rendering
from memory_assets.errors import ConfigurationError
from memory_assets.requests.questions import (
    ExportFormat,
    ExportRequest,
    FrictionRequest,
    HowRequest,
    RestoreRequest,
    ResumeRequest,
)
from memory_assets.serving.answer_lines import how_notes, project_notes, restore_notes
from memory_assets.serving.views import friction_view, how_view

_FORMATS: dict[str, ExportFormat] = {".html": "html", ".json": "json", ".md": "markdown"}
"""What a file is taken for by its ending."""


@request_command(HowRequest, "memory how git push --project .")
def how(request: HowRequest, as_json: bool) -> None:
    """Show how a tool was used with success.

    Lists its commands that worked, by project, the most used first, each with what had failed
    before it in the same session; then what failed and did not work later.
    """
    answer = ask_and_print(request, as_json, how_view, how_notes)
    exit_unless_found(answer["commands"], answer["failed"])


@request_command(FrictionRequest, "memory friction --project . -n 5")
def friction(request: FrictionRequest, as_json: bool) -> None:
    """Show errors that keep coming back.

    Lists the errors met in several sessions, and in which way each ended. Errors that differ in
    paths, numbers and quoted texts alone are one.
    """

    def notes(answer: dict[str, Any]) -> Iterator[str]:
        yield from project_notes(answer)
        if not answer["errors"] and request.sessions > 2:
            yield f"No error was met in {request.sessions} sessions; --sessions 2 takes more errors"

    exit_unless_found(ask_and_print(request, as_json, friction_view, notes)["errors"])


@request_command(ResumeRequest, "memory resume --last --run")
def resume(request: ResumeRequest, as_json: bool) -> None:
    """Print how to resume a session.

    The command of the session's own agent, with the directory to run it in, as a line for a shell.
    """
    from memory_assets.recall import open_memory

    answer = open_memory().ask(request)
    if request.run:
        _run(answer)
    missing = (f"note: {why}" for why in (*answer["missing"], *answer["notes"]))
    if as_json:
        rendering.print_recalled(answer, as_json, ())
    else:  # without a frame, because a shell may read it; it has an id and paths, no recalled text
        rendering.print_unwrapped([answer["line"]])
        rendering.print_lines(missing, stderr=True)


def _run(answer: Mapping[str, Any]) -> None:
    """Replace this process by the agent.

    Raises:
        ConfigurationError: something that the agent needs is not on this machine.
    """
    program = shutil.which(answer["command"][0])
    lacking = [*answer["missing"]]
    if program is None:
        lacking.append(f"{answer['command'][0]} is not on the PATH")
    if program is None or lacking:
        raise ConfigurationError(f"cannot run {answer['line']}: {'; '.join(lacking)}")
    os.chdir(answer["directory"])
    os.execv(program, answer["command"])


@request_command(RestoreRequest, "memory restore src/app.py --at yesterday")
def restore(request: RestoreRequest, as_json: bool) -> None:
    """Print a file as sessions left it.

    Its contents are put together from what sessions wrote, read and edited. What is not on record
    is marked in the text, and said on standard error.
    """
    from memory_assets.recall import open_memory

    target = _writable(request)
    answer = open_memory().ask(request)
    if target is not None:
        with target.open("w" if request.force else "x", encoding="utf-8", newline="") as file:
            file.write(answer["text"])
    notes = [*restore_notes(answer), *([f"written to {target}"] if target is not None else [])]
    if as_json:
        rendering.print_json(answer)
        return
    if target is None:
        rendering.print_unwrapped(answer["text"].removesuffix("\n").split("\n"))
    rendering.print_lines(notes, stderr=True)


@request_command(ExportRequest, "memory export --project . --format html --output sessions.html")
def export(request: ExportRequest, as_json: bool) -> None:
    """Write sessions for other programs.

    The list of them as CSV or JSON, with tokens, price, files and commits; or all that is said and
    done in them as Markdown, or as one HTML file that needs nothing else. Redacted as all is.
    """
    from memory_assets.recall import open_memory
    from memory_assets.serving.exports import export_pieces

    target = _writable(request)
    form: ExportFormat = "json" if as_json else request.format
    if target is not None and (meant := _FORMATS.get(target.suffix, form)) != form:
        raise ConfigurationError(f"{target} would have {form} in it; give --format {meant}")
    pieces = export_pieces(open_memory(), request.sessions, form)
    if target is None:
        sys.stdout.writelines(pieces)
        return
    first = next(pieces, "")  # before the file is touched: here the request may fail
    with target.open("w" if request.force else "x", encoding="utf-8", newline="") as file:
        file.writelines(chain([first], pieces))
    rendering.print_lines([f"written to {target}"], stderr=True)


def _writable(request: RestoreRequest | ExportRequest) -> Path | None:
    """Return the file to write to, if one is asked for.

    Raises:
        ConfigurationError: it exists and may not be replaced, or its directory does not exist.
    """
    if request.output is None:
        return None
    target = Path(request.output).expanduser()
    if target.is_dir() or not target.parent.is_dir():
        raise ConfigurationError(
            f"{target} is a directory, or in none that exists; give --output the path of a file"
        )
    if os.path.lexists(target) and not request.force:
        raise ConfigurationError(f"{target} exists; use --force to write over it")
    return target
