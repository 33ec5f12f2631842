"""The files that a session read and changed, its searches and edits, and how much was done in each
turn."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from memory_assets.models import RedactedRecord, Turn
from memory_assets.path_spelling import is_of_windows, relative_path
from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis.phrases import Phrase, distinct
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.shell import SEARCHERS, VIEWERS, Segment, segments
from memory_assets.tool_names import kind_of_tool
from memory_assets.word_lists import word_set

MOST_FILES = 60
_SERVER = "mcp__"
"""Claude Code's prefix for tools of MCP servers."""
_EDITORS = ("str_replace_editor", "str_replace_based_edit_tool", "text_editor")
"""Tools that show a file, too, where their command says so."""
_VIEWS = re.compile(r"^command: view$", re.MULTILINE)
_SEARCH_FIELD = re.compile(r"^(?:pattern|query|q): (.{3,80})$", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_LOOKS_LIKE_A_FILE = re.compile(
    r"^(?!https?:)[\w@~./\\:+-]*\w\.\w{1,8}$|^[\w@~.+-]+(?:/[\w@.+-]+)+$"
)
_OPTIONS_WITH_VALUE = word_set("-g --glob -A -B -C -m -t --type -d --max-count --include --exclude")
_SCRATCH = Phrase(
    r"^(?:/private)?/(?:tmp|var/folders|dev)/|^nul$|^\$|[*{]|^s(?P<mark>[/|#]).*(?P=mark).*(?P=mark)"
)
"""Paths outside of the project, or a shell's variable or pattern instead of a path."""
_OLD = "old_string|old_str|oldString|oldText|old_text"
_NEW = "new_string|new_str|newString|newText|new_text"
_OTHER = (
    "file_path|filePath|path|replace_all|replaceAll|expected_replacements|instruction|explanation"
)
_FIELD = re.compile(
    rf"^(?:(?P<old>{_OLD}):[ \n]|(?P<new>{_NEW}):[ \n]?|(?P<other>{_OTHER}): )", re.MULTILINE
)
_EDITS = re.compile(r"^(?:edits|replacements): (?P<edits>\[.*\])$", re.MULTILINE)
_SEARCH, _REPLACE = re.compile(r"[<-]{5,9} SEARCH\b"), re.compile(r"[>+]{5,9} REPLACE\b")
_BETWEEN = re.compile(r"={5,9}")
_PLACE = re.compile(r":(?:start|end)_line: ?\d+|-{5,9}")
"""A line before an old text that is no part of it."""

_LONG_REPORT = 1_500
"""Characters of a last message; a longer one weighs no more."""


@dataclass(slots=True)
class TouchedFiles:
    """Paths relative to the project where they lie in it, in the order they were met."""

    read: list[RedactedText] = field(default_factory=list)
    modified: list[RedactedText] = field(default_factory=list)
    searches: list[RedactedText] = field(default_factory=list)


def tool_kind(record: RedactedRecord) -> str:
    """Return "read", "write", "search", "shell" or "" for a tool's record."""
    kind = kind_of_tool(record.tool_name)
    if kind == "write" and record.tool_name.endswith(_EDITORS) and _VIEWS.search(record.text):
        return "read"
    if kind == "shell" and record.tool_name.startswith(_SERVER) and not record.command:
        return ""  # of a server that executes something else
    if kind == "list":
        return "search"
    return kind or ("shell" if record.command else "")


def touched_files(
    session: SessionTurns, records: Sequence[RedactedRecord] | None = None
) -> TouchedFiles:
    """Return the files read and changed and the patterns searched for, each once, in a session
    or in some of its records. A call that failed or was rejected read and changed nothing."""
    records = session.records if records is None else records
    found = TouchedFiles()
    for record in records:
        if record.kind != "tool_use" or record.tool_use_id in session.failed_calls:
            continue
        kind = tool_kind(record)
        if kind == "read":
            found.read += record.paths
        elif kind == "write":
            found.modified += record.paths or patched_paths(record.text)
        elif kind == "search":
            pattern = _SEARCH_FIELD.search(record.text)
            if pattern and record.agent_id is None:
                found.searches.append(record.text.cut(*pattern.span(1)).squeezed())
        elif kind == "shell":
            _add_shell_files(record, found)
    cwds = sorted(distinct(record.cwd for record in records), key=lambda cwd: (len(cwd), cwd))
    roots = distinct([session.project_root, *cwds])
    modified = _project_paths(found.modified, roots)
    changed = set(modified)
    read = [path for path in _project_paths(found.read, roots) if path not in changed]
    return TouchedFiles(read[:MOST_FILES], modified[:MOST_FILES], distinct(found.searches))


def _project_paths(paths: list[RedactedText], roots: list[RedactedText]) -> list[RedactedText]:
    kept = distinct(relative_path(path, roots) for path in paths if not _SCRATCH.search(path))
    if not any(map(is_of_windows, roots)):
        return kept
    return list({path.casefold(): path for path in reversed(kept)}.values())[::-1]


def patched_paths(text: RedactedText) -> tuple[RedactedText, ...]:
    """Return the files that an apply_patch text adds, updates or deletes."""
    return tuple(text.cut(*match.span(1)) for match in _PATCHED.finditer(text))


def _add_shell_files(record: RedactedRecord, seen: TouchedFiles) -> None:
    seen.modified += patched_paths(record.command)
    for segment in segments(record.command):
        program = segment.program
        if segment.writes and program in ("cat", "tee", "printf", "echo"):
            seen.modified.append(segment.writes)
        elif program == "sed" and any(word.startswith("-i") for word in segment.words):
            seen.modified += _file_arguments(segment)
        elif program in VIEWERS and not segment.piped:
            seen.read += _file_arguments(segment)
        elif program in SEARCHERS and not segment.piped and record.agent_id is None:
            seen.searches += _pattern(segment)


def _pattern(segment: Segment) -> list[RedactedText]:
    """Return the pattern of a search: the first word that is no option or option's value."""
    value_next = False
    for word in segment.words[1:]:
        if word == "--files":
            return []
        if value_next:
            value_next = False
        elif word in _OPTIONS_WITH_VALUE:
            value_next = True
        elif not word.startswith("-"):
            return [word] if 3 <= len(word) <= 80 else []
    return []


def _file_arguments(segment: Segment) -> list[RedactedText]:
    return [word for word in segment.arguments if _LOOKS_LIKE_A_FILE.match(word)]


def files_changed(session: SessionTurns) -> tuple[int, ...]:
    """Return how many files each turn changed."""
    return session.once(_files_changed)


def _files_changed(session: SessionTurns) -> tuple[int, ...]:
    return tuple(len(touched_files(session, turn.records).modified) for turn in session.turns)


def turn_weights(session: SessionTurns) -> tuple[float, ...]:
    """Return the weight of each turn: a point for each file that it changed, less for its calls
    and the length of its last message; 0 for a turn without any."""
    return session.once(_weights)


def _weights(session: SessionTurns) -> tuple[float, ...]:
    changed = files_changed(session)
    return tuple(files + _weight(turn) for files, turn in zip(changed, session.turns, strict=True))


def _weight(turn: Turn) -> float:
    calls = sum(record.kind == "tool_use" for record in turn.records)
    prose = [len(record.text) for record in turn.records if record.kind == "assistant_text"]
    report = min(prose[-1] if prose else 0, _LONG_REPORT) / _LONG_REPORT
    return math.log1p(calls) / 2 + report


def edits_of(call: str) -> list[tuple[str, str]]:
    """Return the old and new texts of a call that edits a file."""
    return _named_edits(call) or _listed_edits(call) or _searched_edits(call)


def _named_edits(call: str) -> list[tuple[str, str]]:
    """Return the old and new texts of a call with fields for them: the old text ends where the new
    one begins, the new one at another field."""
    pairs: list[tuple[str, str]] = []
    old: str | None = None
    begin: int | None = None
    for label in _FIELD.finditer(call):
        if begin is None and label["old"]:
            begin = label.end()
        elif begin is not None and old is None and label["new"]:
            old, begin = call[begin : label.start()].removesuffix("\n"), label.end()
        elif begin is not None and old is not None and label["other"]:
            pairs.append((old, call[begin : label.start()].removesuffix("\n")))
            old = begin = None
    if begin is not None and old is not None:
        pairs.append((old, call[begin:]))
    return pairs


def _searched_edits(call: str) -> list[tuple[str, str]]:
    """Return the old and new texts of blocks between SEARCH and REPLACE, as Cline and Roo Code
    write them."""
    pairs: list[tuple[str, str]] = []
    old: list[str] | None = None
    new: list[str] | None = None
    for line in call.split("\n") if "SEARCH" in call else ():
        if _SEARCH.match(line):
            old, new = [], None
        elif old is None or (new is None and not old and _PLACE.fullmatch(line)):
            continue
        elif new is None and _BETWEEN.fullmatch(line):
            new = []
        elif new is None:
            old.append(line)
        elif _REPLACE.match(line):
            pairs.append(("\n".join(old), "\n".join(new)))
            old = new = None
        else:
            new.append(line)
    return pairs


def _listed_edits(call: str) -> list[tuple[str, str]]:
    """Return the old and new texts of a call that lists its edits as JSON."""
    match = _EDITS.search(call)
    if match is None:
        return []
    try:
        edits = json.loads(match["edits"])
    except ValueError:  # cut, or changed by redaction
        return []
    old, new = set(_OLD.split("|")), set(_NEW.split("|"))
    return [
        (str(edit[before]), str(edit[after]))
        for edit in edits
        if isinstance(edit, dict)
        for before in old & edit.keys()
        for after in new & edit.keys()
    ]
