"""Sessions as scripts, and what is observed in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from memory_assets.chunking import build_turns
from memory_assets.models import Kind, Observation, RedactedRecord, Role
from memory_assets.observations import observe
from memory_assets.redacted_text import seal
from memory_assets.sessions import session_turns

ROOT = "/home/mara/code/harbor"
START = datetime(2026, 3, 30, 8, 0, tzinfo=UTC)


@dataclass
class Script:
    """One session, record by record."""

    records: list[RedactedRecord] = field(default_factory=list)

    def add(self, role: Role, kind: Kind, text: str, **more: object) -> Script:
        """Append a record, ten seconds after the one before."""
        place = len(self.records)
        record = RedactedRecord(
            project="-home-mara-code-harbor",
            project_root=seal(ROOT),
            agent="claude-code",
            session_id="s1",
            agent_id=None,
            seq=place,
            record_uuid=f"u{place}",
            parent_uuid=None,
            byte_start=place * 100,
            byte_end=place * 100 + 99,
            timestamp=START + timedelta(seconds=10 * place),
            role=role,
            kind=kind,
            text=seal(text),
            subtype="",
            tool_name=seal(""),
            tool_use_id="",
            is_error=False,
            paths=(),
            command=seal(""),
            cwd=seal(ROOT),
            git_branch=seal("main"),
            model="",
            agent_version="",
            is_sidechain=False,
            message_id="",
            spawned_agent_id="",
            redactions=0,
            ruleset_version="test",
        )
        self.records.append(replace(record, **more))  # type: ignore[arg-type]
        return self

    def prompt(self, text: str) -> Script:
        """The human types."""
        return self.add("user", "prompt", text)

    def say(self, text: str) -> Script:
        """The agent writes prose."""
        return self.add("assistant", "assistant_text", text)

    def run(self, command: str, output: str = "ok", *, error: bool = False) -> Script:
        """A shell command and its output."""
        return self.call("Bash", f"command: {command}", output, error=error, command=seal(command))

    def touch(self, tool: str, *paths: str) -> Script:
        """A file tool: Read, Edit, Write."""
        return self.call(tool, "new_string: x", "ok", paths=tuple(seal(path) for path in paths))

    def call(
        self, tool: str, asked: str, answer: str, *, error: bool = False, **more: object
    ) -> Script:
        """Any tool call and its result."""
        named = {"tool_name": seal(tool), "tool_use_id": f"t{len(self.records)}", **more}
        self.add("assistant", "tool_use", asked, **named)
        return self.add("tool", "tool_result", answer, is_error=error, **named)

    def observed(self, kind: str | None = None) -> list[Observation]:
        """What is observed, of one type if given."""
        made = observe(session_turns(self.records, build_turns(self.records)))
        return [one for one in made if kind in (None, one.type)]


@pytest.fixture
def script() -> Callable[[], Script]:
    """A factory of empty sessions."""
    return Script
