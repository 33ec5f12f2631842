"""Finding transcript files of three agents under their roots, and the ids of what is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.errors import TranscriptError
from memory_assets.transcripts import Known, Source, discover, read_session
from memory_assets.transcripts.base import ignore
from memory_assets.transcripts.discovery import Walk
from memory_assets_tests.transcript_files import source_of
from memory_assets_tests.transcripts.conftest import (
    Builders,
    ClaudeLines,
    CodexLines,
    PiLines,
    Write,
)


def touch(path: Path, content: bytes = b"") -> Path:
    """Write a file and the directories above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_claude_code_sessions_and_subagents_are_told_apart(
    tmp_path: Path, claude: ClaudeLines
) -> None:
    """Sessions, nested subagents of workflows, and flat ones of old versions are found."""
    project = tmp_path / "projects" / "-home-ada-engine"
    claude.user("hello")
    touch(project / f"{claude.session}.jsonl", claude.bytes())
    touch(project / claude.session / "subagents" / "agent-one.jsonl")
    touch(project / claude.session / "subagents" / "workflows" / "w" / "agent-two.jsonl")
    touch(project / "agent-flat.jsonl", claude.bytes())
    found = list(discover({"claude-code": (tmp_path,)}))
    assert {(source.session_id, source.agent_id) for source in found} == {
        (claude.session, None),
        (claude.session, "one"),
        (claude.session, "two"),
        (claude.session, "flat"),
    }
    assert {source.project for source in found} == {"-home-ada-engine"}
    main = next(source for source in found if source.agent_id is None)
    assert (main.size, main.mtime_ns) == (len(claude.bytes()), main.path.stat().st_mtime_ns)


@pytest.mark.parametrize(
    "name",
    [
        "s/subagents/workflows/w/journal.jsonl",
        "s/subagents/agent-x.meta.json",
        "s/subagents/agent-aprompt_suggestion-1.jsonl",
        "s/subagents/agent-acompact-2.jsonl",
        "agent-aprompt_suggestion-1.jsonl",
        "s/tool-results/t.txt",
        "s/elsewhere/agent-y.jsonl",
        "history.jsonl",
        "memory/notes.md",
    ],
)
def test_what_is_no_transcript_of_work_is_left_out(tmp_path: Path, name: str) -> None:
    """Journals, metadata, speculative prompts and compaction agents are not sessions."""
    touch(tmp_path / "-p" / name, b'{"type":"user","sessionId":"s"}\n')
    assert list(discover({"claude-code": (tmp_path,)})) == []


def test_the_projects_directory_itself_is_accepted(tmp_path: Path) -> None:
    """The inner directory works as a root, too."""
    touch(tmp_path / "projects" / "-p" / "s.jsonl")
    outer = list(discover({"claude-code": (tmp_path,)}))
    assert outer == list(discover({"claude-code": (tmp_path / "projects",)}))
    assert len(outer) == 1


def test_codex_projects_come_from_the_directory_in_the_file(
    tmp_path: Path, codex: CodexLines
) -> None:
    """The partition is the first cwd, named as Claude Code names it; archives count."""
    name = f"rollout-2026-04-11T20-23-03-{codex.thread}.jsonl"
    touch(tmp_path / "sessions" / "2026" / "04" / "11" / name, codex.bytes())
    touch(tmp_path / "archived_sessions" / "rollout-2026-01-01T00-00-00-old.jsonl")
    touch(tmp_path / "history.jsonl", b"{}\n")
    first, second = discover({"codex": (tmp_path,)})
    assert (first.project, first.session_id) == ("-home-ada-engine", codex.thread)
    assert second.project == "-unknown"
    assert len(list(discover({"codex": (tmp_path / "sessions",)}))) == 1


def test_a_codex_subagent_takes_session_and_project_of_its_ancestors(
    tmp_path: Path, build: Builders
) -> None:
    """A spawned thread belongs to the human's thread, over two generations."""
    ids = [f"019d7e36-577c-7d90-9f1c-{number:012x}" for number in range(3)]
    for depth, thread in enumerate(ids):
        lines = build.codex(thread=thread)
        spawn = {"subagent": {"thread_spawn": {"parent_thread_id": ids[depth - 1]}}}
        lines.meta(source=spawn if depth else "cli", cwd=f"/home/ada/tree{depth}")
        touch(tmp_path / "sessions" / f"rollout-x-{thread}.jsonl", lines.bytes())
    found = list(discover({"codex": (tmp_path,)}))
    assert [(source.session_id, source.agent_id, source.project) for source in found] == [
        (ids[0], None, "-home-ada-tree0"),
        (ids[0], ids[1], "-home-ada-tree0"),
        (ids[0], ids[2], "-home-ada-tree0"),
    ]


def test_pi_sessions_are_found_from_any_level(tmp_path: Path, pi: PiLines) -> None:
    """The outer directory and the one inside give the same sessions."""
    inner = tmp_path / "agent" / "sessions"
    touch(inner / "--home-ada--" / "2026-03-01T09-00-00-000Z_abc.jsonl", pi.bytes())
    [found] = discover({"pi": (tmp_path,)})
    assert (found.project, found.session_id) == ("-home-ada-engine", "abc")
    assert list(discover({"pi": (inner,)})) == [found]


def test_known_files_are_not_opened(tmp_path: Path, codex: CodexLines) -> None:
    """What the caller knows by path, size and time is passed on unread."""
    path = touch(tmp_path / f"rollout-x-{codex.thread}.jsonl", codex.bytes())
    path.chmod(0)
    remembered = Source("codex", "p", "s", None, path, 1, 2)
    asked: list[tuple[Path, int, int]] = []

    class Ledger(Known):
        def __call__(self, path: Path, size: int, mtime_ns: int) -> Source:
            asked.append((path, size, mtime_ns))
            return remembered

    assert list(discover({"codex": (tmp_path,)}, Ledger())) == [remembered]
    status = path.stat()
    assert asked == [(path, status.st_size, status.st_mtime_ns)]


def test_vanished_and_broken_entries_are_skipped(tmp_path: Path) -> None:
    """Missing roots, dangling links and directories named like files give nothing."""
    project = tmp_path / "-p"
    touch(project / "good.jsonl")
    (project / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    (project / "folder.jsonl").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    gone = [tmp_path / "gone"]
    roots = {"claude-code": [tmp_path, *gone], "codex": gone, "pi": gone}
    assert [source.session_id for source in discover(roots)] == ["good"]


def test_an_agent_without_reader_is_refused(tmp_path: Path) -> None:
    """A root for an unknown agent is an error, which names those that are known."""
    with pytest.raises(TranscriptError, match=r"no reader.*claude-code, codex, pi"):
        list(discover({"emacs": (tmp_path,)}))


def test_the_order_is_always_the_same(tmp_path: Path) -> None:
    """Names decide the order, not the file system."""
    for name in ("-b/2.jsonl", "-a/9.jsonl", "-a/1.jsonl", "-b/1/subagents/agent-1.jsonl"):
        touch(tmp_path / name)
    names = [
        str(source.path.relative_to(tmp_path)) for source in discover({"claude-code": (tmp_path,)})
    ]
    assert names == sorted(names)


def test_projects_that_a_user_names_are_looked_for_where_they_can_be(tmp_path: Path) -> None:
    """Three levels down, in a repository one; not in hidden and installed directories, nor behind
    links."""
    for path in ("a/b/c/d", "repo/.git", "repo/pkg/src", ".hidden/x", "web/node_modules/y"):
        (tmp_path / "code" / path).mkdir(parents=True)
    code = tmp_path / "code"
    (code / "link").symlink_to(code / "a")
    found = {str(each.relative_to(code)) for each in Walk("aider", ignore).folders(code)}
    assert found == {".", "a", "a/b", "a/b/c", "repo", "repo/pkg", "web"}


def test_ids_come_from_the_source_where_there_is_one(claude: ClaudeLines, write: Write) -> None:
    """A source's ids outweigh those of the file's name."""
    claude.user("hello")
    path = write(claude)
    [plain] = read_session(path, source=source_of(path))
    source = Source("claude-code", "p", "other", "sub", path.with_name("moved"), 0, 0)
    [told] = read_session(path, source=source)
    assert (plain.session_id, plain.agent_id) == (claude.session, None)
    assert (told.session_id, told.agent_id, told.is_sidechain) == ("other", "sub", True)
