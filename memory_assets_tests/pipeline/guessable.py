"""Transcripts of all three agents in which a guessable password stands in a sentence, in
every place that agents leave text in; all that a person could try is written down beside it.

Standard library only, so that the version before can be run over them too.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PASSWORDS = ("hunter42!", "Summer2026!", "letmein77", "Passw0rd!", "qwerty123!")
CLAUDE = "-home-mara-code-orchard"
ORIGINAL = "6d1f3a80-0a4e-4a51-9a44-000000000001"
FORK = "6d1f3a80-0a4e-4a51-9a44-000000000002"
GONE = "6d1f3a80-0a4e-4a51-9a44-000000000003"
FORGOTTEN = "6d1f3a80-0a4e-4a51-9a44-000000000004"
FORK_OF_FORGOTTEN = "6d1f3a80-0a4e-4a51-9a44-000000000005"
OLD = "6d1f3a80-0a4e-4a51-9a44-000000000006"
CODEX = "019f0000-0000-7000-8000-00000000000a"
CODEX_GONE = "019f0000-0000-7000-8000-00000000000b"
PI = "6d1f3a80-0a4e-4a51-9a44-00000000000c"
PI_FIRST_VERSION = "6d1f3a80-0a4e-4a51-9a44-00000000000d"
LOST = "6d1f3a80-0a4e-4a51-9a44-00000000000e"

_CWD = "/home/mara/code/orchard"


@dataclass
class Transcripts:
    """Where they lie, and every sentence in them, by session and place."""

    root: Path
    sentences: list[str] = field(default_factory=list)

    @property
    def roots(self) -> dict[str, Path]:
        """The settings that read them."""
        return {
            "projects_dir": self.root / "claude" / "projects",
            "codex_dir": self.root / "codex",
            "pi_dir": self.root / "pi",
        }

    def files(self) -> list[Path]:
        """Every transcript."""
        return sorted(self.root.rglob("*.jsonl"))

    def say(self, place: str) -> str:
        """A sentence with a password, for one place."""
        password = PASSWORDS[len(self.sentences) % len(PASSWORDS)]
        self.sentences.append(f"for the {place}: my password is {password}")
        return self.sentences[-1]

    def write(self, path: str, lines: list[dict[str, Any]]) -> Path:
        """Write a file of JSON lines."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return file


def write_transcripts(root: Path) -> Transcripts:
    """Write the transcripts of three agents, and the history of lost ones."""
    made = Transcripts(root)
    for session_id, minute in ((ORIGINAL, 0), (GONE, 10), (FORGOTTEN, 20), (OLD, 30)):
        year = 2025 if session_id == OLD else 2026
        lines = _claude(made, session_id, f"{year}-05-01T10:{minute}")
        _write_claude(made, session_id, lines)
        fork = {ORIGINAL: FORK, FORGOTTEN: FORK_OF_FORGOTTEN}.get(session_id)
        if fork is not None:
            own = _claude(made, fork, f"2026-06-01T10:{minute}")
            copied = [{**line, "sessionId": fork, "version": "2.1.130"} for line in lines]
            _write_claude(made, fork, copied + own)
    _codex(made, CODEX, "2026-05-02T10:00")
    _codex(made, CODEX_GONE, "2026-05-02T11:00")
    _pi(made)
    history = [
        {
            "display": made.say(f"history {number}"),
            "pastedContents": {},
            "timestamp": 1_767_000_000_000 + number * 1000,
            "project": _CWD,
            **({"sessionId": LOST} if number else {}),
        }
        for number in range(3)
    ]
    made.write("claude/history.jsonl", history)
    return made


def _write_claude(made: Transcripts, session_id: str, lines: list[dict[str, Any]]) -> None:
    made.write(f"claude/projects/{CLAUDE}/{session_id}.jsonl", lines)


def _claude(made: Transcripts, session_id: str, minute: str) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    name = session_id[-2:]
    previous: list[str | None] = [None]

    def add(kind: str, *, with_uuid: bool = True, **fields: Any) -> None:
        line: dict[str, Any] = {
            "type": kind,
            "timestamp": f"{minute}:{len(lines):02d}.000Z",
            "sessionId": session_id,
            "cwd": _CWD,
            "version": "2.1.129",
            **fields,
        }
        if with_uuid:
            own = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{session_id}/{len(lines)}"))
            line |= {"uuid": own, "parentUuid": previous[0], "isSidechain": False}
            previous[0] = own
        lines.append(line)

    def user(content: Any, **more: Any) -> None:
        add("user", message={"role": "user", "content": content}, **more)

    def assistant(number: int, *content: Any) -> None:
        add(
            "assistant",
            message={
                "role": "assistant",
                "id": f"msg_{name}{number}",
                "model": "claude-opus-4",
                "content": list(content),
            },
        )

    say = made.say
    user(say(f"{name} prompt"))
    text = say(f"{name} queue")
    add("queue-operation", with_uuid=False, operation="enqueue", content=text)
    add("queue-operation", with_uuid=False, operation="remove")
    add("custom-title", with_uuid=False, customTitle=say(f"{name} title"))
    add("ai-title", with_uuid=False, aiTitle=say(f"{name} ai title"))
    call = {"type": "tool_use", "id": f"toolu_{name}", "name": "Bash"}
    assistant(1, {"type": "thinking", "thinking": say(f"{name} thought")})
    assistant(1, {"type": "text", "text": say(f"{name} answer")})
    assistant(1, {**call, "input": {"command": "cat notes.txt"}})
    result = {"type": "tool_result", "tool_use_id": f"toolu_{name}"}
    user([{**result, "content": say(f"{name} output")}])
    leaf = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{session_id}/leaf"))
    add("summary", with_uuid=False, summary=say(f"{name} summary"), leafUuid=leaf)
    add(
        "user",
        with_uuid=False,
        message={"role": "user", "content": say(f"{name} prompt without an id")},
    )
    # ids that are no ids: a sentence where an agent has a uuid, or a call's id
    odd = {"type": "tool_use", "id": say(f"{name} call id"), "name": "Bash"}
    assistant(2, {**odd, "input": {"command": "ls"}})
    user("and now", uuid=say(f"{name} uuid"))
    assistant(3, {"type": "text", "text": "done with the orchard"})
    add("queue-operation", with_uuid=False, operation="enqueue", content=say(f"{name} waiting"))
    return lines


def _codex(made: Transcripts, thread: str, minute: str) -> None:
    lines: list[dict[str, Any]] = []
    name = thread[-1:]

    def add(kind: str, payload: dict[str, Any]) -> None:
        stamp = f"{minute}:{len(lines):02d}.000Z"
        lines.append({"timestamp": stamp, "type": kind, "payload": payload})

    say = made.say
    add("session_meta", {"id": thread, "cwd": _CWD, "cli_version": "0.140.0"})
    for number in range(2):
        text = say(f"codex {name} prompt {number}")
        content = [{"type": "input_text", "text": text}]
        add("response_item", {"type": "message", "role": "user", "content": content})
        add("event_msg", {"type": "user_message", "message": text})
        thought = say(f"codex {name} reasoning {number}")
        add("event_msg", {"type": "agent_reasoning", "text": thought})
        summary = [{"type": "summary_text", "text": thought}]
        add("response_item", {"type": "reasoning", "summary": summary})
        answer = say(f"codex {name} answer {number}")
        add("event_msg", {"type": "agent_message", "message": answer})
        content = [{"type": "output_text", "text": answer}]
        add("response_item", {"type": "message", "role": "assistant", "content": content})
        call = {"call_id": f"call_{name}{number}"}
        arguments = json.dumps({"cmd": "ls"})
        add(
            "response_item",
            {"type": "function_call", "name": "exec_command", "arguments": arguments, **call},
        )
        output = say(f"codex {name} output {number}")
        add("response_item", {"type": "function_call_output", "output": output, **call})
        title = say(f"codex {name} title {number}")
        add("event_msg", {"type": "thread_name_updated", "thread_name": title})
    made.write(f"codex/sessions/2026/05/02/rollout-2026-05-02T10-00-00-{thread}.jsonl", lines)


def _pi(made: Transcripts) -> None:
    for session_id, version in ((PI, 3), (PI_FIRST_VERSION, 1)):
        stamp = "2026-05-03T10:00:{:02d}.000Z".format
        header = {"type": "session", "id": session_id, "timestamp": stamp(0), "cwd": _CWD}
        lines: list[dict[str, Any]] = [header | ({"version": 3} if version == 3 else {})]
        for number, role in enumerate(("user", "assistant", "user"), start=1):
            text = made.say(f"pi {version} {role} {number}")
            entry: dict[str, Any] = {
                "type": "message",
                "timestamp": stamp(number),
                "message": {"role": role, "content": [{"type": "text", "text": text}]},
            }
            ids = {"id": f"0000000{number}", "parentId": f"0000000{number - 1}"}
            lines.append({**entry, **(ids if version == 3 else {})})
        lines.append({"type": "session_info", "name": made.say(f"pi {version} name")})
        made.write(f"pi/agent/sessions/--home-mara--/2026_{session_id}.jsonl", lines)
