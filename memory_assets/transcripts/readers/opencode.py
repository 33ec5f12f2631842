"""OpenCode, and Kilo since April 2026, which keeps the same tables.

Where: `~/.local/share/opencode/opencode.db` (`opencode-<channel>.db` of a channel's builds), since
1.2; before, a tree of small JSON files in `storage/` beside it, which 1.2 copies and leaves there;
and what `opencode export` prints, in a directory of the user's.

A session renders to its facts, a line for each message with its parts, and last what changes as it
goes on (title).

A session of the tree is `storage/session/<project>/<session>.json`, with a file for each message in
`storage/message/<session>/`, and for each part of one in `storage/part/<message>/`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from memory_assets.errors import DamagedTranscript, TranscriptError, unreadable
from memory_assets.models import ABANDONED, Record, Tokens
from memory_assets.paths import project_slug
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.base import Known, Note, Source, ignore
from memory_assets.transcripts.databases import Database
from memory_assets.transcripts.discovery import Walk
from memory_assets.transcripts.fields import (
    count_field,
    from_json,
    object_field,
    objects_in,
    parsed,
    rows_of,
    text_field,
)
from memory_assets.transcripts.ids import safe_id, type_name
from memory_assets.transcripts.json_documents import document_of
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import Frame, Outcome
from memory_assets.transcripts.stored import (
    DatabaseReader,
    Said,
    Sessions,
    StoredParser,
    session_rows,
)
from memory_assets.transcripts.texts import render_value
from memory_assets.transcripts.times import parse_time
from memory_assets.transcripts.unread import Columns

_SILENT = ("step-start", "step-finish", "snapshot", "patch", "agent", "compaction")
"""A tuple, as the type that is looked up can be any value."""
_SHOWN = "a result as it is shown"
_FILES = "a file that is on disk; its name is kept"
_IDS = "ids of the program's interface to the model"


class OpenCodeParser(StoredParser):
    """The state of reading one session."""

    def _message(self, name: str, role: str, row: JsonObject) -> Outcome:
        info = object_field(row, "info")
        at, own = object_field(info, "time").get("created"), info.get("id")
        model = text_field(info, "modelID") or text_field(object_field(info, "model"), "modelID")
        frame = self._frame(row, own, at, model, info.get("parentID"))
        self._branch = ABANDONED if row.get("reverted") else ""
        parts = objects_in(row.get("parts"))
        if role == "user":
            return self._from_user(parts, frame)
        if role != "assistant":
            return self._unknown("message", role)
        records: list[Record] = []
        for part in parts:
            records += self._part(part, frame, info)
        records += self._error(object_field(info, "error"), frame)
        return self._with_tokens(records, frame, _tokens(object_field(info, "tokens")))

    def _from_user(self, parts: Sequence[JsonObject], frame: Frame) -> list[Record]:
        typed: list[str] = []
        records: list[Record] = []
        for part in parts:
            kind, text = part.get("type"), text_field(part, "text")
            if kind == "text" and not (part.get("synthetic") or part.get("ignored")):
                typed.append(text)
            elif kind == "text":
                records += self._records(frame, "system", text, "injected")
            elif kind == "file":
                records += self._attached(frame, _file_of(part))
            elif kind == "subtask":
                text = text_field(part, "prompt")
                records += self._records(frame, "system", text, "agent-prompt")
            elif kind not in _SILENT:
                self._report.see_unknown(f"user/{type_name(kind)}")
        text = "\n".join(typed)
        if any(part.get("type") == "compaction" for part in parts):
            return records + self._records(frame, "system", text, "injected")
        return self._user_text(frame, text) + records

    def _part(self, part: JsonObject, frame: Frame, info: JsonObject) -> list[Record]:
        kind, text = part.get("type"), text_field(part, "text")
        began = parse_time(object_field(part, "time").get("start"))
        here = replace(frame, timestamp=began) if began else frame
        if kind == "text":
            if info.get("summary") is True:
                return self._records(here, "summary", text, "compact-summary")
            return self._records(here, "assistant_text", text)
        if kind == "reasoning":
            return self._records(here, "thinking", text)
        if kind == "tool":
            return self._tool(part, frame)
        if kind == "retry":
            return self._error(object_field(part, "error"), frame)
        if kind not in _SILENT and kind != "file":
            self._report.see_unknown(f"assistant/{type_name(kind)}")
        return []

    def _tool(self, part: JsonObject, frame: Frame) -> list[Record]:
        """Return a call, and its result if it has one."""
        state, name = object_field(part, "state"), text_field(part, "tool")
        times, call_id = object_field(state, "time"), safe_id(part.get("callID"))
        began, ended = parse_time(times.get("start")), parse_time(times.get("end"))
        called = replace(frame, timestamp=began or frame.timestamp)
        records = [self._call(called, call_id, name, state.get("input"))]
        status = state.get("status")
        if status not in ("completed", "error"):
            return records
        answered = replace(frame, timestamp=ended or called.timestamp)
        failed = status == "error" or name == "invalid"
        text = render_value(state.get("error") or state.get("output") or "")
        child = safe_id(object_field(state, "metadata").get("sessionId"))
        result = self._answered(answered, call_id, text, is_error=failed, spawned_agent_id=child)
        return [*records, result]

    def _error(self, error: JsonObject, frame: Frame) -> list[Record]:
        if not error:
            return []
        name = text_field(error, "name")
        text = text_field(object_field(error, "data"), "message") or text_field(error, "message")
        aborted = name == "MessageAbortedError"
        subtype = "interrupt" if aborted else "api-error"
        text = ": ".join(filter(None, (name, text)))
        return self._records(frame, "system", text, subtype, is_error=not aborted)


class OpenCodeReader(DatabaseReader):
    """Reads the sessions of OpenCode."""

    agent = "opencode"
    version = "5"
    parser = OpenCodeParser
    names: tuple[str, ...] = ("opencode.db", "opencode-*.db")
    sessions = Sessions(
        *("session", "id directory title version time_created revert"),
        *("time_updated", "parent_id", "directory"),
    )
    said = (Said("message", "data", "time_updated"), Said("part", "data", "time_updated"))
    variable = "OPENCODE_DB"
    """The program's own variable that names another database."""
    left_out = (
        LeftOut("beside.permission", "what the user allows the program"),
        LeftOut("message.parts.tool.state.metadata", _SHOWN),
        LeftOut("message.parts.tool.state.title", _SHOWN),
        LeftOut("message.parts.tool.state.attachments", _FILES),
        LeftOut("message.parts.*.metadata", _IDS),
        LeftOut("message.parts.tool.metadata", _IDS),
        LeftOut("message.parts.file.url", _FILES),
        LeftOut("message.parts.file.source", _FILES),
        LeftOut("message.parts.patch", "the files that a step changed"),
        LeftOut("message.parts.snapshot", "the program's own copies of files"),
        LeftOut("message.parts.step-start.snapshot", "the program's own copies of files"),
        LeftOut("message.parts.step-finish.snapshot", "the program's own copies of files"),
        LeftOut("message.info.*.summary", "the edits after a prompt, as diffs"),
        LeftOut("message.info.*.system", "instructions of an agent of the user's"),
        LeftOut("message.info.*.path", "the directory, which the session has"),
        LeftOut("message.info.assistant.error.data", "the answer of the model's service"),
    )
    known = (
        Columns("session", "id parent_id project_id directory title version revert agent"),
        Columns("session", "time_created time_updated time_compacting time_archived"),
        Columns("session", "slug share_url permission model", "settings of the session"),
        Columns("session", "summary_additions summary_deletions summary_files", "figures"),
        Columns("session", "summary_diffs", "the edits of a session, as diffs"),
        Columns("message", "id session_id time_created time_updated data"),
        Columns("part", "id message_id session_id time_created time_updated data"),
        Columns("project", "*", "the project's directory and its settings"),
        Columns("project_directory", "*", "the project's directories"),
        Columns("todo", "*", "the list of tasks, which its calls have"),
        Columns("session_share", "*", "secrets of shared sessions"),
        Columns("account*", "*", "accounts of the user"),
        Columns("control_account", "*", "accounts of the user"),
        Columns("__drizzle_migrations", "*", "the versions of the program's tables"),
        Columns("migration", "*", "the versions of the program's tables"),
        Columns("event", "*", "the log of changes, of which the other tables have the last state"),
    )

    def containers(self, walk: Walk, root: Path) -> Iterator[Path]:
        """Yield the program's databases in a directory."""
        named = root / os.environ.get(self.variable, "")
        for entry in walk.entries(root):
            path = Path(entry.path)
            is_own = path == named or any(path.match(name) for name in self.names)
            if is_own and walk.file_facts(entry):
                yield path

    def member_rows(
        self, database: Database, source: Source, facts: JsonObject
    ) -> Iterator[JsonObject]:
        """Yield a session of the database."""
        parts: dict[str, list[JsonObject]] = {}
        for row in database.select(
            "part", "id message_id data", "WHERE session_id = ? ORDER BY id", source.member
        ):
            parts.setdefault(row["message_id"], []).append(_with_id(row))
        order = "WHERE session_id = ? ORDER BY time_created, id"
        messages = [
            {"info": _with_id(row), "parts": parts.get(row["id"], [])}
            for row in database.select("message", "id data", order, source.member)
        ]
        names = ("id", "directory", "title", "version")
        info = {name: facts[name] for name in names} | {"time": {"created": facts["time_created"]}}
        yield from _rendered(info | {"revert": from_json(facts["revert"])}, messages)

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield the sessions of the databases, then those of files that no database has."""
        seen: set[str] = set()
        for source in super().discover(root, known, note):
            seen.add(source.member)
            yield source
        walk = Walk(self.agent, note)
        for path in session_files(walk, walk.root(root)):
            try:
                found_here = self._of_file(path, known) if path.stem not in seen else None
            except TranscriptError as error:
                walk.note(path, error)
                continue
            if found_here and (own := found_here.agent_id or found_here.session_id) not in seen:
                seen.add(own)
                yield found_here

    def _of_file(self, path: Path, known: Known) -> Source | None:
        state = state_of_files(path)
        if state is None or (source := known(path, *state)):
            return source if state else None
        document = document_of(path)
        info = document if is_of_tree(path) else object_field(document, "info")
        own, parent = safe_id(info.get("id")), safe_id(info.get("parentID"))
        directory = text_field(info, "directory")
        ids = (project_slug(directory), parent or own, own if parent else None)
        return Source(self.agent, *ids, path, *state, directory=directory) if own else None

    def state(self, source: Source) -> tuple[int, int] | None:
        """Return the state of a session of a database, or of its files."""
        if source.member:
            return super().state(source)
        return state_of_files(source.path)

    def rows(self, source: Source) -> Iterator[JsonObject]:
        """Yield the rows of a session."""
        if source.member:
            yield from super().rows(source)
            return
        document = document_of(source.path)
        if not is_of_tree(source.path):
            yield from _rendered(object_field(document, "info"), rows_of(document.get("messages")))
            return
        yield from _rendered(document, list(tree_messages(source.path)))


class KiloReader(OpenCodeReader):
    """Reads the sessions of Kilo since April 2026."""

    agent = "kilo"
    names = ("kilo.db", "kilo-*.db")
    variable = "KILO_DB"


def _with_id(row: JsonObject) -> JsonObject:
    data = parsed(row["data"])
    return {"id": row["id"], **(data if isinstance(data, dict) else {"data": data})}


def _rendered(info: JsonObject, messages: Sequence[JsonObject]) -> Iterator[JsonObject]:
    """Yield the lines of a session."""
    facts = {"id": info.get("id"), "cwd": info.get("directory"), "version": info.get("version")}
    facts["start"] = object_field(info, "time").get("created")
    from_here = text_field(object_field(info, "revert"), "messageID")
    rows: list[JsonObject] = []
    for message in messages:
        row = {"type": "message", **message}
        if from_here and text_field(object_field(message, "info"), "id") >= from_here:
            row["reverted"] = True
        rows.append(row)
    read = {"id", "parentID", "projectID", "directory", "version", "title", "time", "revert"}
    beside = {name: value for name, value in info.items() if name not in read}
    yield from session_rows(facts, {"title": info.get("title")}, rows, beside)


def _tokens(counts: JsonObject) -> Tokens:
    cache = object_field(counts, "cache")
    given, read, written = (
        count_field(counts, "input"),
        count_field(cache, "read"),
        count_field(cache, "write"),
    )
    output = count_field(counts, "output") + count_field(counts, "reasoning")
    if total := count_field(counts, "total"):  # in which thoughts are counted once
        output = max(min(output, total - given - read - written), 0)
    return Tokens(given, output, read, written)


def _file_of(part: JsonObject) -> str:
    source: Any = object_field(part, "source")
    return text_field(source, "path") or text_field(part, "filename")


_OF_HOMES = ("auth.json", "storage", "opencode.db", "kilo.db")
_UNREADABLE = "unreadable"
_DEPTH = 2
"""How many directories may stand between a root and what was exported below it."""
_EXPORTED = "ses_"
"""Part of the name that OpenCode gives to an exported session."""


def session_files(walk: Walk, root: Path | None) -> Iterator[Path]:
    """Yield the files of sessions: those of the tree, or in a directory without one what was
    exported to it. Nothing else beside a database is looked at: its secrets are there."""
    if root is None:
        return
    tree = root / "storage" / "session"
    if walk.is_there(tree, S_ISDIR):
        yield from (Path(entry.path) for entry, *_ in walk.transcripts(tree, 1, (".json",)))
    elif not any(walk.is_there(root / name, bool) for name in _OF_HOMES):
        for entry, *_ in walk.transcripts(root, _DEPTH, (".json",)):
            if _EXPORTED in entry.name:
                yield Path(entry.path)


def is_of_tree(path: Path) -> bool:
    """Return whether a file is one of the tree."""
    return path.parent.parent.name == "session"


def tree_messages(session: Path) -> Iterator[JsonObject]:
    """Yield the messages of a session in the tree, as an export has them. One that is no JSON, or
    a part that is none, stands for itself as `unreadable`."""
    for message, parts in sorted(_tree_files(session)):
        info = _readable(Path(message), "role")
        readable = (_readable(Path(part), "type") for part in sorted(parts))
        if info is not None:
            yield {"info": info, "parts": [part for part in readable if part is not None]}


def _readable(path: Path, kind: str) -> JsonObject | None:
    """Return the object in a file, None if it has vanished."""
    try:
        return document_of(path)
    except DamagedTranscript:
        return {"id": path.stem, kind: _UNREADABLE}
    except TranscriptError:
        if path.exists():
            raise
        return None


def state_of_files(path: Path) -> tuple[int, int] | None:
    """Return bytes of a session's files with their number, and the time of the newest; None if it
    is deleted."""
    try:
        status = path.stat()
        size, newest = status.st_size + 1, status.st_mtime_ns
        listed = _tree_files(path) if is_of_tree(path) else ()
        for file in (file for message, parts in listed for file in (message, *parts)):
            try:
                status = os.stat(file)  # noqa: PTH116 - there may be ten thousands
            except FileNotFoundError:
                continue
            size, newest = size + status.st_size + 1, max(newest, status.st_mtime_ns)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(path, error) from error
    return size, newest


def _tree_files(session: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the file of each message of a session in the tree, with those of its parts, in any
    order."""
    storage = session.parent.parent.parent
    for message in _listed(os.fspath(storage / "message" / session.stem)):
        own = os.path.basename(message).removesuffix(".json")  # noqa: PTH119
        yield message, _listed(os.fspath(storage / "part" / own))


def _listed(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.name.endswith(".json")]
    except (FileNotFoundError, NotADirectoryError):
        return []
