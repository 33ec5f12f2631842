"""Sessions of Claude Code written call by call, and the memory of them, without vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memory_assets.paths import project_slug
from memory_assets.pipeline.stage.components import Components
from memory_assets.recall.memory import Memory
from memory_assets.settings import load_settings
from memory_assets_tests.pipeline.conftest import UP_TO_SUMMARIES, run_stages
from memory_assets_tests.transcript_files import claude_line, write_lines

START = datetime(2026, 3, 30, 8, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Call:
    """One call of a tool with its output; `text` instead of a call is a prompt, `said` what the
    agent says."""

    tool: str = ""
    given: Mapping[str, Any] | None = None
    output: str = ""
    failed: bool = False
    text: str = ""
    said: str = ""


def shell(command: str, output: str = "ok", *, failed: bool = False) -> Call:
    """A command, run by Bash."""
    return Call("Bash", {"command": command}, output, failed)


@dataclass
class Worked:
    """Transcripts of sessions below a directory, and the stages of their memory."""

    root: Path

    def settings(self) -> Any:
        """Where transcripts and memory are, with which `load_settings` is called."""
        return {
            "data_dir": self.root / "data",
            "projects_dir": self.root / "projects",
            "codex_dir": self.root / "codex",
            "pi_dir": self.root / "pi",
            "embedder": "none",
        }

    def environment(self) -> dict[str, str]:
        """The same for commands, with a home directory of their own."""
        own = {f"MEMORY_{name.upper()}": str(value) for name, value in self.settings().items()}
        return {**own, "HOME": str(self.root / "home")}

    def session(
        self, name: str, *calls: Call, cwd: Path | str, days: int = 0, branch: str = ""
    ) -> str:
        """Write a session that made these calls, a minute apart, so many days after the first;
        return its id."""
        session_id = f"{name:0>8}-0000-4000-8000-000000000001"
        at = START + timedelta(days=days)
        lines = [claude_line(session_id, 0, f"Work on {name}.", str(cwd), at)]
        for number, call in enumerate(calls, 1):
            later = at + timedelta(minutes=number)
            if call.said:
                lines.append(claude_line(session_id, 2 * number - 1, call.said, str(cwd), later))
                continue
            if call.text:
                lines.append(claude_line(session_id, 2 * number, call.text, str(cwd), later))
                continue
            own = {"id": f"toolu_{session_id}_{number}"}
            use = {"type": "tool_use", **own, "name": call.tool, "input": call.given}
            answer = {
                **{"type": "tool_result", "tool_use_id": own["id"], "content": call.output},
                **({"is_error": True} if call.failed else {}),
            }
            after = later + timedelta(seconds=5)
            lines.append(claude_line(session_id, 2 * number - 1, [use], str(cwd), later))
            lines.append(claude_line(session_id, 2 * number, [answer], str(cwd), after))
        path = self.root / "projects" / project_slug(str(cwd)) / f"{session_id}.jsonl"
        write_lines(path, [{**line, "gitBranch": branch} for line in lines])
        return session_id

    def memory(self) -> Memory:
        """The memory of what was written."""
        components = Components(load_settings(**self.settings()))
        run_stages(components, (*UP_TO_SUMMARIES, "session_commits"))
        return Memory(components.settings)
