"""The calls of a session that wrote, edited, read or deleted one file."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memory_assets.chunking import file_matches
from memory_assets.models import RedactedRecord
from memory_assets.path_spelling import as_compared, one_spelling
from memory_assets.recall.files.names import is_absolute
from memory_assets.recall.files.text import Hunk
from memory_assets.recall.sessions.records import edits_of
from memory_assets.recall.sessions.session import UNTIMED
from memory_assets.session_analysis.files import tool_kind
from memory_assets.session_analysis.shell import Segment, meaningful

_CONTENT = re.compile(
    r"^(?:content|contents|file_text):(?: |\n)(?P<text>.*?)"
    r"(?=\n(?:file_path|filePath|path): [^\n]*\Z|\Z)",
    re.MULTILINE | re.DOTALL,
)
_RANGE = re.compile(r"^(?:offset|limit|view_range|start_line|end_line): ", re.MULTILINE)
_EVERYWHERE = re.compile(r"^replace_?[aA]ll: true$", re.MULTILINE)
_NUMBERED = re.compile(r"\s*(\d+)(?:→|\t|: )(.*)", re.DOTALL)
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
        for part in meaningful(call.command) if call.command else ():
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
        yield from _patched(str(call.text), directory, file, at)
    elif kind == "shell":
        yield from _of_shell(call, result, file, at)
    elif not any(_is_file(path, directory, file) for path in call.paths):
        return
    elif kind == "read":
        asked_whole = _RANGE.search(call.text) is None
        yield _read(_REMINDER.sub("", str(result.text)), at, whole=asked_whole)
    elif kind == "write":
        yield _written(str(call.text), at)


_At = tuple[datetime, str, int]


def _written(call: str, at: _At) -> FileEvent:
    edits = tuple(edits_of(call))
    if len(edits) == 1 and not edits[0][0]:  # an edit of nothing makes a new file
        return FileEvent("written", *at, text=_uncut(edits[0][1]))
    content = None if edits else _CONTENT.search(call)
    if content is None:
        return FileEvent("edited", *at, edits=edits, everywhere=bool(_EVERYWHERE.search(call)))
    return FileEvent("written", *at, text=_uncut(content["text"]))


def _uncut(text: str) -> str | None:
    return None if _CUT.search(text) else text


def _read(output: str, at: _At, *, whole: bool, first: int = 1) -> FileEvent:
    """Return what was read: the whole file, or some of its lines. Lines are numbered by the tool,
    or from `first`."""
    if _CUT.search(output):
        return FileEvent("read", *at)
    rows = output.removesuffix("\n").split("\n")
    matches = [_NUMBERED.fullmatch(row) for row in rows]
    if all(matches):
        lines = tuple((int(match[1]), match[2]) for match in matches if match is not None)
    else:
        lines = tuple(enumerate(rows, first))
    gapless = [number for number, _ in lines] == list(range(1, len(lines) + 1))
    if whole and gapless and len(lines) < _MOST_READ:
        return FileEvent("read", *at, text="\n".join(line for _, line in lines))
    return FileEvent("read", *at, lines=lines)


def _of_shell(
    call: RedactedRecord, result: RedactedRecord, file: str, at: _At
) -> Iterator[FileEvent]:
    """Yield what a command did: printed the file by `cat`, or lines of it by `sed -n` or `nl`, or
    changed it in a way that its text does not tell."""
    directory = str(call.cwd or call.project_root)
    parts = meaningful(call.command)

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
        yield _read(output, at, whole=True)
    elif parts[0].program == "sed" and alone and "-n" in parts[0].words and shown:
        yield _read(output, at, whole=False, first=int(shown[1]))
    elif parts[0].program == "nl" and all(_SED.fullmatch(str(word)) for word in piped):
        yield _read(output, at, whole=not piped)


def _patched(patch: str, directory: str, file: str, at: _At) -> Iterator[FileEvent]:
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
