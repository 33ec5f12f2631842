"""A short digest of a turn's tool calls (tool, file or command, head of each error), and the paths
of files as they are stored and requested."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from unicodedata import normalize

from memory_assets.chunking.recalled import SHELL, asks_memory
from memory_assets.models import RedactedRecord
from memory_assets.path_spelling import relative_path
from memory_assets.redacted_text import RedactedText, compose, join

MAX_COMMAND = 160
MAX_ERROR = 240
MAX_ITEMS = 8
MAX_PATH = 300

# Calls for the agent's own housekeeping, which are not about the work.
_BOOKKEEPING = """
AskUserQuestion BashOutput EnterPlanMode ExitPlanMode KillBash ScheduleWakeup TaskGet TaskList
TaskOutput TaskStop TaskUpdate TodoRead TodoWrite ToolSearch update_plan view_image write_stdin
"""
BOOKKEEPING = frozenset(_BOOKKEEPING.split())
# Calls that read files: many of a turn's calls, and the agent's text has the results.
LOOKUPS = frozenset({"Glob", "Grep", "LS", "Read", "find", "grep", "ls", "read"})

# Commands that only look, as `LOOKUPS` do.
_LOOKING = re.compile(
    r"(?:cat|echo|fd|file|find|grep|head|ls|nl|pwd|rg|sed -n|tail|tree|wc|which)\b"
    r"|git (?:--no-pager )?(?:branch|diff|fetch|log|ls-files|remote|rev-parse|show|status)\b"
)
_PATCH = re.compile(r"apply_patch\b")  # its files are named in `paths`

# Errors that tell of the agent's tools or permissions, not of the work.
_NOISE = re.compile(
    r"(?:<tool_use_error>|Error: |error: )?(?:This command requires approval"
    r"|File has not been read yet|File has been modified since|Sibling tool call errored"
    r"|String to replace not found|Could not find the exact text|Failed to find expected lines"
    r"|apply_patch verification failed|The user doesn't want to|Claude requested permissions"
    r"|Permission to use|Found \d+ matches of the string)"
)
TELLING_WORDS = (
    *("error", "exception", "fail", "fatal", "panic", "denied", "refused", "not found", "no such"),
    *("cannot", "can't", "unable", "invalid", "undefined", "unexpected", "timeout", "time out"),
    *("timedout", "timed out", "conflict", "rejected"),
)
"""Words of lines that report an error, in upper or lower case."""
TELLING = re.compile("|".join(TELLING_WORDS), re.IGNORECASE)
# What agents put around a tool's output.
_WRAPPING = re.compile(
    r"(?:\s*(?:<tool_use_error>|(?:Exit code|Chunk ID|Wall time|Original token count|Output"
    r"|Process exited with code|Total output lines)\b[^\n]*(?:\n|$)))*"
)
_KEY = re.compile(r"\w+:[ \n]")
_LINE = re.compile(r"\S[^\r\n]*")
_CHANGE_DIRECTORY = re.compile(r"cd\s+(?:\"[^\"]*\"|'[^']*'|[^\s;&]+)\s*(?:&&|;)\s*")


def stored_path(path: RedactedText, project_root: str, cwd: str) -> RedactedText:
    """Return `path` relative to the project's root, else to `cwd`, else unchanged; paths of Windows
    with slashes."""
    return relative_path(path, (project_root, cwd))


def without_root(text: RedactedText, project_root: str) -> RedactedText:
    """Return `text` with the paths in it relative to the project's root."""
    prefix = project_root.rstrip("/\\") + "/"
    if len(prefix) < 2 or prefix not in text:
        return text
    return text.sub(re.compile(re.escape(prefix)), "")


def file_matches(stored: str, requested: str) -> bool:
    """Return True if a stored path and a requested one can name one file.

    They do if one ends with the other at a directory's boundary: `split.py`,
    `src/split.py` and `/home/ada/app/src/split.py` all match `src/split.py`.
    """
    left, right = _parts(stored), _parts(requested)
    length = min(len(left), len(right))
    return length > 0 and left[-length:] == right[-length:]


def in_directory(stored: str, requested: str) -> bool:
    """Return True if a stored path can lie in a requested directory, or below it.

    It can if one of the path's directories ends with the requested one, or is the end of an
    absolute one: `app/src/split.py` is in `src`, `app/src` and `/home/ada/app`.
    """
    parts, requested_parts = _parts(stored), _parts(requested)
    absolute = requested.startswith(("/", "~")) or ":" in requested[:2]
    return any(
        file_matches("/".join(parts[:end]), requested)
        for end in range(1 if absolute else len(requested_parts), len(parts))
    )


def touched_by(paths: Iterable[str], requested: str) -> set[str]:
    """Return the stored paths that match a requested one: files of that name or, if there are none,
    the files in the directory of that name."""
    stored_paths = set(paths)
    files = {path for path in stored_paths if file_matches(path, requested)}
    return files or {path for path in stored_paths if in_directory(path, requested)}


def _parts(path: str) -> list[str]:
    path = normalize("NFC", path)  # macOS decomposes the names of files
    return [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]


def digest(calls: Sequence[RedactedRecord]) -> RedactedText:
    """Return one line for each tool (`Edit: src/a.py, src/b.py`) and each error (`Bash error:
    ...`), or empty text.

    `calls` are tool_use and tool_result records. Calls that only read or searched files come
    last.
    """
    targets: dict[RedactedText, dict[RedactedText, None]] = {}
    errors: dict[RedactedText, None] = {}
    actions = [
        call
        for call in calls
        if call.kind == "tool_use" and call.tool_name not in BOOKKEEPING and not asks_memory(call)
    ]
    for call in sorted(actions, key=only_looks):
        if target := call_target(call):
            targets.setdefault(call.tool_name, {})[target] = None
    for record in calls:
        if record.kind == "tool_result" and record.is_error and (head := error_head(record.text)):
            errors[compose("{} error: {}", record.tool_name, head)] = None
    lines = [
        compose("{}: {}", tool, join(", ", list(items)[:MAX_ITEMS]))
        for tool, items in targets.items()
    ]
    return join("\n", [*lines, *list(errors)[:MAX_ITEMS]])


def only_looks(call: RedactedRecord) -> bool:
    """Return True if a call only reads or searches files."""
    command = short_command(call.command, call.project_root)
    return bool(_LOOKING.match(command)) if command else call.tool_name in LOOKUPS


def call_target(call: RedactedRecord) -> RedactedText:
    """Return the target of a call: its command, its files, or the head of its input."""
    if call.command and not _PATCH.match(call.command):
        return short_command(call.command, call.project_root)
    if call.paths:
        paths = [stored_path(path, call.project_root, call.cwd) for path in call.paths]
        return join(", ", [path.cut(0, MAX_PATH) for path in paths[:MAX_ITEMS]])
    if call.command:
        return call.command.cut(0, 0)
    key = _KEY.match(call.text)
    return _first_line(call.text, key.end() if key else 0)


def short_command(command: RedactedText, project_root: str) -> RedactedText:
    """Return the first line of a command, cut to length, without a leading shell or `cd` and
    with paths relative to the project's root."""
    command = without_root(command.cut(0, 4 * MAX_COMMAND), project_root)
    start = 0
    for prefix in (SHELL, _CHANGE_DIRECTORY):
        match = prefix.match(command, start)
        if match:
            start = match.end()
    return _first_line(command, start)


def error_head(text: RedactedText) -> RedactedText:
    """Return the line of a failed call's output that says most, cut to length; empty if
    the failure is about the agent's tools only."""
    if _NOISE.match(text):
        return text.cut(0, 0)
    match = _WRAPPING.match(text)
    start = match.end() if match else 0
    lines = [line.span() for line in _LINE.finditer(text, start, start + 20_000)]
    if not lines:
        return text.cut(0, 0)
    begin, end = next((span for span in lines if TELLING.search(text, *span)), lines[0])
    end = begin + len(text[begin:end].removesuffix("</tool_use_error>"))
    return text.cut(begin, min(end, begin + MAX_ERROR))


def unique(
    texts: Iterable[RedactedText], most: int, longest: int = MAX_PATH
) -> tuple[RedactedText, ...]:
    """Return the first `most` different non-empty texts, each cut to `longest` characters."""
    kept: dict[RedactedText, None] = {}
    for text in texts:
        if text:
            kept[text.cut(0, longest)] = None
        if len(kept) == most:
            break
    return tuple(kept)


def _first_line(text: RedactedText, start: int) -> RedactedText:
    match = _LINE.search(text, start)
    if match is None:
        return text.cut(0, 0)
    return text.cut(match.start(), min(match.end(), match.start() + MAX_COMMAND))
