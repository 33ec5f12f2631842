"""Redacted sessions that tests are about: written record by record, or real ones as they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from memory_assets.chunking import build_turns
from memory_assets.models import Kind, Record, RedactedRecord, Role
from memory_assets.redacted_text import seal
from memory_assets.session_analysis import SessionTurns, session_turns
from memory_assets.transcripts import discover, read_session

ROOT = "/home/mara/code/harbor"
START = datetime(2026, 3, 30, 8, 0, tzinfo=UTC)
_SEALED = ("text", "tool_name", "command", "cwd", "git_branch")
_PLAIN = RedactedRecord(
    project="-home-mara-code-harbor",
    project_root=seal(ROOT),
    agent="claude-code",
    session_id="s1",
    agent_id=None,
    seq=0,
    record_uuid="u0",
    parent_uuid=None,
    byte_start=0,
    byte_end=99,
    timestamp=START,
    role="user",
    kind="prompt",
    text=seal(""),
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
    tokens=(),
    redactions=0,
    ruleset_version="test",
)


def redacted(role: Role, kind: Kind, text: str, **more: object) -> RedactedRecord:
    """A record of which nothing is said but this."""
    return replace(_PLAIN, role=role, kind=kind, text=seal(text), **more)  # type: ignore[arg-type]


def unredacted(record: Record, project: str) -> RedactedRecord:
    """A real record as the stages behind redaction take it, nothing taken out: for tests that
    are not about redaction, show no text and write none."""
    kept = {each.name for each in fields(RedactedRecord)}
    given = {each.name: getattr(record, each.name) for each in fields(record) if each.name in kept}
    return replace(
        _PLAIN,
        **given
        | {name: seal(given[name]) for name in _SEALED}
        | {
            "project": project,
            "project_root": seal(record.cwd),
            "paths": tuple(seal(path) for path in record.paths),
        },
    )


def real_sessions(root: Path, every: int, longest: int | None = None) -> Iterator[SessionTurns]:
    """Yield one of so many of the real sessions, with the beginning of each of their texts."""
    places = {"claude-code": "claude/projects", "codex": "codex", "pi": "pi"}
    for repository in sorted(root.iterdir()):
        roots = {agent: repository / place for agent, place in places.items()}
        records: dict[tuple[str, str], list[RedactedRecord]] = defaultdict(list)
        for source in discover({a: (path,) for a, path in roots.items() if path.is_dir()}):
            if sum(source.session_id.encode()) % every == 0:
                records[source.agent, source.session_id] += (
                    unredacted(replace(record, text=record.text[:longest]), source.project)
                    for record in read_session(source.path, source=source)
                )
        for own in records.values():
            if own:
                yield session_turns(own, build_turns(own))


@dataclass
class Script:
    """One session, record by record, so that a test reads like the session it is about."""

    session_id: str = "s1"
    records: list[RedactedRecord] = field(default_factory=list)

    def add(self, role: Role, kind: Kind, text: str, **more: object) -> Self:
        """Append a record, ten seconds after the one before."""
        place = len(self.records)
        own = {
            "session_id": self.session_id,
            "seq": place,
            "record_uuid": f"u{place}",
            "byte_start": place * 100,
            "byte_end": place * 100 + 99,
            "timestamp": START + timedelta(seconds=10 * place),
        }
        self.records.append(redacted(role, kind, text, **own | more))
        return self

    def prompt(self, text: str) -> Self:
        """The human types."""
        return self.add("user", "prompt", text)

    def say(self, text: str, **more: object) -> Self:
        """The agent writes prose."""
        return self.add("assistant", "assistant_text", text, **more)

    def note(self, kind: Kind, subtype: str, text: str, **more: object) -> Self:
        """A title, summary, link or system record."""
        return self.add("system", kind, text, subtype=subtype, **more)

    def run(self, command: str, output: str = "ok", *, error: bool = False, **more: object) -> Self:
        """A shell command and its output."""
        return self.call(
            "Bash", f"command: {command}", output, error=error, command=seal(command), **more
        )

    def touch(self, tool: str, *paths: str, error: bool = False) -> Self:
        """A file tool: Read, Edit, Write."""
        asked = f"file_path: {', '.join(paths)}\nnew_string: x"
        return self.call(tool, asked, "ok", error=error, paths=tuple(map(seal, paths)))

    def call(
        self, tool: str, asked: str, answer: str, *, error: bool = False, **more: object
    ) -> Self:
        """Any tool call and its result."""
        named = {"tool_name": seal(tool), "tool_use_id": f"t{len(self.records)}", **more}
        self.add("assistant", "tool_use", asked, **named)
        return self.add("tool", "tool_result", answer, is_error=error, **named)
