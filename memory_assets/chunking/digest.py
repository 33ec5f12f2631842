"""What a turn's tool calls come to in a few words: tool, file or command, head of each error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memory_assets.chunking.files import stored_path
from memory_assets.models import RedactedRecord
from memory_assets.redacted_text import RedactedText, compose, join

MAX_COMMAND = 160
MAX_ERROR = 240
MAX_ITEMS = 8
MAX_PATH = 300

# Housekeeping of the agent itself: says nothing about the work.
BOOKKEEPING = frozenset(
    {
        "AskUserQuestion",
        "BashOutput",
        "EnterPlanMode",
        "ExitPlanMode",
        "KillBash",
        "ScheduleWakeup",
        "TaskGet",
        "TaskList",
        "TaskOutput",
        "TaskStop",
        "TaskUpdate",
        "TodoRead",
        "TodoWrite",
        "ToolSearch",
        "update_plan",
        "view_image",
        "write_stdin",
    }
)
# Looking at files: many in a turn, and what was found is in the prose.
LOOKUPS = frozenset({"Glob", "Grep", "LS", "Read", "find", "grep", "ls", "read"})

# Errors that tell of the agent's tools or permissions, not of the work.
_NOISE = re.compile(
    r"(?:<tool_use_error>)?(?:This command requires approval|File has not been read yet"
    r"|File has been modified since|Sibling tool call errored|String to replace not found"
    r"|The user doesn't want to|Claude requested permissions|Permission to use"
    r"|Found \d+ matches of the string)"
)
_TELLING = re.compile(
    r"error|exception|fail|fatal|panic|denied|refused|not found|no such|cannot|can't|unable"
    r"|invalid|undefined|unexpected|timed? ?out|conflict|rejected",
    re.IGNORECASE,
)
_EXIT_CODE = re.compile(r"\s*(?:Exit code -?\d+\s*\n)?(?:<tool_use_error>)?")
_LINE = re.compile(r"[^\r\n]*\S[^\r\n]*")
_SHELL = re.compile(r"(?:/\S*/)?(?:ba|z)?sh\s+-l?c\s+['\"]?")
_CHANGE_DIRECTORY = re.compile(r"cd\s+(?:\"[^\"]*\"|'[^']*'|[^\s;&]+)\s*(?:&&|;)\s*")


def digest(calls: Sequence[RedactedRecord], *, lookups: bool) -> RedactedText:
    """Return lines such as `Edit: src/a.py, src/b.py` and `Bash: make test` and
    `Bash error: ...`, one a tool and one an error, or empty text.

    `calls` are tool_use and tool_result records. Without `lookups`, reading and
    searching files is left out.
    """
    targets: dict[RedactedText, dict[RedactedText, None]] = {}
    errors: dict[RedactedText, None] = {}
    for record in calls:
        if record.kind == "tool_use":
            if record.tool_name in BOOKKEEPING or (record.tool_name in LOOKUPS and not lookups):
                continue
            target = call_target(record)
            if target:
                targets.setdefault(record.tool_name, {})[target] = None
        elif record.is_error and (head := error_head(record.text)):
            errors[compose("{} error: {}", record.tool_name, head)] = None
    lines = [
        compose("{}: {}", tool, join(", ", list(items)[:MAX_ITEMS]))
        for tool, items in targets.items()
    ]
    return join("\n", [*lines, *list(errors)[:MAX_ITEMS]])


def call_target(record: RedactedRecord) -> RedactedText:
    """Return what a call was about: its command, its files, or the head of its input."""
    if record.command:
        return short_command(record.command)
    if record.paths:
        paths = [stored_path(path, record.project_root, record.cwd) for path in record.paths]
        return join(", ", [path.cut(0, MAX_PATH) for path in paths[:MAX_ITEMS]])
    return _first_line(record.text, 0, MAX_COMMAND)


def short_command(command: RedactedText) -> RedactedText:
    """Return the first line of a command, without a leading shell or `cd`, cut to length."""
    start = 0
    for prefix in (_SHELL, _CHANGE_DIRECTORY):
        match = prefix.match(command, start)
        if match:
            start = match.end()
    return _first_line(command, start, MAX_COMMAND)


def error_head(text: RedactedText) -> RedactedText:
    """Return the line of a failed call's output that says most, cut to length; empty if
    the failure is about the agent's tools only."""
    if _NOISE.match(text):
        return text.cut(0, 0)
    match = _EXIT_CODE.match(text)
    start = match.end() if match else 0
    lines = [line.span() for line in _LINE.finditer(text, start, start + 20_000)]
    if not lines:
        return text.cut(0, 0)
    begin, end = next((span for span in lines if _TELLING.search(text, *span)), lines[0])
    begin += len(text[begin:end]) - len(text[begin:end].lstrip())
    return text.cut(begin, min(end, begin + MAX_ERROR))


def unique(
    texts: Iterable[RedactedText], most: int, longest: int = MAX_PATH
) -> tuple[RedactedText, ...]:
    """Return the first `most` different non-empty texts, each cut to `longest` characters."""
    found: dict[RedactedText, None] = {}
    for text in texts:
        if text:
            found[text.cut(0, longest)] = None
        if len(found) == most:
            break
    return tuple(found)


def _first_line(text: RedactedText, start: int, longest: int) -> RedactedText:
    match = _LINE.search(text, start)
    if match is None:
        return text.cut(0, 0)
    begin, end = match.span()
    begin += len(text[begin:end]) - len(text[begin:end].lstrip())
    return text.cut(begin, min(end, begin + longest))
