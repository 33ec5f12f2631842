"""`restore`: the contents of a file, put together from what sessions wrote, read and edited: the
calls of a session that did so to one file, and its text as far as it is known then."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from memory_assets.chunking import file_matches
from memory_assets.errors import NotFound
from memory_assets.models import RedactedRecord
from memory_assets.path_spelling import as_compared, one_spelling
from memory_assets.paths import on_this_machine
from memory_assets.recall.files.names import is_absolute, several_files
from memory_assets.recall.names import resolve_session
from memory_assets.recall.rows import UNTIMED
from memory_assets.requests.questions import RestoreRequest
from memory_assets.requests.times import spoken_time
from memory_assets.session_analysis.files import edits_of, tool_kind
from memory_assets.session_analysis.shell import Segment, working_segments
from memory_assets.status.words import counted
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

if TYPE_CHECKING:
    from memory_assets.stores.stores import Stores

_WINDOWS_HOME = re.compile(r"[A-Za-z]:[/\\]Users[/\\][^/\\]+(?=[/\\])", re.IGNORECASE)
_TAG = re.compile(r"<redacted[:-][^>\n]*>|\[REDACTED[^\]\n]*\]")


def restore(memory: Stores, request: RestoreRequest, directory: Path) -> dict[str, Any]:
    """Return the contents of a file as far as they are on record: `file`, its path in full, `time`
    and `session_id` of the last event, `text`, whether it is `complete`, the number of `redactions`
    in it, `missing` (what is not on record, and why), and `events`.

    A relative path is one of `directory` if a session touched that, else the end of a path.

    Raises:
        ConfigurationError: several files are called so; lists some of them.
        NotFound: no session wrote or read it, or not by then.
    """
    by_file = _events_by_file(memory, _as_recorded(request.file))
    file = _only_match(request.file, by_file, directory)
    events = by_file[file]
    events.sort(key=lambda event: (event.time, event.session_id, event.seq))
    events = _until(memory, events, request)
    if not events:
        raise NotFound(f"no contents of {file} are on record; try another time or session")
    text, missing = _rebuild(events)
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
    for project in memory.lake.projects(REDACTED_RECORDS) if last.strip(".") else ():
        columns = ["session_id", "kind", "text"]
        rows = memory.lake.read_partition(REDACTED_RECORDS, project, columns)
        is_call = pc.equal(rows["kind"], pa.scalar("tool_use"))
        named = rows.filter(pc.and_(is_call, pc.match_substring(rows["text"], last)))
        for session_id in pc.unique(named["session_id"]).to_pylist():
            records = memory.lake.read_rows(REDACTED_RECORDS, project, str(session_id))
            in_session = {as_compared(file): file for file in sorted(named_files(records, name))}
            for same, file in in_session.items():
                if events := list(file_events(records, file)):
                    by_file.setdefault(spellings.setdefault(same, file), []).extend(events)
    return by_file


def _only_match(name: str, files: Iterable[str], directory: Path) -> str:
    """Return the file that is meant: the one at that path, else the only one that ends so."""
    matches = {str(on_this_machine(file)): file for file in files}
    here = os.path.normpath(directory / on_this_machine(name))
    if here in matches:
        return matches[here]
    if len(matches) > 1:
        raise several_files(name, matches.values())
    if not matches:
        raise NotFound(f"no session wrote or read a file {name}, as far as is on record")
    return next(iter(matches.values()))


def _until(memory: Stores, events: Sequence[FileEvent], request: RestoreRequest) -> list[FileEvent]:
    """Return the events up to the time, or to the last one of the session."""
    if request.at is not None:
        return [event for event in events if event.time <= request.at]
    if request.session is None:
        return list(events)
    _, session_id = resolve_session(memory, request.session)
    own = [at for at, event in enumerate(events) if event.session_id == session_id]
    return list(events[: own[-1] + 1]) if own else []


def _rebuild(events: Iterable[FileEvent]) -> tuple[FileText, list[str]]:
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


Line = str | None
"""A line of which the text is known, or not."""


@dataclass(frozen=True)
class Hunk:
    """A change of a patch: the lines before and after it, below a line that is called `header`."""

    header: str
    old: tuple[str, ...]
    new: tuple[str, ...]


class FileText:
    """The lines of a file. `complete` if the file is known to its end, `placed` if it is known
    which lines they are: edits of a file that nobody read give texts without a place."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.complete = False
        self.placed = True
        self.ends_with_newline = True

    @property
    def known(self) -> bool:
        """True if at least one line is known."""
        return any(line is not None for line in self.lines)

    @property
    def whole(self) -> bool:
        """True if every line is known."""
        return self.complete and self.placed and None not in self.lines

    def replace(self, text: str, *, exact: bool) -> None:
        """Take a text as the whole file; `exact` if it is known how it ends."""
        self.lines = list(text.removesuffix("\n").split("\n")) if text else []
        self.ends_with_newline = text.endswith("\n") if exact else True
        self.complete = self.placed = True

    def forget(self) -> None:
        """Take nothing of the file as known any more."""
        self.lines, self.complete, self.placed = [], False, True
        self.ends_with_newline = True

    def overlay(self, read: dict[int, str]) -> bool:
        """Take lines by number, from 1, as they were read. Return False if they differ from what
        was known, which is forgotten then: something else changed the file."""
        if not self.placed:
            self.forget()
        agree = all(
            number > len(self.lines) or self.lines[number - 1] in (None, line)
            for number, line in read.items()
        )
        if not agree or (self.complete and max(read) > len(self.lines)):
            agree = False
            self.forget()
        self.lines += [None] * (max(read) - len(self.lines))
        for number, line in read.items():
            self.lines[number - 1] = line
        return agree

    def edit(self, old: str, new: str, *, everywhere: bool = False) -> bool:
        """Replace a text that is known; return False if it is not. Where nothing was known before
        but edits, the new text is kept without a place."""
        replaced = False
        for start, end in list(self._blocks()):
            block = "\n".join(str(line) for line in self.lines[start:end])
            if old in block and (everywhere or not replaced):
                edited = block.replace(old, new, -1 if everywhere else 1)
                self.lines[start:end] = edited.split("\n")
                replaced = True
        if not replaced and not (self.known and self.placed):
            self.placed = False
            self.lines += [None, *new.split("\n")]
        return replaced

    def patch(self, hunks: Iterable[Hunk]) -> int:
        """Apply the hunks of a patch, each below the one before; return the number of those whose
        lines are not known."""
        at = lost = 0
        for hunk in hunks:
            below = self._find((hunk.header,), at) if hunk.header else None
            start = at if below is None else below + 1
            place = self._find(hunk.old, start)
            if place is None:
                place = self._find(hunk.old, 0)
            if place is None:
                lost += 1
                if not (self.known and self.placed):
                    self.placed = False
                    self.lines += [None, *hunk.new]
                continue
            self.lines[place : place + len(hunk.old)] = hunk.new
            at = place + len(hunk.new)
        return lost

    def _find(self, lines: Sequence[str], start: int) -> int | None:
        """Return where lines stand from a place on, whatever blanks are at their ends."""
        if not lines:
            return len(self.lines) if self.complete else None
        wanted = [line.strip() for line in lines]
        for at in range(start, len(self.lines) - len(lines) + 1):
            here = self.lines[at : at + len(lines)]
            if [line.strip() if line is not None else None for line in here] == wanted:
                return at
        return None

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield the stretches of known lines, from the last to the first, so that a change of one
        does not move the next."""
        end = len(self.lines)
        while end > 0:
            if self.lines[end - 1] is None:
                end -= 1
                continue
            start = end
            while start > 0 and self.lines[start - 1] is not None:
                start -= 1
            yield start, end
            end = start

    def rendered(self) -> str:
        """Return the text, with a line in angle brackets for lines that are not known."""
        shown: list[str] = []
        at = 0
        while at < len(self.lines):
            line = self.lines[at]
            if line is not None:
                shown.append(line)
                at += 1
                continue
            start = at
            while at < len(self.lines) and self.lines[at] is None:
                at += 1
            place = f"lines {start + 1} to {at}" if at - start > 1 else f"line {at}"
            shown.append(f"<not on record: {place if self.placed else 'some lines'}>")
        if not self.complete:
            shown.append("<not on record: what follows>")
        return "\n".join(shown) + ("\n" if shown and self.ends_with_newline else "")


_CONTENT = re.compile(
    r"^(?:content|contents|file_text):(?: |\n)(?P<text>.*?)"
    r"(?=\n(?:file_path|filePath|path): [^\n]*\Z|\Z)",
    re.MULTILINE | re.DOTALL,
)
_RANGE = re.compile(r"^(?:offset|limit|view_range|start_line|end_line): ", re.MULTILINE)
_EVERYWHERE = re.compile(r"^replace_?[aA]ll: true$", re.MULTILINE)
_NUMBERED = re.compile(r"\s*(\d{1,6})(?:→|\t|: )(.*)", re.DOTALL)
_REMINDER = re.compile(r"\n*<system-reminder>.*", re.DOTALL)
_OUTPUT = re.compile(
    r"(?:(?:Chunk ID|Wall time|Process exited|Original token|Exit code)[^\n]*\n)+Output:\n"
)
_CUT = re.compile(
    r"<redacted-file-contents-of-\d+-bytes>|\n\[(?:Showing lines|\d+ more lines)[^\n]*\]\s*\Z"
    r"|\n?…\d+ (?:tokens|chars) truncated…|\[\.\.\. truncated"
)
_SED = re.compile(r"(\d+),(\d+|\$)p")
_SECTION = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_MOST_READ = 2_000
"""Lines of a file that Claude Code reads at most at once."""

Kind = Literal["written", "edited", "read", "deleted", "changed by a command"]


@dataclass(frozen=True)
class FileEvent:
    """What a call did with the file. Of `written` and `read`, `text` is the contents, or `lines`
    those that were read, by number from 1; of `edited`, `edits` are old and new texts, or
    `hunks` those of a patch. None is there where redaction cut it, or the call does not say."""

    kind: Kind
    time: datetime
    session_id: str
    seq: int
    text: str | None = None
    lines: tuple[tuple[int, str], ...] = ()
    edits: tuple[tuple[str, str], ...] = ()
    everywhere: bool = False
    hunks: tuple[Hunk, ...] = ()


def full_path(path: str, directory: str) -> str:
    """Return a path of a call in full, without `.` and `..`, one of Windows in one spelling."""
    joined = path if is_absolute(path) else posixpath.join(directory, path)
    spelled = one_spelling(joined)
    return posixpath.normpath(spelled) if "\\" not in spelled else spelled


def _is_file(path: object, directory: str, file: str) -> bool:
    """Return whether a path of a call names the file with this full path."""
    return as_compared(full_path(str(path), directory)) == as_compared(file)


def named_files(records: Iterable[RedactedRecord], name: str) -> set[str]:
    """Return the full paths that end with `name` and that calls of a session may have touched."""
    files: set[str] = set()
    for call in records:
        if call.kind != "tool_use":
            continue
        paths = [str(path) for path in call.paths]
        paths += [section[2] for section in _SECTION.finditer(call.text)]
        for part in working_segments(call.command) if call.command else ():
            paths += [str(word) for word in (*part.arguments, part.writes) if word]
        full = {full_path(path, str(call.cwd or call.project_root)) for path in paths}
        files |= {path for path in full if file_matches(path, name) and len(path) >= len(name)}
    return files


def file_events(records: Iterable[RedactedRecord], file: str) -> Iterator[FileEvent]:
    """Yield the events of one file in the records of a session; a call that failed has none."""
    calls: dict[str, RedactedRecord] = {}
    for record in records:
        if record.kind == "tool_use":
            calls[record.tool_use_id] = record
        call = calls.get(record.tool_use_id) if record.kind == "tool_result" else None
        if call is not None and not record.is_error:
            yield from _events(call, record, file)


def _events(call: RedactedRecord, result: RedactedRecord, file: str) -> Iterator[FileEvent]:
    directory = str(call.cwd or call.project_root)
    at = (result.timestamp or call.timestamp or UNTIMED, call.session_id, call.seq)
    kind = tool_kind(call)
    if "*** Begin Patch" in call.text:
        yield from _patch_events(str(call.text), directory, file, at)
    elif kind == "shell":
        yield from _shell_events(call, result, file, at)
    elif not any(_is_file(path, directory, file) for path in call.paths):
        return
    elif kind == "read":
        read_whole = _RANGE.search(call.text) is None
        yield _read_event(_REMINDER.sub("", str(result.text)), at, whole=read_whole)
    elif kind == "write":
        yield _write_event(str(call.text), at)


_At = tuple[datetime, str, int]


def _write_event(call: str, at: _At) -> FileEvent:
    edits = tuple(edits_of(call))
    if len(edits) == 1 and not edits[0][0]:  # an edit of nothing makes a new file
        return FileEvent("written", *at, text=_uncut(edits[0][1]))
    content = None if edits else _CONTENT.search(call)
    if content is None:
        return FileEvent("edited", *at, edits=edits, everywhere=bool(_EVERYWHERE.search(call)))
    return FileEvent("written", *at, text=_uncut(content["text"]))


def _uncut(text: str) -> str | None:
    return None if _CUT.search(text) else text


def _read_event(
    output: str, at: _At, *, whole: bool, first: int = 1, numbered: bool | None = None
) -> FileEvent:
    """Return what was read: the whole file, or some of its lines, which are `numbered` (None:
    perhaps, then without a gap), or stand there from `first` on."""
    rows = output.removesuffix("\n").split("\n")
    matches = [_NUMBERED.fullmatch(row) for row in rows] if numbered is not False else []
    lines = tuple((int(match[1]), match[2]) for match in matches if match is not None)
    if len(lines) < len(rows) or any(
        after - before != 1 for (before, _), (after, _) in pairwise(lines)
    ):
        lines = () if numbered else tuple(enumerate(rows, first))
    if _CUT.search(output) or not lines:
        return FileEvent("read", *at)
    if whole and lines[0][0] == 1 and len(lines) < _MOST_READ:
        return FileEvent("read", *at, text="\n".join(line for _, line in lines))
    return FileEvent("read", *at, lines=lines)


def _shell_events(
    call: RedactedRecord, result: RedactedRecord, file: str, at: _At
) -> Iterator[FileEvent]:
    """Yield what a command did: printed the file by `cat`, or lines of it by `sed -n` or `nl`, or
    changed it in a way that its text does not tell."""
    directory = str(call.cwd or call.project_root)
    parts = working_segments(call.command)

    def names(segment: Segment) -> bool:
        return any(_is_file(word, directory, file) for word in segment.arguments)

    for part in parts:
        written = part.writes is not None and _is_file(part.writes, directory, file)
        in_place = part.program == "sed" and any(word.startswith("-i") for word in part.words)
        if written or ((in_place or part.program in ("mv", "rm")) and names(part)):
            yield FileEvent("changed by a command", *at)
            return
    if not parts or not names(parts[0]):
        return
    output = _OUTPUT.sub("", str(result.text), count=1)
    piped = [word for part in parts[1:] for word in part.arguments]
    shown = _SED.fullmatch(next((str(word) for word in parts[0].arguments), ""))
    alone = len(parts) == 1 and "|" not in call.command
    if parts[0].program == "cat" and alone and len(parts[0].words) == 2:
        yield _read_event(output, at, whole=True, numbered=False)
    elif parts[0].program == "sed" and alone and "-n" in parts[0].words and shown:
        yield _read_event(output, at, whole=False, first=int(shown[1]), numbered=False)
    elif parts[0].program == "nl" and all(_SED.fullmatch(str(word)) for word in piped):
        yield _read_event(output, at, whole=not piped, numbered=True)


def _patch_events(patch: str, directory: str, file: str, at: _At) -> Iterator[FileEvent]:
    """Yield what an apply_patch text did to the file."""
    sections = list(_SECTION.finditer(patch))
    for number, section in enumerate(sections):
        if not _is_file(section[2], directory, file):
            continue
        end = sections[number + 1].start() if number + 1 < len(sections) else len(patch)
        body = patch[section.end() : end].split("*** End Patch")[0].strip("\n").split("\n")
        if section[1] == "Delete" or any(line.startswith("*** Move to: ") for line in body):
            yield FileEvent("deleted", *at)
        elif _CUT.search("\n".join(body)):
            yield FileEvent("edited", *at)
        elif section[1] == "Add":
            added = [line[1:] for line in body if line.startswith("+")]
            yield FileEvent("written", *at, text="\n".join(added) + "\n")
        else:
            yield FileEvent("edited", *at, hunks=tuple(_hunks(body)))


def _hunks(body: Iterable[str]) -> Iterator[Hunk]:
    """Yield the hunks of a patch."""
    header, hunk = "", list[str]()
    for line in [*body, "@@"]:
        if not line.startswith("@@"):
            hunk.append(line)
            continue
        old = tuple(row[1:] for row in hunk if not row.startswith("+"))
        new = tuple(row[1:] for row in hunk if not row.startswith("-"))
        if old != new:
            yield Hunk(header, old, new)
        header, hunk = line[2:].strip(), []
