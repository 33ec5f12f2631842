"""Identity, by variations that somebody wrote who had not seen the code: of which session, which
project and which file what agents write is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_assets.path_spelling import as_compared, relative_path
from memory_assets.project_names import ProjectNames, folded, spelled
from memory_assets.redacted_text import seal
from memory_assets.session_analysis import session_turns
from memory_assets.session_analysis.files import touched
from memory_assets.transcripts import discover
from memory_assets_tests.redacted_sessions import Script
from memory_assets_tests.transcript_files import claude_lines, write_lines

ONE, TWO = (f"5b5b5b5b-0000-4000-8000-00000000000{number}" for number in (1, 2))
THREAD = "019e7777-0000-7000-8000-0000000000a1"


@pytest.mark.parametrize(
    "spellings",
    [
        (
            "/home/ola/Pr\u00fcfst\u00e4nde",
            "/home/ola/Pru\u0308fsta\u0308nde/",
            "/Users/ola/Prüfstände",
        ),
        ("D:\\src\\Mill", "d:/src/Mill", "D:\\src\\mill\\", "/mnt/d/src/Mill"),
        ("\\\\nas01\\share\\Plans", "//nas01/share/Plans", "\\\\?\\UNC\\nas01\\share\\Plans"),
        ("E:\\data\\Well", "\\\\?\\E:\\data\\Well", "//?/e:/data/well", "\\\\.\\E:\\data\\Well"),
    ],
    ids=["accents and home", "drive", "server", "in full"],
)
def test_spellings_of_a_directory_are_one(spellings: tuple[str, ...]) -> None:
    """Whoever wrote them; and one that is spelled already stays."""
    (one,) = {spelled(directory) for directory in spellings}
    assert spelled(one) == one


@pytest.mark.parametrize(
    "directories",
    [
        ("/home/ola/a.b", "/home/ola/a-b", "/home/ola/a_b"),
        ("/srv/дом", "/srv/лес", "/srv/сад"),
        ("/home/ola/Tools/api", "/home/ola/tools/api", "/home/ola/tools/API"),
        ("//nas01/share/Plans", "//nas02/share/Plans", "/nas01/share/Plans"),
    ],
    ids=["marks", "letters", "case", "servers"],
)
def test_directories_of_one_slug_are_several(directories: tuple[str, ...]) -> None:
    """With names that do not look alike."""
    names = ProjectNames()
    given = {folded(names.name(spelled(path), "-x-of-all", path)) for path in directories}
    assert len(given) == len(directories)


@pytest.mark.parametrize(
    ("path", "base", "inside"),
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
        assert len(touched(session_turns(records, ())).modified) == count


def test_the_id_of_a_session_is_in_its_records(tmp_path: Path) -> None:
    """Where a person named the file; one that the program named keeps its name, as forks do that
    begin with another session's records."""
    lines = claude_lines(ONE, "/home/ola/kiosk", "Translate the menu")
    for name in ("backup-of-monday", TWO, "2026-10-03 kiosk"):
        write_lines(tmp_path / "projects" / f"-of-{name[:4].strip()}" / f"{name}.jsonl", lines)
    lost = [{**line, "sessionId": "no-uuid"} for line in lines]
    write_lines(tmp_path / "projects" / "-other" / "notes.jsonl", lost)
    found = {one.path.stem: one.session_id for one in discover({"claude-code": (tmp_path,)})}
    assert found["backup-of-monday"] == found["2026-10-03 kiosk"] == ONE
    assert (found[TWO], found["notes"]) == (TWO, "notes")


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
    _run(folder / "hearth-notes.jsonl", ONE)
    found = {(one.session_id, one.agent_id) for one in discover({"pi": (tmp_path,)})}
    runs = {(THREAD, f"{THREAD[:-2]}b{level}") for level in range(3)}
    assert found == {(THREAD, None), (ONE, None)} | runs
