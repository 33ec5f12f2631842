"""Files below the agents' directories that are no transcripts on record."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.settings import Settings
from memory_assets.status.disk import Disk, look
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.files.sqlite import IN_MEMORY
from memory_assets_tests.transcript_files import write_claude

ONE = "11111111-aaaa-4aaa-8aaa-000000000001"


def _looked_at(agent: str, root: Path, *names: str) -> Disk:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    catalog = Catalog(IN_MEMORY)
    disk = look(catalog, {agent: (root,)}, root / "none")
    catalog.close()
    return disk


@pytest.mark.parametrize(
    ("agent", "folder", "name", "kind"),
    [
        ("codex", "sessions/2026/01/02", "rollout-x.jsonl.xz", "codex *.jsonl.xz"),
        ("codex", "sessions/2026/01/02", "notes.txt", "codex *.txt"),
        ("codex", ".", "dreams.sqlite-wal", "codex *.sqlite-wal"),
        ("codex", "backup", "all.tar.gz", "codex *.tar.gz"),
        ("claude-code", "projects/-w/a/b", "LOCK", "claude-code files without a suffix"),
        ("claude-code", "projects/-w/x/y/z", "s.jsonl", "claude-code *.jsonl"),
        ("pi", "agent/sessions/--w--", "s.db", "pi *.db"),
    ],
)
def test_a_file_that_nobody_knows_is_counted_by_its_kind(
    tmp_path: Path, agent: str, folder: str, name: str, kind: str
) -> None:
    """In the folders of sessions it is any, beside them what can hold transcripts; the name is not
    told."""
    known = {"codex": "sessions/2026/01/02/a.txt", "pi": "agent/sessions/a/b.txt"}
    (tmp_path / known.get(agent, "projects/a.txt")).parent.mkdir(parents=True)
    others = _looked_at(agent, tmp_path, f"{folder}/{name}").others
    assert others.unknown == {kind: 1}
    assert others.sentence() == (
        f"1 file in the agents' directories that no reader knows: {kind} (1)"
    )


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("codex", "config.toml"),
        ("codex", "state_5.sqlite"),
        ("codex", "sessions/.DS_Store"),
        ("claude-code", "projects/-w/sessions-index.json"),
        ("claude-code", "projects/-w/s/tool-results/out.txt"),
        ("claude-code", "projects/-w/s/subagents/agent-a.meta.json"),
        ("pi", "agent/settings.json"),
    ],
)
def test_a_known_file_is_left_out_for_its_reason(tmp_path: Path, agent: str, name: str) -> None:
    """Each reason is named; none of these is a transcript."""
    (tmp_path / "sessions").mkdir()
    others = _looked_at(agent, tmp_path, name).others
    assert others.left_out.total() == 1 and all(others.left_out) and not others.sentence()


def test_where_the_agents_directory_lies_does_not_matter(tmp_path: Path) -> None:
    """Reasons are of what lies below it."""
    root = tmp_path / "memory" / "worktrees" / "projects"
    assert _looked_at("claude-code", root, "-w/odd.txt").others.unknown == {"claude-code *.txt": 1}


def test_directories_too_deep_to_be_looked_into_are_told(tmp_path: Path) -> None:
    """Whatever they hold."""
    deep = "sessions/" + "/".join("abcdefghijkl")
    others = _looked_at("codex", tmp_path, f"{deep}/rollout-x.jsonl").others
    assert others.unknown == {"codex directories too deep to be looked into": 1}


@pytest.mark.parametrize("target", ["../-home-mira-dune", ".", "../../projects"])
def test_a_link_to_what_is_looked_into_is_no_unknown_file(tmp_path: Path, target: str) -> None:
    """A folder under a second name, as somebody leaves who renamed a project; also a loop."""
    dune = tmp_path / "projects" / "-home-mira-dune"
    dune.mkdir(parents=True)
    (dune / "desert").symlink_to(target)
    others = _looked_at("claude-code", tmp_path).others
    assert not others.unknown and others.left_out.total() == 1


def test_a_link_to_a_directory_that_is_elsewhere_is_looked_into(
    tmp_path: Path, sample_settings: Settings
) -> None:
    """As discovery does: somebody moved a project's transcripts to another disk."""
    del sample_settings
    write_claude(tmp_path / "disk", ONE, "/home/mira/dune", "what is it?")
    (tmp_path / "disk" / "loop").symlink_to(tmp_path / "disk")
    projects = tmp_path / "claude" / "projects"
    projects.mkdir(parents=True)
    (projects / "-home-mira-dune").symlink_to(tmp_path / "disk" / "-home-mira-dune")
    (projects / "-home-mira-dune" / "notes.odd").write_text("odd")
    disk = _looked_at("claude-code", projects)
    assert (len(disk.pending), disk.files) == (1, 1)
    assert disk.others.unknown == {"claude-code *.odd": 1}


def test_a_transcript_that_waits_for_an_ingest_is_no_unknown_file(
    tmp_path: Path, sample_settings: Settings
) -> None:
    """It is pending."""
    del sample_settings  # its key and its home
    disk = _looked_at("codex", tmp_path / "agent", "sessions/2026/01/02/rollout-x.jsonl")
    assert len(disk.pending) == 1 and not disk.others.unknown


def test_a_second_copy_of_a_transcript_is_left_out(
    tmp_path: Path, sample_settings: Settings
) -> None:
    """Codex copies a rollout when it is archived; one of them is read."""
    del sample_settings
    thread = "019ed836-b1d4-7000-8000-000000000001"
    name = f"rollout-2026-06-18T00-52-03-{thread}.jsonl"
    disk = _looked_at(
        "codex", tmp_path / "agent", f"sessions/2026/06/18/{name}", f"archived_sessions/{name}"
    )
    assert len(disk.pending) == 1 and not disk.others.unknown
    assert disk.others.left_out.total() == 1
