"""Small transcripts of all agents, as they lie on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memory_assets.paths import project_slug
from memory_assets.transcripts import Source, readers_by_agent
from memory_assets.transcripts.lines import read_head

_OF_FOLDERS = {"codex": "codex", "pi": "pi", "copilot": "copilot-cli"}
"""Agents by the folders that their homes have among samples; all others are of Claude Code."""
BEGIN = datetime(2026, 3, 1, 8, tzinfo=UTC)


def source_of(path: Path, agent: str = "") -> Source:
    """Return the source that a file is, whether it lies where its agent would put it or not."""
    folders = (_OF_FOLDERS[part] for part in reversed(path.parts) if part in _OF_FOLDERS)
    agent = agent or next(folders, "claude-code")
    ids = readers_by_agent(agent)[0].identify(path, read_head(path))[:2]
    return Source(agent, "", *ids, path, 0, 0)


def claude_line(
    session: str,
    number: int,
    content: Any,
    cwd: str,
    at: datetime | str = BEGIN,
    role: str = "",
    **more: Any,
) -> dict[str, Any]:
    """Return the record of a message: a person's where `number` is even, unless `role` says whose
    it is. A text of an assistant is a block."""
    role = role or ("assistant" if number % 2 else "user")
    if role == "assistant" and isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return {
        "type": role,
        "uuid": f"{session}-{number}",
        "parentUuid": None,
        "isSidechain": False,
        "sessionId": session,
        "timestamp": at if isinstance(at, str) else at.isoformat().replace("+00:00", "Z"),
        "cwd": cwd,
        "version": "2.1.129",
        "message": {"role": role, "content": content, "id": f"msg_{number}"},
        **more,
    }


def claude_lines(
    session: str, cwd: str, *said: str, after: int = 0, agent: str = ""
) -> list[dict[str, Any]]:
    """Return the prompts of a session and the answers to them, a minute apart, that begin so many
    minutes after `BEGIN`; of a subagent with `agent`."""
    lines = []
    for number, text in enumerate(said, start=after):
        for half, content in enumerate((text, f"Done: {text}")):
            when = BEGIN + timedelta(minutes=number, seconds=30 * half)
            own: dict[str, Any] = {"uuid": f"{session}-{agent}{number}-{'ua'[half]}"}
            if agent:
                own |= {"agentId": agent, "isSidechain": True}
            lines.append(claude_line(session, 2 * number + half, content, cwd, when, **own))
    return lines


def write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> Path:
    """Write objects as JSON lines; return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))
    return path


def write_claude(projects: Path, session: str, cwd: str, *said: str, folder: str = "") -> Path:
    """Write a session of Claude Code into the folder of its directory, or another one."""
    path = projects / (folder or project_slug(cwd)) / f"{session}.jsonl"
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
