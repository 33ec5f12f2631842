"""Finding the reader of a file by its content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import TranscriptError
from memory_assets.transcripts import Source, read_session, readers_by_agent
from memory_assets_tests.transcripts.conftest import ClaudeLines, CodexLines, PiLines, Write


def _agent(path: Path) -> str:
    return next(read_session(path)).agent


def test_each_agent_is_known_by_content(
    claude: ClaudeLines, codex: CodexLines, pi: PiLines, write: Write
) -> None:
    """The file's name plays no part in choosing the reader."""
    claude.user("hello")
    codex.prompt("hello")
    pi.prompt("hello")
    chosen = [_agent(write(each, "x.jsonl")) for each in (claude, codex, pi)]
    assert chosen == ["claude-code", "codex", "pi"]


def test_the_content_outweighs_what_the_source_says(codex: CodexLines, write: Write) -> None:
    """A Codex file among Claude Code's is read as what it is."""
    codex.prompt("hello")
    path = write(codex)
    source = Source("claude-code", "p", "s", None, path, 0, 0)
    [record] = read_session(path, source=source)
    assert (record.agent, record.text) == ("codex", "hello")


def test_a_bad_first_line_does_not_hide_the_format(claude: ClaudeLines, write: Write) -> None:
    """Any line of the head can tell whose file it is."""
    claude.raw(b"\0" * 100)
    claude.user("hello")
    assert _agent(write(claude)) == "claude-code"


def test_a_first_line_longer_than_the_head_is_recognised(
    claude: ClaudeLines, codex: CodexLines, write: Write
) -> None:
    """A prompt of 200 kB at the very start does not hide the format."""
    claude.user("x" * 200_000)
    assert _agent(write(claude)) == "claude-code"
    codex.lines.clear()
    codex.meta(base_instructions={"text": "x" * 200_000})
    codex.prompt("hello")
    assert _agent(write(codex)) == "codex"


@pytest.mark.parametrize(
    "content",
    [
        b"just text\n",
        b'{"kind":"Prompt","data":{"message_id":"s","content":[]}}\n',
        b'{"sessionId":"s","projectHash":"p","messages":[]}\n',
        b'{"info":{},"messages":[]}\n',
    ],
)
def test_other_content_is_refused(write: Write, content: Any) -> None:
    """What no reader knows raises an error that names the file and nothing in it."""
    with pytest.raises(TranscriptError, match="no reader knows"):
        read_session(write(content))


def test_a_missing_file_is_refused_at_once(tmp_path: Path) -> None:
    """The error comes from the call, not from the first record."""
    with pytest.raises(TranscriptError, match="cannot be read"):
        read_session(tmp_path / "gone.jsonl")


def test_an_empty_file_holds_nothing(write: Write) -> None:
    """Zero bytes are no error: two such files were seen."""
    assert list(read_session(write(b""))) == []


def test_an_unknown_agent_is_refused() -> None:
    """Asking for a reader that does not exist names those that do."""
    with pytest.raises(TranscriptError, match="claude-code, codex, pi"):
        readers_by_agent("emacs")


def test_ids_come_from_the_source_where_there_is_one(claude: ClaudeLines, write: Write) -> None:
    """A source's ids outweigh those of the file's name."""
    claude.user("hello")
    path = write(claude)
    [plain] = read_session(path)
    source = Source("claude-code", "p", "other", "sub", path.with_name("moved"), 0, 0)
    [told] = read_session(path, source=source)
    assert (plain.session_id, plain.agent_id) == (claude.session, None)
    assert (told.session_id, told.agent_id, told.is_sidechain) == ("other", "sub", True)


def test_a_flat_subagent_file_belongs_to_the_session_it_names(
    claude: ClaudeLines, write: Write
) -> None:
    """agent-<id>.jsonl beside its parent gives the parent's session id."""
    claude.sidechain = True
    claude.user("Explore the repository")
    [record] = read_session(write(claude, "agent-a1b2c3.jsonl"))
    assert (record.session_id, record.agent_id) == (claude.session, "a1b2c3")
    assert (record.kind, record.subtype) == ("system", "agent-prompt")
