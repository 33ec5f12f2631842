"""`restore`: the contents of a file, put together from what sessions wrote, read and edited."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.path_spelling import as_compared, one_spelling
from memory_assets.paths import on_this_machine
from memory_assets.recall.files.events import FileEvent, file_events, named_files
from memory_assets.recall.files.text import FileText
from memory_assets.recall.names import listed, session_named
from memory_assets.requests.questions import RestoreRequest
from memory_assets.requests.times import spoken_time
from memory_assets.status import counted
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

if TYPE_CHECKING:
    from memory_assets.stores.stores import Stores

_WINDOWS_HOME = re.compile(r"[A-Za-z]:[/\\]Users[/\\][^/\\]+(?=[/\\])", re.IGNORECASE)
_TAG = re.compile(r"<redacted[:-][^>\n]*>|\[REDACTED[^\]\n]*\]")


def restore(memory: Stores, asked: RestoreRequest, directory: Path) -> dict[str, Any]:
    """Return the contents of a file as far as they are on record: `file`, its path in full, `time`
    and `session_id` of the last event, `text`, whether it is `complete`, the number of `redactions`
    in it, `missing` (what is not on record, and why), and `events`.

    A relative path is one of `directory` if a session touched that, else the end of a path.

    Raises:
        ConfigurationError: several files are called so; lists them.
        NotFound: no session wrote or read it, or not by then.
    """
    by_file = _events_by_file(memory, _as_recorded(asked.file))
    file = _only(asked.file, by_file, directory)
    events = by_file[file]
    events.sort(key=lambda event: (event.time, event.session_id, event.seq))
    events = _until(memory, events, asked)
    if not events:
        raise NotFound(f"no contents of {file} are on record; try another time or session")
    text, missing = _put_together(events)
    rendered = text.rendered()
    if tags := len(_TAG.findall(rendered)):
        missing.append(f"{counted(tags, 'redaction')} in the text")
    return {
        "file": file,
        "time": events[-1].time.isoformat(),
        "session_id": events[-1].session_id,
        "complete": text.whole,
        "redactions": tags,
        "missing": missing,
        "events": [
            {"kind": event.kind, "time": event.time.isoformat(), "session_id": event.session_id}
            for event in events
        ],
        "text": rendered,
    }


def _as_recorded(name: str) -> str:
    """Return a path as records have it: with `~` for the home directory, also for one of Windows
    that is not this machine's, without `./`."""
    path, home = os.path.normpath(name), f"{Path.home()}{os.sep}"
    if _WINDOWS_HOME.match(name):
        return _WINDOWS_HOME.sub("~", one_spelling(name))
    return f"~/{path.removeprefix(home)}" if path.startswith(home) else path


def _events_by_file(memory: Stores, name: str) -> dict[str, list[FileEvent]]:
    """Return the events of the files that end with this name, by full path in one spelling."""
    spellings: dict[str, str] = {}
    last = re.split(r"[/\\]", name)[-1]
    by_file: dict[str, list[FileEvent]] = {}
    for project in memory.lake.projects(REDACTED_RECORDS):
        rows = memory.lake.read_partition(REDACTED_RECORDS, project, ["session_id", "text"])
        named = rows.filter(pc.match_substring(rows["text"], last))
        for session_id in pc.unique(named["session_id"]).to_pylist():
            records = memory.lake.read_rows(REDACTED_RECORDS, project, str(session_id))
            in_session = {as_compared(file): file for file in sorted(named_files(records, name))}
            for same, file in in_session.items():
                if events := list(file_events(records, file)):
                    by_file.setdefault(spellings.setdefault(same, file), []).extend(events)
    return by_file


def _only(name: str, files: Iterable[str], directory: Path) -> str:
    """Return the file that is meant: the one at that path, else the only one that ends so."""
    known = {str(on_this_machine(file)): file for file in files}
    here = os.path.normpath(directory / on_this_machine(name))
    if here in known:
        return known[here]
    if len(known) > 1:
        raise ConfigurationError(f"{name} can mean {listed(known.values())}; give one of them")
    if not known:
        raise NotFound(f"no session wrote or read a file {name}, as far as is on record")
    return next(iter(known.values()))


def _until(memory: Stores, events: Sequence[FileEvent], asked: RestoreRequest) -> list[FileEvent]:
    """Return the events up to the time, or to the last one of the session."""
    if asked.at is not None:
        return [event for event in events if event.time <= asked.at]
    if asked.session is None:
        return list(events)
    _, session_id = session_named(memory, asked.session)
    own = [at for at, event in enumerate(events) if event.session_id == session_id]
    return list(events[: own[-1] + 1]) if own else []


def _put_together(events: Iterable[FileEvent]) -> tuple[FileText, list[str]]:
    """Return the text after all events, and what could not be put together since it was known in
    whole for the last time."""
    text, missing = FileText(), list[str]()
    for event in events:
        when = f"at {spoken_time(event.time)} in session {event.session_id}"
        if event.text is not None:
            text.replace(event.text, exact=event.kind == "written")
            missing = []
        elif event.lines:
            if not text.overlay(dict(event.lines)):
                missing.append(f"something else changed the file before it was read {when}")
        elif event.edits:
            missing += [
                f"an edit {when} is of a text that is not on record"
                for old, new in event.edits
                if not text.edit(old, new, everywhere=event.everywhere)
            ]
        elif event.hunks:
            edit = f"an edit {when} is of a text that is not on record"
            missing += [edit] * text.patch(event.hunks)
        elif event.kind == "deleted":
            text.forget()
            missing = [f"the file was deleted or moved {when}"]
        elif event.kind == "read":
            missing.append(f"what was read {when} was cut or redacted")
        else:
            text.forget()
            missing = [f"what was {event.kind} {when} is not on record"]
    if not text.complete:
        missing.append("where the file ends is not known")
    return text, missing
