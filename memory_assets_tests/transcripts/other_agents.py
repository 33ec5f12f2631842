"""A line of every shape that the readers of one module have a rule for, by agent.

The shapes are those of the agents' own versions: Copilot CLI 1.0.68, Cursor's transcripts of 2026,
Gemini CLI 0.36, Qwen Code 0.18, Factory Droid's format 2, OpenClaw (Pi's format 3) and Claude
desktop (Claude Code's).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

Line = dict[str, Any]
SESSION = "5e551071-0000-4000-8000-000000000001"
CWD = "/home/ada/shop"
_START = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)


def _uuid(place: int) -> str:
    return str(UUID(int=place + 1))


def _time(place: int) -> str:
    moment = _START + timedelta(seconds=place)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def copilot_cli() -> list[Line]:
    """Return the events of a session of Copilot CLI."""
    context = {"cwd": CWD, "gitRoot": CWD, "branch": "main"}
    start = {"sessionId": SESSION, "copilotVersion": "1.0.68", "selectedModel": "m-1"}
    edit = {"path": f"{CWD}/a.py", "old_str": "x", "new_str": "y"}
    usage = {"inputTokens": 900, "outputTokens": 40, "cacheReadTokens": 300}
    requests = [{"toolCallId": "t1", "name": "edit", "arguments": edit}]
    shell = {"command": "make test"}
    events: list[tuple[str, Line]] = [
        ("session.start", {**start, "startTime": _time(0), "context": context}),
        ("system.message", {"role": "system", "content": "You are a program."}),
        ("user.message", {"content": "Add a page", "attachments": [{"path": f"{CWD}/b.py"}]}),
        ("user.message", {"content": "Use JSON.", "source": "skill-api"}),
        ("assistant.turn_start", {"turnId": "0"}),
        ("assistant.reasoning", {"content": "Edit it."}),
        (
            "assistant.message",
            {"messageId": "m1", "model": "m-1", "content": "On it.", "reasoningText": "Edit it."}
            | {"toolRequests": requests, "outputTokens": 40},
        ),
        ("tool.execution_start", {"toolCallId": "t1", "toolName": "edit", "arguments": edit}),
        (
            "tool.execution_complete",
            {"toolCallId": "t1", "success": True, "result": {"content": "ok"}},
        ),
        ("tool.execution_start", {"toolCallId": "t2", "toolName": "bash", "arguments": shell}),
        (
            "tool.execution_complete",
            {"toolCallId": "t2", "success": False, "error": {"message": "exit 1", "code": "f"}},
        ),
        ("session.compaction_complete", {"success": True, "summaryContent": "A page was added."}),
        ("session.error", {"message": "The service does not answer."}),
        ("system.notification", {"content": "<system_notification>done</system_notification>"}),
        ("abort", {"reason": "user initiated"}),
        ("session.shutdown", {"modelMetrics": {"m-1": {"usage": usage}}}),
    ]
    lines: list[Line] = [
        {"type": name, "data": data, "id": _uuid(place), "timestamp": _time(place)}
        for place, (name, data) in enumerate(events)
    ]
    asked = {"type": "user.message", "data": {"content": "Look around"}, "agentId": "a-1"}
    return [*lines, asked | {"id": _uuid(90), "timestamp": _time(90)}]


def cursor_agent() -> list[Line]:
    """Return the lines of a transcript of Cursor's agent."""
    typed = "<user_info>\nlinux\n</user_info>\n<user_query>\nAdd a test\n</user_query>"
    write = {"path": f"{CWD}/t.py", "contents": "def test(): pass"}
    calls = [
        {"type": "text", "text": "I will."},
        {"type": "tool_use", "name": "Write", "input": write},
        {"type": "tool_use", "name": "Shell", "input": {"command": "pytest -q"}},
    ]
    reminder = [{"type": "text", "text": "<system_reminder>a file was opened</system_reminder>"}]
    return [
        {"role": "user", "message": {"content": [{"type": "text", "text": typed}]}},
        {"role": "assistant", "message": {"content": calls}},
        {"type": "turn_ended", "status": "success"},
        {"role": "user", "message": {"content": reminder}},
    ]


def gemini() -> list[Line]:
    """Return the log of a session of Gemini CLI."""
    call = {"id": "c1", "name": "run_shell_command", "args": {"command": "ls"}}
    output = {"functionResponse": {"id": "c1", "name": "run_shell_command"}}
    output["functionResponse"]["response"] = {"output": "stock.py"}  # type: ignore[assignment]
    model: Line = {"id": _uuid(2), "type": "gemini", "timestamp": _time(2), "model": "g-3"}
    thought = {"subject": "Listing", "description": "Use ls"}

    def said(place: int, kind: str, content: Any) -> Line:
        return {"id": _uuid(place), "timestamp": _time(place), "type": kind, "content": content}

    header = {"sessionId": SESSION, "projectHash": "h", "startTime": _time(0), "kind": "main"}
    return [
        header | {"lastUpdated": _time(0)},
        said(0, "user", [{"text": "<session_context>\nMonday\n</session_context>"}]),
        said(1, "user", [{"text": "List the files"}]),
        {**model, "content": "", "toolCalls": [{**call, "status": "executing", "result": []}]},
        {"$set": {"lastUpdated": _time(3)}},
        {
            **model,
            "content": "There is one.",
            "tokens": {"input": 100, "output": 20, "cached": 50, "thoughts": 5, "total": 125},
            "thoughts": [thought],
            "toolCalls": [{**call, "status": "success", "result": [output]}],
        },
        said(3, "error", "The quota is used up"),
        said(4, "user", "Delete it"),
        said(5, "gemini", "Deleted."),
        {"$rewindTo": _uuid(4)},
        said(6, "user", "/stats"),
        said(7, "user", [{"text": "Explain stock.py"}]),
        {"$set": {"summary": "Files of the shop"}},
    ]


def qwen() -> list[Line]:
    """Return the records of a chat of Qwen Code."""
    call = {"functionCall": {"id": "c1", "name": "edit", "args": {"file_path": f"{CWD}/a.py"}}}
    answer = {"functionResponse": {"id": "c1", "name": "edit", "response": {"error": "no such"}}}
    hidden = {"text": "Read it first", "thought": True}
    usage = {"promptTokenCount": 600, "cachedContentTokenCount": 50, "totalTokenCount": 605}
    body: list[Line] = [
        {"type": "user", "message": {"role": "user", "parts": [{"text": "Fix the list"}]}},
        {"type": "system", "subtype": "ui_telemetry", "systemPayload": {"uiEvent": {}}},
        {
            "type": "assistant",
            "model": "q-1",
            "message": {"role": "model", "parts": [hidden, {"text": "Editing."}, call]},
            "usageMetadata": usage,
        },
        {
            "type": "tool_result",
            "message": {"role": "user", "parts": [answer]},
            "toolCallResult": {"callId": "c1", "status": "error"},
        },
        {
            "type": "user",
            "provenance": "hook",
            "message": {"role": "user", "parts": [{"text": "Be brief."}]},
        },
        {
            "type": "system",
            "subtype": "mid_turn_user_message",
            "systemPayload": {"text": "and sort it"},
        },
        {"type": "system", "subtype": "custom_title", "systemPayload": {"title": "The list"}},
        {"type": "system", "subtype": "notification", "systemPayload": {"text": "Task ended"}},
        {"type": "system", "subtype": "parent_session", "systemPayload": {"sessionId": "p"}},
    ]
    return [
        {
            "uuid": _uuid(place),
            "parentUuid": _uuid(place - 1) if place else None,
            "sessionId": SESSION,
            "timestamp": _time(place),
            "cwd": CWD,
            "version": "0.18.1",
            **record,
        }
        for place, record in enumerate(body)
    ]


def droid() -> list[Line]:
    """Return the entries of a session of Factory Droid."""
    reminder = {"type": "text", "text": "<system-reminder>linux</system-reminder>"}
    typed = {"type": "text", "text": "Sort the list"}
    edit = {"file_path": f"{CWD}/list.js", "old_str": "[]", "new_str": "[].sort()"}
    blocks: list[Line] = [
        {"type": "thinking", "thinking": "Read it", "signature": ""},
        {"type": "text", "text": "Editing."},
        {"type": "tool_use", "id": "d1", "name": "Edit", "input": edit},
    ]
    answer = {"type": "tool_result", "tool_use_id": "d1", "is_error": True, "content": "not unique"}

    def message(place: int, role: str, *content: Line) -> Line:
        entry = {"type": "message", "id": _uuid(place), "timestamp": _time(place)}
        return entry | {"message": {"role": role, "content": list(content)}}

    header = {"type": "session_start", "id": SESSION, "title": "Sort", "version": 2, "cwd": CWD}
    return [
        header | {"sessionTitle": "Sortable list"},
        message(1, "user", reminder, typed),
        message(2, "assistant", *blocks),
        message(3, "user", answer),
        {"type": "todo_state", "id": _uuid(4), "timestamp": _time(4), "todos": []},
        {
            "type": "compaction_state",
            "id": _uuid(5),
            "timestamp": _time(5),
            "summaryText": "Sorted.",
        },
    ]


def openclaw() -> list[Line]:
    """Return the entries of a session of OpenClaw."""
    header = {"type": "session", "version": 3, "id": SESSION, "timestamp": _time(0), "cwd": CWD}
    said = [{"type": "text", "text": "Which port?"}]
    entry = {"type": "message", "id": "u1", "parentId": None, "timestamp": _time(1)}
    return [header, entry | {"message": {"role": "user", "content": said}}]


def cowork() -> list[Line]:
    """Return the records of a session of Claude desktop."""
    asked = {"role": "user", "content": "Sort the receipts"}
    record = {"parentUuid": None, "cwd": "/sessions/brave-owl", "sessionId": SESSION}
    record |= {"type": "user", "uuid": _uuid(0), "timestamp": _time(0)}
    return [record | {"message": asked}]


LINES: dict[str, Callable[[], list[Line]]] = {
    "copilot-cli": copilot_cli,
    "cursor": cursor_agent,
    "gemini": gemini,
    "qwen": qwen,
    "droid": droid,
    "openclaw": openclaw,
    "cowork": cowork,
}
PLACES = {
    "copilot-cli": f"session-state/{SESSION}/events.jsonl",
    "cursor": f"projects/home-ada-shop/agent-transcripts/{SESSION}/{SESSION}.jsonl",
    "gemini": f"tmp/shop/chats/session-2026-06-01T08-00-{SESSION[:8]}.jsonl",
    "qwen": f"projects/-home-ada-shop/chats/{SESSION}.jsonl",
    "droid": f"sessions/-home-ada-shop/{SESSION}.jsonl",
    "openclaw": f"agents/main/sessions/{SESSION}.jsonl",
    "cowork": f"org/work/local_1/.claude/projects/-sessions-brave-owl/{SESSION}.jsonl",
}
"""Where each agent keeps that session, below its directory."""


def content_of(lines: Sequence[Line]) -> bytes:
    """Return lines as a file has them."""
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def put(root: Path, agent: str, lines: Sequence[Line] | None = None) -> Path:
    """Write an agent's session below its directory, with what stands beside it, and return its
    path."""
    path = root / PLACES[agent]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content_of(LINES[agent]() if lines is None else lines))
    if agent == "copilot-cli":
        path.with_name("workspace.yaml").write_text(f"id: {SESSION}\nname: A new page\n")
    if agent == "gemini":
        path.parent.with_name(".project_root").write_text(CWD)
    if agent == "droid":
        path.with_suffix(".settings.json").write_text('{"model": "m-2"}')
    if agent == "cowork":
        about = {"title": "Receipts", "userSelectedFolders": [CWD], "createdAt": 1780300800000}
        (root / "org/work/local_1.json").write_text(json.dumps(about))
    return path
