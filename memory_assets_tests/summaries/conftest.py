"""A small builder of redacted sessions, so that a test reads like the session it is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from memory_assets.chunking import build_turns
from memory_assets.models import Kind, RedactedRecord, Role, Summary
from memory_assets.redacted_text import seal
from memory_assets.summaries import load_summarizer, session_turns

ROOT = "/home/mara/code/harbor"
START = datetime(2026, 3, 30, 8, 0, tzinfo=UTC)


@dataclass
class Script:
    """One session, record by record; `summary()` is what the summarizer makes of it."""

    session_id: str = "s1"
    records: list[RedactedRecord] = field(default_factory=list)

    def add(self, role: Role, kind: Kind, text: str, **more: object) -> Script:
        """Append a record, ten seconds after the one before."""
        place = len(self.records)
        record = RedactedRecord(
            project="-home-mara-code-harbor",
            project_root=seal(ROOT),
            agent="claude-code",
            session_id=self.session_id,
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

    def say(self, text: str, **more: object) -> Script:
        """The agent writes prose."""
        return self.add("assistant", "assistant_text", text, **more)

    def note(self, kind: Kind, subtype: str, text: str, **more: object) -> Script:
        """A title, summary, link or system record."""
        return self.add("system", kind, text, subtype=subtype, **more)

    def run(self, command: str, output: str, *, error: bool = False, **more: object) -> Script:
        """A shell command and its output."""
        return self.call(
            "Bash", f"command: {command}", output, error=error, command=seal(command), **more
        )

    def touch(self, tool: str, path: str, *, error: bool = False) -> Script:
        """A file tool: Read, Edit, Write."""
        return self.call(tool, f"file_path: {path}", "ok", error=error, paths=(seal(path),))

    def call(
        self, tool: str, asked: str, answer: str, *, error: bool = False, **more: object
    ) -> Script:
        """Any tool call and its result."""
        call_id = f"t{len(self.records)}"
        name = seal(tool)
        self.add("assistant", "tool_use", asked, tool_name=name, tool_use_id=call_id, **more)
        return self.add(
            "tool",
            "tool_result",
            answer,
            tool_name=name,
            tool_use_id=call_id,
            is_error=error,
            **more,
        )

    def summary(self) -> Summary:
        """The extractive summary of all this."""
        return load_summarizer().summarize(session_turns(self.records, build_turns(self.records)))


@pytest.fixture
def script() -> Callable[[], Script]:
    """A factory of empty sessions."""
    return Script
