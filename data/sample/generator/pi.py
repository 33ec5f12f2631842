"""Builds a Pi session (version 3)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from generator.planted import dump

_NAMESPACE = uuid.UUID("c9d3b6b2-20f5-4dbb-8a44-5c9a54f7e0a7")
Json = dict[str, Any]


@dataclass
class PiSession:
    """One session file under construction; entries form a tree by `parentId`."""

    session_id: str
    cwd: str
    now: datetime
    provider: str = "anthropic"
    model: str = "claude-sonnet-4-6"
    lines: list[str] = field(default_factory=list)
    prompts: int = 0
    copied_prompts: int = 0
    bad_lines: int = 0
    glued_lines: int = 0
    half_written_lines: int = 0
    unknown_records: int = 0
    leaf: str | None = None
    path: str = ""
    _made: int = 0

    def __post_init__(self) -> None:
        folder = "--" + self.cwd.strip("/").replace("/", "-") + "--"
        name = self._stamp().replace(":", "-").replace(".", "-")
        self.path = f"pi/agent/sessions/{folder}/{name}_{self.session_id}.jsonl"
        self.lines.append(
            dump(
                {
                    "type": "session",
                    "version": 3,
                    "id": self.session_id,
                    "timestamp": self._stamp(),
                    "cwd": self.cwd,
                }
            )
        )
        self.entry("model_change", provider=self.provider, modelId=self.model)
        self.entry("thinking_level_change", thinkingLevel="medium")

    def _stamp(self) -> str:
        return self.now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def wait(self, seconds: float) -> None:
        """Advance the session's clock."""
        self.now += timedelta(seconds=seconds)

    def _id(self) -> str:
        self._made += 1
        return str(uuid.uuid5(_NAMESPACE, f"{self.session_id}/{self._made}"))[:8]

    def entry(self, kind: str, **body: Any) -> str:
        """Append one entry below the current leaf and return its id."""
        entry_id = self._id()
        self.lines.append(
            dump(
                {
                    "type": kind,
                    "id": entry_id,
                    "parentId": self.leaf,
                    "timestamp": self._stamp(),
                    **body,
                }
            )
        )
        self.leaf = entry_id
        return entry_id

    def _message(self, wait: float, **message: Any) -> str:
        self.wait(wait)
        unix = int(self.now.timestamp() * 1000)
        return self.entry("message", message={**message, "timestamp": unix})

    def prompt(self, text: str, wait: float = 50.0) -> str:
        """A human prompt; returns the entry's id."""
        self.prompts += 1
        return self._message(wait, role="user", content=[{"type": "text", "text": text}])

    def user_shell(self, command: str, output: str, code: int = 0) -> None:
        """The user's own `!command`."""
        self._message(
            20,
            role="bashExecution",
            command=command,
            output=output,
            exitCode=code,
            cancelled=False,
            truncated=False,
        )

    def _assistant(self, blocks: list[Json], stop: str, **extra: Any) -> None:
        usage = {
            "input": 2100 + 37 * self._made,
            "output": 180,
            "cacheRead": 8000,
            "cacheWrite": 0,
            "totalTokens": 10280 + 37 * self._made,
            "cost": {
                "input": 0.0063,
                "output": 0.0027,
                "cacheRead": 0.0024,
                "cacheWrite": 0,
                "total": 0.0114,
            },
        }
        self._message(
            6,
            role="assistant",
            content=blocks,
            api="anthropic-messages",
            provider=self.provider,
            model=self.model,
            usage=usage,
            stopReason=stop,
            **extra,
        )

    def say(self, text: str) -> None:
        """Assistant prose that ends the turn."""
        self._assistant([{"type": "text", "text": text}], "stop")

    def abort(self) -> None:
        """The user pressed Escape."""
        self._assistant([], "aborted", errorMessage="Operation aborted")

    def call(
        self,
        name: str,
        arguments: Json,
        result: str,
        *,
        say: str = "",
        think: str = "",
        error: bool = False,
        took: float = 2.0,
    ) -> None:
        """Thinking, prose and one tool call in one entry; then the result."""
        call_id = "toolu_" + self._id() + self._id()
        blocks: list[Json] = []
        if think:
            blocks.append({"type": "thinking", "thinking": think, "thinkingSignature": ""})
        if say:
            blocks.append({"type": "text", "text": say})
        blocks.append({"type": "toolCall", "id": call_id, "name": name, "arguments": arguments})
        self._assistant(blocks, "toolUse")
        self._message(
            took,
            role="toolResult",
            toolCallId=call_id,
            toolName=name,
            content=[{"type": "text", "text": result}],
            isError=error,
        )
