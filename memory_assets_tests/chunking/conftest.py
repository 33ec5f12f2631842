"""A session written record by record, and the real word pieces."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memory_assets.models import Kind, RedactedRecord, Role
from memory_assets.redacted_text import seal
from memory_assets_tests.redacted_sessions import redacted

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROLES: dict[Kind, Role] = {"prompt": "user", "assistant_text": "assistant", "tool_use": "assistant"}


class Script:
    """Builds the redacted records of one session, a second apart."""

    def __init__(self, session_id: str = "s1") -> None:
        """Begin an empty session."""
        self.session_id = session_id
        self.records: list[RedactedRecord] = []

    def add(
        self,
        kind: Kind,
        text: str,
        *,
        agent_id: str | None = None,
        at: float | None = None,
        tool: str = "",
        paths: tuple[str, ...] = (),
        command: str = "",
        is_error: bool = False,
        message_id: str = "",
        spawned: str = "",
    ) -> Script:
        """Append a block; `at` is its time in seconds from the session's start."""
        seq = sum(record.agent_id == agent_id for record in self.records)
        seconds = len(self.records) if at is None else at
        self.records.append(
            redacted(
                ROLES.get(kind, "tool"),
                kind,
                text,
                project="-home-ada-app",
                project_root=seal("/home/ada/app"),
                cwd=seal("/home/ada/app"),
                session_id=self.session_id,
                agent_id=agent_id,
                seq=seq,
                record_uuid=f"{agent_id or 'main'}-{seq}",
                timestamp=START + timedelta(seconds=seconds),
                tool_name=seal(tool),
                is_error=is_error,
                paths=tuple(seal(path) for path in paths),
                command=seal(command),
                is_sidechain=agent_id is not None,
                message_id=message_id,
                spawned_agent_id=spawned,
            )
        )
        return self

    def prompt(self, text: str) -> Script:
        """The human types."""
        return self.add("prompt", text)

    def says(self, text: str, message_id: str = "", agent_id: str | None = None) -> Script:
        """The assistant speaks."""
        return self.add("assistant_text", text, message_id=message_id, agent_id=agent_id)

    def runs(self, command: str, output: str = "", *, is_error: bool = False) -> Script:
        """The assistant runs a shell command."""
        self.add("tool_use", f"command: {command}", tool="Bash", command=command)
        return self.add("tool_result", output, tool="Bash", command=command, is_error=is_error)

    def opens(self, tool: str, path: str) -> Script:
        """The assistant reads or changes a file."""
        return self.add("tool_use", f"file_path: {path}", tool=tool, paths=(path,))


@pytest.fixture
def script() -> Script:
    """An empty session."""
    return Script()
