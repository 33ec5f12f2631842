"""Crush: a database for each project, `<project>/.crush/crush.db`.

The projects are listed in `~/.local/share/crush/projects.json`, whose directory is the root; a
project, or its `.crush`, can be one, too. A session renders to its facts, a line for each message
and for each version of a file (without its contents), and its title last.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from memory_assets.models import Record
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.authorship import UNKNOWN, Origin
from memory_assets.transcripts.base import Source
from memory_assets.transcripts.blocks import ANSWER, CallBlock, ResultBlock, Shapes, TextBlock
from memory_assets.transcripts.databases import Database
from memory_assets.transcripts.discovery import Walk
from memory_assets.transcripts.fields import object_field, objects_in, parsed, text_field
from memory_assets.transcripts.json_documents import json_beside
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import Frame, Outcome
from memory_assets.transcripts.stored import (
    DatabaseReader,
    Member,
    Said,
    Sessions,
    StoredParser,
    session_rows,
)
from memory_assets.transcripts.texts import IMAGE
from memory_assets.transcripts.unread import Columns

_DATABASE = "crush.db"
_FOLDER = ".crush"
_PROJECTS = "projects.json"
_INIT = "Please analyze this codebase and create a **"
_TITLE_MAKER = "title-"


class CrushParser(StoredParser):
    """The state of reading one session."""

    shapes: ClassVar[Shapes] = {
        "text": ANSWER,
        "reasoning": TextBlock("thinking", "thinking"),
        "tool_call": CallBlock("id", "name", "input"),
        "tool_result": ResultBlock("tool_call_id", "content", "is_error"),
    }
    blocks_are = "part"

    def _message(self, name: str, role: str, row: JsonObject) -> Outcome:
        if name == "file-version":
            return name
        model = text_field(row, "model")
        frame = self._frame(row, row.get("id"), row.get("created_at"), model)
        if role == "user":
            return self._from_user(_parts(row), frame)
        if role not in ("assistant", "tool"):
            return self._unknown("message", role)
        records: list[Record] = []
        for part in _parts(row):
            records += self._part(part, frame, is_summary=bool(row.get("is_summary_message")))
        return records

    def _from_user(self, parts: list[JsonObject], frame: Frame) -> list[Record]:
        texts: list[str] = []
        records: list[Record] = []
        for part in parts:
            kind, data = part["type"], object_field(part, "data")
            if kind == "text":
                texts.append(text_field(data, "text"))
            elif kind in ("binary", "image_url"):
                path = text_field(data, "Path") or IMAGE
                paths = (path,) if path != IMAGE else ()
                records += self._records(frame, "attachment", path, "file", paths=paths)
            else:
                records += self._part(part, frame, is_summary=False)
        text = "\n".join(texts)
        is_init = text.lstrip("`").startswith(_INIT)
        origin = Origin("machine", "meta") if is_init else UNKNOWN
        return self._user_text(frame, text, origin) + records

    def _part(self, part: JsonObject, frame: Frame, *, is_summary: bool) -> list[Record]:
        kind, data = part["type"], object_field(part, "data")
        if kind == "text" and is_summary:
            return self._records(frame, "summary", text_field(data, "text"), "compact-summary")
        if kind == "shell_command":
            return [self._call(frame, "", "bash", data, role="user", subtype="user-shell")]
        if kind == "finish":
            return self._finish(data, frame)
        return self._block({**data, "type": kind}, frame)

    def _finish(self, data: JsonObject, frame: Frame) -> list[Record]:
        """Return why an answer ended, where that was an error or somebody's doing."""
        texts = (text_field(data, "message"), text_field(data, "details"))
        text = "\n".join(filter(None, texts))
        failed = data.get("reason") == "error"
        return self._records(
            frame, "system", text, "api-error" if failed else "interrupt", is_error=failed
        )


class CrushReader(DatabaseReader):
    """Reads the sessions of Crush."""

    agent = "crush"
    version = "4"
    session = CrushParser
    left_out = (
        LeftOut("message.*.parts.tool_result.data.metadata", "a result as it is shown"),
        LeftOut("message.*.parts.reasoning.data.signature", "signature of a thought"),
        LeftOut("message.*.parts.binary", "a file that was attached; its name is kept"),
        LeftOut("file-version.path", "a file that was changed; the call names it"),
    )
    sessions = Sessions("sessions", "id title created_at", "updated_at", "parent_session_id")
    said = (Said("messages", "role parts", "updated_at created_at"),)
    known = (
        Columns("sessions", "id parent_session_id title created_at updated_at"),
        Columns("sessions", "message_count prompt_tokens completion_tokens cost", "figures"),
        Columns("sessions", "summary_message_id", "the id of a message"),
        Columns("sessions", "todos", "the list of tasks, which its calls have"),
        Columns("messages", "id session_id role parts model created_at updated_at"),
        Columns("messages", "provider finished_at is_summary_message"),
        Columns("files", "id session_id path version created_at updated_at"),
        Columns("files", "content", "a file before and after an edit; the call is kept"),
        Columns("read_files", "*", "the names of files, which calls have"),
        Columns("goose_db_version", "*", "the versions of the program's tables"),
    )

    def containers(self, walk: Walk, root: Path) -> Iterator[Path]:
        """Yield the databases of the listed projects, and of a project that is the root."""
        places = (root, root / _FOLDER, *_listed(root / _PROJECTS))
        return (place / _DATABASE for place in places)

    def elsewhere(self, root: Path) -> Iterator[Path]:
        """Yield the directories of the listed projects' databases."""
        for folder in _listed(root / _PROJECTS):
            if os.path.isdir(folder):  # noqa: PTH112 - no error where it is not allowed
                yield folder

    def members(self, database: Database, path: Path) -> Iterator[Member]:
        """Yield the sessions with messages, without those that make titles."""
        for member in super().members(database, path):
            if not member.id.startswith(_TITLE_MAKER):
                yield member._replace(cwd=_project_of(path))

    def member_rows(
        self, database: Database, source: Source, facts: JsonObject
    ) -> Iterator[JsonObject]:
        """Yield a session."""

        def in_order(table: str, names: str) -> Iterator[JsonObject]:
            order = f"ORDER BY created_at, {database.row_number(table)}"
            return database.select(table, names, f"WHERE session_id = ? {order}", source.member)

        names = "id role parts model created_at is_summary_message"
        rows = [
            {"type": "message", **row, "parts": parsed(row["parts"])}
            for row in in_order("messages", names)
        ]
        if database.columns("files").issuperset(("path", "version", "session_id", "created_at")):
            files = in_order("files", "path version")
            rows += ({"type": "file-version", **row} for row in files)
        known = {"id": facts["id"], "cwd": _project_of(source.path), "start": facts["created_at"]}
        yield from session_rows(known, {"title": facts["title"]}, rows)


def _project_of(path: Path) -> str:
    """Return the project's directory, which the database is in, or its own folder there."""
    return str(path.parent.parent if path.parent.name == _FOLDER else path.parent)


def _listed(path: Path) -> Iterator[Path]:
    """Yield the data directories of the projects that the program lists."""
    parsed = json_beside(path)
    projects = parsed.get("projects", parsed) if isinstance(parsed, dict) else parsed
    if isinstance(projects, dict):
        projects = list(projects.values())
    for entry in projects if isinstance(projects, list) else []:
        if isinstance(entry, dict) and (project := text_field(entry, "path")):
            yield Path(project) / (text_field(entry, "data_dir") or _FOLDER)


def _parts(row: JsonObject) -> list[JsonObject]:
    return [part for part in objects_in(row.get("parts")) if "type" in part]
