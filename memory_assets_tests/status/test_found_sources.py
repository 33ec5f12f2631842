"""Which project and which session a transcript on disk belongs to."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_assets.path_spelling import as_compared, relative_path
from memory_assets.paths import Roots
from memory_assets.project_names import ProjectNames, folded, spelled
from memory_assets.redacted_text import seal
from memory_assets.session_analysis import session_turns
from memory_assets.session_analysis.files import touched_files
from memory_assets.status.found_sources import find_all
from memory_assets.status.ledger_sources import LedgerSources
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets.transcripts import Source, Unlisted, discover
from memory_assets_tests.redacted_sessions import Script
from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcript_files import (
    claude_lines,
    write_claude,
    write_codex,
    write_lines,
)
from memory_assets_tests.transcripts.agent_files import Cline, KiloTasks

ONE, TWO, THREE = (f"11111111-aaaa-4aaa-8aaa-00000000000{number}" for number in (1, 2, 3))


class Disk:
    """Transcripts on disk, and a catalogue of those that were taken in."""

    def __init__(self, root: Path) -> None:
        self.claude, self.codex = root / "claude" / "projects", root / "codex"
        self.rows: list[SourceRow] = []
        self.notes: list[Unlisted] = []
        for path in (self.claude, self.codex):
            path.mkdir(parents=True)

    def found(self) -> list[Source]:
        """All sources, without taking them in."""
        self.notes.clear()
        roots: Roots = {"claude-code": (self.claude,), "codex": (self.codex,)}
        known = LedgerSources(self.rows)
        return find_all(self.rows, roots, known, self.notes.append)

    def take_in(self) -> dict[str, str]:
        """Put all sources into the catalogue; return the project of each session."""
        known = {(row.project, row.session_id, row.agent_id): row for row in self.rows}
        for one in self.found():
            row = SourceRow(
                *(one.agent, one.project, one.session_id, one.agent_id or "", str(one.path)),
                *(one.size, one.mtime_ns, "", "", None),
                directory=one.directory,
            )
            if one.parts:
                row.facts["parts"] = [str(path) for path in one.parts]
            known[row.project, row.session_id, row.agent_id] = row
        self.rows = list(known.values())
        return {row.session_id: row.project for row in self.rows}

    def projects(self) -> set[str]:
        """The projects of all sources, twice found alike."""
        once = [(one.path, one.project) for one in self.found()]
        assert once == [(one.path, one.project) for one in self.found()]
        self.take_in()
        return {row.project for row in self.rows}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """Directories of agents without transcripts."""
    yield Disk(tmp_path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/home/mira/work/新聞", "/home/mira/work/暫存"),
        ("/home/mira/app.v1", "/home/mira/app-v1"),
        ("/srv/клён", "/srv/осин"),
        ("/home/mira/a b", "/home/mira/a_b"),
        ("/home/alice/app", "/home/alice-app"),
        ("/home/alice/app", "/home/bob/app"),
        ("/opt/été", "/opt/ête"),
        ("/home/ola/Tools/api", "/home/ola/tools/API"),
        ("//nas01/share/Plans", "//nas02/share/Plans"),
    ],
)
def test_two_directories_are_two_projects(disk: Disk, one: str, other: str) -> None:
    """Also where Claude Code gives both the same folder; in whatever agent's transcripts, and for
    ever; with names that differ by more than case or accents."""
    write_claude(disk.claude, ONE, one, "round payroll amounts")
    write_claude(disk.claude, TWO, other, "delete old payroll files")
    write_codex(disk.codex, 1, one, "and the cents?")
    write_codex(disk.codex, 2, other, "and the folders?")
    names = disk.take_in()
    assert len(set(names.values())) == 2 == len({folded(name) for name in names.values()})
    assert names[ONE] != names[TWO]
    write_claude(disk.claude, THREE, other, "once more")
    assert disk.take_in()[THREE] == names[TWO]
    disk.rows = [row for row in disk.rows if row.project == names[TWO]]
    assert disk.take_in()[TWO] == names[TWO]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C:\\work\\Kiln", "c:\\work\\Kiln"),
        ("C:\\work\\Kiln", "C:/work/kiln/"),
        ("C:\\work\\Kiln", "/mnt/c/work/Kiln"),
        ("/srv/G\u00e4rtnerei", "/srv/Ga\u0308rtnerei"),
        ("/Users/mira/dune", "/home/mira/dune"),
        ("/srv/dune", "/srv//dune/"),
        ("/srv/dune", "/srv/desert/../dune"),
        ("\\\\nas01\\share\\Plans", "//nas01/share/Plans"),
        ("\\\\nas01\\share\\Plans", "\\\\?\\UNC\\nas01\\share\\Plans"),
        ("E:\\data\\Well", "//?/e:/data/well"),
        ("E:\\data\\Well", "\\\\.\\E:\\data\\Well"),
    ],
)
def test_one_directory_in_two_spellings_is_one_project(disk: Disk, one: str, other: str) -> None:
    """Whichever comes first."""
    write_claude(disk.claude, ONE, one, "what is it?")
    write_codex(disk.codex, 1, other, "what was it?")
    assert len(disk.projects()) == 1
    write_codex(disk.codex, 2, one, "what will it be?")
    assert len(disk.projects()) == 1


def test_a_link_to_a_directory_is_that_directory(disk: Disk, tmp_path: Path) -> None:
    """And a home that is elsewhere is a home."""
    (tmp_path / "dune").mkdir()
    (tmp_path / "desert").symlink_to(tmp_path / "dune")
    write_claude(disk.claude, ONE, str(tmp_path / "dune"), "what is it?")
    write_codex(disk.codex, 1, str(tmp_path / "desert"), "what was it?")
    assert len(disk.projects()) == 1
    home = Path.home()
    assert spelled(str(home / "x")) == f"~{home.name}/x" == spelled(f"/Users/{home.name}/x")


@sweep("text", ["", "/", "~ada/x", "C:\\", "c:/x", "\\\\server\\share", "/home/é"])
def test_a_spelling_is_spelled_as_it_is(text: str) -> None:
    """So that what is on record can be compared as it is."""
    assert spelled(spelled(text)) == spelled(text)


def test_a_copy_that_a_person_named_is_of_its_session(disk: Disk) -> None:
    """As a copy that the program named: one source, whichever goes on further."""
    lines = claude_lines(ONE, "/home/mira/kiosk", "what is it?", "what was it?")
    folder = disk.claude / "-home-mira-kiosk"
    write_lines(folder / f"{ONE}.jsonl", lines)
    write_lines(folder / "backup-of-monday.jsonl", lines[:2])
    (source,) = disk.found()
    assert (source.session_id, source.path.stem, len(source.parts)) == (ONE, "backup-of-monday", 1)


def test_names_of_an_earlier_version_stay(disk: Disk) -> None:
    """A project on record whose directory nobody had asked for keeps its name and its sessions, and
    goes on with its directory."""
    write_claude(disk.claude, ONE, "/srv/été", "what is it?")
    disk.take_in()
    disk.rows = [replace(row, project="-srv--t-", directory=None) for row in disk.rows]
    write_claude(disk.claude, TWO, "/srv/été", "what was it?")
    assert disk.projects() == {"-srv--t-"}


def test_names_are_unique_whatever_is_asked_for() -> None:
    """Of directories that would like to have the same one."""
    names = ProjectNames()
    wanted = ("/x/a-b", "/x/a.b", "/x/a_b", "/x/A-B", "/x/ａ-b")
    given = [names.name(spelled(path), "-x-a-b", path) for path in wanted]
    assert len({folded(name) for name in given}) == len(wanted)
    assert [names.name(spelled(path), "-x-a-b", path) for path in wanted] == given


def test_a_folder_that_was_renamed_stays_the_project(disk: Disk) -> None:
    """With what is written there afterwards, in the directory's new name."""
    path = write_claude(disk.claude, ONE, "/home/mira/reed", "what squeals?")
    before = disk.take_in()
    path.parent.rename(disk.claude / "-home-mira-organ")
    write_claude(disk.claude, TWO, "/home/mira/organ", "what hums?")
    assert disk.take_in() == {ONE: before[ONE], TWO: before[ONE]}
    write_codex(disk.codex, 1, "/home/mira/organ", "and Codex?")
    assert disk.projects() == {before[ONE]}


def test_a_session_that_began_below_its_folder_is_not_moved(disk: Disk) -> None:
    """Its records name a directory inside; another session's name the folder's own."""
    write_claude(disk.claude, ONE, "/srv/app/web", "what is it?", folder="-srv-app")
    write_claude(disk.claude, TWO, "/srv/app", "what was it?")
    assert disk.projects() == {"-srv-app"}
    assert {one.directory for one in disk.found()} == {"/srv/app"}


def test_a_working_tree_is_a_project_of_its_own(disk: Disk) -> None:
    """Though its session begins with what was said in the repository."""
    write_claude(disk.claude, ONE, "/srv/repo", "what is it?")
    tree = write_claude(disk.claude, TWO, "/srv/repo", "go", folder="-srv-repo--claude-worktrees-t")
    with tree.open("a") as file:
        for line in claude_lines(TWO, "/srv/repo/.claude/worktrees/t", "now here", after=1):
            file.write(f"{json.dumps(line)}\n")
    assert disk.projects() == {"-srv-repo", "-srv-repo--claude-worktrees-t"}


@pytest.mark.parametrize("copied", [0, 1, 2])
def test_the_files_of_a_session_are_one_source(disk: Disk, copied: int) -> None:
    """In the order of their first records, whether the second repeats the first, a part of it or
    nothing; and still when one grows, or a third one comes."""
    here, there = "/srv/repo", "/srv/repo/.claude/worktrees/t"
    lines = claude_lines(ONE, here, "one", "two")
    first = write_lines(disk.claude / "-srv-repo" / f"{ONE}.jsonl", lines)
    after = claude_lines(ONE, there, "three", after=2)
    tree = disk.claude / "-srv-repo--claude-worktrees-t"
    second = write_lines(tree / f"{ONE}.jsonl", [*lines[: 2 * copied], *after])
    (source,) = disk.found()
    assert source.files == (first, second) and source.project == "-srv-repo"
    disk.take_in()
    third = write_lines(
        disk.claude / "-srv-else" / f"{ONE}.jsonl", claude_lines(ONE, "/srv/else", "four", after=3)
    )
    (source,) = disk.found()
    assert source.files == (first, second, third) and source.project == "-srv-repo"
    assert source.size == sum(path.stat().st_size for path in source.files)


def test_a_session_whose_beginning_is_deleted_stays_as_it_was_read(disk: Disk) -> None:
    """Nothing of it is read again, which would lose the beginning; if it goes on, that is said."""
    first = write_claude(disk.claude, ONE, "/srv/repo", "one")
    second = write_lines(
        disk.claude / "-srv-tree" / f"{ONE}.jsonl", claude_lines(ONE, "/srv/tree", "two", after=1)
    )
    disk.take_in()
    first.unlink()
    assert disk.found() == [] == disk.notes
    with second.open("a") as file:
        file.write(json.dumps(claude_lines(ONE, "/srv/tree", "three", after=2)[0]) + "\n")
    assert disk.found() == []
    assert [note.path for note in disk.notes] == [str(second)]


def test_subagents_follow_their_session(disk: Disk) -> None:
    """Into its project, wherever they lie; copies of one are one."""
    write_claude(disk.claude, ONE, "/srv/repo", "one")
    inner = Path(ONE, "subagents", "agent-a1.jsonl")
    lines = claude_lines(ONE, "/srv/tree", "look", agent="a1")
    for folder in ("-srv-repo", "-srv-tree"):
        write_lines(disk.claude / folder / inner, lines)
    main, agent = sorted(disk.found(), key=lambda one: one.agent_id or "")
    assert {main.project, agent.project} == {"-srv-repo"}
    assert agent.agent_id == "a1" and len(agent.files) == 2


def test_a_linked_folder_adds_nothing(disk: Disk) -> None:
    """The same files under another name."""
    path = write_claude(disk.claude, ONE, "/home/mira/dune", "one")
    (disk.claude / "-home-mira-desert").symlink_to(path.parent.name)
    (source,) = disk.found()
    assert source.files == (path,)
    disk.take_in()
    assert [one.files for one in disk.found()] == [(path,)]


def test_sessions_whose_names_are_not_unique_stay_apart(disk: Disk) -> None:
    """Of two directories."""
    for cwd in ("/srv/one", "/srv/two"):
        write_claude(disk.claude, "notes", cwd, f"what is in {cwd}?")
    assert disk.projects() == {"-srv-one", "-srv-two"}
    shutil.rmtree(disk.claude / "-srv-one")
    assert [one.project for one in disk.found()] == ["-srv-two"]


def test_sessions_that_only_name_another_directory_move_no_folder(disk: Disk) -> None:
    """Two folders, or a folder beside the directory's own: what else is in them stays apart."""
    for number, folder in enumerate(("-srv-one", "-srv-two"), start=1):
        session = f"22222222-aaaa-4aaa-8aaa-00000000000{number}"
        write_claude(disk.claude, session, "/srv/else", "where?", folder=folder)
    write_claude(disk.claude, ONE, "/srv/one", "here")
    write_claude(disk.claude, TWO, "/srv/two", "there")
    assert disk.projects() == {"-srv-else", "-srv-one", "-srv-two"}
    write_claude(disk.claude, THREE, "/srv/own", "own")
    odd = "33333333-aaaa-4aaa-8aaa-000000000001"
    write_claude(disk.claude, odd, "/srv/own", "odd", folder="-srv-three")
    later = "33333333-aaaa-4aaa-8aaa-000000000002"
    write_claude(disk.claude, later, "/srv/three", "later")
    assert disk.projects() >= {"-srv-own", "-srv-three"}


def test_a_session_is_of_one_agent(tmp_path: Path) -> None:
    """Two agents with the same id for a session of one project: the first keeps it, the other one
    is a line; what is on record stays the one that it is."""
    stores = {"cline": Cline(tmp_path / "cline"), "kilo": KiloTasks(tmp_path / "kilo")}
    for store in stores.values():
        store.say("Why?", "Because.")
    notes: list[Unlisted] = []
    roots: Roots = {agent: (store.root,) for agent, store in stores.items()}
    [kilo] = find_all([], roots, LedgerSources([]), notes.append)
    assert (kilo.agent, [note.agent for note in notes]) == ("kilo", ["cline"])
    assert "another agent has the same id" in notes[0].reason
    row = SourceRow(
        *("cline", kilo.project, kilo.session_id, "", str(stores["cline"].path)),
        *(1, 1, "", "", None),
    )
    [cline] = find_all([row], roots, LedgerSources([]), notes.append)
    assert (cline.agent, notes[-1].agent) == ("cline", "kilo")


def test_a_session_moved_to_an_agent_that_writes_alike_stays_the_one_on_record(
    tmp_path: Path,
) -> None:
    """OpenClaw writes Pi's lines: moved to its folder, or copied, it is the session that it was."""
    pi, openclaw = tmp_path / "pi", tmp_path / "openclaw"
    moved = openclaw / "agents" / "main" / "sessions" / f"{ONE}.jsonl"
    header = {"type": "session", "version": 3, "id": ONE, "cwd": "/srv/one"}
    path = pi / "sessions" / "--srv-one--" / f"2026-06-01T08-00-00-000Z_{ONE}.jsonl"
    write_lines(path, [header | {"timestamp": "2026-06-01T08:00:00Z"}])
    notes: list[Unlisted] = []
    roots: Roots = {"pi": (pi,), "openclaw": (openclaw,)}
    [before] = find_all([], roots, LedgerSources([]), notes.append)
    ids = ("pi", before.project, ONE, "", str(path))
    row = SourceRow(*ids, before.size, before.mtime_ns, "", "", None)
    moved.parent.mkdir(parents=True)
    shutil.copy(path, moved)
    [both] = find_all([row], roots, LedgerSources([row]), notes.append)
    path.unlink()
    [after] = find_all([row], roots, LedgerSources([row]), notes.append)
    assert set(both.files) == {path, moved}
    assert (after.agent, after.project, after.path) == ("pi", before.project, moved)
    assert notes == []


FIRST, SECOND = (f"5b5b5b5b-0000-4000-8000-00000000000{number}" for number in (1, 2))
THREAD = "019e7777-0000-7000-8000-0000000000a1"


@sweep(
    "path, base, inside",
    [
        ("/mnt/f/ship/bow/prow.txt", "F:\\ship\\bow", "prow.txt"),
        ("f:\\Ship\\bow\\Prow.txt", "/mnt/f/ship/bow", "Prow.txt"),
        ("//nas/s/Plans/sub\\a.txt", "\\\\nas\\s\\plans", "sub/a.txt"),
        ("\\\\?\\E:\\d\\x\\y.txt", "e:/d", "x/y.txt"),
        ("/mnt/flags/a.txt", "F:\\lags", "/mnt/flags/a.txt"),
        ("/home/Ola/a.txt", "/home/ola", "/home/Ola/a.txt"),
    ],
)
def test_a_file_of_windows_is_below_its_directory_in_any_spelling(
    path: str, base: str, inside: str
) -> None:
    """Other systems tell capitals apart, and their mounts are no drives."""
    assert relative_path(seal(path), [base]) == inside


def test_two_spellings_of_a_changed_file_are_one_file() -> None:
    """Of Windows; elsewhere they are two."""
    assert as_compared("G:\\Ship\\Wake.txt") == as_compared("/mnt/g/ship/wake.TXT")
    for root, count in (("G:\\Ship", 1), ("/ship", 2)):
        script = Script().prompt("write it")
        script.touch("Write", f"{root}/Wake.txt").touch("Write", f"{root}/wake.TXT")
        records = [replace(one, project_root=seal(root), cwd=seal(root)) for one in script.records]
        assert len(touched_files(session_turns(records, ())).modified) == count


def test_the_id_of_a_session_is_in_its_records(tmp_path: Path) -> None:
    """Where a person named the file; one that the program named keeps its name, as forks do that
    begin with another session's records."""
    lines = claude_lines(FIRST, "/home/ola/kiosk", "Translate the menu")
    for name in ("backup-of-monday", SECOND, "2026-10-03 kiosk"):
        write_lines(tmp_path / "projects" / f"-of-{name[:4].strip()}" / f"{name}.jsonl", lines)
    lost = [{**line, "sessionId": "no-uuid"} for line in lines]
    write_lines(tmp_path / "projects" / "-other" / "notes.jsonl", lost)
    found = {one.path.stem: one.session_id for one in discover({"claude-code": (tmp_path,)})}
    assert found["backup-of-monday"] == found["2026-10-03 kiosk"] == FIRST
    assert (found[SECOND], found["notes"]) == (SECOND, "notes")


def _run(path: Path, session: str) -> None:
    header: dict[str, Any] = {
        "type": "session",
        "version": 3,
        "id": session,
        "cwd": "/home/ola/pia",
    }
    message = {"role": "user", "content": [{"type": "text", "text": "look at the mast"}]}
    entry = {"type": "message", "id": "beef0001", "parentId": None, "message": message}
    write_lines(path, [header | {"timestamp": "2026-10-03T08:00:00.000Z"}, entry])


def test_runs_within_runs_are_subagents_of_the_session(tmp_path: Path) -> None:
    """Three levels of Pi's; a file of the person's naming has its header's id."""
    folder = tmp_path / "agent" / "sessions" / "--home-ola-pia--"
    place = folder / f"2026-10-03T08-00-00-000Z_{THREAD}"
    _run(place.with_suffix(".jsonl"), THREAD)
    for level in range(3):
        place /= f"aa0{level}/run-0"
        _run(place / "session.jsonl", f"{THREAD[:-2]}b{level}")
        place /= "session"
    _run(folder / "hearth-notes.jsonl", FIRST)
    found = {(one.session_id, one.agent_id) for one in discover({"pi": (tmp_path,)})}
    runs = {(THREAD, f"{THREAD[:-2]}b{level}") for level in range(3)}
    assert found == {(THREAD, None), (FIRST, None)} | runs
