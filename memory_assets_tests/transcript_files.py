"""Small transcripts of all agents, as they lie on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memory_assets.paths import project_of

BEGIN = datetime(2026, 3, 1, 8, tzinfo=UTC)


def claude_lines(
    session: str, cwd: str, *said: str, after: int = 0, agent: str = ""
) -> list[dict[str, Any]]:
    """Return the prompts of a session and the answers to them, a minute apart, that begin so many
    minutes after `BEGIN`; of a subagent with `agent`."""
    lines = []
    for number, text in enumerate(said, start=after):
        asked, answered = f"{session}-{agent}{number}-u", f"{session}-{agent}{number}-a"
        for uuid, role, content in (
            (asked, "user", text),
            (answered, "assistant", [{"type": "text", "text": f"Done: {text}"}]),
        ):
            when = BEGIN + timedelta(minutes=number, seconds=30 * (role == "assistant"))
            line: dict[str, Any] = {
                "type": role,
                "uuid": uuid,
                "sessionId": session,
                "timestamp": when.isoformat(),
                "cwd": cwd,
                "message": {"role": role, "content": content},
            }
            lines.append({**line, "agentId": agent, "isSidechain": True} if agent else line)
    return lines


def write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> Path:
    """Write objects as JSON lines; return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))
    return path


def write_claude(projects: Path, session: str, cwd: str, *said: str, folder: str = "") -> Path:
    """Write a session of Claude Code into the folder of its directory, or another one."""
    path = projects / (folder or project_of(cwd)) / f"{session}.jsonl"
    return write_lines(path, claude_lines(session, cwd, *said))


def write_codex(home: Path, number: int, cwd: str, said: str) -> Path:
    """Write a thread of Codex with one prompt."""
    thread = f"019b8f1{number % 10}-1111-7aaa-8bbb-{number:012}"
    when = BEGIN + timedelta(hours=number)
    path = (
        home / "sessions" / f"{when:%Y/%m/%d}" / f"rollout-{when:%Y-%m-%dT%H-%M-%S}-{thread}.jsonl"
    )
    stamp = {"timestamp": when.isoformat()}
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": said}]}
    lines = [
        {**stamp, "type": "session_meta", "payload": {"id": thread, "cwd": cwd, **stamp}},
        {**stamp, "type": "response_item", "payload": message},
    ]
    return write_lines(path, lines)
