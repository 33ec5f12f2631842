"""Builds a Codex CLI rollout."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from generator.planted import dump

_NAMESPACE = uuid.UUID("8f2f3f43-7c1c-4d5b-a6ff-0c7a1c9d7be2")
Json = dict[str, Any]


@dataclass
class CodexSession:
    """One rollout under construction. `now` is local time (UTC+2)."""

    session_id: str
    cwd: str
    version: str
    branch: str
    commit: str
    now: datetime
    model: str = "gpt-5.5"
    lines: list[str] = field(default_factory=list)
    prompts: int = 0
    copied_prompts: int = 0
    bad_lines: int = 0
    glued_lines: int = 0
    half_written_lines: int = 0
    unknown_records: int = 0
    _made: int = 0
    _turn: str = ""
    _tokens: int = 6000
    path: str = ""

    def __post_init__(self) -> None:
        local = self.now.strftime("%Y-%m-%dT%H-%M-%S")
        day = self.now.strftime("%Y/%m/%d")
        self.path = f"codex/sessions/{day}/rollout-{local}-{self.session_id}.jsonl"
        self._line(
            "session_meta",
            {
                "id": self.session_id,
                "timestamp": self._stamp(),
                "cwd": self.cwd,
                "originator": "codex-tui",
                "cli_version": self.version,
                "source": "cli",
                "model_provider": "openai",
                "base_instructions": {"text": "You are a coding agent running in a terminal."},
                "git": {"commit_hash": self.commit, "branch": self.branch},
            },
        )

    def _stamp(self) -> str:
        return self.now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _id(self) -> str:
        self._made += 1
        return str(uuid.uuid5(_NAMESPACE, f"{self.session_id}/{self._made}"))

    def wait(self, seconds: float) -> None:
        """Advance the session's clock."""
        self.now += timedelta(seconds=seconds)

    def _line(self, kind: str, payload: Json) -> None:
        self.lines.append(dump({"timestamp": self._stamp(), "type": kind, "payload": payload}))

    def _event(self, kind: str, **payload: Any) -> None:
        self._line("event_msg", {"type": kind, **payload})

    def _message(self, role: str, text: str, phase: str = "") -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        payload: Json = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        if phase:
            payload["phase"] = phase
        self._line("response_item", payload)

    def prompt(self, text: str, wait: float = 60.0) -> None:
        """A human prompt: the turn's context, then the text twice, as Codex writes it."""
        self.wait(wait)
        self.prompts += 1
        self._turn = self._id()
        self._event("task_started", turn_id=self._turn, model_context_window=258400)
        if self.prompts == 1:
            self._message(
                "developer",
                "<permissions instructions>\nworkspace-write\n</permissions instructions>",
            )
            self._message(
                "user",
                f"<environment_context>\n  <cwd>{self.cwd}</cwd>\n"
                "  <shell>bash</shell>\n</environment_context>",
            )
        self._line(
            "turn_context",
            {
                "turn_id": self._turn,
                "cwd": self.cwd,
                "approval_policy": "on-request",
                "sandbox_policy": {"type": "workspace-write", "network_access": False},
                "model": self.model,
                "effort": "high",
                "summary": "auto",
            },
        )
        self._message("user", text)
        self._event("user_message", message=text, images=[], local_images=[], text_elements=[])

    def say(self, text: str, *, final: bool = False, wait: float = 6.0) -> None:
        """Assistant prose, as event and as response item; `final` closes the turn."""
        self.wait(wait)
        phase = "final_answer" if final else "commentary"
        self._event("agent_message", message=text, phase=phase)
        self._message("assistant", text, phase)
        if final:
            self._event(
                "task_complete", turn_id=self._turn, last_agent_message=text, duration_ms=93000
            )

    def _tokens_used(self) -> None:
        self._tokens += 1700
        used = {
            "input_tokens": self._tokens,
            "cached_input_tokens": self._tokens // 2,
            "output_tokens": 240,
            "reasoning_output_tokens": 90,
            "total_tokens": self._tokens + 240,
        }
        self._event(
            "token_count",
            info={
                "total_token_usage": used,
                "last_token_usage": used,
                "model_context_window": 258400,
            },
            rate_limits=None,
        )

    def run(self, command: str, output: str, *, code: int = 0, took: float = 2.0) -> None:
        """A shell command through exec_command and its output."""
        self.wait(3)
        self._line(
            "response_item",
            {
                "type": "reasoning",
                "summary": [],
                "encrypted_content": "gAAAAAB" + self._id().replace("-", ""),
            },
        )
        call_id = "call_" + self._id().replace("-", "")[:24]
        arguments = json.dumps({"cmd": command, "workdir": self.cwd})
        self._line(
            "response_item",
            {
                "type": "function_call",
                "name": "exec_command",
                "arguments": arguments,
                "call_id": call_id,
            },
        )
        self.wait(took)
        text = (
            f"Chunk ID: {call_id[5:11]}\nWall time: {took:.4f} seconds\n"
            f"Process exited with code {code}\nOriginal token count: {len(output) // 4}\n"
            f"Output:\n{output}"
        )
        self._line(
            "response_item", {"type": "function_call_output", "call_id": call_id, "output": text}
        )
        self._tokens_used()

    def patch(self, path: str, body: str) -> None:
        """An apply_patch call on one existing file."""
        self.wait(4)
        call_id = "call_" + self._id().replace("-", "")[:24]
        text = f"*** Begin Patch\n*** Update File: {path}\n{body}\n*** End Patch\n"
        self._line(
            "response_item",
            {
                "type": "custom_tool_call",
                "status": "completed",
                "call_id": call_id,
                "name": "apply_patch",
                "input": text,
            },
        )
        output = json.dumps(
            {
                "output": f"Success. Updated the following files:\nM {path}\n",
                "metadata": {"exit_code": 0, "duration_seconds": 0.0},
            }
        )
        self.wait(1)
        self._event(
            "patch_apply_end",
            call_id=call_id,
            turn_id=self._turn,
            success=True,
            stdout=f"Success. Updated the following files:\nM {path}\n",
            stderr="",
        )
        self._line(
            "response_item",
            {"type": "custom_tool_call_output", "call_id": call_id, "output": output},
        )
        self._tokens_used()

    def aborted(self) -> None:
        """The user pressed Escape."""
        self.wait(5)
        self._message(
            "user",
            "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>",
        )
        self._event("turn_aborted", turn_id=self._turn, reason="interrupted")
