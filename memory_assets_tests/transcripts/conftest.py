"""Builders that write transcripts as each agent and version era writes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

import pytest

from memory_assets.models import Record
from memory_assets.transcripts import ReadReport, read_session
from memory_assets_tests.transcript_files import source_of

SESSION = "0a0a0a0a-1111-4222-8333-444444444444"
START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


@dataclass
class Lines:
    """The lines of a file being written; `clock` moves one second a line."""

    agent: ClassVar[str]
    lines: list[bytes] = field(default_factory=list)

    def raw(self, line: bytes) -> None:
        """Add a line exactly as it is given, without its newline."""
        self.lines.append(line)

    def add(self, **record: Any) -> dict[str, Any]:
        """Add a JSON object."""
        self.raw(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode())
        return record

    def stamp(self) -> str:
        """Return the time of the next line, as agents write it."""
        moment = START + timedelta(seconds=len(self.lines))
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def bytes(self) -> bytes:
        """Return the file's content."""
        return b"".join(line + b"\n" for line in self.lines)


@dataclass
class ClaudeLines(Lines):
    """A Claude Code transcript."""

    agent = "claude-code"
    session: str = SESSION
    version: str = "2.1.38"
    sidechain: bool = False
    agent_id: str | None = None
    parent: str | None = None

    def envelope(self, **fields: Any) -> dict[str, Any]:
        """Return what all conversation records carry; each is chained to the one before."""
        uuid = str(UUID(int=len(self.lines) + 1))
        record = {
            "parentUuid": self.parent,
            "isSidechain": self.sidechain,
            "userType": "external",
            "cwd": "/home/ada/engine",
            "sessionId": self.session,
            "version": self.version,
            "gitBranch": "main",
            "uuid": uuid,
            "timestamp": self.stamp(),
        }
        if self.agent_id:
            record["agentId"] = self.agent_id
        self.parent = uuid
        return record | fields

    def user(self, content: Any, **fields: Any) -> dict[str, Any]:
        message = {"role": "user", "content": content}
        return self.add(**self.envelope(type="user", message=message, **fields))

    def assistant(self, *blocks: Any, message_id: str = "", **fields: Any) -> dict[str, Any]:
        message = {
            "id": message_id or f"msg_{len(self.lines)}",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": list(blocks),
        }
        return self.add(**(self.envelope(type="assistant") | {"message": message} | fields))

    def says(self, text: str, **options: Any) -> dict[str, Any]:
        return self.assistant({"type": "text", "text": text}, **options)

    def calls(self, name: str, call_id: str, **given: Any) -> dict[str, Any]:
        return self.assistant({"type": "tool_use", "id": call_id, "name": name, "input": given})

    def result(self, call_id: str, content: Any, **fields: Any) -> dict[str, Any]:
        is_error = fields.pop("is_error", False)
        block = {
            "type": "tool_result",
            "tool_use_id": call_id,
            "content": content,
            "is_error": is_error,
        }
        return self.user([block], **fields)

    def attachment(self, kind: str, **fields: Any) -> dict[str, Any]:
        return self.add(**self.envelope(type="attachment", attachment={"type": kind} | fields))

    def system(self, subtype: str, **fields: Any) -> dict[str, Any]:
        return self.add(**self.envelope(type="system", subtype=subtype, **fields))

    def queue(self, operation: str, content: str | None = None) -> dict[str, Any]:
        record = {
            "type": "queue-operation",
            "operation": operation,
            "timestamp": self.stamp(),
            "sessionId": self.session,
        }
        return self.add(**(record | ({} if content is None else {"content": content})))


@dataclass
class CodexLines(Lines):
    """A Codex rollout."""

    agent = "codex"
    thread: str = "019d7e36-577c-7d90-9f1c-a447ba2254b4"

    def line(self, kind: str, **payload: Any) -> dict[str, Any]:
        return self.add(timestamp=self.stamp(), type=kind, payload=payload)

    def meta(self, **fields: Any) -> dict[str, Any]:
        payload = {
            "id": self.thread,
            "timestamp": self.stamp(),
            "cwd": "/home/ada/engine",
            "originator": "codex-tui",
            "cli_version": "0.128.0",
            "source": "cli",
            "git": {"branch": "main"},
        }
        return self.line("session_meta", **(payload | fields))

    def item(self, kind: str, **fields: Any) -> dict[str, Any]:
        return self.line("response_item", **({"type": kind} | fields))

    def event(self, kind: str, **fields: Any) -> dict[str, Any]:
        return self.line("event_msg", **({"type": kind} | fields))

    def user_item(self, text: str) -> dict[str, Any]:
        content = [{"type": "input_text", "text": text}]
        return self.item("message", role="user", content=content)

    def prompt(self, text: str) -> None:
        self.user_item(text)
        self.event("user_message", message=text, images=[])

    def says(self, text: str) -> None:
        self.event("agent_message", message=text)
        content = [{"type": "output_text", "text": text}]
        self.item("message", role="assistant", content=content)


@dataclass
class PiLines(Lines):
    """A Pi session."""

    agent = "pi"
    version: int = 3

    def header(self, **fields: Any) -> dict[str, Any]:
        record = {
            "type": "session",
            "version": self.version,
            "id": SESSION,
            "timestamp": self.stamp(),
            "cwd": "/home/ada/engine",
        }
        if self.version == 1:
            del record["version"]
        return self.add(**(record | fields))

    def entry(self, kind: str, **fields: Any) -> dict[str, Any]:
        record: dict[str, Any] = {"type": kind, "timestamp": self.stamp()}
        if self.version > 1:
            number = len(self.lines)
            record |= {"id": f"{number:08x}", "parentId": f"{number - 1:08x}"}
        return self.add(**(record | fields))

    def message(self, role: str, content: Any = None, **fields: Any) -> dict[str, Any]:
        message = {"role": role} | ({} if content is None else {"content": content}) | fields
        return self.entry("message", message=message)

    def prompt(self, text: str) -> dict[str, Any]:
        return self.message("user", [{"type": "text", "text": text}])


@dataclass(frozen=True)
class WhatWasRead:
    """A file's records, and of them the prompts, their texts and all kinds."""

    report: ReadReport
    records: list[Record]
    prompts: list[Record]
    said: list[str]
    kinds: list[str]


@dataclass(frozen=True)
class Builders:
    """The builders themselves, for tests that need several files."""

    claude = ClaudeLines
    codex = CodexLines
    pi = PiLines
    session = SESSION
    start = START


Write = Callable[..., Path]
Read = Callable[..., WhatWasRead]


@pytest.fixture
def claude() -> ClaudeLines:
    """An empty Claude Code transcript, to be filled."""
    return ClaudeLines()


@pytest.fixture
def codex() -> CodexLines:
    """A Codex rollout that has its session_meta."""
    lines = CodexLines()
    lines.meta()
    return lines


@pytest.fixture
def pi() -> PiLines:
    """A Pi session of version 3 that has its header."""
    lines = PiLines()
    lines.header()
    return lines


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write lines or bytes to a file in a temporary directory and return its path."""

    def write(content: Lines | bytes, name: str = f"{SESSION}.jsonl") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.bytes())
        return path

    return write


@pytest.fixture
def read(write: Write) -> Read:
    """Write lines to a file, read it, check the accounting, and return what was read."""

    def read(content: Lines | bytes, name: str = f"{SESSION}.jsonl") -> WhatWasRead:
        report, path = ReadReport(), write(content, name)
        source = source_of(path, "claude-code" if isinstance(content, bytes) else content.agent)
        records: list[Record] = list(read_session(path, source=source, report=report))
        assert report.records == report.kept + report.dropped.total()
        assert [record.seq for record in records] == list(range(len(records)))
        prompts = [record for record in records if record.kind == "prompt"]
        said = [record.text for record in prompts]
        return WhatWasRead(report, records, prompts, said, [record.kind for record in records])

    return read


@pytest.fixture
def build() -> Builders:
    """The builders of every agent's files."""
    return Builders()
