"""Tell who wrote the texts of Claude Code's user records: the human, or a machine.

`type: "user"` says nothing: 89% of those records are tool results, and the CLI puts its own
notices, command output and skill bodies under that role. Flags come first: `isMeta`,
`isCompactSummary`, `origin.kind` (from 2.1.119 on), `promptSource` (from 2.1.161 on), and
`entrypoint` or the directory of the session. Then the words (`authorship.py`). `userType` is
"external" always.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from memory_assets.models import MACHINE_PROMPT, PROGRAM
from memory_assets.transcripts.authorship import (
    BY_PROGRAM,
    PERSON,
    UNKNOWN,
    ClassifiedText,
    Origin,
    classify_text,
    origin_of_directory,
    without_reminders,
)
from memory_assets.transcripts.fields import object_field, text_field
from memory_assets.transcripts.ids import type_name
from memory_assets.transcripts.tags import find_enclosed
from memory_assets.word_lists import word_set

SETTINGS_COMMANDS = word_set(
    "/add-dir /agents /chrome /color /config /context /copy /cost /doctor /effort /exit /export "
    "/fast /help /hooks /ide /keybindings /login /logout /mcp /memory /model /output-style "
    "/permissions /plugin /quit /release-notes /reload-plugins /remote-control /rename /resume "
    "/sandbox /status /statusline /theme /upgrade /usage /vim"
)
"""Built-in commands whose arguments are a setting, not a request to the agent."""

_KINDS = {
    "task-notification": "task-notification",
    "peer": "peer-message",
    "teammate": "teammate-message",
    "channel": "channel-message",
    "coordinator": MACHINE_PROMPT,
    "scheduled": "scheduled-prompt",
    "cron": "scheduled-prompt",
    "loop": "scheduled-prompt",
}
_SOURCES = {
    **dict.fromkeys(("typed", "queued", "pasted", "voice"), PERSON),
    "sdk": BY_PROGRAM,
    "system": Origin("machine", MACHINE_PROMPT),
    **dict.fromkeys(("scheduled", "cron", "loop"), Origin("machine", "scheduled-prompt")),
}
_SDK = "sdk-"
"""How the entrypoints of programs begin: `claude -p`, and the libraries for other languages."""
_NAME, _ARGS = re.compile("<(command-name)>"), re.compile("<(command-args)>")
_SLASH_COMMAND = re.compile(r"/[\w:.-]+")


def session_origin(record: dict[str, Any]) -> Origin:
    """Return who writes the prompts of the session that a record is of, as far as it says so."""
    if text_field(record, "entrypoint").startswith(_SDK):
        return BY_PROGRAM
    return origin_of_directory(text_field(record, "cwd"))


def record_origin(
    record: dict[str, Any], session: Origin, unknown: Callable[[str], None]
) -> Origin:
    """Return by whom a user record or a queued command is, in a session of this origin. Values
    that are not known are a machine's or say nothing, and are counted."""
    kind = object_field(record, "origin").get("kind")
    source = record.get("promptSource")
    if isinstance(kind, str) and kind != "human":
        if kind not in _KINDS:
            unknown(f"origin/{type_name(kind)}")
        return Origin("machine", _KINDS.get(kind, MACHINE_PROMPT))
    if record.get("isMeta") is True:
        return Origin("machine", "meta")
    if text_field(record, "planContent"):  # whatever was typed or clicked, it is an agent's
        author = PERSON if kind == "human" else _SOURCES.get(str(source), session)
        return BY_PROGRAM if author == BY_PROGRAM else UNKNOWN
    if kind == "human":
        return PERSON
    if isinstance(source, str):
        if source not in _SOURCES:
            unknown(f"promptSource/{type_name(source)}")
        return _SOURCES.get(source, session)
    return session


def classify_record(record: dict[str, Any], text: str, origin: Origin) -> ClassifiedText:
    """Tell who wrote `text`, the content of a user record, from its origin and its words."""
    if record.get("isCompactSummary") is True:
        return ClassifiedText("summary", "compact-summary", without_reminders(text))
    return _classify_command_or_text(text, origin)


def classify_queued(text: str, origin: Origin = UNKNOWN) -> ClassifiedText:
    """Tell who wrote a queued text: enqueued prompts come without flags, bare commands raw."""
    if text.lstrip().startswith('{"task_id"'):
        return ClassifiedText("system", "task-notification", text.strip())
    classified = _classify_command_or_text(text, origin)
    if (
        classified.kind == "prompt"
        and not classified.subtype
        and _SLASH_COMMAND.fullmatch(classified.text)
    ):
        return ClassifiedText("system", "local-command", classified.text)
    return classified


def _classify_command_or_text(text: str, origin: Origin) -> ClassifiedText:
    text = without_reminders(text)
    if text.startswith("<command-message>"):
        classified = ClassifiedText("prompt", "command", _command_line(text))
    elif text.startswith("<command-name>"):
        classified = _classify_built_in(text)
    else:
        return classify_text(text, origin)
    if classified.kind == "prompt" and origin.by == "machine":
        return ClassifiedText("system", origin.subtype, classified.text)
    if classified.kind == "prompt" and origin == BY_PROGRAM:
        return classified._replace(subtype=PROGRAM)
    return classified


def _classify_built_in(text: str) -> ClassifiedText:
    """A built-in command: its arguments are the request, if there are any and it can be one."""
    name = _first(_NAME, text)
    args = _first(_ARGS, text)
    if args and name not in SETTINGS_COMMANDS:
        return ClassifiedText("prompt", "command", args)
    return ClassifiedText("system", "local-command", _command_line(text))


def _command_line(text: str) -> str:
    """Return a custom command or skill as it was typed: name and arguments."""
    return f"{_first(_NAME, text)} {_first(_ARGS, text)}".strip() or text


def _first(pattern: re.Pattern[str], text: str) -> str:
    element = next(find_enclosed(text, pattern), None)
    return text[element.opening.end() : element.end].strip() if element else ""
