"""Builds a Claude Code transcript, record by record."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from generator.planted import dump

_NAMESPACE = uuid.UUID("5b9e7d1c-54d2-4f7e-9a57-3d3c2c0f6a11")
Json = dict[str, Any]


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def slug(cwd: str) -> str:
    """The directory name under the projects directory, as Claude Code makes it."""
    return re.sub(r"[^A-Za-z0-9]", "-", cwd)


@dataclass
class ClaudeSession:
    """One session file under construction; the counts are the truth for expected.json."""

    session_id: str
    cwd: str
    version: str
    branch: str
    now: datetime
    model: str = "claude-opus-4-7"
    agent_id: str | None = None
    lines: list[str] = field(default_factory=list)
    records: list[Json] = field(default_factory=list)
    prompts: int = 0
    copied_prompts: int = 0
    bad_lines: int = 0
    glued_lines: int = 0
    half_written_lines: int = 0
    unknown_records: int = 0
    subagents: dict[str, ClaudeSession] = field(default_factory=dict)
    _leaf: str | None = None
    _made: int = 0
    _message: str = ""

    @property
    def path(self) -> str:
        """Where the file goes, below data/sample."""
        return f"claude/projects/{slug(self.cwd)}/{self.session_id}.jsonl"

    @property
    def leaf(self) -> str:
        """The uuid of the last record of the chain."""
        assert self._leaf is not None
        return self._leaf

    def wait(self, seconds: float) -> None:
        """Advance the session's clock."""
        self.now += timedelta(seconds=seconds)

    def _id(self, kind: str) -> str:
        self._made += 1
        return str(uuid.uuid5(_NAMESPACE, f"{self.session_id}/{self.agent_id}/{kind}/{self._made}"))

    def _token(self, prefix: str) -> str:
        return prefix + self._id(prefix).replace("-", "")[:24]

    def sidecar(self, record: Json) -> None:
        """Append a record that has no uuid (titles, snapshots, queue operations)."""
        self.records.append(record)
        self.lines.append(dump(record))

    def glue(self, record: Json) -> None:
        """Append a record to the last line, the newline between them being lost."""
        self.records.append(record)
        self.lines[-1] += dump(record)
        self.glued_lines += 1

    def broken(self, line: str) -> None:
        """Append a line that is not JSON."""
        self.lines.append(line)
        self.bad_lines += 1

    def record(self, kind: str, body: Json, wait: float = 2.0, **overrides: Any) -> Json:
        """Append one record of the uuid chain."""
        self.wait(wait)
        record: Json = {"parentUuid": self._leaf, "isSidechain": self.agent_id is not None}
        if self.agent_id is not None:
            record["agentId"] = self.agent_id
        record |= {
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": self.version,
            "gitBranch": self.branch,
            "type": kind,
            **body,
            "uuid": self._id(kind),
            "timestamp": _stamp(self.now),
        }
        record |= overrides
        self._leaf = record["uuid"]
        self.records.append(record)
        self.lines.append(dump(record))
        return record

    def prompt(self, text: str, wait: float = 45.0) -> None:
        """A human prompt, preceded by the snapshot that Claude Code writes for it."""
        if self.agent_id is None:
            self.prompts += 1
        record = self.record("user", {"message": {"role": "user", "content": text}}, wait)
        if self.agent_id is None:
            self.snapshot(record["uuid"])

    def machine(self, text: str, wait: float = 1.0, **extra: Any) -> None:
        """A user record that no human wrote."""
        self.record("user", {"message": {"role": "user", "content": text}, **extra}, wait)

    def snapshot(self, message_id: str) -> None:
        """The backup record of the files that a message may change."""
        self.sidecar(_snapshot(message_id, self.now))

    def queued(self, text: str) -> None:
        """A prompt typed while the agent works, kept in queue operations alone."""
        self.prompts += 1
        for operation, extra in (("enqueue", {"content": text}), ("remove", {})):
            self.wait(4)
            self.sidecar(
                {
                    "type": "queue-operation",
                    "operation": operation,
                    "timestamp": _stamp(self.now),
                    "sessionId": self.session_id,
                    **extra,
                }
            )

    def queued_attachment(self, text: str) -> None:
        """The same in newer versions: an attachment record."""
        self.prompts += 1
        body = {"type": "queued_command", "prompt": text, "commandMode": "prompt"}
        self.record("attachment", {"attachment": body}, 3)

    def _assistant(self, block: Json, stop: str | None, wait: float, output: int) -> Json:
        message = {
            "model": self.model,
            "id": self._message,
            "type": "message",
            "role": "assistant",
            "content": [block],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {
                "input_tokens": 6,
                "cache_creation_input_tokens": 900 + 13 * self._made,
                "cache_read_input_tokens": 18_000 + 211 * self._made,
                "output_tokens": output,
                "service_tier": "standard",
            },
        }
        request = "req_" + self._message[4:]
        return self.record("assistant", {"message": message, "requestId": request}, wait)

    def say(self, text: str, wait: float = 7.0) -> None:
        """Assistant prose that ends the message."""
        self._message = self._token("msg_")
        self._assistant({"type": "text", "text": text}, "end_turn", wait, 40 + len(text) // 4)

    def call(
        self,
        name: str,
        arguments: Json,
        result: str,
        *,
        say: str = "",
        think: str = "",
        error: bool = False,
        took: float = 3.0,
        facts: Json | None = None,
    ) -> None:
        """One API message: thinking, prose and a tool call on a line each; then its result."""
        self._message = self._token("msg_")
        if think:
            block = {"type": "thinking", "thinking": think, "signature": "Ep" + self._id("s") * 3}
            self._assistant(block, None, 5, 12)
        if say:
            self._assistant({"type": "text", "text": say}, None, 3, 20 + len(say) // 4)
        tool_id = self._token("toolu_")
        call = {"type": "tool_use", "id": tool_id, "name": name, "input": arguments}
        source = self._assistant(call, "tool_use", 2, 60 + len(say) // 4)
        if name == "Bash" and took > 10:
            progress = {
                "type": "bash_progress",
                "output": result[:80],
                "fullOutput": result[:400],
                "elapsedTimeSeconds": int(took / 2),
                "totalLines": result.count("\n"),
            }
            self.record("progress", {"data": progress, "parentToolUseID": tool_id}, took / 2)
        block = {"tool_use_id": tool_id, "type": "tool_result", "content": result}
        if error:
            block["is_error"] = True
        self.record(
            "user",
            {
                "message": {"role": "user", "content": [block]},
                "toolUseResult": facts or _facts(name, arguments, result, error),
                "sourceToolAssistantUUID": source["uuid"],
            },
            took,
        )

    def bash(self, command: str, output: str, **more: Any) -> None:
        """A shell command; a failing one's output opens with its exit code."""
        if more.get("error") and not output.startswith("The user"):
            output = f"Exit code 1\n{output}"
        self.call("Bash", {"command": command}, output, **more)

    def read(self, path: str, text: str, **more: Any) -> None:
        """A file read."""
        self.call("Read", {"file_path": path}, text, **more)

    def edit(self, path: str, old: str, new: str, **more: Any) -> None:
        """An edit that succeeds."""
        arguments = {"file_path": path, "old_string": old, "new_string": new}
        self.call("Edit", arguments, f"The file {path} has been updated.", **more)

    def write(self, path: str, content: str, **more: Any) -> None:
        """A new file."""
        arguments = {"file_path": path, "content": content}
        self.call("Write", arguments, f"File created successfully at: {path}", **more)

    def subagent(self, agent_id: str, call: Json, report: str, **spoken: str) -> ClaudeSession:
        """A Task call, its answer and the subagent's own (still empty) file."""
        child = ClaudeSession(
            self.session_id,
            self.cwd,
            self.version,
            self.branch,
            self.now,
            model="claude-haiku-4-5",
            agent_id=agent_id,
        )
        self.subagents[agent_id] = child
        facts = {
            "status": "completed",
            "prompt": call["prompt"],
            "agentId": agent_id,
            "content": [{"type": "text", "text": report}],
            "totalDurationMs": 41200,
        }
        self.call("Task", call, report, took=42.0, facts=facts, **spoken)
        return child

    def system(self, subtype: str, wait: float = 0.5, **body: Any) -> None:
        """A record of type system."""
        self.record("system", {"subtype": subtype, **body, "isMeta": False}, wait)

    def end_turn(self, duration: int) -> None:
        """The turn's duration in milliseconds, as the CLI notes it."""
        self.system("turn_duration", durationMs=duration)

    def copy_from(self, other: ClaudeSession, count: int) -> None:
        """Begin as a fork does: the first `count` records again, same uuids, our session id."""
        for record in other.records[:count]:
            copied = {**record, "sessionId": self.session_id} if "uuid" in record else record
            self.lines.append(dump(copied))
            self.records.append(copied)
            self._leaf = copied.get("uuid", self._leaf)
            content = copied.get("message", {}).get("content")
            self.copied_prompts += copied["type"] == "user" and isinstance(content, str)
        self.prompts += self.copied_prompts


def _snapshot(message_id: str, now: datetime) -> Json:
    return {
        "type": "file-history-snapshot",
        "messageId": message_id,
        "snapshot": {"messageId": message_id, "trackedFileBackups": {}, "timestamp": _stamp(now)},
        "isSnapshotUpdate": False,
    }


def resumed_snapshot(session: ClaudeSession) -> Json:
    """The snapshot that a resumed session writes first."""
    return _snapshot(session.leaf, session.now)


def _facts(name: str, arguments: Json, result: str, error: bool) -> Json | str:
    if error:
        return f"Error: {result}"
    if name == "Bash":
        return {"stdout": result, "stderr": "", "interrupted": False, "isImage": False}
    if name == "Read":
        file = {"filePath": arguments["file_path"], "numLines": result.count("\n") + 1}
        return {"type": "text", "file": file}
    if name in ("Edit", "Write"):
        return {"filePath": arguments["file_path"], "userModified": False}
    if name == "TodoWrite":
        return {"oldTodos": [], "newTodos": arguments["todos"]}
    return {"result": len(result)}
