"""Pi coding agent, session formats 1 to 3.

Where: `~/.pi/agent/sessions/--<directory>--/<ISO time>_<session id>.jsonl`, or flat in a directory
of the user's. Runs of subagents lie in a directory named after the session's file:
`<ISO time>_<session id>/<run>/run-<n>/session.jsonl`. The first line is the session's header with
its id, its directory, and where it was forked from.

Entries are parsed in `records.py`, abandoned branches found in `transcripts/branches.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, ignore
from memory_assets.transcripts.branches import abandoned_entries
from memory_assets.transcripts.discovery import File, Walk
from memory_assets.transcripts.fields import object_field, safe_id, text_field
from memory_assets.transcripts.lines import JsonObject, first_object, head_objects
from memory_assets.transcripts.pi.records import PiSession
from memory_assets.transcripts.reader import Reader

_SIGNATURE = "signature of a thought or a call"
_IDS = "ids of the program's interface to the model"
_FORKED = "the file of the session that it was forked from"
_FILES = "a file that is on disk; its name is kept"
_SHOWN = "an output as it is shown"
_EDIT = "an edit as a diff; the call is kept"

LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut("message.message.assistant.content.thinking.thinkingSignature", "v1", _SIGNATURE),
    LeftOut("message.message.assistant.content.toolCall.thoughtSignature", "v3", _SIGNATURE),
    LeftOut("message.message.assistant.content.text.textSignature", "v3", _SIGNATURE),
    LeftOut("message.message.assistant.content.toolCall.id", "v3", _IDS),
    LeftOut("message.message.toolResult.toolCallId", "v3", _IDS),
    LeftOut("message.message.assistant.responseId", "v3", _IDS),
    LeftOut("message.message.assistant.content.toolCall.partialJson", "v1", "a call as it came in"),
    LeftOut("message.message.user.content.text.text.<skill>", "v3", _FILES),
    LeftOut("message.message.user.content.text.text.<file>", "", _FILES),
    LeftOut("message.message.toolResult.details.command", "v3", "a command as it was run"),
    LeftOut("message.message.bashExecution.fullOutputPath", "v1", _FILES),
    LeftOut("session.branchedFrom", "v1", _FORKED),
    LeftOut("session.parentSession", "v3", _FORKED),
    LeftOut("message.message.toolResult.details.diff", "v1", _EDIT),
    LeftOut("message.message.toolResult.details.patch", "v3", _EDIT),
    LeftOut("message.message.toolResult.details.truncation.content", "v3", _SHOWN),
    LeftOut("message.message.toolResult.content.image.data", "v3", "pixels of an image"),
    LeftOut("message.message.assistant.diagnostics", "v3", "a failed request, tried again"),
    LeftOut("custom_message.details.action", "v3", "what an extension did"),
)
"""By path of keys."""


_FOLDERS = (Path("agent", "sessions"), Path("sessions"))
_DEPTH = 12
"""Folders below that of the sessions: a project's, and of runs within runs three each."""
_NAMED_AFTER_SESSION = re.compile(r"\d{4}-\d\d-\d\dT[\dZ-]+_([0-9A-Za-z-]+)")
"""The name of a directory of runs: that of the session's file, with its id at the end."""


class PiReader(Reader):
    """Reads Pi's sessions."""

    left_out = LEFT_OUT
    agent = "pi"
    version = "8"

    def sniff(self, head: bytes) -> bool:
        """Return whether any line is a session header or an entry with a message in it."""
        entries = list(head_objects(head))
        if any(entry.get("type") == "session_start" for entry in entries):
            return False  # of another agent, whose messages are alike
        return any(_is_header(entry) or _is_message(entry) for entry in entries)

    def identify(self, path: Path, head: bytes) -> tuple[str, str | None]:
        """Return (the id at the end of the file's name, None), of a subagent's run (that in the
        name of the directory above it, the run's own); a name without an id gives way to the
        header's."""
        stem = path.name.removesuffix(".jsonl")
        own = safe_id(stem.rpartition("_")[2])
        if "_" not in stem:
            header = first_object(head, _is_header)
            own = safe_id(header.get("id")) or own
        above = (_NAMED_AFTER_SESSION.fullmatch(folder.name) for folder in path.parents[:_DEPTH])
        session = next((match[1] for match in above if match), "")
        return (session, own) if session and session != own else (own, None)

    def files(self, walk: Walk, root: Path) -> Iterable[File]:
        """Return sessions under `~/.pi`, its `agent` folder, its `sessions`, or a directory of
        sessions."""
        base = walk.root(*(root / folder for folder in _FOLDERS), root)
        return walk.transcripts(base, _DEPTH) if base else ()

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield the sessions. A subagent's run has the project of its session."""
        sources = list(super().discover(root, known, note))
        main = {one.session_id: one for one in sources if one.agent_id is None}
        for source in sources:
            top = main.get(source.session_id, source)
            yield replace(source, project=top.project, directory=top.directory)

    def begin(self, source: Source, report: ReadReport, end: int | None = None) -> PiSession:
        """Return the state of reading a session, abandoned branches included."""
        return PiSession(source, report, abandoned_entries(source.path, end))

    def directory(self, path: Path, head: bytes) -> str:
        """Return the directory that the header names."""
        return text_field(first_object(head, _is_header), "cwd")


def _is_header(entry: JsonObject) -> bool:
    return entry.get("type") == "session" and "timestamp" in entry and "cwd" in entry


def _is_message(entry: JsonObject) -> bool:
    role = object_field(entry, "message").get("role")
    return entry.get("type") == "message" and isinstance(role, str) and "sessionId" not in entry
