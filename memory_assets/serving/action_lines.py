"""Answers to the questions of `requests/actions.py` as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from memory_assets.serving.answer_lines import clock, project_notes
from memory_assets.status import counted


def how_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the commands that worked, by project, each with what had failed before it; then what
    failed and did not work later."""
    for project, commands in groupby(answer["commands"], key=lambda command: command["project"]):
        yield f"# {project}"
        for command in commands:
            yield f"{command['command']}"
            yield f"   {uses(command)}, last {clock(command['last'])} {command['turn_id']}"
            yield from (f"   after {_failure(failed)}" for failed in command["before"])
    if answer["failed"]:
        yield "# failed, and did not work later in the session"
    for command in answer["failed"]:
        yield f"{_failure(command)}  {command['turn_id']}"


def uses(worked: Mapping[str, Any]) -> str:
    """Return in how many sessions a command worked, how often, and in how many wordings."""
    times = f", {worked['times']} times" if worked["times"] > worked["sessions"] else ""
    others = worked["variants"] - 1
    more = f" (and {counted(others, 'other')} like it)" if others else ""
    return f"worked in {counted(worked['sessions'], 'session')}{times}{more}"


def how_notes(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield of which projects the commands are, and that older sessions were not read."""
    yield from project_notes(answer)
    if (left := answer["sessions_in_all"] - answer["sessions"]) > 0:
        yield f"There are {counted(left, 'older session')} that were not read; try one project."


def _failure(failed: Mapping[str, Any]) -> str:
    return f"{failed['command']}: {failed['error']}"


def friction_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the errors met in several sessions, each with where it was met last and how it ended,
    the newest ending first."""
    for error in answer["errors"]:
        met = f"{counted(error['sessions'], 'session')}, ended in {error['ended']}"
        yield f"{error['error']}"
        yield f"   {error['command']}"
        yield f"   met in {met}; last {clock(error['last'])} {error['turns'][0]}"
        for ending in error["endings"]:
            ran = [f"`{command}`" for command in ending["ran"]]
            changed = [f"changing {path}" for path in ending["changed"]]
            after = f" after {', '.join([*ran, *changed])}" if ran or changed else ""
            yield f"   ended by `{ending['command']}`{after}  {ending['turn_id']}"


def restore_notes(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield which file a restored text is of, as of when, and what of it is not on record."""
    when = f"{clock(answer['time'])}, session {answer['session_id']}"
    whole = "whole" if answer["complete"] else "not whole"
    yield f"{answer['file']} as of {when}: {whole}"
    yield from (f"note: {why}" for why in answer["missing"])
